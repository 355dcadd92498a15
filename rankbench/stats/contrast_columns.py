"""Contrast columns hold all differences of contenders, or make them tile by tile, and give critical values.

C contenders have P = C (C - 1) / 2 differences: with 2,000 contenders and 2,000 replicates an
array of them would take 32 GB, and so would the matrix that makes them.

Cochran and Cox [CC50]_: the quantiles of Student's t for repetitions and for queries, averaged
with weights that are the sources' shares of the variance. Few repetitions then give wide
intervals only where repetitions are what the uncertainty comes from. Satterthwaite's single
number of degrees of freedom calls equal contenders different too often when many pairs of
them share few draws (11% instead of 5% for eight contenders and five draws, measured once
during development: docs/decisions/crossed-bootstrap.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.system import in_two_threads
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.multiple_tests import FIRST, SECOND

HELD = 4_000_000
"""Largest number of float64 that differences are held as: 32 MB; below it numba is not needed."""

_TILE = 1 << 16
"""Number of float64 that are gone through at once: they stay in the processor's cache, and no memory is asked for."""


@dataclass(frozen=True)
class DenseColumns:
    """Columns that are held, shape (N, P)."""

    values: NDArray[np.float64]

    @property
    def rows(self) -> int:
        """N."""
        return int(self.values.shape[0])

    @property
    def count(self) -> int:
        """P."""
        return int(self.values.shape[1])

    def variances(self) -> NDArray[np.float64]:
        """Return each column's variance, shape (P,)."""
        return np.asarray(self.values.var(axis=0, ddof=1))

    def largest(
        self, centre: NDArray[np.float64], scale: NDArray[np.float64], sides: NDArray[np.uint8] | None = None
    ) -> NDArray[np.float64]:
        """Return each row's largest studentized deviation over columns whose scale is not 0, shape (N,).

        That is ``(value - centre) / scale`` where `sides` has the bit `FIRST`, its negative where it has `SECOND`,
        and so its size where both, as everywhere by default.
        """
        live = scale > 0
        found, step = np.empty(self.rows), max(1, _TILE // max(1, self.count))
        for start in range(0, self.rows, step):
            part = slice(start, start + step)
            deviations = (self.values[part, live] - centre[live]) / scale[live]
            if sides is None:
                found[part] = np.abs(deviations).max(axis=1, initial=0.0)
                continue
            up, down = sides[live] & FIRST > 0, sides[live] & SECOND > 0
            highest, lowest = deviations[:, up].max(axis=1, initial=0.0), deviations[:, down].min(axis=1, initial=0.0)
            found[part] = np.maximum(highest, -lowest)
        return found


@dataclass(frozen=True)
class _Differences:
    """All differences of the columns i < j of `columns`, shape (N, C)."""

    columns: NDArray[np.float64]

    @property
    def rows(self) -> int:
        """N."""
        return int(self.columns.shape[0])

    @property
    def count(self) -> int:
        """P."""
        columns = int(self.columns.shape[1])
        return columns * (columns - 1) // 2

    def variances(self) -> NDArray[np.float64]:
        """Return each difference's variance, shape (P,)."""
        from rankbench.stats.kernels import variances

        found = np.empty(self.count)
        values = np.ascontiguousarray(self.columns)
        # Rows of pairs get shorter: every other tile makes two equal halves.
        in_two_threads(lambda half: variances(values, half.start, found), 2)
        return found

    def largest(
        self, centre: NDArray[np.float64], scale: NDArray[np.float64], sides: NDArray[np.uint8] | None = None
    ) -> NDArray[np.float64]:
        """Return each row's largest studentized deviation, shape (N,)."""
        from rankbench.stats.kernels import largest

        found = np.empty(self.rows)
        both = np.full(self.count, FIRST | SECOND) if sides is None else sides
        values = np.ascontiguousarray(self.columns)
        in_two_threads(lambda half: largest(values[half], centre, scale, both, found[half]), self.rows)
        return found


Columns: TypeAlias = DenseColumns | _Differences
"""N rows of P contrasts, held or computed where they are asked for."""


@dataclass(frozen=True)
class ContrastMatrix:
    """A contrast in every column of an array, shape (C, P)."""

    matrix: NDArray[np.float64]

    @property
    def count(self) -> int:
        """P."""
        return int(self.matrix.shape[1])

    def means(self, arms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the contrasts of C numbers, shape (P,)."""
        return np.asarray(arms @ self.matrix)

    def contrast_rows(self, values: NDArray[np.float64]) -> Columns:
        """Return the contrasts of the rows of an array."""
        return DenseColumns(values @ self.matrix)

    def certain(self, sample: Crossed) -> NDArray[np.bool_]:
        """Return whether each contrast counts as certain if its variance is 0, shape (P,)."""
        return sample.certain(self.matrix)

    def copied(self, sample: Crossed) -> NDArray[np.bool_]:
        """Return which contrasts are of copies alone (`Crossed.copied`), shape (P,)."""
        return np.asarray(~((self.matrix != 0) & ~sample.copied.T).any(axis=0))


@dataclass(frozen=True)
class ArmContrast:
    """The mean of one arm, less that of another one if there is one: one column of a `ContrastMatrix`."""

    arm: int
    other: int | None = None
    count: int = 1

    def means(self, arms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the contrast of C numbers, shape (1,)."""
        return np.asarray(arms[[self.arm]] - (0.0 if self.other is None else arms[[self.other]]))

    def contrast_rows(self, values: NDArray[np.float64]) -> Columns:
        """Return the column of the contrast."""
        return DenseColumns(values[:, [self.arm]] - (0.0 if self.other is None else values[:, [self.other]]))

    def certain(self, sample: Crossed) -> NDArray[np.bool_]:
        """Return whether a variance of 0 counts as certain, shape (1,): for equal cells, or if cells are unknown."""
        cells = sample.cells
        return np.full(1, cells is None or (self.other is not None and bool(cells[self.arm] == cells[self.other])))

    def copied(self, sample: Crossed) -> NDArray[np.bool_]:
        """Return whether the contrast is of copies alone, shape (1,)."""
        return np.full(1, sample.copied[0, [self.arm, self.arm if self.other is None else self.other]].all())


@dataclass(frozen=True)
class AllPairs:
    """The differences i - j of all i < j of `arms` arms, row by row, in the order of `numpy.triu_indices`."""

    arms: int

    @property
    def count(self) -> int:
        """P."""
        return self.arms * (self.arms - 1) // 2

    def means(self, arms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the differences of C numbers, shape (P,)."""
        first, second = np.triu_indices(self.arms, 1)
        return np.asarray(arms[first] - arms[second])

    def contrast_rows(self, values: NDArray[np.float64]) -> Columns:
        """Return the differences of the rows of an array; they are held only if they are few."""
        if values.shape[0] * self.count > HELD and self.count > 1:
            return _Differences(values)
        held, end = np.empty((values.shape[0], self.count)), 0
        for arm in range(self.arms - 1):
            start, end = end, end + self.arms - 1 - arm
            np.subtract(values[:, [arm]], values[:, arm + 1 :], out=held[:, start:end])
        return DenseColumns(held)

    def certain(self, sample: Crossed) -> NDArray[np.bool_]:
        """Return whether each pair counts as certain if its variance is 0, shape (P,)."""
        if sample.cells is None:
            return np.ones(self.count, np.bool_)
        first, second = np.triu_indices(self.arms, 1)
        return np.asarray(sample.cells[first] == sample.cells[second])

    def copied(self, sample: Crossed) -> NDArray[np.bool_]:
        """Return which pairs are of copies alone, shape (P,)."""
        first, second = np.triu_indices(self.arms, 1)
        return np.asarray(sample.copied[0, first] & sample.copied[0, second])


Contrasts: TypeAlias = ContrastMatrix | ArmContrast | AllPairs
"""P linear contrasts of C arms."""


def contrasts_of(some: NDArray[np.float64] | Contrasts) -> Contrasts:
    """Return contrasts, which may be given as the matrix of `ContrastMatrix`."""
    return ContrastMatrix(some) if isinstance(some, np.ndarray) else some


_SHARE = 1e-12


def rounding(values: NDArray[np.float64], size: float = 1.0) -> float:
    """Return the tolerance below which sums and differences count as 0.

    Parameters
    ----------
    values : ndarray of float64
        The sums and differences.
    size : float
        Of the numbers that were added or subtracted; at least 1 is assumed.

    Notes
    -----
    Two ways to compute the same loss differ in last bits. The order of the two depends on the
    machine and is no finding.
    """
    return _SHARE * max(1.0, size, float(np.abs(values).max(initial=0.0)))


@dataclass(frozen=True)
class VarianceSources:
    """Sources of the variance of P estimates.

    Attributes
    ----------
    share : ndarray of float64, shape (P,)
        The share of the repetitions; the rest is that of the queries.
    df_draws, df_queries : float
        Degrees of freedom, at least 1.
    """

    share: NDArray[np.float64]
    df_draws: float
    df_queries: float

    @classmethod
    def from_means(cls, draws: Columns, queries: Columns) -> VarianceSources:
        """Estimate the shares from means over queries (R, P) and means over repetitions (Q, P)."""
        both = draws, queries
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
