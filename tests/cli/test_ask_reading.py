"""Questions on a terminal: at most five, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from rankbench.cli.ask_reading import MOST, asked_log
from rankbench.errors import InputError, Unread
from rankbench.logs.open import raw_log
from rankbench.logs.opened import RawLog

ROWS = "home,visitor,result\nAnts,Bees,H\nBees,Cats,A\nCats,Ants,D\n"


@pytest.fixture
def games(tmp_path: Path) -> RawLog:
    path = tmp_path / "games.csv"
    path.write_text(ROWS, encoding="utf-8")
    return raw_log(path)


def answering(*answers: str) -> tuple[Callable[[str], str], list[str]]:
    """Return what answers questions, and the questions that were asked."""
    left, asked = iter(answers), list[str]()

    def prompt(question: str) -> str:
        asked.append(question)
        return next(left)

    return prompt, asked


def won(frame: pl.LazyFrame) -> Iterator[tuple[str, str, bool]]:
    return frame.select("winner", "loser", "tie").collect().iter_rows()


def test_four_answers_read_a_log_of_games(games: RawLog) -> None:
    prompt, asked = answering("votes", "home|visitor", "result", "home=H,visitor=A,tie=D")
    found = asked_log(games, "", prompt)
    assert list(won(found.frame)) == [("Ants", "Bees", False), ("Cats", "Bees", False), ("Cats", "Ants", True)]
    assert [question[:1] for question in asked] == ["("] * 4
    assert asked[-1].startswith(f"(4 of at most {MOST})")


def test_what_is_told_is_not_asked(games: RawLog) -> None:
    prompt, asked = answering("home=H,visitor=A,tie=D")
    asked_log(games, "left=home,right=visitor,winner=result", prompt)
    assert len(asked) == 1


def test_answers_that_do_not_help_end_after_five_questions(games: RawLog) -> None:
    prompt, asked = answering(
        "votes", "home|visitor", "result", "words missing=Q", "words missing=Z", "words missing=X"
    )
    with pytest.raises(Unread):
        asked_log(games, "", prompt)
    assert len(asked) == MOST


def test_an_answer_that_is_none_is_refused(games: RawLog) -> None:
    with pytest.raises(InputError, match="none of votes"):
        asked_log(games, "", answering("goals")[0])
    with pytest.raises(InputError, match="not two columns"):
        asked_log(games, "", answering("votes", "home")[0])
