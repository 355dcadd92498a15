"""Bradley-Terry scores of resampled logs: thousands of fits that start from that of the log itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
from rankbench.aggregators.likelihood.padded_rows import fast_rows
from rankbench.errors import InputError
from rankbench.kinds.resamples import Resamples

__all__ = ["refitted"]


def refitted(fit: BradleyTerryFit, resamples: Resamples, *, tolerance: float = 1e-5) -> NDArray[np.float64]:
    """Fit resamples of the log that `fit` was made from, with its ridge and rule for ties.

    Newton's method starts at the fit. Two threads.

    Parameters
    ----------
    fit : BradleyTerryFit
    resamples : Resamples
        Whose units are held one by one: of 17 million judgments at most, or of clusters.
    tolerance : float
        The last Newton step changes no score by more; quadratic convergence leaves the
        square of it.

    Returns
    -------
    ndarray of float64, shape (B, m)
        Scores, which sum to zero on every scale of the fit; a row of nan where a resample has no
        maximum, because a scale falls apart in it (only without a ridge).

    Raises
    ------
    InputError
        The units are too many to be held.
    """
    counts, starts, cells, weights = resamples.counts, resamples.starts, resamples.cells, resamples.weights
    if not len(cells):
        raise InputError(f"too many judgments to refit by themselves ({counts.judgments:,}); resample clusters")
    if fit.ridge == 0 and len(fit.scales) > 1:
        # Judgments between scales are drawn too, and say nothing: they go to a cell of their own.
        inside = fit.scales.of[counts.low] == fit.scales.of[counts.high]
        number = np.where(inside, np.cumsum(inside) - 1, int(inside.sum()))
        cells = (3 * number[:, None] + np.arange(3)).astype(np.int32).ravel()[cells]
        counts = counts.select(inside)
    rows = fast_rows(counts.starts, counts.high)
    places = np.append(rows.places(), len(rows.high))
    # Looked up cell by cell: of long logs nothing else is as long as the cells are.
    cells = (3 * places[:, None] + np.arange(3)).astype(np.int32).ravel()[cells]
    scores = np.empty((len(resamples), counts.m))
    states = resamples.draws.states.copy()
    share, sizes = 0.5 if fit.ties == "half" else 0.0, fit.scales.sizes.astype(np.float64)

    def run(part: slice) -> None:
        from rankbench.aggregators.kernels.refits import refit

        refit(
            states[part], resamples.draws.units, starts, cells, weights, rows.starts, rows.high,
            share, fit.ridge, fit.scales.of, sizes, fit.scores, tolerance, scores[part],
        )  # fmt: skip

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(run, (slice(0, len(states) // 2), slice(len(states) // 2, None))))
    return scores
