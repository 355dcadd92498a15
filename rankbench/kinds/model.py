"""The interface of models: from an item's features to its score alpha."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Component
from rankbench.returned import Promise

__all__ = ["Model"]


class Model(Component):
    """A feature map psi; scores are ``alpha_i = <theta, psi(x_i)>``, linear in theta."""

    kind: ClassVar[str] = "model"
    promises: ClassVar[Mapping[str, Promise]] = {"features": "array"}

    @abstractmethod
    def features(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map features, shape (N, d), to the coordinates theta lives in, shape (N, d')."""
