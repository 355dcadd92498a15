"""The checker reads mu, noise class, loss and surrogate of a certificate in exact numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from math import comb, factorial, lcm
from typing import Any, TypeAlias

from rankbench.certificates.checking.numbers import (
    FARTHEST,
    Rejected,
    check_keys,
    raised,
    rational,
    rationals,
    require,
    sized,
    whole,
)

Graph: TypeAlias = dict[tuple[int, int], Fraction]
Structure: TypeAlias = "list[Fraction] | Graph"
Levels: TypeAlias = tuple[tuple[int, ...], ...]
"""A weak order: levels of items from 0, the best first."""

LARGEST_LAW = 60
"""Structures of mu."""

LARGEST_SEEN = 400
"""Structures that aggregation may make of it."""

EXACT_AGGREGATORS = ("average-adjacency", "difference-graph", "net-weights")
"""Aggregators that this checker follows."""

MOST_BITS = 2000
"""Most bits of the common denominator of a law's numbers."""

MOST_DRAWS = 20_000
"""Judgments in all ways to draw k of mu, in any order."""


class Irrational(Rejected):
    """Numbers that exact arithmetic has not, and that were not to be taken nearly."""


def weak_orders(m: int) -> Iterator[Levels]:
    """Return all weak orders of m items: 13, 75 or 541 of 3, 4 or 5."""

    def rest(items: tuple[int, ...]) -> Iterator[Levels]:
        if not items:
            yield ()
            return
        for size in range(1, len(items) + 1):
            for level in itertools.combinations(items, size):
                for below in rest(tuple(i for i in items if i not in level)):
                    yield (level, *below)

    return rest(tuple(range(m)))


def named(levels: Levels) -> str:
    """Return a weak order as ``1>2=3``, items counted from 1."""
    return ">".join("=".join(str(i + 1) for i in level) for level in levels)


def structure(written: object, m: int) -> Structure:
    """Read a score vector (a list) or a graph (``{"1>2": weight}``)."""
    if isinstance(written, list):
        scores = rationals(written, m)
        require(all(abs(s) <= FARTHEST for s in scores), f"a score is beyond {FARTHEST}")
        return scores
    require(isinstance(written, dict), "a structure is a list of scores, or an object of edges")
    graph: Graph = {}
    for edge, weight in written.items():  # type: ignore[attr-defined]
        known = re.fullmatch("[1-9]>[1-9]", edge) and max(edge[0], edge[2]) <= str(m) and edge[0] != edge[2]
        require(known, f"{edge[:40]!r} is no edge between two of {m} items; write 1>2 for item 1 over item 2")
        graph[int(edge[0]) - 1, int(edge[2]) - 1] = value = rational(weight)
        require(0 < value <= FARTHEST, f"the weight of {edge!r} is not above 0 and at most {FARTHEST}")
    return graph


def law(
    written: Any, m: int, limit: int = LARGEST_LAW, keys: Collection[str] = ("weight", "structure")
) -> list[tuple[Fraction, Structure]]:
    """Read a distribution: weights above 0 whose sum is exactly 1, structures of one kind."""
    require(isinstance(written, list) and 1 <= len(written) <= limit, f"mu has 1 to {limit} structures")
    found, common = [], 1
    for entry in written:
        check_keys(entry, keys, "an entry of mu")
        weight, own = rational(entry["weight"]), structure(entry["structure"], m)
        require(weight > 0, "a weight of mu is not above 0")
        for number in (weight, *(own.values() if isinstance(own, dict) else own)):
            common = lcm(common, number.denominator)
            short = common.bit_length() <= MOST_BITS
            require(short, f"the numbers of mu have a common denominator of more than {MOST_BITS:,} bits")
        found.append((weight, own))
    total = sum(weight for weight, _ in found)
    require(total == 1, f"the weights of mu sum to {str(total)[:40]}, not to 1; write them as rationals, like 1/3")
    require(len({isinstance(s, list) for _, s in found}) == 1, "mu has structures of two kinds")
    return found


