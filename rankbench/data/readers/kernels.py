"""Kernels scan LETOR lines.

Decimals become float32. A literal of at most 18 digits whose value is exact in float64
arithmetic (mantissa below 2^53, power of ten at most 22) needs one rounding; any other
is computed with a relative error below 2^-50 and accepted if the whole interval rounds
to one float32. The few literals left over are listed for Python's ``float``: every value
equals ``numpy.float32(float(text))``.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Bytes, Rows, Vector, declared

settle_runtime()


POWERS: NDArray[np.float64] = np.array([float(f"1e{k}") for k in range(81)])
"""Powers of ten, correctly rounded."""

STATE_POSITION, STATE_ROWS, STATE_HARD, STATE_ERROR = 0, 1, 2, 3

OK, LABEL, INDEX, NEGATIVE, ZERO, DUPLICATE, ORDER, RANGE, VALUE, NOT_FINITE, OVERFLOW, QID, LATE_QID = range(13)

ERRORS: dict[int, str] = {
    LABEL: "the label {token} is not a number; a line is 'label qid:N index:value ...'",
    INDEX: "expected index:value, found {token}",
    NEGATIVE: "the feature index in {token} is negative; indices count from 1 (or 0 with zero-based=true)",
    ZERO: "the feature index is 0, but indices count from 1; if this file counts from 0, use letor:zero-based=true",
    DUPLICATE: "the feature index in {token} is given twice on this line",
    ORDER: "the feature index in {token} is out of order: indices must increase along a line",
    RANGE: "the feature index in {token} is beyond the {d} features of this file",
    VALUE: "the value in {token} is not a number; a feature without a value is left out of the line, and is 0",
    NOT_FINITE: "{token} is not a finite number; remove the row or give it a value",
    OVERFLOW: "{token} does not fit into a 32-bit float",
    QID: "the query id in {token} is empty; write qid:N",
    LATE_QID: "{token} must stand right after the label, once",
}
"""Messages for the statuses of `parse_lines`; 0 is success."""

_NUMBER_OK, _NUMBER_HARD, _NUMBER_BAD, _NUMBER_NOT_FINITE, _NUMBER_OVERFLOW = range(5)
_LOW, _HIGH = 1.0 - 2.0**-50, 1.0 + 2.0**-50


Byte = Annotated[int, types.uint8]
Features = Annotated[NDArray[np.float32], types.float32[:, ::1]]
Labels = Annotated[NDArray[np.float32], types.float32[::1]]
TokenPlaces = Annotated[NDArray[np.int64], types.int64[:, ::1]]


@declared(inline="always")
def _ends(byte: Byte) -> bool:
    """Return whether a token ends at this byte: blank, tab, carriage return, newline or ``#``."""
    return byte == 32 or byte == 9 or byte == 13 or byte == 10 or byte == 35


@declared()
def _number(buffer: Bytes, i: int, stop: int, powers: Vector) -> tuple[np.float32, int, int]:
    """Read the decimal that starts at i: ``(value, first byte after it, _NUMBER_*)``."""
    negative = False
    start = i
    if i < stop and (buffer[i] == 45 or buffer[i] == 43):
        negative = buffer[i] == 45
        i += 1
    mantissa, digits, exponent, seen = np.int64(0), 0, 0, 0
    truncated, behind = False, 0
    while i < stop and (48 <= buffer[i] <= 57 or (buffer[i] == 46 and behind == 0)):
        if buffer[i] == 46:
            behind = 1
        else:
            seen += 1
            if digits < 18:
                mantissa = 10 * mantissa + (np.int64(buffer[i]) - 48)
                digits += 1 if mantissa > 0 else 0
                exponent -= behind
            else:
                truncated = True
                exponent += 1 - behind
        i += 1
    if seen == 0:
        first = buffer[i] | 32 if i < stop else 0
        if i + 2 < stop and (
            (first == 110 and buffer[i + 1] | 32 == 97 and buffer[i + 2] | 32 == 110)
            or (first == 105 and buffer[i + 1] | 32 == 110 and buffer[i + 2] | 32 == 102)
        ):
            return np.float32(0.0), start, _NUMBER_NOT_FINITE
        return np.float32(0.0), start, _NUMBER_BAD
    if i < stop and buffer[i] | 32 == 101:
        i += 1
        down = False
        if i < stop and (buffer[i] == 45 or buffer[i] == 43):
            down = buffer[i] == 45
            i += 1
        power, count = np.int64(0), 0
        while i < stop and 48 <= buffer[i] <= 57:
            power = min(10 * power + (np.int64(buffer[i]) - 48), np.int64(100_000))
            count += 1
            i += 1
        if count == 0:
            return np.float32(0.0), start, _NUMBER_BAD
        exponent += int(-power if down else power)
    if i < stop and not _ends(buffer[i]):
        return np.float32(0.0), start, _NUMBER_BAD
    if mantissa == 0:
        return np.float32(-0.0) if negative else np.float32(0.0), i, _NUMBER_OK
    if exponent < -80 or exponent > 80:
        return np.float32(0.0), i, _NUMBER_HARD
    value = np.float64(mantissa)
    value = value * powers[exponent] if exponent >= 0 else value / powers[-exponent]
    if negative:
        value = -value
    single = np.float32(value)
    exact = not truncated and mantissa <= 9007199254740992 and -22 <= exponent <= 22
    if not exact and np.float32(value * _LOW) != np.float32(value * _HIGH):
        return np.float32(0.0), i, _NUMBER_HARD
    if np.isinf(single):
        return single, start, _NUMBER_OVERFLOW
    return single, i, _NUMBER_OK


