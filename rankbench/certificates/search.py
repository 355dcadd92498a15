"""The search looks for counterexamples.

Graphs: items stand in a hidden order; neighbors lead by a whole number, others (in low noise)
by at least the longest way through those between them; on every pair, as much is added in both
directions. Each edge is a graph of its own, with a probability. Then items are relabelled.
Leads are up to 6; wide ones spread log-uniformly from 1 to 1000, for violations that need leads of many sizes.
Grades: up to four score vectors of whole grades from 0 to 4. Independent ones have two grades an item, up to 5:
ERR bounds the probability to satisfy of grades above 4, its default top, and surrogates may not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import get_args

import numpy as np

from rankbench.certificates.laws import Law, NoiseClass, net_weights_of, why_not_in_class
from rankbench.interfaces.exact import ExactGraph, ExactScores

EdgeCounts = dict[tuple[int, int], int]
Judge = Callable[[Law], float]
"""By how much the least risk of wrong orders is below that of right ones; below 0: not at all."""

LARGEST_SUM = 18
"""Largest sum of counts of the small graphs that the search tries first."""

WIDENINGS = 40
"""Laws that are looked at while a gap is made larger."""

MOST_TRIES = 150
"""Laws that are looked at while one is made smaller in itself."""

WIDEST_LEAD = 1000
"""Largest whole number that a wide lead exceeds that of the paths by."""

KEPT_SHARE = 0.2
"""Of the gap that a smaller law must keep."""


def draws(graphs: bool, noise: NoiseClass, m: int, seed: int, wide: bool = False) -> Iterator[Law]:
    """Return laws of a class without end, the same for the same seed; of graphs, leads may be wide."""
    rng = np.random.default_rng([seed, m, get_args(NoiseClass).index(noise)])
    while True:
        if graphs:
            yield single_edges(_counts(rng, noise, m, wide), m)
        else:
            yield _independent(rng, m) if noise == "independent" else _grades(rng, m)


def _counts(rng: np.random.Generator, noise: NoiseClass, m: int, wide: bool) -> EdgeCounts:
    lead = np.zeros((m, m), dtype=np.int64)
    for distance in range(1, m):
        for i in range(m - distance):
            j = i + distance
            d = int(rng.integers(0 if noise != "low" else 1, 7))
            if wide:
                d = int(WIDEST_LEAD ** rng.random())
            elif noise == "low":
                d = int(rng.integers(0, 5)) + (d if distance == 1 else 0)
            if noise == "low":
                d += max((int(lead[i, k] + lead[k, j]) for k in range(i + 1, j)), default=0)
            elif noise == "any" and rng.random() < 0.5:
                d = -d
            lead[i, j], lead[j, i] = d, -d
    both = np.triu(rng.integers(0, 7, (m, m)) * (m - 1), 1)
    votes = np.maximum(lead, 0) + both + both.T
    place = rng.permutation(m)
    return {
        (int(place[i]), int(place[j])): int(votes[i, j]) for i, j in itertools.permutations(range(m), 2) if votes[i, j]
    } or {(0, 1): 1}


def _grades(rng: np.random.Generator, m: int) -> Law:
    count = int(rng.integers(1, 5))
    rows = [tuple(Fraction(int(g)) for g in rng.choice([0, 0, 1, 2, 3, 4], m)) for _ in range(count)]
    return _of_weights([(int(rng.integers(1, 12)), row) for row in rows], m)


def _independent(rng: np.random.Generator, m: int) -> Law:
    each = [list(zip(rng.choice(6, 2, replace=False), rng.integers(1, 12, 2), strict=True)) for _ in range(m)]
    rows = [tuple(zip(*one, strict=True)) for one in itertools.product(*each)]
    return _of_weights([(math.prod(map(int, ws)), tuple(Fraction(int(g)) for g in grades)) for grades, ws in rows], m)


def _of_weights(weighted: list[tuple[int, ExactScores | ExactGraph]], m: int) -> Law:
    total = sum(weight for weight, _ in weighted)
    return Law(m, tuple((Fraction(weight, total), s) for weight, s in weighted if weight))


def single_edges(counts: EdgeCounts, m: int) -> Law:
    """Return the law of one vote: each edge a graph of weight 1, with a probability by its count."""
    return _of_weights([(count, {pair: Fraction(1)}) for pair, count in sorted(counts.items())], m)


def in_two_graphs(mean: ExactGraph, m: int) -> Law:
    """Return two graphs without cycles, or one, of probability 1/2 each, whose mean is in proportion to a graph."""
    net = net_weights_of(mean, m)
    place = {item: at for at, item in enumerate(sorted(range(m), key=lambda i: (-net[i], i)))}
    scale = Fraction(int(np.lcm.reduce([w.denominator for w in mean.values()])))
    common = Fraction(int(np.gcd.reduce([int(w * scale) for w in mean.values()])))
    sides: list[dict[tuple[int, int], Fraction]] = [{}, {}]
    for (i, j), weight in sorted(mean.items()):
        sides[int(place[i] > place[j])][i, j] = weight * scale / common
    kept = [side for side in sides if side]
    return Law(m, tuple((Fraction(1, len(kept)), side) for side in kept))


def small_graphs(noise: NoiseClass, m: int) -> Iterator[Law]:
    """Return laws of a class with few edges and small whole counts, by rising sum of counts.

    Edges are as in Theorem 2's proof: 1 over 2, 2 over 3 and 1 over 3, and one against, 3 over 1.
    Turning all orders around exchanges the first two.
    """
    for total in range(2, LARGEST_SUM + 1):
        for cuts in itertools.combinations(range(total + 3), 3):
            parts = [b - a - 1 for a, b in itertools.pairwise((-1, *cuts, total + 3))]
            counts = {pair: n for pair, n in zip(((0, 1), (1, 2), (0, 2), (2, 0)), parts, strict=True) if n}
            if np.gcd.reduce(parts) == 1 and parts[0] <= parts[1]:
                law = single_edges(counts, m)
                if not why_not_in_class(noise, law):
                    yield law


def widened(law: Law, noise: NoiseClass, judge: Judge) -> Law:
    """Return a law near this one with a larger gap: weights change by one, as long as that helps."""
    best, gap, tries = law, judge(law), 0
    improved = True
    while improved and tries < WIDENINGS:
        improved = False
        for near in itertools.chain(_near(best, _none), _near(best, _scaled)):
            tries += 1
            if not why_not_in_class(noise, near) and (there := judge(near)) > gap * 1.05:
                best, gap, improved = near, there, True
                break
    return best


def smaller(law: Law, noise: NoiseClass, judge: Judge, merge: bool) -> Law:
    """Return a law that is easy to follow: few structures, small whole weights, and still a gap.

    Parameters
    ----------
    merge : bool
        Whether edges may be gathered in two graphs: the surrogate is linear in the graph.
    """
    least = KEPT_SHARE * judge(law)

    def good(one: Law) -> bool:
        return not why_not_in_class(noise, one) and judge(one) >= least

    best = law
    for size in range(2, min(sum(_weights(law)), 25)):
        weights = [round(float(weight) * size) for weight, _ in law.support]
        if any(weights) and good(rounded := _with(law, weights)):
            best = rounded
            break
    tries, shrunk = 0, True
    while shrunk and tries < MOST_TRIES:
        shrunk = False
        for near in itertools.chain(_near(best, _none), _near(best, _one_less), _lower_grades(best)):
            tries += 1
            if tries > MOST_TRIES:
                break
            if good(near):
                best, shrunk = near, True
                break
    if merge and best.of_graphs:
        gathered = in_two_graphs(best.mean, best.items)
        if not why_not_in_class(noise, gathered) and judge(gathered) > 0:
            return gathered
    return best


def _weights(law: Law) -> list[int]:
    """Return whole weights in proportion to a law's weights."""
    total = int(np.lcm.reduce([weight.denominator for weight, _ in law.support]))
    return [int(weight * total) for weight, _ in law.support]


def _with(law: Law, weights: list[int]) -> Law:
    return _of_weights([(w, s) for w, (_, s) in zip(weights, law.support, strict=True)], law.items)


def _none(weight: int) -> list[int]:
    return [0]


def _one_less(weight: int) -> list[int]:
    return [max(1, weight - 1)]


def _scaled(weight: int) -> list[int]:
    return list(dict.fromkeys(max(1, round(weight * factor)) for factor in (2.0, 0.5, 1.2, 0.8)))


def _near(law: Law, others: Callable[[int], list[int]]) -> Iterator[Law]:
    """Return laws with one weight changed."""
    weights = _weights(law)
    for at, weight in enumerate(weights):
        for value in others(weight):
            if value != weight and (value or len(weights) > 1):
                yield _with(law, [*weights[:at], value, *weights[at + 1 :]])


def _lower_grades(law: Law) -> Iterator[Law]:
    for at, (_, s) in enumerate(law.support):
        if isinstance(s, tuple):
            for item, grade in enumerate(s):
                if grade > 0:
                    lower = (*s[:item], grade - 1, *s[item + 1 :])
                    yield Law(law.items, (*law.support[:at], (law.support[at][0], lower), *law.support[at + 1 :]))