def mean_graph(mu: list[tuple[Fraction, Structure]]) -> Graph:
    """Return E[Y]."""
    mean: Graph = {}
    for weight, graph in mu:
        if isinstance(graph, dict):
            for pair, value in graph.items():
                mean[pair] = mean.get(pair, Fraction(0)) + weight * value
    return mean


def in_class(noise: str, mean: Graph, m: int) -> str:
    """Return why a mean graph is not in a noise class ([DMJ13]_ Definition 4), or ``""``."""
    pairs = itertools.permutations(range(m), 2)
    lead = {(i, j): mean.get((i, j), Fraction(0)) - mean.get((j, i), Fraction(0)) for i, j in pairs}
    if noise == "low":
        for i, j, k in itertools.permutations(range(m), 3):
            if lead[i, j] > 0 and lead[j, k] > 0 and lead[i, k] < lead[i, j] + lead[j, k]:
                return f"not low-noise: the lead of {i + 1} over {k + 1} is less than those by way of {j + 1}"
    if noise in ("low", "dag"):
        left = set(range(m))
        while left:
            first = [i for i in left if not any(lead[j, i] > 0 for j in left if j != i)]
            if not first:
                return "the difference graph has a cycle"
            left -= set(first)
    return ""


def dependent(mu: list[tuple[Fraction, Structure]], m: int) -> bool:
    """Return whether scores of items are not independent: of some first items and the next one, not a product."""

    def law_of(items: list[int]) -> dict[tuple[Fraction, ...], Fraction]:
        found: dict[tuple[Fraction, ...], Fraction] = {}
        for weight, scores in mu:
            key = tuple(scores[i] for i in items) if isinstance(scores, list) else ()
            found[key] = found.get(key, Fraction(0)) + weight
        return found

    for k in range(1, m):
        first, own, both = law_of(list(range(k))), law_of([k]), law_of(list(range(k + 1)))
        if any(both.get((*a, *b), Fraction(0)) != first[a] * own[b] for a in first for b in own):
            return True
    return False


def true_risks(loss: Mapping[str, Any], mu: list[tuple[Fraction, Structure]], m: int) -> dict[Levels, Fraction]:
    """Return the expected loss of scores for every weak order that they make of items, exactly."""
    pairwise = loss["name"] == "pairwise"
    table = [] if pairwise else rationals(loss["discounts"], m)
    fall = all(d >= 0 for d in table) and table == sorted(table, reverse=True)
    require(fall, "discounts are at least 0, do not increase, and there is one for each item")
    found = {}
    for levels in weak_orders(m):
        if pairwise or len(levels) == m:
            found[levels] = Fraction(0)
            for weight, s in mu:
                found[levels] = sized(found[levels] + weight * _loss(loss, table, s, levels))
    if pairwise:
        return found
    # A tie's risk is the mean over all orders that break it.
    for levels in weak_orders(m):
        ways = itertools.product(*(itertools.permutations(level) for level in levels))
        broken = [found[tuple((i,) for part in way for i in part)] for way in ways]
        found[levels] = sum(broken, Fraction(0)) / len(broken)
    return {levels: found[levels] for levels in weak_orders(m)}


def _loss(loss: Mapping[str, Any], table: list[Fraction], s: Any, levels: Levels) -> Fraction:
    if loss["name"] == "pairwise":
        require(isinstance(s, dict), "the pairwise loss is of graphs")
        place = {i: at for at, level in enumerate(levels) for i in level}
        # (10): a tie of i < j is charged the weight of i over j, and not that of j over i.
        charged = [w for (i, j), w in s.items() if place[i] > place[j] or (place[i] == place[j] and i < j)]
        return sum(charged, Fraction(0)) / ((loss["normalize"] and sum(s.values())) or 1)
    require(isinstance(s, list), "this loss is of scores")
    order = [level[0] for level in levels]
    if loss["name"] == "err":
        chance, seen, left = satisfied(loss["top"], s), Fraction(1), Fraction(1)
        for i, d in zip(order, table, strict=True):
            left -= d * chance[i] * seen
            seen *= 1 - chance[i]
        return left
    gained = gains(str(loss["gain"]), s)
    best = sum(g * d for g, d in zip(sorted(gained, reverse=True), table, strict=True))
    if best <= 0 or not any(s):
        return Fraction(0)
    return 1 - sum((gained[i] * d for i, d in zip(order, table, strict=True)), Fraction(0)) / best


