"""Newton's method fits Davidson's model of comparisons with ties to counts.

References
----------
.. [D70] R. R. Davidson. On extending the Bradley-Terry model to accommodate ties in paired
   comparison experiments. Journal of the American Statistical Association 65(329), 1970.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import PairFit, fit_bradley_terry
from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.pair_counts import PairCounts, connected_components, strongly_connected, within

_STEPS = 200
_ROUNDING = 1e-15


def fit_davidson(
    counts: PairCounts,
    *,
    ridge: float = 0.0,
    start: NDArray[np.float64] | None = None,
    start_nu: float = 0.0,
    tolerance: float = 1e-6,
) -> PairFit:
    r"""Maximize the likelihood of Davidson's model ([D70]_) of counted judgments, perhaps with a ridge.

    .. math:: P(i \succ j) = \frac{e^{s_i}}{D_{ij}}, \quad P(i \sim j) = \frac{\nu e^{(s_i + s_j)/2}}{D_{ij}}, \quad
       D_{ij} = e^{s_i} + e^{s_j} + \nu e^{(s_i + s_j)/2}

    over the scores and :math:`\nu`, with the penalty :math:`\rho |s|^2 / 2`. With a ridge it is the
    aggregator `davidson`. Without one, scores are sought within the strongly connected components of "beat, or
    tied with", as for `fit_bradley_terry`, and :math:`\nu` is estimated from the judgments within them; they
    exist where the wins alone connect a component, but may not where it takes the ties: two items of which one
    won and tied, but never lost, run apart until rounding stops them.

    Without ties :math:`\nu = 0` and the scores are those of Bradley-Terry; if all are ties,
    :math:`\nu = \infty` and all scores are 0.

    Newton's method in :math:`(s, \log \nu)`, where the problem is convex; O(P) a step.

    Parameters
    ----------
    counts : PairCounts
    ridge : float
    start : ndarray of float64, shape (m,), optional
        Scores to start at; by default all items are equal.
    start_nu : float
        Where to start in nu; 0 and inf: where all items are equal.
    tolerance : float
        The last Newton step changes no score, and not :math:`\log \nu`, by more.

    Raises
    ------
    InputError
        No pairs.
    ContenderDiverged
        Rounding keeps the steps above the tolerance; without a ridge, there is no maximum.
    """
    if not len(counts):
        raise InputError("there are no comparisons to fit")
    scales = connected_components(counts) if ridge > 0 else strongly_connected(counts)
    inside = within(counts, scales, ridge)
    if not inside.ties.any():
        return fit_bradley_terry(counts, ridge=ridge, start=start, tolerance=tolerance)
    if not (inside.forward.any() or inside.backward.any()):
        return PairFit(np.zeros(counts.m), scales, ridge, np.inf)
    problem = _Problem(inside, Laplacian(inside.starts, inside.high, ridge, scales))
    begin = np.zeros(counts.m) if start is None else scales.centered(start)
    nu = start_nu if 0 < start_nu < np.inf else 2 * problem.ties / problem.decisive.sum()
    scores, log_nu, iterations = problem.newton(begin, float(np.log(nu)), tolerance)
    return PairFit(scales.centered(scores), scales, ridge, float(np.exp(log_nu)), iterations)


def tie_chances(
    graph: Laplacian, scores: NDArray[np.float64], log_nu: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the chances of low, high and a tie of each pair in Davidson's model, each (P,)."""
    half = (scores[graph.low] - scores[graph.high]) / 2
    top = np.maximum(np.abs(half), log_nu)
    low, high, tie = np.exp(half - top), np.exp(-half - top), np.exp(log_nu - top)
    total = low + high + tie
    return low / total, high / total, tie / total


class _Problem:
    """Minus the penalized log-likelihood in (s, log nu)."""

    def __init__(self, counts: PairCounts, graph: Laplacian) -> None:
        self.graph = graph
        self.judged = counts.forward + counts.backward + counts.ties
        self.decisive = counts.forward + counts.backward
        self.lead = (counts.forward - counts.backward) / 2
        self.ties = float(counts.ties.sum())
        self.noise = _ROUNDING * float(np.linalg.norm(self.judged))

    def gradient(
        self, scores: NDArray[np.float64], p: NDArray[np.float64], q: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float, float]:
        """Return the gradient in the scores, (m,), that in log nu, and the norm of both."""
        slope = self.graph.item_sums(self.judged * (p - q) / 2 - self.lead) + self.graph.ridge * scores
        slope = self.graph.balanced(slope)
        # Of what was decided, and not of the ties: where most are ties, 1 - r would lose all digits.
        slope_nu = float((self.decisive - self.judged * (p + q)).sum())
        return slope, slope_nu, float(np.hypot(np.linalg.norm(slope), slope_nu))

    def newton(
        self, scores: NDArray[np.float64], log_nu: float, tolerance: float
    ) -> tuple[NDArray[np.float64], float, int]:
        """Return the scores, log nu, the largest last change and the number of steps, from a start."""
        from rankbench.aggregators.kernels.likelihood import FAR

        graph = self.graph
        p, q, r = tie_chances(graph, scores, log_nu)
        slope, slope_nu, norm = self.gradient(scores, p, q)
        for iteration in range(1, _STEPS + 1):
            if norm <= self.noise:
                return scores, log_nu, iteration - 1
            bend = self.judged * (p + q - (p - q) ** 2) / 4
            cross = graph.balanced(self.graph.item_sums(-self.judged * r * (p - q) / 2))
            bend_nu = float(self.judged @ (r * (p + q)))
            # Both solved to a relative 1e-10: the steps of log nu and of the scores hang together.
            one = graph.solve(bend, slope, 1e-10 * float(np.linalg.norm(slope)))
            other = graph.solve(bend, cross, 1e-10 * float(np.linalg.norm(cross)))
            step_nu = (slope_nu - float(cross @ one)) / (bend_nu - float(cross @ other))
            step = one - step_nu * other
            change = max(float(np.abs(step).max()), abs(step_nu))
            if change <= tolerance:
                return scores - step, log_nu - step_nu, iteration
            # How far a step moves the log-odds of what may come of a pair; damped as Bradley-Terry's steps are.
            moved = np.abs(step[graph.low] - step[graph.high]).max()
            lead = float(max(moved, moved / 2 + abs(step_nu)))
            length = 1.0 if lead <= FAR else float(np.log1p(lead)) / lead
            while True:
                trial, trial_nu = scores - length * step, log_nu - length * step_nu
                p, q, r = tie_chances(graph, trial, trial_nu)
                slope, slope_nu, after = self.gradient(trial, p, q)
                # Backtracking on the gradient's norm: sums of large weights hide small changes of the objective.
                if lead > FAR or after <= max((1 - 1e-4 * length) * norm, self.noise):
                    break
                length /= 2
                if length < 1e-10:
                    raise ContenderDiverged(
                        f"Davidson: rounding keeps the scores from coming nearer than {change:.2g} to the maximum"
                    )
            scores, log_nu, norm = trial, trial_nu, after
        raise ContenderDiverged(f"Davidson: not at the maximum after {_STEPS} Newton steps")
