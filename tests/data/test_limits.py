"""What is finite and still too much: long names, large weights, many implied comparisons."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import polars as pl
import pytest

import rankbench
from rankbench.data.tables.checks import checked
from rankbench.data.tables.orders import load_orders
from rankbench.errors import InputError
from rankbench.interfaces import queries as ballots
from rankbench.interfaces.queries import Orders, Unranked, implied_comparisons
from rankbench.interfaces.table_check import LONGEST_NAME
from rankbench.ranking.votes import load_votes, votes_of_ballots

LONG = "é" * (LONGEST_NAME + 1)


def orders(lengths: list[int], unranked: Unranked) -> Orders:
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    items = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    return Orders(np.array([0, len(lengths)]), starts, items, items.copy(), np.ones(len(lengths)), unranked)


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        ({"query_id": ["q"] * 2, "winner": ["a", LONG], "loser": ["b", "b"]}, "winner"),
        ({"query_id": ["q"] * 2, "ranking": [[["a"], ["b"]], [["a"], ["b", LONG]]]}, "ranking"),
        (
            {"query_id": ["q"] * 2, "session_id": ["s", "t"], "shown": [["a"], ["b", LONG]], "clicked": [[1], [1]]},
            "shown",
        ),
    ],
)
def test_a_name_is_not_longer_than_ten_thousand_characters(frame: dict[str, list[object]], column: str) -> None:
    with pytest.raises(InputError, match=r"is longer than 10,000 characters") as caught:
        checked(pl.DataFrame(frame).lazy()).collect()
    assert (caught.value.row, caught.value.column) == (2, column)
    assert len(str(caught.value)) < 200
    fitting = json.loads(json.dumps(frame, ensure_ascii=False).replace(LONG, LONG[:-1]))
    assert checked(pl.DataFrame(fitting).lazy()).collect().height == 2


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1e308, 1e308, 1e308], "add up to inf"),
        ([1e200, 1e200, 1e200], "add up to 3e\\+200"),
        ([1e-200, 1e-200, 1e-200], "add up to 3e-200"),
        ([1e16, 1.0, 1.0], "range from 1 to 1e\\+16"),
    ],
)
@pytest.mark.parametrize("method", ["bradley-terry", "win-rate", "elo"])
def test_weights_whose_sums_go_wrong_are_refused(weights: list[float], message: str, method: str) -> None:
    votes = pl.DataFrame(
        {"query_id": ["q"] * 3, "winner": ["a", "b", "a"], "loser": ["b", "c", "c"], "weight": weights}
    )
    with pytest.raises(InputError, match=message):
        rankbench.aggregate(votes, method)
    with pytest.raises(InputError, match=message):
        load_votes(votes.lazy())
    of_ballots = pl.DataFrame({"query_id": ["q"] * 3, "ranking": [[["a"], ["b"], ["c"]]] * 3, "weight": weights})
    with pytest.raises(InputError, match=message):
        load_orders(of_ballots.lazy())


@pytest.mark.parametrize("unranked", ["absent", "last"])
def test_what_ballots_imply_is_counted_before_it_is_made(unranked: Unranked) -> None:
    many = orders([100_000], unranked)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="imply 4,999,950,000 comparisons"):
            implied_comparisons(many, 100_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_ballots_that_are_fit_alone_may_be_too_many_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ballots, "MOST_IMPLIED", 5)
    table = pl.DataFrame({"query_id": ["q"] * 2, "ranking": [[["a"], ["b"], ["c"]]] * 2}).lazy()
    with pytest.raises(InputError, match="imply 6 comparisons"):
        votes_of_ballots(table)
