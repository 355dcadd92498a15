"""The crossed bootstrap resamples queries and repetitions, overlapping splits, or units in time.

Queries and repetitions are crossed random effects: every contender of a repetition is trained
on the same draw and judged on the same queries. The pigeonhole bootstrap [Owen07]_ takes a
sample of queries and, independently, a sample of draws, both with replacement; a loss
counts as often as its query times as often as its draw. Resampling Q - 1 of Q queries and
R - 1 of R repetitions makes the variance of a mean unbiased in each direction; the part that
belongs to single (draw, query) cells is counted up to three times [Owen07]_. That errs on
the safe side. The part itself falls as 1 / (R Q), so that beside the others it vanishes;
where it is all that the difference of two contenders has, the factor of three stays at any
R and Q, and costs power, not level.

Blocks that do not overlap are resampled as wholes, which allows for likeness within a block. Likeness from
block to block is in the long-run variance, 1 + 2 sum_k (1 - k / (L + 1)) r_k times that of independent blocks, with r_k
the autocorrelation of differences of arms, a mean over all pairs of them, and Bartlett's weights [NW87]_. These leave
out a part, a quarter where r_1 is .5, so that it is (1 + r_1) / (1 - r_1) at least, that of an autoregression [AM92]_.

References
----------
.. [NW87] W. K. Newey and K. D. West. A simple, positive semi-definite, heteroskedasticity and autocorrelation
   consistent covariance matrix. Econometrica 55(3), 1987.
.. [AM92] D. W. K. Andrews and J. C. Monahan. An improved heteroskedasticity and autocorrelation consistent covariance
   matrix estimator. Econometrica 60(4), 1992.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

REPLICATES = 2000
"""B, the number of bootstrap replicates."""

_CHUNK = 4_000_000
"""Largest number of float64 in one product: 32 MB."""

TOGETHER = 8_000_000
"""Largest number of losses that are resampled together: 64 MB."""


ARRAYS = ("draws", "queries", "replicates", "draw_replicates", "log_sds", "copied")
"""Arrays of a sample that have a column for each arm."""


@dataclass(frozen=True)
class Crossed:
    """Means of C arms, and their bootstrap replicates, which are paired across arms.

    Attributes
    ----------
    draws : ndarray of float64, shape (R, C)
        Means over queries.
    queries : ndarray of float64, shape (Q, C)
        Means over repetitions.
    replicates : ndarray of float64, shape (B, C)
        Means over resampled queries and repetitions.
    draw_replicates : ndarray of float64, shape (B, C)
        Means over resampled draws, queries as they are; all equal when R = 1.
    log_sds : ndarray of float64, shape (B, C)
        log of the standard deviation over the resampled repetitions of the mean over the
        resampled queries; ``-inf`` where a replicate holds one repetition alone.
    copied : ndarray of bool, shape (1, C)
        Arms whose losses are the same in all repetitions: a contender without randomness on the same data was only
        computed again.
    cells : ndarray of int64, shape (C,), or None
        Where given, repetitions are few and overlap, and may agree by chance. A contrast without spread is then
        certain only between arms of the same number, which are the same cells.
    """

    draws: NDArray[np.float64]
    queries: NDArray[np.float64]
    replicates: NDArray[np.float64]
    draw_replicates: NDArray[np.float64]
    log_sds: NDArray[np.float64]
    copied: NDArray[np.bool_]
    cells: NDArray[np.int64] | None = None

    def certain(self, matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each contrast counts as certain if its variance is 0, shape (P,).

        Contrasts are the columns of `matrix`, shape (C, P).
        """
        if self.cells is None:
            return np.ones(matrix.shape[1], np.bool_)
        together = np.zeros((int(self.cells.max()) + 1, matrix.shape[1]))
        np.add.at(together, self.cells, matrix)
        return np.asarray(~together.any(axis=0))

    @property
    def nbytes(self) -> int:
        """Size of all arrays of `ARRAYS`."""
        return sum(int(getattr(self, name).nbytes) for name in ARRAYS)

    @property
    def alike(self) -> bool:
        """True if nothing varies: one query, and equal results of every arm in all draws."""
        return len(self.queries) == 1 and bool((self.draws == self.draws[0]).all())

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of every arm, shape (C,)."""
        return np.asarray(self.draws.mean(axis=0))


def counts(rng: np.random.Generator, replicates: int, size: int) -> NDArray[np.float64]:
    """Return the number of times that each of `size` units is in each replicate of ``size - 1`` draws.

    A single unit cannot be resampled: it is in every replicate once.

    Returns
    -------
    ndarray of float64, shape (replicates, size)
        Rows sum to ``max(size - 1, 1)``.
    """
    if size == 1:
        return np.ones((replicates, 1))
    chosen = rng.integers(size, size=(replicates, size - 1))
    chosen += size * np.arange(replicates)[:, None]
    return np.bincount(chosen.ravel(), minlength=replicates * size).reshape(replicates, size).astype(np.float64)


def crossed(losses: NDArray[np.float64], seed: int, replicates: int = REPLICATES) -> Crossed:
    """Bootstrap the means of C arms over queries and repetitions.

    Parameters
    ----------
    losses : ndarray of float64, shape (R, Q, C)
    seed : int
        The same seed, R and Q resample the same queries and repetitions for any arms.
    replicates : int
        B.

    Notes
    -----
    O(B R Q C) multiplications in matrix products of at most 32 MB.
    """
    draws, queries, arms = losses.shape
    centre = losses.mean()
    flat = np.ascontiguousarray((losses - centre).transpose(1, 0, 2)).reshape(queries, draws * arms)
    of_draws, of_queries = (np.random.default_rng([seed, which]) for which in (0, 1))
    weights = counts(of_draws, replicates, draws) / max(draws - 1, 1)
    means = np.empty((replicates, arms))
    log_sds = np.empty((replicates, arms))
    rows = max(1, _CHUNK // max(draws * arms, queries))
    for start in range(0, replicates, rows):
        part = weights[start : start + rows]
        shares = counts(of_queries, len(part), queries) / max(queries - 1, 1)
        by_draw = (shares @ flat).reshape(len(part), draws, arms)
        mean = np.einsum("br,brc->bc", part, by_draw)
        square = np.einsum("br,brc->bc", part, (by_draw - mean[:, None, :]) ** 2)
        means[start : start + rows] = mean
        with np.errstate(divide="ignore"):
            log_sds[start : start + rows] = 0.5 * np.log(square)
    row_means = losses.mean(axis=1)
    return Crossed(
        draws=row_means,
        queries=losses.mean(axis=0),
        replicates=means + centre,
        draw_replicates=weights @ row_means,
        log_sds=log_sds,
        copied=(losses == losses[0]).all(axis=(0, 1))[None],
    )


def side_by_side(samples: Sequence[Crossed]) -> Crossed:
    """Return samples of the same repetitions and queries as one sample with the arms of all."""
    if len(samples) == 1:
        return samples[0]
    return Crossed(*(np.concatenate([getattr(sample, name) for sample in samples], axis=1) for name in ARRAYS))


def widening(splits: int, test_share: float | None) -> float:
    """Return the factor by which standard errors over J overlapping splits are too small [NB03]_.

    The variance of a mean of differences is (1/J + test / train) s^2 instead of s^2 / J:
    splits that train on the same observations are not independent. For means of random
    subsets of one pool the same factor, of the share of the pool that is in a subset, is
    exact: it undoes the correction for finite populations.

    Parameters
    ----------
    splits : int
        J.
    test_share : float, in (0, 1), or None
        Share of a split's observations that is in its test part; 1/K for K folds. None:
        repetitions are independent, and the factor is 1.
    """
    return 1.0 if test_share is None else math.sqrt(1 + splits * test_share / (1 - test_share))


def widened_for_overlap(sample: Crossed, test_share: float | None) -> Crossed:
    """Return a sample with the deviations over repetitions of the corrected resampled t.

    Its intervals over repetitions are then, for one contrast, exactly the corrected ones.
    """
    factor = widening(len(sample.draws), test_share)
    if factor == 1.0:
        return sample
    mean = sample.mean
    return replace(
        sample,
        draws=mean + factor * (sample.draws - mean),
        replicates=mean + factor * (sample.replicates - mean),
        draw_replicates=mean + factor * (sample.draw_replicates - mean),
        log_sds=sample.log_sds + math.log(factor),
    )


LAGS = 4
"""Neighbors on either side that may be alike."""

_MOST = 0.8
"""Of the autocorrelation of neighbors: an autoregression that forgets more slowly is not known from a few dozen."""

_ZERO = 1e-12


def order_widening(units: NDArray[np.float64]) -> float:
    """Return the factor by which standard errors of differences over independent units are too small, 1 at least.

    Parameters
    ----------
    units : ndarray of float64, shape (U, C)
        Means over repetitions, of units in the order of time. An autocorrelation of so few is too small by about 1 / U.
    """
    count, arms = units.shape
    lags = min(LAGS, count // 4)
    first, second = np.triu_indices(arms, 1)
    if lags < 1 or not len(first):
        return 1.0
    off = units[:, first] - units[:, second]
    off -= off.mean(axis=0)
    squares = (off**2).sum(axis=0)
    off, squares = (part[..., squares > _ZERO * float(np.abs(units).max()) ** 2] for part in (off, squares))
    if not len(squares):
        return 1.0
    alike = np.array([float(((off[k:] * off[:-k]).sum(axis=0) / squares).mean()) for k in range(1, lags + 1)])
    alike += 1 / count
    weights = 1 - np.arange(1, lags + 1) / (lags + 1)
    first_order = min(float(alike[0]), _MOST)
    return math.sqrt(max(1 + 2 * float(weights @ alike), (1 + first_order) / (1 - first_order), 1.0))


def widened_for_order(sample: Crossed, factor: float) -> Crossed:
    """Return a sample with deviations over units scaled by a factor, for a single draw."""
    if factor == 1.0:
        return sample
    mean = sample.mean
    return replace(
        sample, queries=mean + factor * (sample.queries - mean), replicates=mean + factor * (sample.replicates - mean)
    )
