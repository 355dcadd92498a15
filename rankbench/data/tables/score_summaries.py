"""A task or a system of a score table may be the mean or the sum of neighboring ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

_CHANCE, _WHOLE_CHANCE = 0.01, 0.1
"""Most blocks that are expected by chance, where one is found; most of all rows before a row, behind it, or both."""

SELDOM = float(np.log(50))
"""A total of all others is told that chance gives to one table in fifty at most."""

_ROUNDED = 0.0051
"""Largest difference of a mean that was rounded to two digits."""

_ALL_BLOCKS, _TOUCHING = 200, 1_000
"""Rows up to which all blocks are looked at, and those that begin or end with the table or beside a row."""

_SCREENED, _OF_DIGITS = 64, 16
"""Columns that are looked at first; columns that tell how numbers are written."""

_TINY = 1e-6
"""Numbers that are all smaller are in a unit of their own."""

_CHUNK = 2_000_000
"""Blocks that are looked at together."""

_LOOKED_AT = 5_000
"""Blocks of a chunk that are compared in all columns."""

_DIGITS = 13
"""Digits behind the point of numbers that were rounded; others are as exact as floats."""

_EVEN = float(np.sqrt(3))
"""Half the range of an even law, in standard deviations."""

_MUCH = 3.0
"""Times the difference that a width must have to be evidence."""

How: TypeAlias = Literal["mean", "sum"]
_Floats: TypeAlias = NDArray[np.float64]
_Places: TypeAlias = NDArray[np.int64]


class Summary(NamedTuple):
    """A row `at` is the mean or the sum of some others."""

    at: int
    others: tuple[int, ...]
    how: How


def summary_of(values: _Floats, rows: Sequence[int] | None = None, *, counted: bool = False) -> Summary | None:
    """Return a row that is the mean or the sum of a block of at least two others, or the sum of any two.

    Numbers may be rounded: the last digits say how.

    Chance would hardly give it. By chance, a row is as far from the mean of a block as the block's rows are from each
    other, and as far from their sum as its own numbers are. The largest difference, divided by this width, is about
    the chance in one column, if laws are even. The product over columns, times the number of blocks, is below 1%; of
    all rows before or behind the row, where means mostly stand, below 10%. Proportional rows count as one column.

    Parameters
    ----------
    values : ndarray of float64, shape (n, m)
        nan where one is missing: means and sums are of the others.
    rows : sequence of int, optional
        Rows that may be one; by default all.
    counted : bool
        Numbers are counts of votes: of these, some are the sum of some others by chance, but not of all others.
    """
    n, m = values.shape
    if n < 3 or m < 2:
        return None
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    # Digits are looked at: numbers far below them are all rounding.
    values = values / largest if 0 < largest < _TINY else values
    sums = _Sums.over(values)
    chosen = np.arange(n) if rows is None else np.asarray(rows, np.int64)
    of_each = n * (n - 1) // 2 if n <= _ALL_BLOCKS else 4 * n if n <= _TOUCHING else 3
    part, whole = _CHANCE / (2 * n * of_each), _WHOLE_CHANCE / (6 * n)
    totals = np.abs(np.nansum(values, axis=1))
    ends: tuple[tuple[int, How], ...] = ((int(totals.argmax()), "sum"), (0, "mean"), (n - 1, "mean"))
    for row, how in ends if np.ptp(totals) > 0 else ():
        if row in chosen and _is_total(values[row], np.delete(values, row, axis=0), how):
            return Summary(row, tuple(k for k in range(n) if k != row), how)
    if counted:
        return None
    hows: tuple[How, ...] = ("mean", "sum")
    for how in hows:
        for at, low, high in _blocks(n, chosen[sums.could_be(chosen, how, whole)]):
            best, found = 1.0, None
            for k in sums.near(at, low, high, how)[:_LOOKED_AT]:
                block = np.arange(low[k], high[k])
                block = block[block != at[k]]
                chance = _chance(values[at[k]], values[block], sums.unit[at[k]], sums.unit[block], how, level=n == 3)
                chance /= whole if at[k] in (high[k], low[k] - 1) and {low[k], high[k]} & {0, n} else part
                if n == 3 and at[k] == 1 and how == "mean" and _alike(values[block], sums.unit[block]):
                    continue
                if chance < best and not sums.proportional(at[k]):
                    best, found = chance, Summary(int(at[k]), tuple(block.tolist()), how)
            if found is not None:
                return found
    return _sum_of_two(values, sums, chosen) if 3 < n <= _ALL_BLOCKS else None


def _is_total(own: _Floats, others: _Floats, how: How) -> bool:
    """Return whether a row is the sum, or the mean, of all others in every column that any of them has.

    As many numbers are as likely in its place: of small ones some are a sum by chance.
    """
    there = ~np.isnan(others).all(axis=0)
    count = (~np.isnan(others)).sum(axis=0)[there]
    value, own = np.nansum(others, axis=0)[there] / (count if how == "mean" else 1), own[there]
    rounding = 1e-9 * np.abs(value) if how == "sum" else np.minimum(_ROUNDED, 0.02 * np.abs(value))
    whole = (others[~np.isnan(others)] % 1 == 0).all() and (own % 1 == 0).all()
    ways = np.log1p(np.abs(own) * (1 if whole else 100)).sum()
    return bool((np.abs(value - own) <= rounding).all() and ways > SELDOM)


def _sum_of_two(values: _Floats, sums: _Sums, rows: _Places) -> Summary | None:
    """Return one of some rows that is the sum of two others anywhere, which chance would hardly give."""
    left, right = np.triu_indices(len(values), 1)
    part = _CHANCE / (len(values) * len(left))
    for at in rows:
        pairs = np.flatnonzero((left != at) & (right != at))
        for column, slack in zip(sums.some.T, sums.slack, strict=True):
            one, other = left[pairs], right[pairs]
            allowed = _rounding(sums.unit[at] + sums.unit[one] + sums.unit[other]) + slack
            pairs = pairs[~(np.abs(column[one] + column[other] - column[at]) > allowed)]
            if not len(pairs):
                break
        for block in np.stack([left[pairs], right[pairs]], axis=1)[:_LOOKED_AT]:
            whole = ~np.isnan(values[[at, *block]]).any(axis=0)
            own, two = values[at, whole], values[np.ix_(block, whole)]
            chance = _chance(own, two, sums.unit[at], sums.unit[block], "sum", level=True)
            if chance < part and not sums.proportional(int(at)):
                return Summary(int(at), tuple(block.tolist()), "sum")
    return None


def _blocks(n: int, rows: _Places) -> Iterator[tuple[_Places, _Places, _Places]]:
    """Yield rows with blocks of at least two others, `_CHUNK` at a time.

    Of more than `_TOUCHING` rows there are three blocks: the rows before it, those behind it, and all others.
    """
    zero, last, every = np.zeros(n + 1, np.int64), np.full(n + 1, n), np.arange(n + 1)
    pairs = np.array(np.triu_indices(n + 1, 2)).T if n <= _ALL_BLOCKS else np.zeros((0, 2), np.int64)
    of_each = len(pairs) or (4 * (n + 1) if n <= _TOUCHING else 3)
    step = max(1, _CHUNK // of_each)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        if n <= _ALL_BLOCKS:
            ends = np.tile(pairs, (len(some), 1))
        elif n <= _TOUCHING:
            touching = [[(zero, every), (every, last), (every, zero + k), (zero + k + 1, every)] for k in some]
            ends = np.concatenate([np.stack(pair, axis=1) for kinds in touching for pair in kinds])
        else:
            first = np.zeros_like(some)
            kinds = [(first, some), (some + 1, first + n), (first, first + n)]
            ends = np.stack([np.stack(pair, axis=1) for pair in kinds], axis=1).reshape(-1, 2)
        at, (low, high) = np.repeat(some, of_each), ends.T
        # In regular tables each row is the mean of its neighbors: a row within a block counts if all others are in it.
        inside = (low <= at) & (at < high)
        good = np.where(inside, (low == 0) & (high == n), high - low >= 2)
        yield at[good], low[good], high[good]


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the first rows of a table, of the columns with the largest variation between rows.

    Attributes
    ----------
    some : ndarray of float64, shape (n, j)
        Those columns; nan where a number is missing.
    sums, counts : ndarray, shape (n + 1, j)
        Sums and counts of the numbers in the rows before.
    unit, units : ndarray of float64, shapes (n,) and (n + 1,)
        Unit of the last digit of each row, 0 where it is none; their sums.
    slack : ndarray of float64, shape (j,)
        Rounding error of the sums.
    half : ndarray of float64, shape (n,)
        Half the range of each row's numbers, in all columns.
    """

    some: _Floats
    sums: _Floats
    counts: _Places
    unit: _Floats
    units: _Floats
    slack: _Floats
    half: _Floats

    @classmethod
    def over(cls, values: _Floats) -> _Sums:
        there = ~np.isnan(values)
        half = (np.where(there, values, -np.inf).max(axis=1) - np.where(there, values, np.inf).min(axis=1)) / 2
        filled, count = np.where(there, values, 0.0), np.maximum(there.sum(axis=0), 1)
        with np.errstate(over="ignore"):  # columns are ordered by it: infinity will do
            squares = np.where(there, (values - filled.sum(axis=0) / count) ** 2, 0.0).sum(axis=0) / count
        chosen = np.argsort(-squares, kind="stable")[:_SCREENED]
        some, filled, there = values[:, chosen], filled[:, chosen], there[:, chosen]
        sums, counts = (np.concatenate([x[:1] * 0, np.cumsum(x, axis=0)]) for x in (filled, there.astype(np.int64)))
        unit = _last_digits(filled[:, :_OF_DIGITS])
        slack = 8 * np.finfo(np.float64).eps * np.abs(sums).max(axis=0)
        return cls(some, sums, counts, unit, np.concatenate([[0.0], np.cumsum(unit)]), slack, half)

    def could_be(self, rows: _Places, how: How, chance: float) -> NDArray[np.bool_]:
        """Return which rows differ in their numbers and have digits enough: no block of others excludes chance."""
        there = ~np.isnan(self.some)
        most, least = (np.where(there, self.some, sign * -np.inf) for sign in (1, -1))
        half, own = (most.max(axis=0) - least.min(axis=0)) / 2, self.half[rows]
        near = np.maximum(self.unit[rows] / 2, 1e-12)
        level = _EVEN * np.abs(np.where(there, self.some, 0.0)).max(axis=1)[rows]
        of_two = how == "sum" and len(self.some) == 3  # its level is evidence, too
        logs = np.log(near / np.maximum(level, near)) if of_two else np.zeros(len(rows))
        for j in range(self.some.shape[1]):
            scale = _EVEN * (np.full(len(rows), half[j]) if how == "mean" else own)
            logs += np.where(there[rows, j] & (scale > _MUCH * near), np.log(near / np.maximum(scale, near)), 0.0)
        return np.asarray((own > 0) & (logs < np.log(chance)))

    def near(self, at: _Places, low: _Places, high: _Places, how: How) -> _Places:
        """Return the numbers of the blocks that may be summed up by their rows, by these columns.

        Blocks that share most columns with their row come first: many share none, in sparse tables.
        """
        left, shared = np.arange(len(at)), np.zeros(len(at), np.int64)
        for j in range(self.some.shape[1]):
            one, begin, end = at[left], low[left], high[left]
            inside = (begin <= one) & (one < end)
            own, there = np.nan_to_num(self.some[one, j]), ~np.isnan(self.some[one, j])
            count = self.counts[end, j] - self.counts[begin, j] - (inside & there)
            total = self.sums[end, j] - self.sums[begin, j] - np.where(inside, own, 0.0)
            units = self.units[end] - self.units[begin] - np.where(inside, self.unit[one], 0.0)
            if how == "mean":
                total, units = total / np.maximum(count, 1), units / (end - begin - inside)
            allowed = _rounding(self.unit[one] + units) + self.slack[j]
            both = there & (count > 0)
            shared[left] += both
            left = left[(np.abs(total - own) <= allowed) | ~both]
            if not len(left):
                break
        return left[np.argsort(-shared[left], kind="stable")]

    def proportional(self, at: int) -> bool:
        """Return whether all rows but `at` are proportional."""
        rows = np.nan_to_num(np.delete(self.some, at, axis=0)[: self.some.shape[1] * 4])
        noise = (max(float(self.unit.max()), 1e-12 * float(np.abs(rows).max())) / 2) * sum(np.sqrt(rows.shape))
        return bool(np.linalg.matrix_rank(rows, tol=noise) < 2)


