"""Counting against a dictionary, whatever the size, the dtype and the way in."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from amounts import examples
from counted_logs import count_log
from data_files import rejected
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from ranked_logs import short_chunks

from rankbench.errors import InputError
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs import thread_tables
from rankbench.logs.count import count_pairs
from rankbench.logs.thread_tables import ROWS


def naive(
    winners: NDArray[np.int64], losers: NDArray[np.int64], weights: NDArray[np.float64], ties: NDArray[np.bool_]
) -> dict[tuple[int, int], list[float]]:
    result: dict[tuple[int, int], list[float]] = {}
    for w, v, g, t in zip(winners.tolist(), losers.tolist(), weights.tolist(), ties.tolist(), strict=True):
        cells = result.setdefault((min(w, v), max(w, v)), [0.0, 0.0, 0.0])
        cells[2 if t else int(w > v)] += g
    return result


def as_dictionary(counts: PairCounts) -> dict[tuple[int, int], list[float]]:
    return {
        (int(i), int(j)): [float(f), float(b), float(t)]
        for i, j, f, b, t in zip(counts.low, counts.high, counts.forward, counts.backward, counts.ties, strict=True)
    }


def draw(
    seed: int, n: int, m: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    winners = rng.integers(0, m, n).astype(np.int32)
    losers = ((winners + rng.integers(1, m, n)) % m).astype(np.int32)
    return winners, losers, rng.integers(1, 5, n) / 4, rng.random(n) < 0.3


@pytest.fixture(params=["tables", "runs"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Count in tables of all pairs, or in sorted runs; chunks of 64 rows, so that there are many."""
    monkeypatch.setattr(thread_tables, "ROWS", 64)
    short_chunks(monkeypatch, 64)
    monkeypatch.setattr(thread_tables, "BUFFER", 128)
    monkeypatch.setattr(thread_tables, "FEWEST", 2)
    if request.param == "runs":
        monkeypatch.setattr(thread_tables, "DENSE_ITEMS", 4)
    return str(request.param)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_arrays_equal_a_dictionary(way: str, tied: bool, weighted: bool, dtype: type) -> None:
    winners, losers, weights, ties = draw(1, 1000, 20)
    weights = weights if weighted else np.ones(1000)
    ties = ties if tied else np.zeros(1000, np.bool_)
    counts = count_pairs(
        winners.astype(dtype),
        losers.astype(dtype),
        weights=weights if weighted else None,
        ties=ties if tied else None,
    )
    assert as_dictionary(counts) == naive(winners, losers, weights, ties)
    assert (counts.judgments, counts.m, counts.weighted) == (1000, 20, weighted)
    assert list(as_dictionary(counts)) == sorted(as_dictionary(counts))


@examples(25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(2, 30))
def test_any_size(seed: int, n: int, m: int) -> None:
    winners, losers, weights, ties = draw(seed, n, m)
    expected = naive(winners, losers, weights, ties)
    assert as_dictionary(count_pairs(winners, losers, weights=weights, ties=ties, m=m)) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thread_tables, "DENSE_ITEMS", 0)
        patch.setattr(thread_tables, "BUFFER", thread_tables.ROWS)
        assert as_dictionary(count_pairs(winners, losers, weights=weights, ties=ties, m=m)) == expected


@pytest.mark.parametrize("weighted", [False, True])
def test_a_log_equals_its_arrays_byte_for_byte(way: str, weighted: bool) -> None:
    winners, losers, _, ties = draw(2, 2000, 30)
    weights = np.random.default_rng(0).random(2000) + 0.01  # sums depend on their order
    names = np.array([f"item {i:02d}" for i in range(30)])
    columns = {"winner": names[winners], "loser": names[losers], "tie": ties}
    if weighted:
        columns["weight"] = weights
    log = pl.DataFrame(columns)
    array = count_pairs(winners, losers, weights=weights if weighted else None, ties=ties, items=names.tolist())
    for frame in (log.lazy(), pl.concat([log.head(13), log.slice(13)], rechunk=False).lazy()):
        counts = count_log(frame)
        assert counts.items == array.items
        for field in ("starts", "high"):
            np.testing.assert_array_equal(getattr(counts, field), getattr(array, field))
        for field in ("forward", "backward", "ties"):
            # Items come to light one by one in a log: its tables may be put away earlier.
            np.testing.assert_allclose(getattr(counts, field), getattr(array, field), rtol=1e-14)


