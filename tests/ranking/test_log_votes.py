"""Votes that ballots imply, against the ballots read aloud one by one."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.errors import InputError
from rankbench.ranking.votes import coded_votes, load_votes, votes_of_ballots

BALLOT = st.tuples(
    st.sampled_from(["p", "q", "r"]),
    st.lists(st.sampled_from("abcde"), min_size=1, unique=True),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.integers(1, 3),
)


def places(items: list[str], joins: list[bool]) -> list[list[str]]:
    """Return the items by place: each joins the one before it where `joins` says so."""
    found: list[list[str]] = [[items[0]]]
    for item, join in zip(items[1:], joins, strict=False):
        if join:
            found[-1].append(item)
        else:
            found.append([item])
    return found


@given(st.lists(BALLOT, min_size=1, max_size=12))
@examples(60)
def test_ballots_one_by_one(drawn: list[tuple[str, list[str], list[bool], int]]) -> None:
    rows = [
        {"query_id": query, "ranking": places(items, joins), "weight": float(weight)}
        for query, items, joins, weight in drawn
    ]
    expected = []
    for judge, row in enumerate(sorted(rows, key=lambda row: row["query_id"])):
        said = [(item, place) for place, group in enumerate(row["ranking"]) for item in group]
        for (first, above), (second, below) in itertools.combinations(said, 2):
            expected.append((first, second, above == below, row["weight"], judge, (row["query_id"], {first, second})))
    if not expected:
        with pytest.raises(InputError, match="say nothing"):
            votes_of_ballots(pl.LazyFrame(rows))
        return
    votes = votes_of_ballots(pl.LazyFrame(rows))
    assert votes.judges is not None
    found = zip(votes.winners, votes.losers, votes.ties, votes.weights, votes.judges, strict=True)
    assert [(votes.items[i], votes.items[j], tie, weight, judge) for i, j, tie, weight, judge in found] == [
        vote[:5] for vote in expected
    ]
    same = [[one[5] == other[5] for other in expected] for one in expected]
    np.testing.assert_array_equal(votes.groups[:, None] == votes.groups, same)


VOTE = st.fixed_dictionaries(
    {
        "query_id": st.sampled_from(["q", "p", "\xe4", "z\U0001f600"]),
        "sides": st.permutations(["b", "a", "\xe4", "a\0", "c"]).map(lambda names: names[:2]),
        "judge": st.sampled_from(["x", "y", "w", None]),
        "time": st.one_of(st.integers(-5, 5), st.none()),
        "weight": st.sampled_from([1.0, 0.5, 2.0]),
        "tie": st.booleans(),
    }
)


@given(
    st.lists(VOTE, min_size=1, max_size=30),
    st.sets(st.sampled_from(["judge", "time", "weight", "tie"])),
    st.booleans(),
    st.booleans(),
)
@examples(150)
def test_votes_one_by_one(drawn: list[dict], columns: set[str], whole: bool, coded: bool) -> None:
    """Names in alphabetical order, votes in the order of time, groups by query and pair: as sorting rows says."""
    rows = [dict(vote, judge=vote["judge"] or "v", time=vote["time"] or 0) if whole else vote for vote in drawn]
    frame = pl.DataFrame(
        {
            "query_id": [row["query_id"] for row in rows],
            "winner": [row["sides"][0] for row in rows],
            "loser": [row["sides"][1] for row in rows],
            **{
                name: pl.Series([row[name] for row in rows], dtype=dtype)
                for name, dtype in (
                    ("judge", pl.String), ("time", pl.Int64), ("weight", pl.Float64), ("tie", pl.Boolean),
                )
                if name in columns
            },
        }
    )  # fmt: skip
    votes = load_votes(coded_votes(frame.lazy()) if coded else frame.lazy())
    timed = "time" in columns and all(row["time"] is not None for row in rows)
    if timed:
        rows = sorted(rows, key=lambda row: row["time"])
    assert votes.items == sorted({name for row in rows for name in row["sides"]})
    assert [votes.items[i] for i in votes.winners] == [row["sides"][0] for row in rows]
    assert [votes.items[i] for i in votes.losers] == [row["sides"][1] for row in rows]
    assert votes.ties.tolist() == [row["tie"] and "tie" in columns for row in rows]
    assert votes.weights.tolist() == [row["weight"] if "weight" in columns else 1.0 for row in rows]
    assert votes.alike == all(weight == 1 for weight in votes.weights)
    asked = [(row["query_id"], *sorted(row["sides"])) for row in rows]
    assert votes.groups.tolist() == [sorted(set(asked)).index(each) for each in asked]
    named = "judge" in columns and all(row["judge"] is not None for row in rows)
    for known, found, name in ((named, votes.judges, "judge"), (timed, votes.times, "time")):
        if known:
            order = sorted({row[name] for row in rows})
            assert found is not None
            assert found.tolist() == [order.index(row[name]) for row in rows]
        else:
            assert found is None
    missing = sum(row["judge"] is None for row in rows) if "judge" in columns else 0
    assert votes.unsigned == (missing if missing < len(rows) else 0)


def test_weights_of_one_take_no_memory() -> None:
    frame = pl.LazyFrame({"query_id": ["q"] * 9, "winner": ["a"] * 9, "loser": ["b"] * 9, "weight": [1.0] * 9})
    votes = load_votes(frame)
    assert votes.weights.strides == (0,)
    assert votes.comparisons().weights.flags.c_contiguous
