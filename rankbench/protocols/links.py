"""From scores to the chances of a vote's outcomes, and how good those chances were.

Any method that scores items becomes a model of votes by a *link*: the chance that i beats
j depends on ``b (s_i - s_j)``, b >= 0 fitted on votes that the scores have not seen.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr

__all__ = ["LINKS", "Link", "Outcomes", "calibration_error", "fit_link", "fit_tie_link", "tie_log_loss", "win_log_loss"]

Link: TypeAlias = Literal["logistic", "probit"]
LINKS: tuple[Link, ...] = ("logistic", "probit")

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

    def decisive(self) -> Outcomes:
        """Return the votes that someone won."""
        chosen = ~self.ties
        return Outcomes(self.margins[chosen], self.weights[chosen], self.ties[chosen])


def _log_win(margins: NDArray[np.float64], link: Link) -> NDArray[np.float64]:
    chance: NDArray[np.float64] = -np.logaddexp(0, -margins) if link == "logistic" else log_ndtr(margins)
    return chance


def win_log_loss(votes: Outcomes, b: float, link: Link) -> float:
    """Return the weighted mean of ``-log P(winner wins)`` over the decisive votes, in nats.

    nan if there are none.
    """
    decisive = votes.decisive()
    total = decisive.weights.sum()
    return float(-(decisive.weights @ _log_win(b * decisive.margins, link)) / total) if total > 0 else float("nan")


def fit_link(votes: Outcomes, link: Link) -> float:
    """Return the b >= 0 of least log loss on the decisive votes.

    One pseudo-vote of the median margin for, and one against, keep b finite.
    """
    decisive = votes.decisive()
    sizes = np.abs(decisive.margins[decisive.margins != 0])
    if not len(sizes):
        return 0.0
    unit = float(np.median(sizes))
    margins = np.concatenate([decisive.margins / unit, [1.0, -1.0]])
    weights = np.concatenate([decisive.weights, [_PRIOR, _PRIOR]])

    def value(x: NDArray[np.float64]) -> float:
        return float(-(weights @ _log_win(np.exp(x[0]) * margins, link)) / weights.sum())

    found = minimize(value, np.zeros(1), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12})
    b = float(np.exp(found.x[0]))
    # A wrong sign on the whole: chances of one half are the best that b >= 0 can do.
    return b / unit if found.fun < np.log(2) - 1e-12 else 0.0


def fit_tie_link(votes: Outcomes) -> tuple[float, float]:
    r"""Return b >= 0 and nu >= 0 of Davidson's model of least three-outcome log loss.

    Chances are proportional to ``exp(d/2), exp(-d/2), nu`` for win, loss and tie, with
    ``d = b (s_i - s_j)``.
    """
    sizes = np.abs(votes.margins[votes.margins != 0])
    unit = float(np.median(sizes)) if len(sizes) else 1.0
    weights = np.concatenate([votes.weights, [_PRIOR] * 3])
    margins = np.concatenate([votes.margins / unit, [1.0, -1.0, 1.0]])
    ties = np.concatenate([votes.ties, [False, False, True]])
    padded = Outcomes(margins, weights, ties)

    def value(x: NDArray[np.float64]) -> float:
        return tie_log_loss(padded, float(np.exp(x[0])), float(np.exp(x[1])))

    found = minimize(value, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12})
    return float(np.exp(found.x[0])) / unit, float(np.exp(found.x[1]))


def tie_log_loss(votes: Outcomes, b: float, nu: float) -> float:
    """Return the weighted mean of ``-log P(outcome)`` over wins, losses and ties, in nats."""
    d = b * votes.margins
    # log of exp(d/2) + exp(-d/2) + nu, without overflow
    whole = np.logaddexp(np.logaddexp(d / 2, -d / 2), np.log(nu) if nu > 0 else -np.inf)
    said = np.where(votes.ties, np.log(nu) if nu > 0 else -np.inf, d / 2)
    return float(-(votes.weights @ (said - whole)) / votes.weights.sum())


def calibration_error(votes: Outcomes, b: float, link: Link) -> float:
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
