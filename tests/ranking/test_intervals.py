"""Which intervals a log can have: judges are looked for once, and only what fits into memory is counted apart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from ranked_logs import named, short_chunks, two_items

import rankbench
from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.elo import Elo
from rankbench.errors import InputError, SpecError
from rankbench.ranking import count_log as scan
from rankbench.ranking import partial_counts as parts
from rankbench.ranking import rank as kinds
from rankbench.ranking.count_log import count_frame
from rankbench.ranking.load import counted_votes, load_log
from rankbench.ranking.open import open_source
from rankbench.ranking.rank import LogFacts, by_judge, chosen_intervals


def log(votes: int, items: int, judges: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = two_items(rng, votes, items)
    return named(a, b, judge=rng.integers(judges, size=votes)).cast({"judge": pl.String})


def facts_of(frame: pl.DataFrame) -> LogFacts:
    return counted_votes(open_source(frame), "auto")[1]


@pytest.mark.parametrize(
    ("judges", "wanted", "expected"),
    [
        ("two", None, (None, False)),
        ("two", "bootstrap", ("bootstrap", False)),
        ("two", "judges", ("judges", True)),
        ("two", "sandwich", ("sandwich", True)),
        ("two", "auto", ("judges", True)),
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
    facts = facts_of(frame)
    assert (chosen_intervals(facts, wanted, BradleyTerry()), by_judge(facts, wanted)) == expected


def test_long_logs_without_judges_have_the_sandwich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_LONG", 30)
    facts = facts_of(log(40, 3, 2).drop("judge"))
    assert chosen_intervals(facts, "auto", BradleyTerry()) == "sandwich"
    assert chosen_intervals(facts, "auto", Elo()) == "bootstrap"
    assert not by_judge(facts, "auto")


@pytest.mark.parametrize("named", [True, False])
def test_firths_penalty_comes_with_the_sandwich(named: bool) -> None:
    """By judge where judges are named; for Davidson's model too."""
    frame = log(40, 3, 4) if named else log(40, 3, 4).drop("judge")
    for method in (BradleyTerry(penalty="firth"), Davidson(penalty="firth")):
        loaded, chosen = load_log(open_source(frame), method, "auto")
        assert (chosen, loaded.by_judge) == ("sandwich", named)
    assert chosen_intervals(facts_of(frame), "auto", Davidson()) == ("judges" if named else "bootstrap")
    assert rankbench.aggregate(frame, intervals="auto").facts["resamples"] is None


def test_one_vote_has_no_interval() -> None:
    frame = pl.DataFrame({"winner": ["a"], "loser": ["b"]})
    found = rankbench.aggregate(frame, intervals="auto")
    assert found.table["lower"].null_count() == 2
    assert found.table["score"].to_list() == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    assert any("too little to resample" in note for note in found.notes)


@pytest.mark.parametrize("method", ["bradley-terry", "elo"])
def test_one_vote_without_a_judge_is_an_error_where_judges_are_asked_for(method: str) -> None:
    frame = log(40, 3, 4).with_columns(judge=pl.when(pl.int_range(pl.len()) != 7).then("judge"))
    with pytest.raises(InputError, match="the judge is missing"):
        rankbench.aggregate(frame, method, intervals="judges", replicates=2)
    votes = rankbench.aggregate(frame, method, intervals="bootstrap", replicates=20)
    alone = rankbench.aggregate(frame, method, intervals="auto", replicates=20)
    assert alone.table.equals(votes.table)


@pytest.mark.parametrize("intervals", ["auto", "judges", "sandwich"])
def test_what_judges_said_must_fit_into_memory(monkeypatch: pytest.MonkeyPatch, intervals: str) -> None:
    frame = log(3000, 60, 200)
    cells = frame.select("judge", "winner", "loser").n_unique()
    monkeypatch.setattr(kinds, "MOST_CELLS", cells)
    rankbench.aggregate(frame, intervals=intervals, replicates=2)
    monkeypatch.setattr(kinds, "MOST_CELLS", cells - 1)
    with pytest.raises(SpecError, match=f"{cells:,} sums in 3,000 .* at most {cells - 1:,} .* --intervals bootstrap"):
        rankbench.aggregate(frame, intervals=intervals, replicates=2)
    rankbench.aggregate(frame, intervals="bootstrap", replicates=2)
    rankbench.aggregate(frame, "elo", intervals="judges", replicates=2)


def test_judges_who_say_too_much_are_refused_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is not read on: what is wrong with its last row is never seen."""
    monkeypatch.setattr(parts, "PART", 1000)
    monkeypatch.setattr(scan, "PART", 1000)
    short_chunks(monkeypatch, 1000)
    frame = log(5000, 60, 200).with_columns(
        loser=pl.when(pl.int_range(pl.len()) == 4999).then("winner").otherwise("loser")
    )
    with pytest.raises(InputError, match="compared with itself"):
        rankbench.aggregate(frame, intervals="judges", replicates=2)
    monkeypatch.setattr(kinds, "MOST_CELLS", 1500)
    with pytest.raises(SpecError, match="sums in 2,000 votes"):
        count_frame(frame.lazy(), judge="judge", check=kinds.refuse_too_many_cells)
    # As many votes, of judges who repeat themselves: 20 x 6 cells.
    count_frame(log(5000, 3, 20).lazy(), judge="judge", check=kinds.refuse_too_many_cells)
