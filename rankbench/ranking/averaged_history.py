"""Scores over time of several models, averaged by their chances, with what is not known of the models in the bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.score_history import ScoreHistory

__all__ = ["AveragedHistory", "model_chances", "simultaneous_changes"]

_DRAWS = 10_000
_LEAST = 0.01
"""Models whose chance is so much smaller than that of the likeliest are left out."""


def model_chances(log_chances: Sequence[float]) -> NDArray[np.float64]:
    """Return the chances of models, which sum to 1; those of next to none are 0."""
    chances = np.exp(np.array(log_chances) - max(log_chances))
    chances[chances < _LEAST] = 0.0
    return np.asarray(chances / chances.sum())


@dataclass(frozen=True, eq=False)
class AveragedHistory:
    """Scores over several models, by their chances.

    Attributes
    ----------
    scores : ndarray of float64, shape (T, m)
    deviation : ndarray of float64, shape (T, m)
        Of a score less the mean of its time: within models and between them.
    now : ndarray of float64, shape (m, m)
        Covariance of the last scores, within models and between them.
    changes : list of (float, ndarray, ndarray)
        Of each model its chance, the changes between then and now, (k,), less their mean, and their covariance.
    """

    scores: NDArray[np.float64]
    deviation: NDArray[np.float64]
    now: NDArray[np.float64]
    changes: list[tuple[float, NDArray[np.float64], NDArray[np.float64]]]

    @classmethod
    def from_models(cls, histories: Sequence[ScoreHistory], weights: NDArray[np.float64], then: int) -> AveragedHistory:
        """Return the mean over models, with how certain it is."""
        chosen = [(histories[i].scores, histories[i], float(weights[i])) for i in np.flatnonzero(weights).tolist()]
        scores = np.asarray(sum(w * own for own, _, w in chosen))
        squares, now = np.zeros(scores.shape), np.zeros((scores.shape[1],) * 2)
        known = np.flatnonzero(np.isfinite(scores[then]))
        around = np.eye(len(known)) - 1 / len(known)
        changes = []
        for own, history, w in chosen:
            spread, off = history.spread(then), own - scores
            squares += w * (spread.deviation**2 + (off - np.nanmean(off, axis=1, keepdims=True)) ** 2)
            now += w * (spread.now + np.outer(off[-1], off[-1]))
            cells = np.ix_(known, known)
            across = spread.across[cells]
            covariance = spread.now[cells] + spread.then[cells] - across - across.T
            changes.append((w, around @ (own[-1] - own[then])[known], around @ covariance @ around))
        return cls(scores, np.sqrt(squares), now, changes)


def simultaneous_changes(
    changes: Sequence[tuple[float, NDArray[np.float64], NDArray[np.float64]]], seed: int, freedom: float = np.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean changes, simultaneous intervals and adjusted p-values, by draws from all models together.

    Draws are of Student's t together, with so many degrees of freedom; normal if these are infinite.
    """
    k = len(changes[0][1])
    if k < 2:
        nothing = np.full(k, np.nan)
        return nothing, nothing, nothing, nothing
    generator = np.random.default_rng([seed, 7])
    mean = np.asarray(sum(w * change for w, change, _ in changes))
    ends = np.round(_DRAWS * np.cumsum([w for w, _, _ in changes])).astype(np.int64)
    drawn = generator.standard_normal((_DRAWS, k))
    for (_, change, covariance), begin, end in zip(changes, [0, *ends[:-1]], ends, strict=True):
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0))
        drawn[begin:end] = change - mean + drawn[begin:end] @ root.T
    deviation = np.sqrt(np.maximum((drawn**2).mean(axis=0), 1e-300))
    largest = np.abs(drawn / deviation).max(axis=1)
    if np.isfinite(freedom):
        largest /= np.sqrt(generator.chisquare(freedom, _DRAWS) / freedom)
    largest.sort()
    half = largest[int(np.ceil(0.95 * (_DRAWS + 1))) - 1] * deviation
    beyond = _DRAWS - np.searchsorted(largest, np.abs(mean) / deviation)
    return mean, mean - half, mean + half, (1 + beyond) / (1 + _DRAWS)
