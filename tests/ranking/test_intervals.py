"""Which intervals a log can have: judges are looked for once, and only what fits into memory is counted apart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankbench
from rankbench.aggregators import BradleyTerry, Elo
from rankbench.counts.log_source import LogSource, open_source
from rankbench.errors import SpecError
from rankbench.ranking import intervals as kinds
from rankbench.ranking.intervals import by_judge, chosen_intervals, facts_of, refuse_too_many_cells
from rankbench.ranking.log_loading import load_log


def log(votes: int, items: int, judges: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(items, size=votes)
    b = (a + rng.integers(1, items, size=votes)) % items
    return pl.DataFrame({"winner": a, "loser": b, "judge": rng.integers(judges, size=votes)}).select(
        pl.lit("q").alias("query_id"), pl.all().cast(pl.String)
    )


@pytest.mark.parametrize(
    ("judges", "wanted", "expected"),
    [
        ("two", None, (None, False)),
        ("two", "bootstrap", ("bootstrap", False)),
        ("two", "judges", ("judges", True)),
        ("two", "sandwich", ("sandwich", True)),
        ("two", "auto", ("judges", True)),
        ("some", "judges", ("judges", True)),
        ("some", "sandwich", ("sandwich", False)),
        ("some", "auto", ("bootstrap", False)),
        ("one", "sandwich", ("sandwich", False)),
        ("one", "auto", ("bootstrap", False)),
        ("none", "sandwich", ("sandwich", False)),
        ("none", "auto", ("bootstrap", False)),
    ],
)
def test_what_the_log_knows_decides(judges: str, wanted: str | None, expected: tuple[str | None, bool]) -> None:
    frame = log(40, 3, 1 if judges == "one" else 2)
    if judges == "some":
        frame = frame.with_columns(judge=pl.when(pl.int_range(pl.len()) != 7).then("judge"))
    if judges == "none":
        frame = frame.drop("judge")
    facts = facts_of(open_source(frame))
    assert (chosen_intervals(facts, wanted, BradleyTerry()), by_judge(facts, wanted)) == expected


def test_long_logs_without_judges_have_the_sandwich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_LONG", 30)
    source = open_source(log(40, 3, 2).drop("judge"))
    facts = facts_of(source)
    assert chosen_intervals(facts, "auto", BradleyTerry()) == "sandwich"
    assert chosen_intervals(facts, "auto", Elo()) == "bootstrap"
    assert not by_judge(facts, "auto")


@pytest.mark.parametrize(("intervals", "scans"), [(None, 1), ("bootstrap", 1), ("sandwich", 2), ("judges", 2)])
def test_a_log_is_scanned_once_for_its_judges(
    monkeypatch: pytest.MonkeyPatch, intervals: str | None, scans: int
) -> None:
    seen = []
    counted = LogSource.counted
    monkeypatch.setattr(LogSource, "counted", lambda *args: seen.append(1) or counted(*args))
    load_log(open_source(log(200, 3, 12)), BradleyTerry(), intervals)
    assert len(seen) == scans


@pytest.mark.parametrize("intervals", ["auto", "judges", "sandwich"])
def test_what_judges_said_must_fit_into_memory(monkeypatch: pytest.MonkeyPatch, intervals: str) -> None:
    frame = log(3000, 60, 200)
    cells = frame.select(
        pl.struct("judge", pl.min_horizontal("winner", "loser"), pl.max_horizontal("loser", "winner").alias("high"))
    ).n_unique()
    monkeypatch.setattr(kinds, "MOST_CELLS", cells)
    monkeypatch.setattr(kinds, "_SAMPLE", 3000)
    rankbench.aggregate(frame, intervals=intervals, replicates=2)
    monkeypatch.setattr(kinds, "MOST_CELLS", cells - 1)
    with pytest.raises(SpecError, match=f"about {cells:,} sums .* at most {cells - 1:,} .* --intervals bootstrap"):
        rankbench.aggregate(frame, intervals=intervals, replicates=2)
    rankbench.aggregate(frame, intervals="bootstrap", replicates=2)
    rankbench.aggregate(frame, "elo", intervals="judges", replicates=2)


def test_a_sample_says_how_much_judges_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fourteenth of some 9,900 cells: 10% off would be three standard deviations."""
    monkeypatch.setattr(kinds, "_SAMPLE", 720)
    frame = log(10_000, 60, 200)
    monkeypatch.setattr(kinds, "MOST_CELLS", 8500)
    with pytest.raises(SpecError, match="by judge hold"):
        refuse_too_many_cells(open_source(frame), facts_of(open_source(frame)))
    # As many votes, of judges who repeat themselves: 20 x 3 cells.
    repeated = open_source(log(10_000, 3, 20))
    refuse_too_many_cells(repeated, facts_of(repeated))
