"""Votes that ballots imply, against the ballots read aloud one by one."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.counts.votes import votes_of_ballots
from rankbench.errors import InputError

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
@settings(deadline=None, max_examples=60)
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
