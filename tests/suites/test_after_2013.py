"""The limits that the suite after-2013 claims: exact arithmetic on the laws, and aggregators on exact shares."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod

import numpy as np
import polars as pl
import pytest

import rankbench
from rankbench.data.simulators.btl import make_populations
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import structure_of
from rankbench.interfaces.queries import Comparisons
from rankbench.plugin import manager
from rankbench.protocols.aggregation import misordered
from rankbench.suites.suite_files import read_suite

SEED = 20130502
M, POPULATIONS = 6, 100
Law = list[list[Fraction]]
"""Shares of wins, best item first; 1/2 on the diagonal."""


@cache
def laws(name: str) -> list[Law]:
    """Return the populations of an experiment, to a millionth: every pair's two shares sum to one exactly."""
    found = []
    made = make_populations(name, POPULATIONS, M, SEED)  # type: ignore[arg-type]
    for wins, scores in zip(made.wins, made.scores, strict=True):
        order = np.argsort(-scores)
        law = [[Fraction(1, 2)] * M for _ in range(M)]
        for i, j in combinations(range(M), 2):
            law[i][j] = Fraction(float(wins[order[i], order[j]])).limit_denominator(10**6)
            law[j][i] = 1 - law[i][j]
        found.append(law)
    return found


def solved(matrix: Law, wanted: list[Fraction]) -> list[Fraction]:
    """Return the exact solution of a linear system, by elimination."""
    size = len(wanted)
    rows = [[*row, value] for row, value in zip(matrix, wanted, strict=True)]
    for at in range(size):
        pivot = next(row for row in range(at, size) if rows[row][at] != 0)
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for other in range(size):
            if other != at and rows[other][at] != 0:
                factor = rows[other][at] / rows[at][at]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[at], strict=True)]
    return [rows[at][size] / rows[at][at] for at in range(size)]


def borda(law: Law) -> list[Fraction]:
    """Return sums of shares; the likelihood equations have expected wins equal to these, in the same order."""
    return [sum(row, Fraction(0)) for row in law]


def least_squares(law: Law) -> list[Fraction]:
    """Return products of odds: their logarithms are M times the least-squares scores of all pairs."""
    return [prod((p / (1 - p) for p in row), start=Fraction(1)) for row in law]


def rank_centrality(law: Law) -> list[Fraction]:
    """Return the stationary distribution of a walk from i to j with the share of wins of j, times a constant."""
    flow = [[law[i][j] if i != j else -sum(law[k][i] for k in range(M) if k != i) for j in range(M)] for i in range(M)]
    flow[-1] = [Fraction(1)] * M
    return solved(flow, [Fraction(0)] * (M - 1) + [Fraction(1)])


def wrong(scores: list[Fraction]) -> Fraction:
    """Return the share of pairs that scores have in another order than best item first, level ones half."""
    pairs = list(combinations(scores, 2))
    return sum((Fraction(a < b) + Fraction(a == b) / 2 for a, b in pairs), Fraction(0)) / len(pairs)


def share(law: str, limit: Callable[[Law], list[Fraction]]) -> float:
    return float(sum((wrong(limit(one)) for one in laws(law)), Fraction(0)) / POPULATIONS)


def claim_text(name: str) -> str:
    suite = read_suite(manager.suites()["after-2013"])
    assert suite.seed == SEED
    return next(claim.text for one in suite.experiments for claim in one.claims if claim.id == name)


def test_limits_under_btl_are_right() -> None:
    for limit in (borda, least_squares, rank_centrality):
        assert share("btl", limit) == 0


@pytest.mark.full
def test_limits_under_low_noise() -> None:
    assert share("low-noise", borda) == 0
    for limit in (least_squares, rank_centrality):
        assert f" {100 * share('low-noise', limit):.1f}%" in claim_text("N3")


@pytest.mark.full
def test_limits_under_generalized_low_noise() -> None:
    for limit in (borda, least_squares, rank_centrality):
        assert f" {100 * share('generalized-low-noise', limit):.1f}%" in claim_text("N5")


