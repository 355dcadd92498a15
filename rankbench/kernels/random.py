"""The random numbers of compiled code: xoshiro256++ [BV21]_, the same on every platform.

NumPy promises that `numpy.random.SeedSequence` never changes, but not its distributions, and numba has
streams of its own; so the kernels draw from a generator written out here, whose state
is four words in an array that the caller owns. One stream is one state; nothing is global.

This module imports numba; import it only from kernel modules and from the runner.

References
----------
.. [BV21] D. Blackman and S. Vigna. Scrambled linear pseudorandom number generators.
   ACM Transactions on Mathematical Software 47(4), 2021.
.. [L19] D. Lemire. Fast random integer generation in an interval. ACM Transactions on
   Modeling and Computer Simulation 29(1), 2019.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["STATE", "below", "fill_below", "next_u64", "seed_state", "uniform"]

STATE = types.uint64[::1]
"""Numba type of a generator's state: C-contiguous uint64, shape (4,), not all zero."""

# numba promotes uint64 with int64 to float64: every constant below must be a uint64.
_U17, _U23, _U41, _U45, _U19 = (np.uint64(n) for n in (17, 23, 41, 45, 19))
_U11, _U32 = np.uint64(11), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_TWO32 = np.uint64(1 << 32)
_ULP = 2.0**-53


def seed_state(entropy: Sequence[int]) -> NDArray[np.uint64]:
    """Return the state of a new stream, shape (4,).

    Parameters
    ----------
    entropy : sequence of int
        Non-negative integers of any size; different sequences give independent streams
        (`numpy.random.SeedSequence`, whose output NumPy keeps stable).

    Raises
    ------
    ValueError
        A negative number in `entropy`.
    """
    return np.random.SeedSequence(list(entropy)).generate_state(4, np.uint64).astype(np.uint64, copy=False)


@declared(types.UniTuple(types.uint64, 5)(types.uint64, types.uint64, types.uint64, types.uint64))  # type: ignore[no-untyped-call]
def _bits_and_next(s0: np.uint64, s1: np.uint64, s2: np.uint64, s3: np.uint64) -> tuple[np.uint64, ...]:
    """Return 64 random bits and the state after them, xoshiro256++ [BV21]_."""
    total = s0 + s3
    bits = ((total << _U23) | (total >> _U41)) + s0
    shifted = s1 << _U17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << _U45) | (s3 >> _U19)
    return bits, s0, s1, s2, s3


@declared(types.uint64(STATE))
def next_u64(state: NDArray[np.uint64]) -> np.uint64:
    """Return 64 random bits and advance `state`, xoshiro256++ [BV21]_."""
    bits, state[0], state[1], state[2], state[3] = _bits_and_next(state[0], state[1], state[2], state[3])
    return bits


@declared(types.float64(STATE))
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a uniform multiple of 2^-53 in [0, 1) and advance `state`."""
    return np.float64(next_u64(state) >> _U11) * _ULP


@declared(types.int64(STATE, types.int64))
def below(state: NDArray[np.uint64], bound: int) -> int:
    """Return a uniform integer in [0, bound) and advance `state`, without bias.

    Multiplies the upper half of 64 random bits by the bound and rejects the few products
    that would make some integers likelier [L19]_.

    Parameters
    ----------
    state : ndarray of uint64, shape (4,)
    bound : int
        In [1, 2^32]; not checked.
    """
    n = np.uint64(bound)
    product = (next_u64(state) >> _U32) * n
    low = product & _LOW
    if low < n:
        # 2^32 mod n of the 2^32 values are surplus; the division is rarely reached.
        surplus = _TWO32 % n
        while low < surplus:
            product = (next_u64(state) >> _U32) * n
            low = product & _LOW
    return np.int64(product >> _U32)  # type: ignore[return-value]


@declared(types.void(STATE, types.int64, types.int64[::1]))
def fill_below(state: NDArray[np.uint64], bound: int, out: NDArray[np.int64]) -> None:
    """Write what as many calls of `below` return, in half of the time: the state stays in registers between them.

    Parameters
    ----------
    state : ndarray of uint64, shape (4,)
    bound : int
        In [1, 2^32]; not checked.
    out : ndarray of int64, shape (n,)
        Written.
    """
    n = np.uint64(bound)
    surplus = _TWO32 % n
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(len(out)):
        while True:
            bits, s0, s1, s2, s3 = _bits_and_next(s0, s1, s2, s3)
            product = (bits >> _U32) * n
            if product & _LOW >= surplus:
                break
        out[i] = product >> _U32
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
