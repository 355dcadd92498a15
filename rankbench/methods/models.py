"""The linear model scores items by their feature vectors."""

from __future__ import annotations

from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.method import Model
from rankbench.interfaces.queries import Queries


class LinearModel(Model):
    """Score items by ``alpha_i = <theta, x_i>``, without an intercept.

    An intercept would move all scores of a query alike and change no order.
    """

    name: ClassVar[str] = "linear"
    source: ClassVar[str] = "[DMJ13]_ section 6.2"

    def features(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features, shape (N, d), as they are: the same array, not a copy."""
        return x


_made: WeakKeyDictionary[Queries, dict[str, NDArray[np.float64]]] = WeakKeyDictionary()


def feature_matrix(queries: Queries, model: Model) -> NDArray[np.float64]:
    """Return the model's features of all items, float64, C-contiguous and writable, shape (N, d').

    Blocks of a data set share their queries, so this is remembered as long as they live.
    """
    known = _made.setdefault(queries, {})
    key = model.digest()
    if key not in known:
        known[key] = np.require(_made_by(model, queries), np.float64, ["C", "W"])
    return known[key]


def _made_by(model: Model, queries: Queries) -> NDArray[np.float32]:
    """Return a model's features; it cannot write to those of the queries."""
    x = queries.x.view()
    x.flags.writeable = False
    return np.asarray(model.checked_numbers("features", model.features(x)))