def gains(name: str, s: list[Fraction], nearly: bool = False) -> list[Fraction]:
    """Return G(s): ``s``, ``2^s - 1`` or ``e^s``; irrational values only if approximations are allowed."""
    if name == "identity":
        return s
    bounded = name in ("exp2", "exp") and all(abs(x) <= 100 for x in s)
    require(bounded, "gains are identity, exp2 or exp, of scores up to 100")
    if name == "exp2" and all(x.denominator == 1 for x in s):
        return [Fraction(2) ** int(x) - 1 for x in s]
    if not nearly:
        raise Irrational("gains are identity, or exp2 of whole scores up to 100: others are irrational")
    return [raised(None, x) if name == "exp" else raised(Fraction(2), x) - 1 for x in s]


def satisfied(top: object, s: list[Fraction], nearly: bool = False) -> list[Fraction]:
    """Return the probability to satisfy, ``(2^s - 1) / 2^top`` within [0, 1]."""
    if isinstance(top, str) and not nearly:
        raise Irrational("the largest grade is a whole number: with another one chances are irrational")
    scale = raised(Fraction(2), rational(top)) if isinstance(top, str) else Fraction(2) ** whole(top, 0, 100, "top")
    return [min(max(g / scale, Fraction(0)), Fraction(1)) for g in gains("exp2", s, nearly)]


def aggregated(mu: list[tuple[Fraction, Structure]], name: str, k: object, m: int) -> list[tuple[Fraction, Structure]]:
    """Return the law of ``s(Y_1..Y_k)`` for independent Y of mu, by aggregators that are exact."""
    if k == "inf":
        return [(Fraction(1), _aggregate(name, mean_graph(mu), m))]
    count = whole(k, 1, 100, "k")
    ways = comb(len(mu) + count - 1, count) * count
    require(ways <= MOST_DRAWS, "there are too many ways to draw k judgments")
    found: dict[tuple[tuple[tuple[int, int], Fraction], ...], Fraction] = {}
    for chosen in itertools.combinations_with_replacement(range(len(mu)), count):
        chance = Fraction(factorial(count))
        graph: Graph = {}
        for at in set(chosen):
            weight, own = mu[at]
            times = chosen.count(at)
            chance *= weight**times / factorial(times)
            for pair, value in own.items():  # type: ignore[union-attr]
                graph[pair] = graph.get(pair, Fraction(0)) + value * times / count
        key = tuple(sorted(graph.items()))
        found[key] = found.get(key, Fraction(0)) + chance
        require(len(found) <= LARGEST_SEEN, f"aggregation makes more than {LARGEST_SEEN} structures")
    return [(chance, _aggregate(name, dict(key), m)) for key, chance in found.items()]


def _aggregate(name: str, mean: Graph, m: int) -> Structure:
    if name == "average-adjacency":
        return mean
    if name == "difference-graph":
        leads = {(i, j): w - mean.get((j, i), Fraction(0)) for (i, j), w in mean.items()}
        return {pair: lead for pair, lead in leads.items() if lead > 0}
    return net_weights(mean, m)


def net_weights(graph: Graph, m: int) -> list[Fraction]:
    """Return each item's weight of outgoing edges less that of incoming edges."""
    net = [Fraction(0)] * m
    for (i, j), weight in graph.items():
        net[i] += weight
        net[j] -= weight
    return net
