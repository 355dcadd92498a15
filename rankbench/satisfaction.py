"""G of the ERR family, [DMJ13]_ eq. (16): the probability that an item satisfies, by name.

The losses (16) and the order-preserving surrogate for them share it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["SatisfactionName", "satisfaction"]

SatisfactionName: TypeAlias = Literal["exp2", "logistic"]
"""G(s): ``(2^s - 1) / 2^top``, held within [0, 1], or ``1 / (1 + e^-s)``."""


def satisfaction(name: SatisfactionName, scores: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    """Return G(s_j) in [0, 1], shape (m,).

    Parameters
    ----------
    name : {"exp2", "logistic"}
    scores : ndarray of float64, shape (m,)
    top : float
        Largest grade, which satisfies with probability ``1 - 2^-top``; of ``exp2`` only.
    """
    if name == "logistic":
        e = np.exp(-np.abs(scores))
        chance: NDArray[np.float64] = np.where(scores > 0, 1.0, e) / (1.0 + e)
        return chance
    held: NDArray[np.float64] = np.clip(np.exp2(np.minimum(scores, top + 1.0) - top) - np.exp2(-top), 0.0, 1.0)
    return held
