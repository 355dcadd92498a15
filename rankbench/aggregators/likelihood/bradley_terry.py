"""Newton's method fits Bradley-Terry scores to counts and to their resamples.

References
----------
.. [BT52] R. A. Bradley and M. E. Terry. Rank analysis of incomplete block designs: I. The
   method of paired comparisons. Biometrika 39(3/4), 1952.
.. [EW94] S. C. Eisenstat and H. F. Walker. Globally convergent inexact Newton methods.
   SIAM Journal on Optimization 4(2), 1994.
.. [F57] L. R. Ford Jr. Solution of a ranking problem from binary comparisons. American
   Mathematical Monthly 64(8), 1957.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.laplacian_system import PATIENCE, Laplacian
from rankbench.core.system import in_two_threads
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.pair_counts import PairCounts, Scales, within
from rankbench.interfaces.resamples import Resamples

_SHARE = 2 / 3
"""Share of the pairs from which on all of them are kept: half as much memory again, less than half of the time."""


@dataclass(frozen=True, eq=False)
class PaddedRows:
    """Pairs that likelihoods are summed over.

    Attributes
    ----------
    starts : ndarray of int64, shape (m + 1,)
    high : ndarray of int32, shape (P',)
        Sorted in every row, as `PairCounts` keeps them.
    given : (ndarray, ndarray) or None
        `starts` and `high` of the pairs that were given, P of them; None where nothing was added.
    """

    starts: NDArray[np.int64]
    high: NDArray[np.int32]
    given: tuple[NDArray[np.int64], NDArray[np.int32]] | None

    def judged(self, forward: NDArray[np.float64], backward: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of two numbers of each given pair, shape (P',): 0 for the pairs that were added."""
        if self.given is None:
            return forward + backward
        from rankbench.aggregators.kernels.likelihood import spread

        result = np.zeros(len(self.high))
        spread(*self.given, forward, backward, result)
        return result

    def places(self) -> NDArray[np.int64]:
        """Return the index of each pair among the given pairs, shape (P,)."""
        if self.given is None:
            return np.arange(len(self.high))
        starts, high = self.given
        low = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return self.starts[low] + high - low - 1


def fast_rows(starts: NDArray[np.int64], high: NDArray[np.int32]) -> PaddedRows:
    """Return the pairs to sum over: all pairs of the items if two thirds of them have judgments.

    In rows of consecutive items the kernels of `rankbench.aggregators.kernels.likelihood` need no index.

    Parameters
    ----------
    starts, high : ndarray
        Pairs as `PairCounts` keeps them.
    """
    m = len(starts) - 1
    pairs = m * (m - 1) // 2
    if len(high) == pairs or len(high) < _SHARE * pairs:
        return PaddedRows(starts, high, None)
    from rankbench.aggregators.kernels.likelihood import complete

    all_starts, all_high = np.empty(m + 1, np.int64), np.empty(pairs, np.int32)
    complete(all_starts, all_high)
    return PaddedRows(all_starts, all_high, (starts, high))


_STEPS = 200

_LOST = 1e-5
"""Largest error of a score, in log-odds, that rounding of the sums of an item's judgments may make."""


def check_ridge(ridge: float, scores: NDArray[np.float64], judged: float, unbounded: Callable[[], bool]) -> None:
    """Raise if the scores are bounded by a ridge alone, and rounding hides it.

    Where a part of a scale never loses to the rest, the slope and the bend of the likelihood between the two are as
    small as the slope of the penalty, ridge times score. Rounding of sums of judgments is far larger if it is tiny.

    Parameters
    ----------
    ridge : float
    scores : ndarray of float64, shape (m,)
    judged : float
        Largest weight of the judgments of an item.
    unbounded : callable
        Returns whether there is such a part; called where rounding matters alone.

    Raises
    ------
    ContenderDiverged
    """
    rounding, held = float(np.finfo(np.float64).eps) * judged, ridge * float(np.abs(scores).max(initial=0.0))
    if not 0 < held < rounding / _LOST or not unbounded():
        return
    enough = ridge * rounding / _LOST / held
    raise ContenderDiverged(
        f"rounding hides a ridge of {ridge:g} beside {judged:g} judgments of an item, and it alone bounds the scores: "
        f"take {2 * enough:.0e} or more"
    )


@dataclass(frozen=True, eq=False)
class PairFit:
    r"""Fitted scores, and how likely ties are.

    Attributes
    ----------
    scores : ndarray of float64, shape (m,)
        Log-odds: ``i`` beats ``j`` with probability 1/(1 + e^(s_j - s_i)) if they are on one
        scale. They sum to zero on every scale; an item alone on its scale scores 0.
    scales : Scales
        Items that can be compared: the connected components with a penalty, the strongly
        connected ones without.
    ridge : float
    nu : float
        Of Davidson's model, :math:`\nu \ge 0`: two equal items tie with probability :math:`\nu / (2 + \nu)`; inf if
        all judgments are ties. 0: Bradley-Terry, with ties as half wins.
    iterations : int
        Newton steps, or turns of Firth's penalty; 0 if not counted.
    """

    scores: NDArray[np.float64]
    scales: Scales
    ridge: float
    nu: float = 0.0
    iterations: int = 0


def fit_bradley_terry(
    counts: PairCounts,
    *,
    ridge: float = 0.0,
    start: NDArray[np.float64] | None = None,
    tolerance: float = 1e-6,
) -> PairFit:
    r"""Maximize the Bradley-Terry likelihood [BT52]_ of counted judgments, perhaps with a ridge; ties are half wins.

    .. math:: s = \operatorname{argmin}_s \sum_{i \ne j} w_{ij} \log(1 + e^{s_j - s_i}) + \frac{\rho}{2} |s|^2

    with :math:`w_{ij}` the weight of i's wins over j. With :math:`\rho > 0` the scores are those
    of the aggregator `bradley-terry` and always exist.

    With :math:`\rho = 0` a finite maximum exists only within strongly connected components of
    the graph of "beat, or tied with" ([F57]_). So the scores are the exact limits of
    the maximum: within each component the likelihood of its own judgments is maximized,
    and those between components, which all went one way, cost nothing in the limit.
    Scores of different components are infinitely far apart and must not be compared:
    see `PairFit.scales`. An item that never wins (or never loses) is a scale of its own;
    a ridge, such as the aggregator's 1, gives it a place.

    Newton's method [EW94]_ with conjugate gradients, O(P) operations each; where the graph
    is so badly connected that they take long, with a Cholesky or a sparse LU factorization.

    Parameters
    ----------
    counts : PairCounts
    ridge : float
        Penalty rho on |s|^2 / 2.
    start : ndarray of float64, shape (m,), optional
        Where to start; by default at smoothed log-odds of each item's wins.
    tolerance : float
        The last Newton step changes no score by more than this. Convergence is quadratic: 1e-6 leaves
        errors below 1e-10 where several steps were taken. A `start` so near that the first step is the last one
        leaves an error of up to that step: systems are solved the more tightly, the nearer the
        maximum is beside the start.

    Raises
    ------
    InputError
        No pairs.
    ContenderDiverged
        Rounding keeps the steps above the tolerance: scores of a scale that lie hundreds apart.
    """
    if not len(counts.high):
        raise InputError("there are no comparisons to fit")
    scales = counts.connected if ridge > 0 else counts.strongly_connected
    inside = within(counts, scales, ridge)
    rows = fast_rows(inside.starts, inside.high)
    graph = Laplacian(rows.starts, rows.high, ridge, scales)
    fit, judged = fit_wins(rows, graph, *inside.wins(), start, tolerance)
    if ridge > 0:
        check_ridge(ridge, fit.scores, judged, lambda: len(counts.strongly_connected.sizes) > len(scales.sizes))
    return fit


def fit_wins(
    rows: PaddedRows,
    graph: Laplacian,
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
    start: NDArray[np.float64] | None,
    tolerance: float,
) -> tuple[PairFit, float]:
    """Return a fit to wins of pairs within scales, and the largest weight of an item's judgments.

    Parameters
    ----------
    rows : PaddedRows
    graph : Laplacian
        Of these rows; several fits may share it.
    forward, backward : ndarray of float64, shape (P,)
        Weight of the judgments that `low` won, and that `high` won, of each given pair.
    start, tolerance
        See `fit_bradley_terry`, which raises as this does.
    """
    from rankbench.aggregators.kernels.likelihood import (
        AT_MAXIMUM,
        NEEDS_SOLUTION,
        NEWTON_WORK,
        UNFINISHED,
        item_sums,
        newton,
    )

    m, ridge, scales = graph.m, graph.ridge, graph.scales
    won, lost = np.zeros(m), np.zeros(m)
    item_sums(*(rows.given or (rows.starts, rows.high)), forward, backward, won, lost)
    judged = rows.judged(forward, backward)
    first = np.clip(np.log((won + 0.5) / (lost + 0.5)), -30, 30) if start is None else np.array(start, np.float64)
    scores = graph.balanced(first)
    gradient, step, curvature = np.empty(m), np.empty(m), np.empty(len(judged))
    work = np.empty(NEWTON_WORK * m + len(judged))
    sizes, patience, solved, taken = scales.sizes.astype(np.float64), PATIENCE, False, 0
    while True:
        status, change, steps = newton(
            rows.starts, rows.high, judged, won, lost, ridge, scales.scale_of, sizes, patience, tolerance, solved,
            scores, gradient, curvature, step, work,
        )  # fmt: skip
        taken += steps
        if status != NEEDS_SOLUTION or taken > _STEPS:
            break
        # Iterations take long on this graph: from now on every system is factorized.
        step[:] = graph.solve_directly(curvature, gradient)
        patience, solved = 0, True
    if status != AT_MAXIMUM:
        raise ContenderDiverged(
            f"Bradley-Terry: not at the maximum after {taken} Newton steps (the last one of {change:.2g})"
            if status in (UNFINISHED, NEEDS_SOLUTION)
            else f"Bradley-Terry: rounding keeps the scores from coming nearer than {change:.2g} to the maximum"
        )
    return PairFit(graph.balanced(scores), scales, ridge, iterations=taken), float((won + lost).max())


def refitted(
    fit: PairFit, resamples: Resamples, *, more: NDArray[np.float64] | None = None, tolerance: float = 1e-5
) -> NDArray[np.float64]:
    """Fit resamples of the log that `fit` was made from, with its ridge; ties are half wins.

    Newton's method starts at the fit. Two threads.

    Parameters
    ----------
    fit : PairFit
    resamples : Resamples
        Whose units are held one by one: of 17 million judgments at most, or of clusters.
    more : ndarray of float64, shape (P,), optional
        Pseudo-votes that `low` and that `high` of each pair has won besides, in every resample.
    tolerance : float
        The last Newton step changes no score by more; quadratic convergence leaves the
        square of it.

    Returns
    -------
    ndarray of float64, shape (B, m)
        Scores, which sum to zero on every scale of the fit; a row of nan where a resample has no
        maximum, because a scale falls apart in it (only without a ridge).
    """
    counts = resamples.counts
    # Judgments between scales are drawn too, and say nothing: they go to a place of their own.
    inside = fit.scales.scale_of[counts.low] == fit.scales.scale_of[counts.high]
    kept = counts if inside.all() else counts.select(inside)
    rows = fast_rows(kept.starts, kept.high)
    places = np.full(len(counts), len(rows.high))
    places[inside] = rows.places()
    padding = np.zeros(len(rows.high))
    if more is not None:
        padding[rows.places()] = more[inside]
    scores, sizes = np.empty((len(resamples), counts.m)), fit.scales.sizes.astype(np.float64)

    def run(sums: NDArray[np.float64], found: NDArray[np.float64], part: slice) -> None:
        from rankbench.aggregators.kernels.refits import refit

        refit(
            sums[part], places, rows.starts, rows.high, padding, fit.ridge, fit.scales.scale_of, sizes,
            fit.scores, tolerance, found[part],
        )  # fmt: skip

    for first, sums in resamples.batches():
        in_two_threads(partial(run, sums, scores[first:]), len(sums))
    return scores
