"""Critical values when a standard error has two sources, each with degrees of freedom of its own.

Cochran and Cox [CC50]_: the quantiles of Student's t for draws and for queries, averaged
with weights that are the sources' shares of the variance. Few draws then give wide
intervals only where draws are what the uncertainty comes from. Satterthwaite's single
number of degrees of freedom calls equal contenders different too often when many pairs of
them share few draws (11% instead of 5% for eight contenders and five draws, measured once
during development: docs/decisions/crossed-bootstrap.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.columns import Columns, DenseColumns

__all__ = ["VarianceSources"]


@dataclass(frozen=True)
class VarianceSources:
    """Where the variance of P estimates comes from.

    Attributes
    ----------
    share : ndarray of float64, shape (P,)
        The share of the draws; the rest is that of the queries.
    df_draws, df_queries : float
        Degrees of freedom, at least 1.
    """

    share: NDArray[np.float64]
    df_draws: float
    df_queries: float

    @classmethod
    def from_means(
        cls, draws: NDArray[np.float64] | Columns, queries: NDArray[np.float64] | Columns
    ) -> VarianceSources:
        """Estimate the shares from means over queries (R, P) and means over draws (Q, P)."""
        both = [DenseColumns(means) if isinstance(means, np.ndarray) else means for means in (draws, queries)]
        variances = [means.variances() / means.rows if means.rows > 1 else np.zeros(means.count) for means in both]
        total = variances[0] + variances[1]
        share = np.divide(variances[0], total, out=np.ones_like(total), where=total > 0)
        return cls(share, *(max(means.rows - 1.0, 1.0) for means in both))

    @classmethod
    def only(cls, contrasts: int, df: float) -> VarianceSources:
        """One source for all: Student's t."""
        return cls(np.ones(contrasts), max(df, 1.0), 1.0)

    def quantile(self, local: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the two-sided critical value of each estimate, shape (P,), at level `local`."""
        from scipy.special import stdtrit

        draws, queries = stdtrit(self.df_draws, local / 2), stdtrit(self.df_queries, local / 2)
        return np.asarray(-(self.share * draws + (1 - self.share) * queries))

    def p(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return two-sided p-values of |t|, shape (P,): the level at which `quantile` is |t|."""
        low, high = np.full(t.shape, -300.0), np.zeros(t.shape)
        for _ in range(60):
            middle = (low + high) / 2
            strict = self.quantile(10.0**middle) > np.abs(t)
            low, high = np.where(strict, middle, low), np.where(strict, high, middle)
        return np.asarray(10.0**high)
