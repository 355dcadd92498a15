"""`rankbench data describe FILE --ask` asks what columns mean, one question at a time."""

from __future__ import annotations

from collections.abc import Callable

import click

from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.reading import Reading, names_text, said_names
from rankbench.logs.opened import OpenedLog, RawLog

MOST = 5
"""Questions at most: of more, people answer anything."""

_FIRST = {
    "votes": ("the two columns of items (A|B), or of winners and losers (winner=A,loser=B)", "left", "right"),
    "ballots": ("the columns, as ranking=A, ranks=A|B|C, or query=A,item=B,place=C (points: more is better)",),
    "clicks": ("the columns, as session=A,position=B,doc=C,clicked=D",),
    "scores": ("the columns, as system=A,scores=B|C (losses: less is better), or system=A,task=B,score=C",),
}
"""The second question, by the answer to the first one, on rows; two names alone are the items of a vote."""


def asked_log(raw: RawLog, told: str, prompt: Callable[[str], str] = click.prompt) -> OpenedLog:
    """Return an opened log after questions on a terminal.

    Parameters
    ----------
    raw : RawLog
    told : str
        Meanings of columns that are told already.
    prompt : callable
        Asks a question, and returns the answer.

    Raises
    ------
    InputError
        An answer does not fit; or the last question was not enough.
    """
    reading, left = Reading.parsed(told), MOST

    def ask(question: str) -> str:
        nonlocal left
        left -= 1
        return prompt(f"({MOST - left} of at most {MOST}) {question}").strip()

    while True:
        try:
            return raw.opened(reading.text())
        except Unread as error:
            if left <= 0:
                raise
            click.echo(str(error), err=True)
            reading = reading.adding(_first(ask) if error.code == "ask" and left == MOST else _answer(ask, error))


def _first(ask: Callable[[str], str]) -> Reading:
    """Return the answer to the questions on rows and their columns."""
    what = ask(f"a row is one of {', '.join(_FIRST)}: which?")
    if what not in _FIRST:
        raise InputError(f"{what!r} is none of {', '.join(_FIRST)}")
    question, *sides = _FIRST[what]
    said = ask(question)
    if not sides or "=" in said:
        return Reading.told(said)
    items = said_names(f"items={said}")["items"]
    if len(items) != len(sides):
        raise InputError(f"{said!r} is not two columns, A|B")
    winner = ask("the column that says who won; or left_score=A,right_score=B, points=A, margin=A")
    pair = names_text({side: (item,) for side, item in zip(sides, items, strict=True)})
    return Reading.told(f"{pair},{winner if '=' in winner else names_text({'winner': (winner,)})}")


def _answer(ask: Callable[[str], str], error: Unread) -> Reading:
    """Return the answer to a question: a value of ``--columns`` or ``--words``."""
    said = ask("columns (ROLE=NAME,..) or words (words MEANING=WORD,..)")
    if said.startswith("words "):
        return Reading.told("", said.removeprefix("words "))
    options = option("words") in error.step and option("columns") not in error.step
    return Reading.told("", said) if options else Reading.told(said)