@pytest.mark.parametrize("tied", [False, True])
def test_a_count_that_is_nothing_but_carries(tied: bool) -> None:
    """The first thread counts 2^19 times the same, eight times 2^16; the second a few others."""
    n = ROWS + 3
    winners, losers = np.zeros(n, np.int32), np.ones(n, np.int32)
    winners[ROWS:], losers[ROWS:] = [2, 1, 0], [0, 2, 2]
    ties = np.arange(n) >= n - 1
    counts = count_pairs(winners, losers, ties=ties if tied else None, m=4)
    assert list(zip(counts.low, counts.high, strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert counts.forward.tolist() == [ROWS, 0 if tied else 1, 1]
    assert counts.backward.tolist() == [0, 1, 0]
    assert counts.ties.tolist() == [0, 1 if tied else 0, 0]


def test_integers_of_any_size_are_names() -> None:
    small = count_log(pl.DataFrame({"winner": [7, 3, 7], "loser": [3, 7, 11]}))
    assert small.items == ["3", "7", "11"]
    assert as_dictionary(small) == {(0, 1): [1, 1, 0], (1, 2): [1, 0, 0]}
    large = count_log(pl.DataFrame({"winner": [10**12, -3], "loser": [-3, 10**12]}))
    assert large.items == ["-3", "1000000000000"]
    assert as_dictionary(large) == {(0, 1): [1, 1, 0]}


@pytest.mark.parametrize(
    ("columns", "row", "says"),
    [
        ({"winner": ["a", "b"], "loser": ["b", "b"]}, 2, "'b' is compared with itself"),
        ({"winner": ["a", None], "loser": ["b", "a"]}, 2, "winner is missing"),
        ({"winner": ["a", "b"], "loser": ["b", "a"], "weight": [1.0, -1.0]}, 2, "positive and finite"),
        ({"winner": ["a", "b"], "loser": ["b", "a"], "weight": [float("nan"), 1.0]}, 1, "positive and finite"),
        ({"winner": ["a", "b"], "loser": ["b", "a"], "weight": ["1", "x"]}, 2, "not a number"),
        ({"winner": ["a", "b"], "loser": ["b", "a"], "tie": [0, 2]}, 2, "not true or false"),
    ],
)
def test_bad_rows_are_named(columns: dict[str, list[object]], row: int, says: str) -> None:
    with rejected(says, row=row):
        count_log(pl.DataFrame(columns))


def test_tables_that_are_no_logs() -> None:
    with pytest.raises(InputError, match="no comparisons"):
        count_log(pl.DataFrame({"winner": [], "loser": []}, schema={"winner": pl.String, "loser": pl.String}))
    with pytest.raises(InputError, match="did you mean 'looser'"):
        count_log(pl.DataFrame({"winner": ["a"], "looser": ["b"]}))
    with pytest.raises(InputError, match="names or integers"):
        count_log(pl.DataFrame({"winner": [1.5], "loser": [2.5]}))
    with pytest.raises(InputError, match="equally long"):
        count_pairs([0, 1], [1])
    with pytest.raises(InputError, match="indices"):
        count_pairs([0.0], [1.0])
    with pytest.raises(InputError, match="numbered from 0 to 1"):
        count_pairs([0, 5], [1, 1], m=2)
    with pytest.raises(InputError, match="numbered from 0 to 1"):
        count_pairs(np.array([0, -1]), np.array([1, 1]), m=2)


@pytest.mark.parametrize("m", [30, 100])
def test_the_first_of_several_bad_rows_is_named_and_nothing_unpacked_is_sorted(
    monkeypatch: pytest.MonkeyPatch, m: int
) -> None:
    short_chunks(monkeypatch, 64)
    monkeypatch.setattr(thread_tables, "BUFFER", 8 * 64)
    monkeypatch.setattr(thread_tables, "DENSE_ITEMS", 40)
    rng = np.random.default_rng(m)
    for first in (3, 64 * 5 + 1, 64 * 14 + 6):
        winners = rng.integers(0, m, 64 * 40).astype(np.int32)
        losers = ((winners + rng.integers(1, m, len(winners))) % m).astype(np.int32)
        later = [first, *(first + rng.integers(1, len(winners) - first, 5))]
        losers[later] = winners[later]
        with rejected("with itself", row=first + 1):
            count_pairs(winners, losers, m=m)
