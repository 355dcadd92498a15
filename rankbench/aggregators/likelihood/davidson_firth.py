r"""Fits of Davidson's model of comparisons with ties; Firth's penalty on it and on the model of Bradley and Terry.

Newton's method fits the model to counts. Firth's penalty adds half the log determinant of the information to the
likelihood of comparisons.

The penalty is Jeffreys' prior. It takes the first-order bias out of the scores, and they are finite for
whatever was compared. Bradley-Terry's and Davidson's models are log-linear, and for these the score
equations are those of maximum likelihood with pseudo-votes ([F93]_ section 3; [K21]_): a vote of
outcome c between i and j counts

.. math:: a_{ijc} = \tfrac12 n_{ij} P_{ijc} (T_c - \mu_{ij})^T \Sigma_{ij} (T_c - \mu_{ij})

more, with T the statistic of an outcome, :math:`\mu` its mean, and :math:`\Sigma_{ij}` the
inverse information of what the chances of the pair depend on. In Bradley-Terry they come to half of the pair's
hat value :math:`h_{ij} = n_{ij} p_{ij} (1 - p_{ij}) (e_i - e_j)^T \Sigma (e_i - e_j)` each way: of a single pair, half
a win each. Pseudo-votes depend on the scores, so that fits and pseudo-votes are made in turns until neither moves:
each fit is Newton's, from the one before.

References
----------
.. [A65] D. G. Anderson. Iterative procedures for nonlinear integral equations. Journal of the ACM 12(4), 1965.
.. [D70] R. R. Davidson. On extending the Bradley-Terry model to accommodate ties in paired
   comparison experiments. Journal of the American Statistical Association 65(329), 1970.
.. [F93] D. Firth. Bias reduction of maximum likelihood estimates. Biometrika 80(1), 1993.
.. [K21] I. Kosmidis and D. Firth. Jeffreys-prior penalty, finiteness and shrinkage in
   binomial-response generalized linear models. Biometrika 108(1), 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import PairFit, check_ridge, fast_rows, fit_bradley_terry, fit_wins
from rankbench.aggregators.likelihood.laplacian_system import DENSE_INVERSE, Laplacian
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.pair_counts import PairCounts, within

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
    exist where the wins alone connect a component, but may not where it takes the ties: two items run apart
    until rounding stops them if one of them won and tied, but never lost.

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
    _check(counts)
    scales = counts.connected if ridge > 0 else counts.strongly_connected
    inside = within(counts, scales, ridge)
    if not inside.ties.any():
        return fit_bradley_terry(counts, ridge=ridge, start=start, tolerance=tolerance)
    if not (inside.forward.any() or inside.backward.any()):
        return PairFit(np.zeros(counts.m), scales, ridge, np.inf)
    problem = _Problem(inside, Laplacian(inside.starts, inside.high, ridge, scales))
    begin = np.zeros(counts.m) if start is None else problem.graph.balanced(start)
    nu = start_nu if 0 < start_nu < np.inf else 2 * problem.ties / problem.decisive.sum()
    scores, log_nu, iterations = problem.newton(begin, float(np.log(nu)), tolerance)
    if ridge > 0:
        judged = np.bincount(np.append(problem.graph.low, problem.graph.high), np.tile(problem.judged, 2))
        check_ridge(
            ridge, scores, float(judged.max()), lambda: len(inside.strongly_connected.sizes) > len(scales.sizes)
        )
    return PairFit(problem.graph.balanced(scores), scales, ridge, float(np.exp(log_nu)), iterations)


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
        # By decisive votes, and not by ties: if most are ties, 1 - r would lose all digits.
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
            # Largest move of log-odds of a pair's outcomes by a step; damped as Bradley-Terry's steps are.
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


_TURNS = 500

_CLOSE = 1e-9
"""The last turn changes no score by more."""

_SETTLED, _NEAR, _LOOSE = 1e-6, 1e-3, 0.03
"""Turns with a core that is computed, or estimated, anew change no score by more; between, the last one by a share."""

_PLAIN, _KEPT = 3, 6
"""Turns before the first that is mixed, and most that are."""

_LEAST = 1e-300
"""Rounding makes no pseudo-vote negative: each pair has some both ways, and all of a component are on one scale."""

_INNER = 1e-10
"""Fits between two turns move no score by more in their last step."""


def firth_bradley_terry(counts: PairCounts) -> PairFit:
    """Maximize the Bradley-Terry likelihood with Firth's penalty, ties being half wins.

    There are some ten turns, more where items have a few votes each: each turn leaves a share of the error that falls
    as votes become more, from a half, of one vote a pair, down to nothing; turns are mixed. A turn takes O(m^3) of up
    to 500 items. Of more, items of few opponents are eliminated, and shares of the pairs of what is left are held for
    some turns: see `Laplacian.resistances`.

    Parameters
    ----------
    counts : PairCounts
        Every pair has some weight.

    Returns
    -------
    PairFit
        Its scales are the connected components.

    Raises
    ------
    InputError
        No pairs.
    ContenderDiverged
        The turns do not come to rest.
    """
    _check(counts)
    forward, backward = counts.wins()
    graph, rows = _graph(counts), fast_rows(counts.starts, counts.high)
    whole = graph if rows.given is None else Laplacian(rows.starts, rows.high, 0.0, graph.scales)

    def fit(more: NDArray[np.float64], start: PairFit | None) -> PairFit:
        begin = None if start is None else start.scores
        return fit_wins(rows, whole, forward + more[0], backward + more[1], begin, _INNER)[0]

    first = np.full((2, len(counts.high)), _even_share(graph) / 2)
    if graph.m > DENSE_INVERSE:
        first = _half_hats(counts, graph, np.zeros(counts.m))
    found = _in_turns(graph, fit, lambda one: _half_hats(counts, graph, one.scores), first)
    return replace(found, scales=graph.scales)


def firth_davidson(counts: PairCounts) -> PairFit:
    r"""Maximize the likelihood of Davidson's model with Firth's penalty, that of scores and :math:`\log \nu` together.

    Without ties :math:`\nu = 0`, and the scores are those of `firth_bradley_terry`; if all are ties,
    :math:`\nu = \infty` and all scores are 0.

    Parameters
    ----------
    counts : PairCounts
        As in `firth_bradley_terry`.

    Returns
    -------
    PairFit
        Its scales are the connected components.

    Raises
    ------
    InputError, ContenderDiverged
        As in `firth_bradley_terry`.
    """
    _check(counts)
    if not counts.ties.any():
        return firth_bradley_terry(counts)
    graph = _graph(counts)
    if not (counts.forward.any() or counts.backward.any()):
        return PairFit(np.zeros(counts.m), graph.scales, 0.0, np.inf)

    def fit(more: NDArray[np.float64], start: PairFit | None) -> PairFit:
        padded = replace(
            counts, forward=counts.forward + more[0], backward=counts.backward + more[1], ties=counts.ties + more[2]
        )
        if start is None:
            return fit_davidson(padded, tolerance=_INNER)
        return fit_davidson(padded, start=start.scores, start_nu=start.nu, tolerance=_INNER)

    first = np.full((3, len(counts)), _even_share(graph) / 3)
    found = _in_turns(graph, fit, lambda one: _davidson_hats(counts, graph, one), first)
    return replace(found, scales=graph.scales)


def pseudo_votes(counts: PairCounts, fit: PairFit) -> NDArray[np.float64]:
    """Return Firth's pseudo-votes for `low`, for `high` and for ties of each pair, shape (3, P).

    In Bradley-Terry, half of the pair's hat value for each of the two, nothing for ties. The values of all pairs sum
    to m less the number of connected components.

    Parameters
    ----------
    counts : PairCounts
    fit : PairFit
        Whose nu is finite.
    """
    if fit.nu > 0:
        return _davidson_hats(counts, _graph(counts), fit)
    half = _half_hats(counts, _graph(counts), fit.scores)[0]
    return np.stack([half, half, np.zeros(len(half))])


def core_size(counts: PairCounts) -> int:
    """Return the number of items left after items of few opponents are eliminated."""
    return _graph(counts).core.m


def _davidson_hats(counts: PairCounts, graph: Laplacian, fit: PairFit) -> NDArray[np.float64]:
    chances = np.stack(tie_chances(graph, fit.scores, float(np.log(fit.nu))))
    p, q, r = chances
    judged = counts.forward + counts.backward + counts.ties
    bend, cross = judged * (p + q - (p - q) ** 2) / 4, graph.item_sums(-judged * r * (p - q) / 2)
    ahead = graph.solver(bend)(graph.balanced(cross)[None])[0]
    spread = 1 / (float(judged @ (r * (p + q))) - float(cross @ ahead))
    gap = ahead[graph.low] - ahead[graph.high]
    # Score of an outcome by the difference and by log nu, less its mean.
    by_lead = np.array([[0.5], [-0.5], [0.0]]) - (p - q) / 2
    by_tie = np.array([[0.0], [0.0], [1.0]]) - r
    form = by_lead**2 * (graph.resistances(bend) + gap**2 * spread)
    form += spread * (by_tie**2 - 2 * by_lead * by_tie * gap)
    return np.asarray(np.maximum(judged * chances * form / 2, _LEAST), np.float64)


def _check(counts: PairCounts) -> None:
    if not len(counts.high):
        raise InputError("there are no comparisons to fit")


def _graph(counts: PairCounts) -> Laplacian:
    return Laplacian(counts.starts, counts.high, 0.0, counts.connected)


def _even_share(graph: Laplacian) -> float:
    """Return the mean of the pairs' hat values, for any scores."""
    return (graph.m - len(graph.scales.sizes)) / len(graph.high)


