"""Kernels compute gains, discounts and stopping probabilities, and sort.

Sorting takes most of the time for every drawn structure. The network of compare and
exchange steps (Batcher 1968, in the form whose merges begin with a mirrored step, so that
all comparisons point the same way) runs in vector registers: .4 microseconds for 128
floats, against 2.2 for a merge sort.

Parameter vectors are laid out as `gain_params` says. Discounts come from a table; the
table ends at the cutoff or after `TABLE` positions, and what lies beyond is computed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rankbench.core.gains import (
    DISCOUNTS,
    GAINS,
    SAFE_EXPONENT,
    SATISFACTIONS,
    TINY,
    DiscountName,
    GainName,
    SatisfactionName,
    discounts,
    power_of_two,
)
from rankbench.kernels.declared import Vector, declared, jitable


@declared()
def padding(m: int) -> int:
    """Return the number of floats that `sort_descending` needs for m values: a power of two, at least 8."""
    n = 8
    while n < m:
        n *= 2
    return n


@declared(inline="always")
def _high(a: float, b: float) -> float:
    return a if a > b else b


@declared(inline="always")
def _low(a: float, b: float) -> float:
    return b if a > b else a


@declared()
def _sort_eights(v: Vector, n: int) -> None:
    """Sort every eight values on their own, in registers."""
    for c in range(0, n, 8):
        x0, x1, x2, x3, x4, x5, x6, x7 = v[c], v[c + 1], v[c + 2], v[c + 3], v[c + 4], v[c + 5], v[c + 6], v[c + 7]
        a0, a1, a2, a3 = _high(x0, x1), _low(x0, x1), _high(x2, x3), _low(x2, x3)
        a4, a5, a6, a7 = _high(x4, x5), _low(x4, x5), _high(x6, x7), _low(x6, x7)
        b0, b3, b1, b2 = _high(a0, a3), _low(a0, a3), _high(a1, a2), _low(a1, a2)
        b4, b7, b5, b6 = _high(a4, a7), _low(a4, a7), _high(a5, a6), _low(a5, a6)
        x0, x1, x2, x3 = _high(b0, b1), _low(b0, b1), _high(b2, b3), _low(b2, b3)
        x4, x5, x6, x7 = _high(b4, b5), _low(b4, b5), _high(b6, b7), _low(b6, b7)
        a0, a7, a1, a6 = _high(x0, x7), _low(x0, x7), _high(x1, x6), _low(x1, x6)
        a2, a5, a3, a4 = _high(x2, x5), _low(x2, x5), _high(x3, x4), _low(x3, x4)
        b0, b2, b1, b3 = _high(a0, a2), _low(a0, a2), _high(a1, a3), _low(a1, a3)
        b4, b6, b5, b7 = _high(a4, a6), _low(a4, a6), _high(a5, a7), _low(a5, a7)
        v[c], v[c + 1], v[c + 2], v[c + 3] = _high(b0, b1), _low(b0, b1), _high(b2, b3), _low(b2, b3)
        v[c + 4], v[c + 5], v[c + 6], v[c + 7] = _high(b4, b5), _low(b4, b5), _high(b6, b7), _low(b6, b7)


@declared()
def _merge_eights(v: Vector, n: int) -> None:
    """Do the last three steps of a merge, distances 4, 2 and 1, in registers."""
    for c in range(0, n, 8):
        x0, x1, x2, x3, x4, x5, x6, x7 = v[c], v[c + 1], v[c + 2], v[c + 3], v[c + 4], v[c + 5], v[c + 6], v[c + 7]
        a0, a4, a1, a5 = _high(x0, x4), _low(x0, x4), _high(x1, x5), _low(x1, x5)
        a2, a6, a3, a7 = _high(x2, x6), _low(x2, x6), _high(x3, x7), _low(x3, x7)
        b0, b2, b1, b3 = _high(a0, a2), _low(a0, a2), _high(a1, a3), _low(a1, a3)
        b4, b6, b5, b7 = _high(a4, a6), _low(a4, a6), _high(a5, a7), _low(a5, a7)
        v[c], v[c + 1], v[c + 2], v[c + 3] = _high(b0, b1), _low(b0, b1), _high(b2, b3), _low(b2, b3)
        v[c + 4], v[c + 5], v[c + 6], v[c + 7] = _high(b4, b5), _low(b4, b5), _high(b6, b7), _low(b6, b7)


@declared()
def sort_descending(v: Vector, count: int) -> None:
    """Sort ``v[:count]`` in descending order, in place.

    Parameters
    ----------
    v : ndarray of float64, shape (at least ``padding(count)``,)
        Whatever stands in ``v[count:padding(count)]`` is replaced by -inf.
    count : int
        Number of values.
    """
    n = padding(count)
    for i in range(count, n):
        v[i] = -np.inf
    _sort_eights(v, n)
    size = 16
    while size <= n:
        half = size // 2
        for start in range(0, n, size):
            upper, lower = v[start : start + half], v[start + half : start + size]
            for i in range(half):
                x, y = upper[i], lower[half - 1 - i]
                upper[i] = _high(x, y)
                lower[half - 1 - i] = _low(x, y)
        distance = half // 2
        while distance >= 8:
            for start in range(0, n, 2 * distance):
                upper, lower = v[start : start + distance], v[start + distance : start + 2 * distance]
                for i in range(distance):
                    x, y = upper[i], lower[i]
                    upper[i] = _high(x, y)
                    lower[i] = _low(x, y)
            distance //= 2
        _merge_eights(v, n)
        size *= 2


TABLE = 4096

EXP2, IDENTITY, EXP = 0, 1, 2
LOG, LOG2, RECIPROCAL, CONSTANT = 0, 1, 2, 3
GAIN_CODES: dict[GainName, int] = {"exp2": EXP2, "identity": IDENTITY, "exp": EXP}
DISCOUNT_CODES: dict[DiscountName, int] = {"log": LOG, "log2": LOG2, "reciprocal": RECIPROCAL}

LARGEST_POWER = 64
POWERS = 2.0 ** np.arange(-LARGEST_POWER, LARGEST_POWER + 1)

HEADER = 4
IDENTITY_SHIFT = 64.0


def gain_params(gain: GainName, discount: DiscountName | None, cutoff: float = math.inf) -> NDArray[np.float64]:
    """Return ``[gain code, discount code, cutoff, table length T, 1/F(1), ..., 1/F(T)]``.

    `discount` None means F = 1 up to the cutoff.
    """
    length = int(min(cutoff, TABLE))
    table = np.ones(length) if discount is None else discounts(discount, length)
    code = CONSTANT if discount is None else DISCOUNT_CODES[discount]
    return np.concatenate([[GAIN_CODES[gain], code, cutoff, length], table])


_log, _log2, _reciprocal = (jitable(DISCOUNTS[name]) for name in ("log", "log2", "reciprocal"))


@declared()
def discount(params: Vector, position: int) -> float:
    """Return 1 / F(position + 1), zero after the cutoff; `position` counts from 0."""
    if position < int(params[3]):
        return float(params[HEADER + position])
    if position >= params[2]:
        return 0.0
    code = int(params[1])
    if code == LOG:
        return float(_log(position + 1.0))
    if code == LOG2:
        return float(_log2(position + 1.0))
    if code == RECIPROCAL:
        return float(_reciprocal(position + 1.0))
    return 1.0


@declared()
def _power_of_two(x: float) -> float:
    """Return 2^x; exactly, and sooner than by `exp2`, for the integers that grades are."""
    if -LARGEST_POWER <= x <= LARGEST_POWER and x == math.floor(x):
        return float(POWERS[int(x) + LARGEST_POWER])
    return float(np.exp2(x))


@overload(power_of_two)
def _looked_up(x: Any) -> Any:
    def implementation(x: Any) -> Any:
        return _power_of_two(x)

    return implementation


_exp2_gain, _identity, _exp = (jitable(GAINS[name]) for name in ("exp2", "identity", "exp"))


@declared()
def gain_at(score: float, shift: float, unit: float, code: int) -> float:
    """Return ``G(score)`` times `unit` = 2^-shift (for exp times e^-shift)."""
    if code == EXP2:
        return float(_exp2_gain(score, shift, unit))
    if code == EXP:
        return float(_exp(score, shift, unit))
    return float(_identity(score, shift, unit))


@declared()
def all_finite(values: Vector) -> bool:
    """Return whether no value is nan or infinite."""
    finite = True
    for i in range(values.shape[0]):
        finite &= abs(values[i]) < np.inf
    return finite


@declared()
def largest_size(values: Vector) -> float:
    """Return the largest absolute value of finite ones, 0 of none: of four maxima side by side, which need not wait."""
    a = b = c = d = 0.0
    fours = values.shape[0] - values.shape[0] % 4
    for i in range(0, fours, 4):
        a, b = _high(abs(values[i]), a), _high(abs(values[i + 1]), b)
        c, d = _high(abs(values[i + 2]), c), _high(abs(values[i + 3]), d)
    for i in range(fours, values.shape[0]):
        a = _high(abs(values[i]), a)
    return float(_high(_high(a, b), _high(c, d)))


@declared()
def _discounted(values: Vector, count: int, first: int, params: Vector) -> float:
    """Return ``sum_j values[j] / F(first + j + 1)``, four partial sums at a time."""
    inside = min(count, max(int(params[3]) - first, 0))
    a = b = c = d = 0.0
    fours = inside - inside % 4
    for j in range(0, fours, 4):
        at = HEADER + first + j
        a += values[j] * params[at]
        b += values[j + 1] * params[at + 1]
        c += values[j + 2] * params[at + 2]
        d += values[j + 3] * params[at + 3]
    for j in range(fours, inside):
        a += values[j] * params[HEADER + first + j]
    if first + count > params[3] and params[3] < params[2]:
        for j in range(inside, count):
            b += values[j] * discount(params, first + j)
    return (a + b) + (c + d)


@declared()
def _ideal(
    scores: Vector,
    shift: float,
    params: Vector,
    gain: Vector,
    nonzero: Vector,
    count: int,
    above: Vector,
    below: Vector,
) -> float:
    """Write gains, return Z: only gains other than G(0) are computed and sorted."""
    code = int(params[0])
    unit = 2.0**-shift
    zero = gain_at(0.0, shift, unit, code)
    gain[:] = zero
    # First the part with calls of other functions, then the part without branches to mispredict.
    for j in range(np.uint64(count)):
        gain[np.uint64(nonzero[j])] = gain_at(scores[np.uint64(nonzero[j])], shift, unit, code)
    over = under = np.uint64(0)
    for j in range(np.uint64(count)):
        value = gain[np.uint64(nonzero[j])]
        above[over] = value
        below[under] = value
        over += np.uint64(value > zero)
        under += np.uint64(value < zero)
    high, low = int(over), int(under)
    ties = scores.shape[0] - high - low
    total = size = 0.0
    if high:
        sort_descending(above, high)
        total += _discounted(above, high, 0, params)
    if zero != 0.0:
        for position in range(high, high + ties):
            total += zero * discount(params, position)
    if low and high + ties < params[2]:
        sort_descending(below, low)
        size = total
        part = _discounted(below, low, high + ties, params)
        total += part
        size += abs(part)
    return 0.0 if abs(total) <= TINY * size < np.inf else total


@declared()
def gains_and_ideal(scores: Vector, params: Vector, gain: Vector, work: Vector) -> float:
    """Write the gains of a score structure to `gain` and return Z(s).

    Both are multiplied by the same positive factor where they would overflow.

    Parameters
    ----------
    scores, gain : ndarray of float64, shape (m,)
    params : ndarray of float64
        From `gain_params`.
    work : ndarray of float64, shape (at least ``3 * padded(m)``,)
        Scratch; its first ``3 * padded(m)`` floats are left dirty.

    Returns
    -------
    float
        Z(s); 0 if s = 0, whatever G(0), and if gains cancel up to rounding as `ideal` says.
    """
    m = scores.shape[0]
    third = padding(m)
    above, below, nonzero = work[:third], work[third : 2 * third], work[2 * third : 3 * third]
    # Most scores of a small sample are zero. Storing every index and moving on only
    # where it counts has no branch to mispredict.
    count = 0
    for i in range(m):
        nonzero[count] = i
        count += scores[i] != 0.0
    if count == 0:
        gain[:] = gain_at(0.0, 0.0, 1.0, int(params[0]))
        return 0.0
    total = _ideal(scores, 0.0, params, gain, nonzero, count, above, below)
    if abs(total) < np.inf:
        return total
    shift = IDENTITY_SHIFT if int(params[0]) == IDENTITY else max(0.0, scores.max() - SAFE_EXPONENT)
    return _ideal(scores, shift, params, gain, nonzero, count, above, below)


EXP2_SATISFACTION, LOGISTIC = 0, 1
SATISFACTION_CODES: dict[SatisfactionName, int] = {"exp2": EXP2_SATISFACTION, "logistic": LOGISTIC}

_exp2_satisfaction, _logistic = jitable(SATISFACTIONS["exp2"]), jitable(SATISFACTIONS["logistic"])


@declared()
def satisfied(score: float, code: float, top: float) -> float:
    """Return G(score) in [0, 1]."""
    return float(_logistic(score, top) if int(code) == LOGISTIC else _exp2_satisfaction(score, top))
