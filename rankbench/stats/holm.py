"""Holm's correction: of comparisons against a baseline that was named beforehand, and of judges.

References
----------
.. [Holm79] S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of
   Statistics 6(2), 1979.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["holm"]


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values adjusted for the family, step down [Holm79]_.

    Parameters
    ----------
    p : ndarray of float64, shape (P,)
        Nan where there was no test; it is left out of the family.

    Returns
    -------
    ndarray of float64, shape (P,)
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
