"""Bradley-Terry scores of resampled logs: thousands of fits that start from that of the log itself."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
from rankbench.aggregators.likelihood.padded_rows import fast_rows
from rankbench.errors import InputError
from rankbench.kinds.resamples import Resamples
from rankbench.system import in_halves

__all__ = ["refitted"]


def refitted(
    fit: BradleyTerryFit,
    resamples: Resamples,
    *,
    more: NDArray[np.float64] | None = None,
    tolerance: float = 1e-5,
) -> NDArray[np.float64]:
    """Fit resamples of the log that `fit` was made from, with its ridge and rule for ties.

    Newton's method starts at the fit. Two threads.

    Parameters
    ----------
    fit : BradleyTerryFit
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

    Raises
    ------
    InputError
        The units are too many to be held.
    """
    counts = resamples.counts
    if not len(resamples.cells):
        raise InputError(f"too many judgments to refit by themselves ({counts.judgments:,}); resample clusters")
    # Judgments between scales are drawn too, and say nothing: they go to a place of their own.
    inside = fit.scales.scale_of[counts.low] == fit.scales.scale_of[counts.high]
    kept = counts if inside.all() else counts.select(inside)
    rows = fast_rows(kept.starts, kept.high)
    places = np.full(len(counts), len(rows.high))
    places[inside] = rows.places()
    padding = np.zeros(len(rows.high))
    if more is not None:
        padding[rows.places()] = more[inside]
    scores = np.empty((len(resamples), counts.m))
    share, sizes = 0.5 if fit.ties == "half" else 0.0, fit.scales.sizes.astype(np.float64)

    def run(sums: NDArray[np.float64], found: NDArray[np.float64], part: slice) -> None:
        from rankbench.aggregators.kernels.refits import refit

        refit(
            sums[part], places, rows.starts, rows.high, padding, share, fit.ridge, fit.scales.scale_of, sizes,
            fit.scores, tolerance, found[part],
        )  # fmt: skip

    for first, sums in resamples.batches():
        in_halves(partial(run, sums, scores[first:]), len(sums))
    return scores