def _alike(two: _Floats, units: _Floats) -> bool:
    """Return whether two rows differ by one number: so do rows of a regular table, whose middle is their mean."""
    return bool(np.ptp(two[1] - two[0]) <= 2 * units.sum())


def _rounding(unit: _Floats) -> _Floats:
    return unit / 2 * 1.001


def _last_digits(numbers: _Floats) -> _Floats:
    """Return the unit of the last decimal of each row's numbers, shape (n,); 0 if they are not rounded."""
    unit = np.zeros(len(numbers))
    left = np.arange(len(numbers))
    for digits in range(_DIGITS):
        some = numbers[left]
        rounded = (np.abs(some - np.round(some, digits)) <= 1e-14 * np.abs(some)).all(axis=1)
        unit[left[rounded]] = 10.0**-digits
        left = left[~rounded]
    return unit


def _chance(own: _Floats, block: _Floats, unit: float, units: _Floats, how: How, *, level: bool) -> float:
    """Return about the chance that a row is so near to the mean, or the sum, of a block; 1 if it is none.

    `level`: the row's mean is evidence, too, as that of no row beside it is.
    """
    used = ~np.isnan(own) & (~np.isnan(block)).any(axis=0)
    if used.sum() < 2:
        return 1.0
    own, block = own[used], block[:, used]
    count = (~np.isnan(block)).sum(axis=0)
    value, wide = np.nansum(block, axis=0), np.full(len(own), own.std())
    rounding = _rounding(unit + units.sum())
    if how == "mean":
        value, wide, rounding = value / count, np.nanstd(block, axis=0), _rounding(unit + units.mean())
    wrong = np.abs(value - own)
    if (wrong > rounding + 1e-9 * np.abs(value)).any():
        return 1.0
    near, wide = max(float(wrong.max()), unit / 2, 1e-12), _EVEN * wide
    if how == "sum" and level:
        # A sum is above its parts: that its level is right is evidence of one column.
        wide[0] = max(wide[0], _EVEN * abs(float(own.mean() - np.nanmean(block))))
    share = np.divide(near, wide, out=np.ones_like(wide), where=wide > _MUCH * near)
    return float(np.exp(np.log(share).sum()))
