"""Sums by pair of a few comparisons, against a dictionary."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankbench.errors import InputError
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons

M = 6


def said(rows: list[tuple[int, int, float, bool]], *, ties: bool) -> Comparisons:
    first, second, weights, tied = zip(*rows, strict=True)
    return Comparisons(
        np.array([0, len(rows)]),
        np.array(first, dtype=np.int32),
        np.array(second, dtype=np.int32),
        np.array(weights, dtype=np.float64),
        np.array(tied) if ties else None,
    )


votes = st.tuples(st.permutations(range(M)), st.sampled_from([0.0, 0.1, 0.7, 1.0, 1e9]), st.booleans()).map(
    lambda vote: (vote[0][0], vote[0][1], vote[1], vote[2])
)


@pytest.mark.full
@given(rows=st.lists(votes, min_size=1, max_size=30), ties=st.booleans())
def test_sums_are_those_of_a_dictionary_in_the_order_of_the_votes(
    rows: list[tuple[int, int, float, bool]], ties: bool
) -> None:
    expected = defaultdict[tuple[int, int], list[float]](lambda: [0.0, 0.0, 0.0])
    for a, b, weight, tied in rows:
        if weight:
            expected[min(a, b), max(a, b)][2 if ties and tied else int(a > b)] += weight
    comparisons = said(rows, ties=ties)
    if not expected:
        with pytest.raises(InputError, match="all weights are zero"):
            PairCounts.from_comparisons(comparisons, M)
        return
    found = PairCounts.from_comparisons(comparisons, M)
    pairs = list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    assert pairs == sorted(expected)
    sums = np.column_stack([found.forward, found.backward, found.ties])
    assert sums.tolist() == [expected[pair] for pair in pairs]
    assert found.judgments == np.count_nonzero(comparisons.weights)
    assert found.weighted == any(weight not in (0.0, 1.0) for _, _, weight, _ in rows)


def test_a_tie_is_half_a_win_of_both() -> None:
    """Items 0 and 1 have 2 wins to 1 and 3 ties, items 1 and 2 one tie."""
    rows = [(0, 1, 1.0, False)] * 2 + [(1, 0, 1.0, False)] + [(1, 0, 1.0, True)] * 3 + [(1, 2, 1.0, True)]
    found = PairCounts.from_comparisons(said(rows, ties=True), M)
    forward, backward = found.wins()
    assert (forward.tolist(), backward.tolist()) == ([3.5, 0.5], [2.5, 0.5])
    won, lost = found.won_and_lost()
    assert (won[:3].tolist(), lost[:3].tolist()) == ([3.5, 3.0, 0.5], [2.5, 4.0, 0.5])


@pytest.mark.parametrize("item", [-1, M, 2**31 - 1])
def test_items_that_there_are_not_are_refused(item: int) -> None:
    with pytest.raises(InputError, match=r"\[0, 6\)"):
        PairCounts.from_comparisons(said([(0, 1, 1.0, False), (2, item, 1.0, False)], ties=False), M)


def test_columns_of_other_types_and_for_reading_only_are_taken() -> None:
    winners, losers = np.array([0, 9, 3, 9, 0])[::2], np.array([1, 2, 1], dtype=np.int32)
    losers.flags.writeable = False
    found = PairCounts.from_comparisons(Comparisons(np.array([0, 3]), winners, losers, np.ones(3)), M)
    assert found.low.tolist() == [0, 2]
    assert found.forward.tolist() == [2.0, 0.0]
    assert found.backward.tolist() == [0.0, 1.0]