def _half_hats(counts: PairCounts, graph: Laplacian, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half of each pair's hat value in Bradley-Terry, twice, shape (2, P)."""
    from scipy.special import expit

    lead = scores[graph.low] - scores[graph.high]
    edge = (counts.forward + counts.backward + counts.ties) * expit(lead) * expit(-lead)
    half = np.maximum(edge * graph.resistances(edge) / 2, _LEAST)
    return np.stack([half, half])


def _in_turns(
    graph: Laplacian,
    fit: Callable[[NDArray[np.float64], PairFit | None], PairFit],
    added: Callable[[PairFit], NDArray[np.float64]],
    first: NDArray[np.float64],
) -> PairFit:
    """Return the fixed point of fits and their pseudo-votes."""
    found, close, renewals = fit(first, None), _CLOSE, _MixedTurns()
    turns = 0
    while True:
        begun, mixed = found, _MixedTurns()
        while True:
            turns += 1
            after = replace(fit(added(found), found), iterations=turns)
            change = float(np.abs(after.scores - found.scores).max())
            if graph.held is not None:
                # Held estimates do not follow the weights of eliminated items, so that turns with them may diverge.
                loose = _LOOSE * float(np.abs(after.scores - begun.scores).max())
                close = max(_CLOSE, loose) if graph.held.exact else np.inf
            if change <= close:
                break
            if turns == _TURNS:
                raise ContenderDiverged(
                    f"Firth's penalty: not at the maximum after {_TURNS} turns (the last one of {change:.2g})"
                )
            found = mixed.ahead(found, after)
        settled = _SETTLED if graph.held is None or graph.held.exact else _NEAR
        if graph.held is None or float(np.abs(after.scores - begun.scores).max()) <= settled:
            return after
        found, graph.held = renewals.ahead(begun, after), None


class _MixedTurns:
    """Turns that begin ahead of where the last one ended (Anderson's mixing, [A65]_)."""

    def __init__(self) -> None:
        self.ends: list[NDArray[np.float64]] = []
        self.moves: list[NDArray[np.float64]] = []

    def ahead(self, begun: PairFit, ended: PairFit) -> PairFit:
        """Return the start of the next turn, extrapolated from the last ones."""
        end = np.append(ended.scores, np.log(ended.nu) if ended.nu > 0 else 0.0)
        move = end - np.append(begun.scores, np.log(begun.nu) if begun.nu > 0 else 0.0)
        if self.moves and np.abs(move).max() > 2 * np.abs(self.moves[-1]).max():
            self.ends, self.moves = [], []
        self.ends, self.moves = [*self.ends[-_KEPT:], end], [*self.moves[-_KEPT:], move]
        if len(self.moves) < _PLAIN:
            return ended
        steps = np.diff(self.moves, axis=0)
        share = np.linalg.lstsq(steps.T, move, rcond=1e-10)[0]
        mixed = end - share @ np.diff(self.ends, axis=0)
        return replace(ended, scores=mixed[:-1], nu=float(np.exp(mixed[-1])) if ended.nu > 0 else 0.0)
