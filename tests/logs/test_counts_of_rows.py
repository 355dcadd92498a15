"""A log whose rows have counts is, in every number, the log with each row as often as its count says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from data_files import stored
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.descriptions.describe import describe
from rankbench.errors import InputError, RankbenchError
from rankbench.interfaces.reading import Reading
from rankbench.logs.count_log import _count
from rankbench.logs.open import open_log, own_log
from rankbench.logs.parquet_log import parquet_log
from rankbench.protocols.log_votes import votes_of
from rankbench.ranking.aggregation import Aggregation
from rankbench.ranking.over_time import scores_over_time
from rankbench.ranking.question import OverTimeQuestion

CITATIONS = pl.DataFrame(
    {
        "winner": [*"BBBCCCJJJRRR"],
        "loser": [*"CJRBJRBCRBCJ"],
        "count": [730, 498, 221, 33, 68, 17, 320, 813, 142, 284, 276, 325],
    }
)
"""Citations among four journals: A. Agresti, Categorical Data Analysis, on statistical journals 1987 to 1989."""


def expanded(log: pl.DataFrame) -> pl.DataFrame:
    """Return each row as often as its count says."""
    return log.drop("count")[np.repeat(np.arange(len(log)), log["count"].to_numpy())]


@st.composite
def logs(draw: st.DrawFn) -> pl.DataFrame:
    """Return rows with counts, of three or four items."""
    items = st.sampled_from("abcd"[: draw(st.integers(3, 4))])
    pair = st.tuples(items, items).filter(lambda pair: pair[0] != pair[1])
    rows = draw(st.lists(st.tuples(pair, st.booleans(), st.integers(0, 9), st.integers(0, 5)), min_size=4, max_size=14))
    # Of 0 .. n - 1 rankbench asks whether they number the rows.
    counts = [14, *(count for _, _, count, _ in rows[1:])]
    log = pl.DataFrame(
        {
            "winner": [pair[0] for pair, *_ in rows], "loser": [pair[1] for pair, *_ in rows],
            "tie": [tie for _, tie, *_ in rows], "count": counts,
        }
    )  # fmt: skip
    if draw(st.booleans()):
        log = log.with_columns(judge=pl.Series([f"j{who}" for *_, who in rows]))
    if draw(st.booleans()):
        log = log.with_columns(
            time=pl.Series(range(len(rows))), query_id=pl.Series([f"q{who % 2}" for *_, who in rows])
        )
    return log


def outcome(call: Any, log: Any, **asked: Any) -> Any:
    """Return what a function answers, without its reading and the notes that only counts have, or what it refuses."""
    try:
        found = call(log, **asked)
    except RankbenchError as error:
        return type(error), str(error).split(": ", 1)[-1]
    own = ("read as ", " are ", "rankbench leaves out")
    notes = [note for note in found.notes if not any(word in note for word in own)]
    if isinstance(found, Aggregation):
        tables = [None if one is None else one.to_dict(as_series=False) for one in (found.table, found.between)]
        return tables, found.facts | {"reading": None}, notes
    return found.as_dict() | {"notes": notes, "reading": None}


ASKED = [
    {"intervals": None},
    {"intervals": "auto", "between": ("a", "b")},
    {"intervals": "bootstrap", "replicates": 40},
    {"intervals": "judges"},
    {"method": "elo", "columns": "time="},
    {"method": "davidson:penalty=firth", "intervals": "sandwich"},
    {"by": "query", "intervals": "sandwich"},
    {"by": "query", "pool": True},
    {"min_votes": 5, "without": ("a",)},
    {"intervals": "judges+queries"},
]


@pytest.mark.parametrize("asked", part_of(ASKED, 3), ids=str)
def test_rankings_are_those_of_as_many_votes(asked: dict[str, Any]) -> None:
    @examples(24)
    @given(logs())
    def law(log: pl.DataFrame) -> None:
        assert outcome(rankbench.aggregate, log, **asked) == outcome(rankbench.aggregate, expanded(log), **asked)

    law()


def test_outcomes_are_counted_as_many_votes() -> None:
    log = pl.DataFrame(
        {"left": [*"acab"], "right": [*"bbcc"], "winner": ["left", "left", "left", "tie"], "count": [30, 25, 20, 7]}
    )
    of_counts, plain = (rankbench.aggregate(one) for one in (log, expanded(log)))
    rows = {"left": 75, "right": 0, "tie": 7, "missing": 0}
    assert of_counts.facts["reading"]["rows"] == plain.facts["reading"]["rows"] == rows
    note = "all 75 decisive votes are won by the item in 'left'"
    assert note in of_counts.notes
    assert note in plain.notes


def test_histories_are_those_of_as_many_votes() -> None:
    rng = np.random.default_rng(5)
    one = rng.integers(0, 4, 60)
    other = (one + rng.integers(1, 4, 60)) % 4
    log = pl.DataFrame(
        {
            "winner": [f"i{k}" for k in one], "loser": [f"i{k}" for k in other],
            "time": np.arange(60) // 3, "count": rng.integers(0, 4, 60),
        }
    )  # fmt: skip
    found, each = (
        scores_over_time(table, OverTimeQuestion(method="dynamic-bradley-terry:drift=0.01,variance=1"))
        for table in (log, expanded(log))
    )
    assert found.table.equals(each.table)


@pytest.mark.full
@pytest.mark.parametrize("method", part_of(["win-rate", ""]))
def test_audits_are_those_of_as_many_votes(method: str) -> None:
    # Each judge names several items: of one who does not rankbench asks.
    judged = CITATIONS.with_columns(count=pl.col("count") // 20 + 1, judge=pl.Series([f"j{k % 4}" for k in range(12)]))
    for log in (CITATIONS, judged):
        assert outcome(rankbench.audit, log, method=method) == outcome(rankbench.audit, expanded(log), method=method)


@pytest.mark.full
def test_the_audit_of_citations_counts_votes() -> None:
    """109 of 3,727 votes, and as few more on the best pairs as `expanded` needs."""
    found = {probe.name: probe for probe in rankbench.audit(CITATIONS).probes}
    assert found["fewest-votes"].facts["of"] == 3727
    assert found["fewest-votes"].facts["removed"] > 100
    assert found["more-votes"].answer == "R and B are separated at 80% power already"


@pytest.mark.full
@examples(24)
@given(logs())
def test_descriptions_are_those_of_as_many_votes(log: pl.DataFrame) -> None:
    found, each = (describe(open_log(table).frame).as_dict() for table in (log, expanded(log)))
    assert found == each


@pytest.mark.parametrize("kind", part_of(["judge", "pair", "vote", "time"]))
def test_folds_are_those_of_as_many_votes(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    one = rng.integers(0, 5, 80)
    other = (one + rng.integers(1, 5, 80)) % 5
    log = pl.DataFrame(
        {
            "winner": [f"i{k}" for k in one], "loser": [f"i{k}" for k in other], "time": np.arange(80) // 4,
            "judge": [f"j{k}" for k in rng.integers(0, 12, 80)], "count": rng.integers(0, 4, 80),
        }
    )  # fmt: skip
    found, each = (
        votes_of(own_log(str(stored(table, tmp_path / name))))
        for table, name in ((log, "count.csv"), (expanded(log), "single.csv"))
    )
    for packed in (found.arrays, each.arrays), (found.grouped(kind), each.grouped(kind)):
        assert packed[0].keys() == packed[1].keys()
        for name, array in packed[0].items():
            np.testing.assert_array_equal(array, packed[1][name], err_msg=name)


BALLOTS = pl.DataFrame({"ranking": ['["a", "b", "c"]', '["b", ["a", "c"]]', '["c", "a"]'], "count": [5, 7, 2]})


@pytest.mark.full
def test_ballots_are_as_many_as_voters(tmp_path: Path) -> None:
    for asked in ({}, {"method": "borda"}, {"intervals": "bootstrap", "replicates": 50}, {"min_votes": 3}):
        found, each = (outcome(rankbench.aggregate, log, **asked) for log in (BALLOTS, expanded(BALLOTS)))
        assert found == each
    described = [describe(open_log(log).frame).as_dict() for log in (BALLOTS, expanded(BALLOTS))]
    assert described[0] == described[1]
    counted, single = (
        votes_of(own_log(str(stored(log, tmp_path / f"{len(log)}.csv")))) for log in (BALLOTS, expanded(BALLOTS))
    )
    for name, array in counted.arrays.items():
        np.testing.assert_array_equal(array, single.arrays[name], err_msg=name)


def test_files_and_shards_are_counted_alike(tmp_path: Path) -> None:
    log = CITATIONS.with_columns(judge=pl.Series([f"j{k % 5}" for k in range(12)]))
    expected = rankbench.aggregate(expanded(log), intervals="auto")
    for name in ("log.csv", "log.parquet", "log.ndjson"):
        assert rankbench.aggregate(stored(log, tmp_path / name), intervals="auto").table.equals(expected.table)
    rows = parquet_log(tmp_path / "log.parquet", Reading.told("winner=winner,loser=loser,count=count,judge=judge"))
    stored(expanded(log), tmp_path / "single.parquet")
    each = parquet_log(tmp_path / "single.parquet")
    for judge in (None, "judge"):
        found, single = (_count(one.cut(0, one.rows), judge, True, True) for one in (rows, each))
        assert (found.counts.judgments, found.counts.weighted) == (3727, False)
        for name in ("starts", "high", "forward", "backward", "ties"):
            np.testing.assert_array_equal(getattr(found.counts, name), getattr(single.counts, name))
        if judge:
            np.testing.assert_array_equal(found.data.weights, single.data.weights)


@pytest.mark.full
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_counts_of_billions_are_summed_and_not_held(ending: str, tmp_path: Path) -> None:
    """Firth's penalty is half a win each way between two items; a win of n has the variance 1 / (n p (1 - p))."""
    log = pl.DataFrame({"winner": ["x", "y"], "loser": ["y", "x"], "count": [3_000_000_000, 2_000_000_000]})
    path = stored(log, tmp_path / f"log.{ending}")
    found = rankbench.aggregate(path, intervals="sandwich")
    assert found.facts["n"] == 5_000_000_000
    assert "2 rows are 5,000,000,000 votes" in found.notes[0]
    row = found.table.row(0, named=True)
    assert row["score"] == pytest.approx(np.log(1.5) / 2, rel=1e-9)
    error = 1 / np.sqrt(5e9 * 0.6 * 0.4) / 2
    assert (row["upper"] - row["lower"]) / 2 == pytest.approx(1.959964 * error, rel=1e-3)
    assert rankbench.aggregate(path, by="query").table["score"].to_list() == found.table["score"].to_list()
    for refused in (
        rankbench.audit,
        lambda log: rankbench.aggregate(log, "elo", columns="time="),
        lambda log: describe(open_log(log).frame),
    ):
        with pytest.raises(InputError, match="more than 10,000,000 votes, too many to be looked at one by one"):
            refused(path)
    ballots = pl.DataFrame({"ranking": ["a>b", "b>a"], "count": [3_000_000_000, 2_000_000_000]})
    drawn = rankbench.aggregate(ballots, "borda", intervals="bootstrap", replicates=20)
    assert drawn.table["score"].to_list() == pytest.approx([0.2, -0.2])
