"""Named feature transforms, applied in the order they are written.

``signed-log1p``         x -> sign(x) log(1 + abs(x)): tames heavy tails, keeps signs and zeros
``zscore-within-query``  each feature to mean 0 and standard deviation 1 (divisor m_q) among
                         the items of its query; a feature that is constant there becomes 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError, nearest
from rankbench.kinds.queries import Queries

__all__ = ["TRANSFORMS", "apply"]


def _signed_log1p(queries: Queries) -> NDArray[np.float32]:
    x = np.log1p(np.abs(queries.x, dtype=np.float32))
    np.copysign(x, queries.x, out=x)
    return x


def _zscore_within_query(queries: Queries) -> NDArray[np.float32]:
    out = np.empty_like(queries.x, order="C")
    for q in range(len(queries)):
        rows = slice(queries.offsets[q], queries.offsets[q + 1])
        x = queries.x[rows].astype(np.float64)
        constant = (x == x[0]).all(axis=0)
        centred = x - x.mean(axis=0)
        deviation = np.sqrt(np.mean(centred * centred, axis=0))
        # Constancy is read off the values: the computed deviation of equal numbers need not be 0.
        scale = np.where(constant | (deviation == 0), 1.0, deviation)
        out[rows] = np.where(constant, 0.0, centred / scale)
    return out


TRANSFORMS: dict[str, Callable[[Queries], NDArray[np.float32]]] = {
    "signed-log1p": _signed_log1p,
    "zscore-within-query": _zscore_within_query,
}
"""Transforms by name: `Queries` to new features of shape (N, d)."""


def apply(names: Sequence[str], queries: Queries) -> Queries:
    """Return `queries` with its features transformed; labels and ids are shared.

    Parameters
    ----------
    names : sequence of str
        Applied in order.
    queries : Queries
        Not changed.

    Raises
    ------
    SpecError
        An unknown transform, with the nearest valid name.
    """
    for name in names:
        if name not in TRANSFORMS:
            raise SpecError(f"there is no feature transform {name!r}{nearest(name, TRANSFORMS)}")
    for name in names:
        queries = replace(queries, x=TRANSFORMS[name](queries))
    return queries