@declared()
def _failure(kind: int, otherwise: int) -> int:
    """Return the status of an unusable number."""
    if kind == _NUMBER_NOT_FINITE:
        return NOT_FINITE
    if kind == _NUMBER_OVERFLOW:
        return OVERFLOW
    return otherwise


@declared()
def parse_lines(
    buffer: Bytes,
    start: int,
    base: int,
    powers: Vector,
    x: Features,
    labels: Labels,
    places: TokenPlaces,
    hard: TokenPlaces,
    state: Rows,
) -> int:
    """Parse whole lines from `start` until the buffer ends or an output is full.

    Parameters
    ----------
    buffer : ndarray of uint8
        Whole lines; the last one may lack its newline.
    start : int
    base : int
        The smallest feature index: 1, or 0 for zero-based files.
    powers : ndarray of float64
        `POWERS`.
    x : ndarray of float32, shape (R, d)
        Zeros on entry.
    labels : ndarray of float32, shape (R,)
    places : ndarray of int64, shape (R, 4)
        Of each row: first byte of the line, first byte of the query id and the byte
        after it (-1, -1 without ``qid:``), and 1 if the id is the previous row's.
    hard : ndarray of int64, shape (H, 4), H > d
        Literals left to Python: row, column (-1: label), first byte, byte after it.
    state : ndarray of int64, shape (4,)
        Out: byte reached, rows, number of hard literals, byte of the error.

    Returns
    -------
    int
        0, or a key of `ERRORS`.
    """
    stop = buffer.shape[0]
    d = x.shape[1]
    i, row, left = start, 0, 0
    while i < stop and row < x.shape[0] and left + d < hard.shape[0]:
        line = i
        while i < stop and (buffer[i] == 32 or buffer[i] == 9 or buffer[i] == 13):
            i += 1
        if i >= stop or buffer[i] == 10 or buffer[i] == 35:
            while i < stop and buffer[i] != 10:
                i += 1
            i += 1
            continue
        token = i
        single, i, kind = _number(buffer, i, stop, powers)
        if kind == _NUMBER_HARD:
            hard[left, 0], hard[left, 1], hard[left, 2], hard[left, 3] = row, -1, token, i
            left += 1
        elif kind != _NUMBER_OK:
            state[STATE_ROWS], state[STATE_ERROR] = row, token
            return _failure(kind, LABEL)
        labels[row] = single
        places[row, 0], places[row, 1], places[row, 2], places[row, 3] = line, -1, -1, 0
        previous = base - 1
        first = True
        while True:
            while i < stop and (buffer[i] == 32 or buffer[i] == 9 or buffer[i] == 13):
                i += 1
            if i >= stop or buffer[i] == 10 or buffer[i] == 35:
                while i < stop and buffer[i] != 10:
                    i += 1
                i += 1
                break
            token = i
            state[STATE_ROWS], state[STATE_ERROR] = row, token
            if (
                i + 3 < stop
                and buffer[i] == 113
                and buffer[i + 1] == 105
                and buffer[i + 2] == 100
                and buffer[i + 3] == 58
            ):
                if not first:
                    return LATE_QID
                i += 4
                places[row, 1] = i
                while i < stop and not _ends(buffer[i]):
                    i += 1
                places[row, 2] = i
                if places[row, 1] == i:
                    return QID
                if row > 0 and places[row - 1, 2] - places[row - 1, 1] == i - places[row, 1]:
                    same = True
                    other = places[row - 1, 1]
                    for k in range(places[row, 1], i):
                        if buffer[k] != buffer[other]:
                            same = False
                            break
                        other += 1
                    places[row, 3] = 1 if same else 0
                first = False
                continue
            first = False
            index = np.int64(0)
            while i < stop and 48 <= buffer[i] <= 57:
                index = min(10 * index + (np.int64(buffer[i]) - 48), np.int64(1_000_000_000_000))
                i += 1
            if i == token or i >= stop or buffer[i] != 58:
                if buffer[token] == 45 and token + 1 < stop and 48 <= buffer[token + 1] <= 57:
                    return NEGATIVE
                return INDEX
            if index < base:
                return ZERO
            if index <= previous:
                return DUPLICATE if index == previous else ORDER
            if index - base >= d:
                return RANGE
            previous = int(index)
            value_at = i + 1
            single, i, kind = _number(buffer, value_at, stop, powers)
            if kind == _NUMBER_HARD:
                hard[left, 0], hard[left, 1], hard[left, 2], hard[left, 3] = row, index - base, value_at, i
                left += 1
            elif kind != _NUMBER_OK:
                return _failure(kind, VALUE)
            x[row, index - base] = single
        row += 1
    state[STATE_POSITION], state[STATE_ROWS], state[STATE_HARD] = min(i, stop), row, left
    return OK


@declared()
def largest_index(buffer: Bytes) -> int:
    """Return the largest feature index of the lines, at most 10^12; -1 if none has one.

    All indices of a line count, not only its last: one that is out of order must be
    called that by `parse_lines`, to which malformed lines are left.
    """
    largest, index = np.int64(-1), np.int64(0)
    inside, comment, after_blank = False, False, False
    for i in range(buffer.shape[0]):
        byte = buffer[i]
        if byte == 10:
            comment = False
            inside = False
        elif byte == 35:
            comment = True
            inside = False
        elif not comment:
            if 48 <= byte <= 57:
                if after_blank:
                    inside = True
                    index = np.int64(0)
                if inside:
                    index = min(10 * index + (np.int64(byte) - 48), np.int64(1_000_000_000_000))
            else:
                if byte == 58 and inside:
                    largest = max(largest, index)
                inside = False
        after_blank = byte == 32 or byte == 9 or byte == 13
    return int(largest)
