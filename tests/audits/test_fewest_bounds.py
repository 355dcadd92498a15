"""Numbers of votes that are proved harmless, against minima of formulas and of refits by SciPy."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from scipy.optimize import minimize

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.likelihood.bradley_terry import PairFit
from rankbench.audits.fewest_bounds import harmless_votes
from rankbench.audits.fewest_by_influence import Removal
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.open import open_log
from rankbench.logs.votes import load_votes
from rankbench.plugin import manager

FIRTH = "bradley-terry:penalty=firth"


def harmless(
    rows: list[tuple[str, str, bool]], method: str | CountAggregator, most: int, weights: list[float] | None = None
) -> int:
    """Return what is proved of votes, each a winner, a loser and whether it is a tie."""
    log = pl.DataFrame(rows, ["winner", "loser", "tie"], orient="row")
    log = log if weights is None else log.with_columns(weight=pl.Series(weights))
    votes = load_votes(open_log(log, columns="" if weights is None else "keep=weight").judged().frame)
    named = manager.get(Aggregator, method) if isinstance(method, str) else method
    scores = -Removal(votes, votes.numbers, named, 0).leads(np.zeros(0, np.int64))[0]
    return harmless_votes(votes, named, scores.max() - scores, int(np.argmax(scores)), most)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(60, 40, 0), (30, 25, 10), (500, 440, 0), (9, 8, 0)])
def test_of_two_items_the_bound_is_near_the_minimum(wins: int, losses: int, ties: int) -> None:
    """The first of two stays first until it has fewer wins, whatever the penalty."""
    rows = [("a", "b", False)] * wins + [("b", "a", False)] * losses + [("a", "b", True)] * ties
    for method in (FIRTH, "bradley-terry:ridge=0.5"):
        found = harmless(rows, method, wins)
        assert 0.6 * (wins - losses) - 2 <= found <= wins - losses


def first_of(won: np.ndarray, *, firth: bool) -> int:
    """Return the first of three items by a maximized penalized likelihood, given wins of each over each."""
    judged = won + won.T

    def loss(free: np.ndarray) -> float:
        scores = np.append(free, -free.sum())
        chance = 1 / (1 + np.exp(scores[None, :] - scores[:, None]))
        fit = -(won * np.log(chance)).sum()
        if not firth:
            return float(fit + 0.25 * scores @ scores)
        bend = judged * chance * (1 - chance)
        return float(fit - 0.5 * np.linalg.slogdet((np.diag(bend.sum(axis=1)) - bend)[:2, :2])[1])

    found = minimize(loss, np.zeros(2), method="BFGS").x
    return int(np.argmax(np.append(found, -found.sum())))


@pytest.mark.parametrize("firth", [True, False])
@pytest.mark.parametrize("seed", part_of(range(3)))
def test_no_set_of_so_many_votes_changes_the_first_of_three(seed: int, *, firth: bool) -> None:
    rng = np.random.default_rng([20261126, seed])
    won = rng.integers(4, 16, (3, 3)) + np.array([[4], [2], [0]])
    np.fill_diagonal(won, 0)
    cells = list(itertools.permutations(range(3), 2))
    rows = [("abc"[i], "abc"[j], False) for i, j in cells for _ in range(won[i, j])]
    found = harmless(rows, FIRTH if firth else "bradley-terry:ridge=0.5", len(rows))
    first, size = first_of(won, firth=firth), min(found, 3)
    assert found >= 1
    for removed in itertools.combinations_with_replacement(cells, size):
        left = won.astype(float)
        for cell in removed:
            left[cell] -= 1
        if left.min() >= 0:
            assert first_of(left, firth=firth) == first


def test_other_methods_and_scales_have_no_bound() -> None:
    rows = [("a", "b", False)] * 60 + [("b", "a", False)] * 40
    assert harmless(rows, "davidson:penalty=firth", 60) == 0
    assert harmless(rows, "bradley-terry:penalty=none", 60) == 0
    assert harmless([*rows, ("c", "d", False)], FIRTH, 60) == 0

    class Reversed(BradleyTerry):
        def fitted(self, counts: PairCounts, start: np.ndarray | None = None) -> PairFit:
            fit = super().fitted(counts, start)
            return replace(fit, scores=-fit.scores)

    assert harmless(rows, Reversed(penalty="firth"), 60) == 0


@pytest.mark.parametrize("lost", [0, 100])
@pytest.mark.parametrize("method", [FIRTH, "bradley-terry:ridge=0.1"])
def test_nothing_is_proved_of_scores_that_rounding_moves(lost: int, method: str) -> None:
    """Beside weights of 1e14, of b over c, solvers stop 0.01 and more from the scores of votes of weight 1."""
    times = {"xa": 600, "ax": 300, "ab": 600, "ba": 660, "bc": 200, "cb": lost}
    rows = [(pair[0], pair[1], False) for pair, count in times.items() for _ in range(count)]
    assert harmless(rows, method, 300, [1e14 if row[0] + row[1] in ("bc", "cb") else 1.0 for row in rows]) == 0


def test_a_ridge_of_next_to_nothing_has_a_bound() -> None:
    """Its matrices were singular."""
    rows = [("a", "b", False)] * 60 + [("b", "a", False)] * 40
    assert harmless(rows, "bradley-terry:ridge=1e-18", 60) == harmless(rows, "bradley-terry:ridge=1e-6", 60) > 10


def test_a_bound_never_exceeds_the_votes_that_change_the_first_place() -> None:
    """Of 12 items whose votes are few, removals that were found change the first place."""
    rng = np.random.default_rng(4)
    one = rng.integers(0, 12, 900)
    other = (one + rng.integers(1, 12, 900)) % 12
    wins = rng.random(900) < 1 / (1 + np.exp(0.15 * (one - other)))
    names = np.array([f"i{k}" for k in range(12)])
    pairs = zip(names[np.where(wins, one, other)], names[np.where(wins, other, one)], strict=True)
    rows = [(str(winner), str(loser), False) for winner, loser in pairs]
    votes = load_votes(open_log(pl.DataFrame(rows, ["winner", "loser", "tie"], orient="row")).judged().frame)
    method = manager.get(Aggregator, FIRTH)
    scores = -Removal(votes, votes.numbers, method, 0).leads(np.zeros(0, np.int64))[0]
    first, rival = np.argsort(-scores)[:2].tolist()
    removal = Removal(votes, votes.numbers, method, first)
    passing = removal.passing(rival)
    assert passing is not None
    found = harmless_votes(votes, method, removal.leads(np.zeros(0, np.int64))[0], first, 500)
    assert 0.5 * len(removal.shrunk(passing, rival)) <= found < len(removal.shrunk(passing, rival))
