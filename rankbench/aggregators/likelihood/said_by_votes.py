"""What votes say about scores, and about how likely ties are, near a fit: slopes and curvatures of their likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.davidson import DavidsonFit, tie_chances
from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.errors import ContenderDiverged
from rankbench.kinds.counts import PairCounts, TieRule
from rankbench.kinds.scales import Scales

__all__ = ["SaidByVotes", "bradley_terry_says", "davidson_says"]


@dataclass(frozen=True, eq=False)
class SaidByVotes:
    """Derivatives of the log-likelihood of one vote on each of P pairs, at a fit.

    A model has scores alone, or one more parameter, on which all pairs depend: Davidson's log nu. What is
    said of that is 0 where there is none.

    Attributes
    ----------
    slope, extra : ndarray of float64, shape (3, P)
        By the difference of the pair's scores, and by the parameter: of a win of `low`, of `high`, of a tie.
    bend, cross, bend_extra : ndarray of float64, shape (P,)
        Information: of the difference, of both, of the parameter.
    pseudo : ndarray of float64, shape (3, P)
        Weight of pseudo-votes that stand for a penalty, by outcome.
    more : bool
        Whether there is one more parameter.
    counted : ndarray of float64, shape (3,)
        How much of a vote each outcome is for this model: ties may be dropped.
    """

    slope: NDArray[np.float64]
    extra: NDArray[np.float64]
    bend: NDArray[np.float64]
    cross: NDArray[np.float64]
    bend_extra: NDArray[np.float64]
    pseudo: NDArray[np.float64]
    more: bool
    counted: NDArray[np.float64]

    def judged(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the weight of votes on each pair, pseudo-votes among them, shape (P,)."""
        cells = np.stack([counts.forward, counts.backward, counts.ties]) + self.pseudo
        weight: NDArray[np.float64] = self.counted @ cells
        return weight

    def inverse(self, graph: Laplacian, judged: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inverse information of so many votes, (d, d): of m scores, and the parameter if there is one.

        Scores sum to zero on every scale.

        Raises
        ------
        ContenderDiverged
            The information is singular.
        """
        found = graph.inverse(judged * self.bend)
        if graph.ridge == 0:
            found = np.ascontiguousarray(graph.scales.centered(graph.scales.centered(found).T))
        if not self.more:
            return found
        cross = _incidence(graph, judged * self.cross)
        ahead = found @ cross
        left = float(judged @ self.bend_extra) - float(cross @ ahead)
        if not left > 0:
            raise ContenderDiverged("the log does not say how likely ties are")
        whole = np.empty((graph.m + 1, graph.m + 1))
        whole[:-1, :-1] = found + np.outer(ahead, ahead) / left
        whole[-1, :-1] = whole[:-1, -1] = -ahead / left
        whole[-1, -1] = 1 / left
        return whole

    def middle(
        self, graph: Laplacian, weights: NDArray[np.float64], slope: NDArray[np.float64], extra: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the sum over single votes of the products of what they say, (d, d).

        Parameters
        ----------
        weights, slope, extra : ndarray of float64, shape (3, P)
            How many votes there are, and what each says.
        """
        m = graph.m
        whole = np.zeros((m + self.more, m + self.more))
        squares = (weights * slope**2).sum(axis=0)
        scores = whole[:m, :m]
        scores[graph.low, graph.high] = scores[graph.high, graph.low] = -squares
        np.fill_diagonal(scores, np.bincount(graph.low, squares, m) + np.bincount(graph.high, squares, m))
        if self.more:
            whole[m, :m] = whole[:m, m] = _incidence(graph, (weights * slope * extra).sum(axis=0))
            whole[m, m] = (weights * extra**2).sum()
        return whole


def bradley_terry_says(
    counts: PairCounts,
    scores: NDArray[np.float64],
    ties: TieRule = "half",
    *,
    scales: Scales | None = None,
    pseudo: NDArray[np.float64] | None = None,
) -> SaidByVotes:
    """Return what votes say in the Bradley-Terry model.

    Parameters
    ----------
    counts : PairCounts
    scores : ndarray of float64, shape (m,)
    ties : {"half", "drop"}
    scales : Scales, optional
        Votes between two of them say nothing.
    pseudo : ndarray of float64, shape (3, P), optional
    """
    from scipy.special import expit

    low, high = counts.low, counts.high
    p, q = expit(scores[low] - scores[high]), expit(scores[high] - scores[low])
    slope = np.stack([q, -p, (q - p) / 2 if ties == "half" else np.zeros(len(p))])
    bend, nothing = p * q, np.zeros(len(p))
    if scales is not None:
        inside = scales.scale_of[low] == scales.scale_of[high]
        slope, bend = slope * inside, bend * inside
    none = np.zeros_like(slope)
    counted = np.array([1.0, 1.0, 1.0 if ties == "half" else 0.0])
    return SaidByVotes(slope, none, bend, nothing, nothing, none if pseudo is None else pseudo, False, counted)


def davidson_says(counts: PairCounts, fit: DavidsonFit, pseudo: NDArray[np.float64] | None = None) -> SaidByVotes:
    """Return what votes say in Davidson's model, of the scores and of log nu.

    Parameters
    ----------
    counts : PairCounts
        Some votes are ties, and some are not.
    fit : DavidsonFit
    pseudo : ndarray of float64, shape (3, P), optional
    """
    graph = Laplacian(counts.starts, counts.high, fit.ridge, fit.scales)
    p, q, r = tie_chances(graph, fit.scores, float(np.log(fit.nu)))
    mean = (p - q) / 2
    slope = np.stack([0.5 - mean, -0.5 - mean, -mean])
    extra = np.stack([-r, -r, p + q])
    bend, cross, bend_extra = (p + q - (p - q) ** 2) / 4, -r * mean, r * (p + q)
    if fit.ridge == 0:
        # Without a penalty votes between scales say nothing; with Firth's there are none.
        inside = fit.scales.scale_of[graph.low] == fit.scales.scale_of[graph.high]
        slope, extra, bend, cross, bend_extra = (one * inside for one in (slope, extra, bend, cross, bend_extra))
    return SaidByVotes(
        slope, extra, bend, cross, bend_extra, np.zeros_like(slope) if pseudo is None else pseudo, True, np.ones(3)
    )


def _incidence(graph: Laplacian, pair: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of a number of each pair over an item's pairs, minus where it is `high`, (m,)."""
    sums: NDArray[np.float64] = np.zeros(graph.m)
    sums += np.bincount(graph.low, pair, graph.m)
    sums -= np.bincount(graph.high, pair, graph.m)
    return sums
