"""Profile penalized likelihood intervals: equal to a search by brute force, and what is known of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from test_firth import drawn, penalized

from rankbench.aggregators.likelihood.davidson_firth import firth_bradley_terry
from rankbench.aggregators.likelihood.profile import profile_ends
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count import count_pairs

DROP = 3.8414588206941 / 2


def searched(counts: PairCounts, scores: np.ndarray, item: int, drop: float) -> list[float]:
    """Return both ends, by SciPy's search for the end and for all other scores at each value of the item's."""
    m = counts.m
    others = np.delete(np.arange(m), item)

    def height(value: float) -> float:
        def loss(free: np.ndarray) -> float:
            trial = np.empty(m)
            trial[item] = value
            # All scores sum to zero, the last one among the others makes it so.
            trial[others] = np.append(free, -value - free.sum())
            with np.errstate(divide="ignore", invalid="ignore"):  # a search may try scores too far apart
                return -penalized(counts, trial[1:] - trial[0], davidson=False).real

        start = scores[others] + (scores[item] - value) / (m - 1)
        return -float(minimize(loss, start[:-1], method="BFGS", options={"gtol": 1e-7}).fun)

    def turned(value: float) -> float:
        return height(value) - top + drop

    top = height(scores[item])
    return [brentq(turned, *sorted((scores[item], scores[item] + far)), xtol=1e-6) for far in (-6, 6)]


@pytest.mark.full
@pytest.mark.parametrize(("seed", "n"), [(3, 3), (5, 8), (9, 60)])
def test_ends_are_those_of_a_search(seed: int, n: int) -> None:
    counts = drawn(seed, n)
    scores = firth_bradley_terry(counts).scores
    found = profile_ends(counts, scores, [0, 2], 0.95)
    assert (found[:, 0] < scores[[0, 2]]).all()
    assert (found[:, 1] > scores[[0, 2]]).all()
    for item, ends in zip((0, 2), found, strict=True):
        np.testing.assert_allclose(ends, searched(counts, scores, item, DROP), atol=2e-4)


@pytest.mark.parametrize(("won", "lost"), [(0, 12), (2, 25), (20, 20)])
def test_ends_of_a_pair_have_a_closed_form(won: int, lost: int) -> None:
    """The penalty adds half a vote each way: l(p) = (won + 1/2) log p + (lost + 1/2) log (1 - p)."""
    counts = count_pairs([0] * won + [1] * lost, [1] * won + [0] * lost, m=2)
    scores = firth_bradley_terry(counts).scores

    def below(lead: float) -> float:
        p, best = expit(lead), (won + 0.5) / (won + lost + 1)
        return float((won + 0.5) * np.log(p / best) + (lost + 0.5) * np.log((1 - p) / (1 - best)) + DROP)

    middle = logit((won + 0.5) / (won + lost + 1))
    expected = np.array([brentq(below, middle - 20, middle), brentq(below, middle, middle + 20)]) / 2
    np.testing.assert_allclose(profile_ends(counts, scores, [0], 0.95)[0], expected, atol=1e-4)
    np.testing.assert_allclose(profile_ends(counts, scores, [1], 0.95)[0], -expected[::-1], atol=1e-4)


def test_components_have_their_own_means() -> None:
    """Votes of another component, of whatever scores, change no end."""
    alone = count_pairs([0, 0, 1, 1, 2], [1, 1, 2, 0, 0], m=3)
    beside = count_pairs([0, 0, 1, 1, 2, 3, 3, 3], [1, 1, 2, 0, 0, 4, 4, 4], m=5)
    ends = [profile_ends(one, firth_bradley_terry(one).scores, [0, 2], 0.95) for one in (alone, beside)]
    np.testing.assert_allclose(*ends, atol=1e-3)


def test_ties_make_intervals_shorter() -> None:
    """Half of 40 votes tied: outcomes vary half as much as wins and losses, and the drop is half as large."""
    tied = count_pairs(
        [0] * 10 + [1] * 10 + [0] * 20, [1] * 10 + [0] * 10 + [1] * 20, m=2, ties=[False] * 20 + [True] * 20
    )
    whole = count_pairs([0] * 20 + [1] * 20, [1] * 20 + [0] * 20, m=2)
    ends = [profile_ends(one, np.zeros(2), [0], level)[0] for one, level in ((tied, 0.95), (whole, 0.8342315))]
    np.testing.assert_allclose(*ends, atol=1e-4)


@pytest.mark.full
def test_ends_exist_on_many_small_logs() -> None:
    """Logs of three to eight votes on five items, of which some never won or never lost."""
    for seed in range(60):
        counts = drawn(seed, 3 + seed % 6)
        scores = firth_bradley_terry(counts).scores
        found = profile_ends(counts, scores, range(5), 0.95)
        assert (found[:, 0] < scores).all()
        assert (scores < found[:, 1]).all()