def test_a_linear_combination_of_shares_has_the_order_of_the_pairs() -> None:
    """Generalized low noise: a with P a = (m - 1, ..., 0) exactly."""
    for law in laws("generalized-low-noise"):
        wanted = [Fraction(M - 1 - i) for i in range(M)]
        vector = solved(law, wanted)
        assert [sum(p * a for p, a in zip(row, vector, strict=True)) for row in law] == wanted
        assert all(law[i][j] > Fraction(1, 2) for i, j in combinations(range(M), 2))


@pytest.mark.parametrize("law", ["btl", "low-noise", "generalized-low-noise"])
def test_aggregators_of_exact_shares_have_the_order_of_their_limits(law: str) -> None:
    limits: dict[str, Callable[[Law], list[Fraction]]] = {
        "budgeted": borda,
        "bradley-terry": borda,
        "thurstone-mosteller": least_squares,
        "rank-centrality:scale=log": rank_centrality,
        "svm-rank-aggregation": lambda law: [Fraction(-i) for i in range(M)],
        "kemeny": lambda law: [Fraction(-i) for i in range(M)],
    }
    winners, losers = np.nonzero(~np.eye(M, dtype=bool))
    for one in laws(law)[:10]:
        weights = np.array([1e9 * float(one[i][j]) for i, j in zip(winners, losers, strict=True)])
        votes = Comparisons(np.array([0, 30]), winners.astype(np.int32), losers.astype(np.int32), weights)
        for name, limit in limits.items():
            scores = structure_of(rankbench.get(Aggregator, name), votes, M)
            exact = limit(one)
            order = np.array(sorted(range(M), key=lambda i, exact=exact: -exact[i]))
            assert misordered(scores, order) == 0, name


UTILITY = [Fraction(2 * i + 1, 20) for i in range(10)]
"""Items of the experiments on hidden context."""


def preferred(groups: list[tuple[int, int]]) -> Law:
    """Return how often i is preferred to j, of groups of judges who multiply the last two utilities."""
    law = [[Fraction(0)] * 10 for _ in range(10)]
    for group in groups:
        own = [*UTILITY[:8], *(factor * u for factor, u in zip(group, UTILITY[8:], strict=True))]
        for i, j in product(range(10), repeat=2):
            if i != j:
                law[i][j] += (Fraction(own[i] > own[j]) + Fraction(own[i] == own[j]) / 2) / len(groups)
    return law


def test_borda_has_8_of_45_pairs_against_expected_utility() -> None:
    counts = borda(preferred(list(product((2, 0), repeat=2))))
    assert len(set(counts)) == 10
    assert wrong(counts[::-1]) == Fraction(8, 45)
    # Both items that judges disagree about stand between items of utility .35 and .45.
    assert counts[3] < counts[8] < counts[9] < counts[4]


def test_the_order_of_a_log_is_right_by_group_and_not_of_all_judges() -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    pair = np.array([rng.choice(10, 2, replace=False) for _ in range(n)])
    group = rng.integers(2, size=n)
    own = np.tile([float(u) for u in UTILITY], (n, 1))
    own[:, 8:] *= np.where(group == 0, 2.0, 0.0)[:, None]
    rows = np.arange(n)
    first = own[rows, pair[:, 0]] + 1e-9 * rng.random(n) > own[rows, pair[:, 1]]
    names = np.array([f"u{i}" for i in range(10)])
    votes = pl.DataFrame(
        {
            "winner": names[np.where(first, pair[:, 0], pair[:, 1])],
            "loser": names[np.where(first, pair[:, 1], pair[:, 0])],
            "judges": np.array(["doubling", "zeroing"])[group],
        }
    )

    def best_first(table: pl.DataFrame) -> list[str]:
        return table.sort("score", descending=True)["item"].to_list()  # type: ignore[no-any-return]

    risen = [f"u{i}" for i in range(9, -1, -1)]
    by_group = rankbench.aggregate(votes, "bradley-terry:ridge=0.1", by="judges").table
    orders = {name: best_first(table) for (name,), table in by_group.group_by("query")}
    assert orders["doubling"] == risen
    assert orders["zeroing"][:8] == risen[2:]
    pooled = best_first(rankbench.aggregate(votes, "bradley-terry").table)
    assert pooled == ["u7", "u6", "u5", "u4", "u9", "u8", "u3", "u2", "u1", "u0"]
