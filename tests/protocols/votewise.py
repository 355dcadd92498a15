"""Links and losses vote by vote, of the votes that a cut holds: the plain form that grouped counts are held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, root
from scipy.special import expit, log_ndtr, ndtr

from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.logs.votes import Votes
from rankbench.protocols.folds import Cut
from rankbench.protocols.links import PairOutcomes

LINKS = ("logistic", "probit")
SMALLEST = 1e-100
EQUAL = 1e-12


BINS = 10
"""Classes of predicted chances for `calibration_error`."""

_PRIOR = 1.0
"""Pseudo-votes that keep b finite where scores separate all votes: one that the margin was wrong about."""


class Outcomes(NamedTuple):
    """Votes as the link sees them; arrays of shape (n,).

    Attributes
    ----------
    margins : ndarray of float64
        Score of the winner less that of the loser; for a tie, of the two in any order.
    weights : ndarray of float64
    ties : ndarray of bool
    """

    margins: NDArray[np.float64]
    weights: NDArray[np.float64]
    ties: NDArray[np.bool_]

    @classmethod
    def of_pairs(cls, pairs: PairOutcomes) -> Outcomes:
        """Return one vote for each pair and outcome."""
        size = pairs.margins
        sides = ((size, pairs.won, False), (-size, pairs.lost, False), (size, pairs.tied, True))
        return cls(
            np.concatenate([margins[weight > 0] for margins, weight, _ in sides]),
            np.concatenate([weight[weight > 0] for _, weight, _ in sides]),
            np.concatenate([np.full(int((weight > 0).sum()), tie) for _, weight, tie in sides]),
        )

    def decisive(self) -> Outcomes:
        """Return the votes that someone won."""
        chosen = ~self.ties
        return Outcomes(self.margins[chosen], self.weights[chosen], self.ties[chosen])

    def mean_size(self) -> float:
        """Return the weighted mean size of the margins: no slope in a scale of them is larger."""
        return float(self.weights @ np.abs(self.margins) / self.weights.sum())


def _log_win(margins: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    chance: NDArray[np.float64] = -np.logaddexp(0, -margins) if link == "logistic" else log_ndtr(margins)
    return chance


def _win_slope(margins: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    """Return the slope of `_log_win`; of the probit the ratio of density to chance."""
    if link == "logistic":
        return np.asarray(expit(-margins))
    return np.asarray(np.exp(-(margins**2) / 2 - log_ndtr(margins)) / math.sqrt(2 * math.pi))


def win_slope(votes: Outcomes, b: float, link: str) -> float:
    """Return the slope of `win_log_loss` in b."""
    decisive = votes.decisive()
    slopes = decisive.margins * _win_slope(b * decisive.margins, link)
    return float(-(decisive.weights @ slopes) / decisive.weights.sum())


def win_log_loss(votes: Outcomes, b: float, link: str) -> float:
    """Return the weighted mean of ``-log P(winner wins)`` over the decisive votes, in nats.

    nan if there are none.
    """
    decisive = votes.decisive()
    total = decisive.weights.sum()
    return float(-(decisive.weights @ _log_win(b * decisive.margins, link)) / total) if total > 0 else float("nan")


def fit_link(votes: Outcomes, link: str, pseudo: float = _PRIOR) -> float:
    """Return the b >= 0 of least log loss on the decisive votes.

    One pseudo-vote of the median margin for, and one against, keep b finite.
    """
    decisive = votes.decisive()
    sizes = np.abs(decisive.margins[decisive.margins != 0])
    if not len(sizes):
        return 0.0
    unit = float(np.median(sizes))
    margins = np.concatenate([decisive.margins / unit, [1.0, -1.0]])
    weights = np.concatenate([decisive.weights, [pseudo, pseudo]])

    padded = Outcomes(margins, weights, np.zeros(len(margins), dtype=bool))
    b = least_scale(padded, link)
    # Chances that are hardly better than one half are one half.
    return b / unit if win_log_loss(padded, b, link) < np.log(2) - 1e-12 else 0.0


def least_scale(votes: Outcomes, link: str) -> float:
    """Return the b >= 0 of least `win_log_loss`, which is convex: where its slope is zero, or 0 where it only rises."""
    if win_slope(votes, 0.0, link) >= 0:
        return 0.0
    high = 1.0
    while win_slope(votes, high, link) < 0:
        high *= 2
    return float(brentq(lambda b: win_slope(votes, b, link), 0.0, high, xtol=1e-300, rtol=1e-14))


def fit_tie_link(votes: Outcomes, pseudo: float = _PRIOR) -> tuple[float, float]:
    r"""Return b >= 0 and nu >= 0 of Davidson's model of least three-outcome log loss.

    Chances are proportional to ``exp(d/2), exp(-d/2), nu`` for win, loss and tie, with
    ``d = b (s_i - s_j)``.
    """
    sizes = np.abs(votes.margins[votes.margins != 0])
    unit = float(np.median(sizes)) if len(sizes) else 1.0
    weights = np.concatenate([votes.weights, [pseudo] * 3])
    margins = np.concatenate([votes.margins / unit, [1.0, -1.0, 1.0]])
    ties = np.concatenate([votes.ties, [False, False, True]])
    padded = Outcomes(margins, weights, ties)

    def slopes(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return tie_slopes(padded, x[0], np.exp(x[1]))

    # The loss is convex in (b, log nu): it is least where both slopes are zero, and at b = 0 where it would fall below.
    level = np.log(2 * weights[ties].sum() / weights[~ties].sum())
    if slopes(np.array([0.0, level]))[0] >= 0:
        return 0.0, float(np.exp(level))
    found = root(slopes, np.array([0.1, level]), tol=1e-14).x
    np.testing.assert_allclose(slopes(found), 0, atol=1e-10)
    return float(found[0]) / unit, float(np.exp(found[1]))


def tie_slopes(votes: Outcomes, b: float, nu: float) -> NDArray[np.float64]:
    """Return the slopes of `tie_log_loss` in b and in log nu, shape (2,)."""
    d = b * votes.margins
    top = np.maximum(np.abs(d) / 2, np.log(nu))
    up, down, tied = (np.exp(power - top) for power in (d / 2, -d / 2, np.log(nu)))
    whole = up + down + tied
    in_b = votes.margins / 2 * ((up - down) / whole - ~votes.ties)
    return np.array([votes.weights @ in_b, votes.weights @ (tied / whole - votes.ties)]) / votes.weights.sum()


def tie_log_loss(votes: Outcomes, b: float, nu: float) -> float:
    """Return the weighted mean of ``-log P(outcome)`` over wins, losses and ties, in nats."""
    d = b * votes.margins
    # log of exp(d/2) + exp(-d/2) + nu, without overflow
    whole = np.logaddexp(np.logaddexp(d / 2, -d / 2), np.log(nu) if nu > 0 else -np.inf)
    said = np.where(votes.ties, np.log(nu) if nu > 0 else -np.inf, d / 2)
    return float(-(votes.weights @ (said - whole)) / votes.weights.sum())


def calibration_error(votes: Outcomes, b: float, link: str) -> float:
    """Return the expected calibration error on the decisive votes, in [0, 1]; nan if there are none.

    Chances are put into `BINS` classes of equal width; the mean of |share of wins - mean
    chance| over the classes, weighted by their votes. A vote counts as a win at p and as
    a loss at 1 - p, half each: which of the two items is named first means nothing.
    """
    decisive = votes.decisive()
    if not len(decisive.margins):
        return float("nan")
    p = np.clip(expit(b * decisive.margins) if link == "logistic" else ndtr(b * decisive.margins), 0, 1)
    chance = np.concatenate([p, 1 - p])
    won = np.concatenate([np.ones(len(p)), np.zeros(len(p))])
    weight = np.concatenate([decisive.weights, decisive.weights]) / 2
    bins = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, weight * (won - chance), BINS)
    return float(np.abs(gaps).sum() / weight.sum())


class _Chosen(NamedTuple):
    point: int
    link: Any
    b: float
    b_ties: float
    nu: float


def _judged(
    grid: Sequence[Aggregator],
    votes: Votes,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the metrics of one contender on the test votes, and what was chosen for it."""
    chosen = _choose(grid, votes, train, folds)
    held = _outcomes(scores_of(grid[chosen.point], votes, train), votes, test)
    decisive = held.decisive()
    wrong = (decisive.margins < 0) + 0.5 * (decisive.margins == 0)
    total = decisive.weights.sum()
    losses = {
        "disagreement": float(decisive.weights @ wrong / total) if total > 0 else math.nan,
        "log-loss": win_log_loss(held, chosen.b, chosen.link),
        "calibration": calibration_error(held, chosen.b, chosen.link),
        "three-outcome-loss": tie_log_loss(held, chosen.b_ties, chosen.nu),
    }
    info = {"point": float(chosen.point), "probit": float(chosen.link == "probit"), "scale": chosen.b, "nu": chosen.nu}
    return losses, info


