"""The bootstrap of Bradley-Terry scores: thousands of refits of resampled logs.

References
----------
.. [ET93] B. Efron and R. J. Tibshirani. An introduction to the bootstrap. Chapman & Hall, 1993.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
from rankbench.aggregators.likelihood.complete import fast_rows
from rankbench.errors import InputError
from rankbench.kinds.counts import ClusterCounts, PairCounts

__all__ = ["bootstrap_bradley_terry"]

_MOST = 1 << 26


def bootstrap_bradley_terry(
    fit: BradleyTerryFit,
    data: PairCounts | ClusterCounts,
    *,
    repetitions: int = 1000,
    seed: int = 0,
    tolerance: float = 1e-5,
) -> NDArray[np.float64]:
    """Fit resamples of the log that `fit` was made from ([ET93]_), with its ridge and rule for ties.

    A resample is as many units as the log has, drawn with replacement: judgments from
    `PairCounts`, whole clusters from `ClusterCounts`. Newton's method starts at the fit.
    Resample r depends on the seed and r alone, so more repetitions only add some. Two threads.

    Parameters
    ----------
    fit : BradleyTerryFit
    data : PairCounts or ClusterCounts
        Of the judgments that were fitted.
    repetitions : int
    seed : int
        Not negative.
    tolerance : float
        The last Newton step changes no score by more; quadratic convergence leaves the
        square of it.

    Returns
    -------
    ndarray of float64, shape (R, m)
        Scores, which sum to zero on every scale of the fit; a row of nan where a resample has no
        maximum, because a scale falls apart in it (only without a ridge).

    Raises
    ------
    InputError
        `PairCounts` of weighted judgments (count them by cluster, each its own if need be),
        or of more than 67 million; fewer than one repetition, a negative seed.
    """
    if repetitions < 1 or seed < 0:
        raise InputError("the bootstrap needs one repetition at least and a seed that is not negative")
    counts = data.counts if isinstance(data, ClusterCounts) else data
    starts, cells, weights = _clusters(data) if isinstance(data, ClusterCounts) else _judgments(data)
    if fit.ridge == 0 and len(fit.scales) > 1:
        inside = fit.scales.of[counts.low] == fit.scales.of[counts.high]
        kept = inside[cells // 3]
        number = np.cumsum(inside) - 1
        ends = np.concatenate([[0], np.cumsum(kept)])[starts]
        starts, cells, weights = ends, 3 * number[cells[kept] // 3] + cells[kept] % 3, weights[kept]
        counts = counts.select(inside)
    rows = fast_rows(counts.starts, counts.high)
    cells = 3 * rows.places()[cells // 3] + cells % 3
    words = np.random.SeedSequence(seed).generate_state(4 * repetitions, np.uint64)
    states = words.astype(np.uint64, copy=False).reshape(-1, 4)
    scores = np.empty((repetitions, counts.m))

    def run(part: slice) -> None:
        from rankbench.aggregators.kernels.refits import refit

        refit(
            states[part], starts, cells, weights, rows.starts, rows.high, 0.5 if fit.ties == "half" else 0.0,
            fit.ridge, fit.scales.of, fit.scales.sizes.astype(np.float64), fit.scores, tolerance, scores[part],
        )  # fmt: skip

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(run, (slice(0, repetitions // 2), slice(repetitions // 2, None))))
    return scores


def _judgments(counts: PairCounts) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return every judgment as a unit of one cell."""
    if counts.weighted:
        raise InputError("weighted judgments are summed up: count them by cluster (each its own, if need be)")
    if counts.judgments > _MOST:
        raise InputError(f"too many judgments to resample ({counts.judgments}); resample clusters, or use the sandwich")
    each = np.column_stack([counts.forward, counts.backward, counts.ties]).ravel().astype(np.int64)
    cells = np.repeat(np.arange(len(each)), each)
    return np.arange(len(cells) + 1), cells, np.ones(len(cells))


def _clusters(data: ClusterCounts) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return every cluster as a unit of its cells."""
    rows, cell = np.nonzero(data.cells)
    starts = np.searchsorted(rows, data.starts)
    return starts.astype(np.int64), 3 * data.pair[rows] + cell, data.cells[rows, cell]
