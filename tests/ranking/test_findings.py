"""What is suspicious about a log is said wherever the log is used, in the words of `describe`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from ranked_logs import named, two_items

import rankbench
from rankbench.interfaces.dataset import Dataset
from rankbench.protocols.items import Items
from rankbench.protocols.own_log import OwnLog
from rankbench.ranking import suspicions as findings
from rankbench.ranking.describe import describe


def votes(n: int = 1000, left: float = 0.63, judges: int = 0, *, again: bool = False) -> pl.DataFrame:
    """Return votes of which exactly this share is for the left, on pairs drawn by lot."""
    rng = np.random.default_rng(4)
    a, b = two_items(rng, n, 6)
    won = rng.permutation(n) < round(left * n)
    judged = {"judge": [f"j{i % judges}" for i in range(n)]} if judges else {}
    queries = "all" if again or not judges else [f"q{i}" for i in range(n)]
    return named(a, b, won, query_id=queries, first=won, **judged)


class Log(Dataset):
    name = "findings-log"
    source = "a log that a test makes"
    table: ClassVar[Any] = "comparisons"
    left: float = 0.63

    def scan(self) -> pl.LazyFrame:
        return votes(left=self.left).lazy()

    def fingerprint(self) -> str:
        return str(self.left) * 4


def line(frame: pl.DataFrame, name: str) -> str:
    return dict(describe(frame.lazy()).lines)[name].removesuffix("  !")


def test_home_wins_are_said_by_aggregate_and_run_in_the_words_of_describe() -> None:
    text = f"left wins {line(votes(), 'left wins')}: a preferred side, if sides were drawn by lot"
    assert text.startswith("left wins 63.0% of 1,000 decisive votes (95%: 60.0% to 65.9%):")  # Wilson's
    assert text in rankbench.aggregate(votes()).notes
    assert text in rankbench.aggregate(votes(), by="query", intervals="bootstrap", replicates=9).notes
    for protocol in (OwnLog(), Items()):
        assert f"L{text[1:]}." in protocol.prepare(Log(), 1).notes


def test_what_is_in_order_is_not_mentioned() -> None:
    assert not any("left wins" in note for note in rankbench.aggregate(votes(left=0.5)).notes)
    assert not any("Left wins" in note for note in OwnLog().prepare(Log(left=0.5), 1).notes)
    assert findings.suspicious_votes(votes(left=0.5, judges=20).lazy()).notes() == []
    assert findings.suspicious_votes(votes().drop("first").lazy()).notes() == []


def test_votes_cast_again_are_said() -> None:
    frame = votes(left=0.5, judges=3, again=True)
    again = line(frame, "votes cast again")
    assert again != "none"
    assert f"votes cast again: {again}" in rankbench.aggregate(frame).notes
    # One query is none: the log does not ask several things of a pair.
    assert "by the same judge on the same pair; " in again
    several = frame.with_columns(
        query_id=pl.when(pl.int_range(pl.len()) < 500).then(pl.lit("p")).otherwise(pl.lit("q"))
    )
    assert "by the same judge on the same pair and query; " in line(several, "votes cast again")
    # Of a column by which a log is ranked nobody knows whether it is what was asked.
    by_language = rankbench.aggregate(frame.with_columns(language=pl.lit("en")), by="language")
    assert not any("cast again" in note for note in by_language.notes)


def test_one_sided_judges_are_said() -> None:
    frame = votes(2000, 0.5, judges=20)
    spam = frame.with_row_index("row").with_columns(first=pl.col("first") | (pl.col("judge") == "j7")).drop("row")
    judges = line(spam, "one-sided judges")
    assert "'j7'" in judges
    assert (
        f"one-sided judges: {judges}: a preferred side, if sides were drawn by lot" in rankbench.aggregate(spam).notes
    )


def test_items_called_alike_and_odd_names_are_said_once() -> None:
    frame = pl.DataFrame(
        {"query_id": ["q"] * 4, "winner": ["gpt-4", "GPT 4", "gpt-4", "=x"], "loser": ["b", "b", "GPT-4", "b"]}
    )
    notes = rankbench.aggregate(frame).notes
    assert f"items called alike are taken for different ones: {line(frame, 'items called alike')}" in notes
    assert f"odd names: {line(frame, 'odd names')}" in notes


def test_of_a_long_log_the_first_votes_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "LOOKED_AT", 500)
    frame = pl.concat([votes(500, 0.9), votes(5000, 0.1)])
    (note,) = findings.suspicious_votes(frame.lazy()).notes()
    assert note.startswith("left wins 90.0% of 500 decisive votes")
    assert note.endswith("(of the first 500 votes; rankbench data describe looks at all)")
    (note,) = findings.suspicious_votes(frame.lazy(), whole=True).notes()
    assert note.startswith("left wins 17.3% of 5,500 decisive votes")
    (note,) = findings.suspicious_votes(frame.head(500).lazy()).notes()
    assert not note.endswith("looks at all)")


SHRUNK = "intervals are for the scores as the ridge (2) shrinks them, not for the log-odds"


@pytest.mark.parametrize(("method", "intervals", "said"), [
    ("bradley-terry:ridge=2", "sandwich", True),
    ("bradley-terry:ridge=2", "bootstrap", True),
    ("davidson:ridge=2", "bootstrap", True),
    ("bradley-terry:ridge=2", None, False),
    ("bradley-terry:ridge=0", "sandwich", False),
    ("win-rate", "bootstrap", False),
])  # fmt: skip
def test_intervals_of_shrunk_scores_say_so(method: str, intervals: Any, said: bool) -> None:
    notes = rankbench.aggregate(votes(left=0.5), method, intervals=intervals, replicates=20).notes
    assert any(note.startswith(SHRUNK) for note in notes) == said
