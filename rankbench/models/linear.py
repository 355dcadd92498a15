"""The linear model: an item's features are its coordinates."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.model import Model

__all__ = ["LinearModel"]


class LinearModel(Model):
    """Score items by ``alpha_i = <theta, x_i>``, without an intercept.

    An intercept would move all scores of a query alike and change no order.
    """

    name: ClassVar[str] = "linear"
    source: ClassVar[str] = "[DMJ13]_ section 6.2"

    def features(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features, shape (N, d), as they are: the same array, not a copy."""
        return x
