"""Scores that can be compared: finite, and not too far apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, SpecError

if TYPE_CHECKING:
    from rankbench.kinds.counts import PairCounts

__all__ = ["LARGEST_SCORE", "finite_scores", "from_observed"]

LARGEST_SCORE = 1e100
"""Larger scores have differences, or squares of them, that are not finite."""


def finite_scores(scores: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """Return scores of shape (m,) that are finite, as are their differences and the squares of these.

    Raises
    ------
    ContenderDiverged
        They are not, or are beyond `LARGEST_SCORE`.
    SpecError
        They are of another shape.
    """
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (m,):
        raise SpecError(f"scores have shape {found.shape}, not ({m},)")
    size = np.abs(found)
    if np.count_nonzero(size <= LARGEST_SCORE) < m:
        if not np.isfinite(found).all():
            raise ContenderDiverged("scores are not one finite number an item")
        most = float(size.max())
        raise ContenderDiverged(
            f"scores are too far apart, or from 0: one is {most:.1e}, at most {LARGEST_SCORE:g} may be"
        )
    return found


def from_observed(method: Callable[..., NDArray[np.float64]]) -> Callable[..., NDArray[np.float64]]:
    """Return a class's `Aggregator.from_counts`, or another form of it, that is shown pairs with some weight.

    Its scores are finite.
    """

    @wraps(method)
    def from_counts(self: Any, counts: PairCounts, *near: NDArray[np.float64]) -> NDArray[np.float64]:
        return finite_scores(method(self, counts.observed(), *near), counts.m)

    return from_counts