def _choose(
    grid: Sequence[Aggregator],
    votes: Votes,
    train: NDArray[np.int64],
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> _Chosen:
    """Choose parameters and link by the log loss of margins that were predicted out of fold."""
    predicted = np.zeros(len(train), dtype=np.bool_)
    for _, outside in folds:
        predicted[outside] = True
    rows = train[predicted]
    best: tuple[float, int, Any, float, Outcomes] | None = None
    for number, point in enumerate(grid):
        margins = np.zeros(len(train))
        for inside, outside in folds:
            margins[outside] = _outcomes(scores_of(point, votes, train[inside]), votes, train[outside]).margins
        seen = Outcomes(margins[predicted], votes.weights[rows], votes.ties[rows])
        for link in LINKS:
            b = fit_link(seen, link, _usual_weight(seen.decisive()))
            loss = win_log_loss(seen, b, link)
            if best is None or loss < best[0] - 1e-12:
                best = (loss, number, link, b, seen)
    if best is None:
        raise SpecError("the grid has no point")
    _, number, link, b, seen = best
    return _Chosen(number, link, b, *fit_tie_link(seen, _usual_weight(seen)))


def _usual_weight(votes: Outcomes) -> float:
    """Return what a vote weighs on average, as pseudo-votes do."""
    return float(votes.weights.mean()) if len(votes.weights) else _PRIOR


def _outcomes(scores: NDArray[np.float64], votes: Votes, rows: NDArray[np.int64]) -> Any:
    margins = scores[votes.winners[rows]] - scores[votes.losers[rows]]
    margins[np.abs(margins) < max(SMALLEST, EQUAL * np.abs(scores).max())] = 0.0
    return Outcomes(margins, votes.weights[rows], votes.ties[rows])


def rows_of(cut: Cut, groups: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the votes that a cut of groups learns from, and those that it tests on."""
    part = cut.part[groups]
    return np.flatnonzero((part >= 0) & (part < cut.tested)), np.flatnonzero(part == cut.tested)


def scores_of(aggregator: Aggregator, votes: Votes, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores from votes one by one, where the class knows them; else from their sums."""
    if not isinstance(aggregator, CountAggregator):
        return aggregator.from_comparisons(votes.comparisons(rows), len(votes.items))
    return aggregator.from_counts(votes.counts(rows))
