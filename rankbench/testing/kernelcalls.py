"""Calls of compiled forms as the runner makes them, with guards around all memory they may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.loss import Loss
from rankbench.testing.check_results import CheckFailed

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = [
    "Guarded",
    "call_aggregate",
    "call_gradient",
    "call_loss",
    "call_phi",
    "call_step",
    "call_target",
    "call_weigh",
]

GUARD = 64
"""Elements before and after an array that must keep their value."""

CANARY = -7777


class Guarded:
    """Arrays for one call, each between two guards.

    Reading beyond an array is not noticed, writing is.
    """

    def __init__(self) -> None:
        self._whole: list[tuple[str, NDArray[Any], int]] = []

    def array(self, what: str, length: int, fill: float, dtype: type = np.float64) -> NDArray[Any]:
        """Return an array of `length`, filled, that stands between guards."""
        whole: NDArray[Any] = np.full(length + 2 * GUARD, CANARY, dtype=dtype)
        self._whole.append((what, whole, length))
        inner = whole[GUARD : GUARD + length]
        inner[:] = fill
        return inner

    def work(self, kernel: Kernel, m: int, *, dirty: bool = False) -> NDArray[np.float64]:
        """Return the scratch memory that a kernel asks for; zeros unless `dirty`."""
        return self.array("work", kernel.work(m), np.nan if dirty else 0.0)

    def check(self, label: str) -> None:
        """Raise if anything was written outside of the arrays.

        Raises
        ------
        CheckFailed
            With the array.
        """
        for what, whole, length in self._whole:
            if (whole[:GUARD] != CANARY).any() or (whole[GUARD + length :] != CANARY).any():
                raise CheckFailed(f"{label}: the kernel writes beyond {what}, which has {length} elements")


def _cleared(work: NDArray[np.float64], label: str) -> None:
    if work.any():
        raise CheckFailed(f"{label}: the kernel leaves its scratch memory dirty; it must hold zeros again on return")


def call_aggregate(
    it: Aggregator,
    kernel: Kernel,
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
) -> NDArray[np.float64]:
    """Return the structure that an `AGGREGATE` or `EDGES` kernel makes, as `aggregate` would."""
    guarded, k = Guarded(), len(winners)
    label = f"{k} comparisons of {m} items"
    work = guarded.work(kernel, m)
    if it.structure == "scores":
        out = guarded.array("out", m, np.nan)
        kernel.function(winners, losers, weights, m, kernel.params, work, out)
    else:
        tails, heads = guarded.array("tails", k, -1, np.int32), guarded.array("heads", k, -1, np.int32)
        edges = guarded.array("edge_weights", k, np.nan)
        count = kernel.function(winners, losers, weights, m, kernel.params, work, tails, heads, edges)
        if not 0 <= count <= k:
            raise CheckFailed(f"{label}: the kernel says that it made {count} edges, out of {k}")
        out = np.zeros((m, m))
        pairs = list(zip(tails[:count].tolist(), heads[:count].tolist(), strict=True))
        if len(set(pairs)) != count:
            raise CheckFailed(f"{label}: the kernel gives an edge twice")
        if any(not (0 <= i < m and 0 <= j < m) for i, j in pairs):
            raise CheckFailed(f"{label}: the kernel gives an edge to an item that is not there")
        for (i, j), weight in zip(pairs, edges[:count], strict=True):
            out[i, j] = weight
    guarded.check(label)
    _cleared(work, label)
    return out.copy()


def call_target(kernel: Kernel, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the target that a `TARGET` kernel makes."""
    guarded, m = Guarded(), len(scores)
    work, out = guarded.work(kernel, m), guarded.array("target", m, np.nan)
    kernel.function(scores, kernel.params, work, out)
    guarded.check(f"target of {m} items")
    _cleared(work, f"target of {m} items")
    return out.copy()


def call_gradient(
    kernel: Kernel, alpha: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the value and the gradient of a `GRADIENT` kernel."""
    guarded = Guarded()
    out = guarded.array("gradient", len(alpha), np.nan)
    value = float(kernel.function(alpha, target, kernel.params, out))
    guarded.check(f"gradient of {len(alpha)} items")
    return value, out.copy()


def call_phi(kernel: Kernel, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a `PHI` kernel makes of margins."""
    guarded = Guarded()
    out = guarded.array("out", len(margins), np.nan)
    kernel.function(margins, kernel.params, out)
    guarded.check(f"{len(margins)} margins")
    return out.copy()


def call_weigh(kernel: Kernel, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors and offsets of a `WEIGH` kernel."""
    guarded = Guarded()
    factors, offsets = guarded.array("weights", len(weights), 0.0), guarded.array("offsets", len(weights), np.nan)
    factors[:] = weights
    kernel.function(factors, kernel.params, offsets)
    guarded.check(f"{len(weights)} weights")
    return factors.copy(), offsets.copy()


def call_loss(it: Loss, kernel: Kernel, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
    """Return the loss by a `LOSS` or `MATRIX_LOSS` kernel, whose scratch memory is dirty on entry."""
    guarded = Guarded()
    work = guarded.work(kernel, len(alpha), dirty=True)
    value = float(kernel.function(alpha, np.ascontiguousarray(structure), kernel.params, work))
    guarded.check(f"{len(alpha)} items")
    return value


def call_step(
    kernel: Kernel, theta: NDArray[np.float64], gradient: NDArray[np.float64], t: int, state: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return theta, shape (c, d), after a `STEP` kernel; `state`, shape (c, s), is changed."""
    guarded = Guarded()
    moved = guarded.array("theta", theta.size, 0.0).reshape(theta.shape)
    moved[:] = theta
    own = guarded.array("state", state.size, 0.0).reshape(state.shape)
    own[:] = state
    params = np.ascontiguousarray(np.tile(kernel.params, (len(theta), 1)))
    kernel.function(moved, np.ascontiguousarray(gradient), t, params, own)
    guarded.check(f"step {t}")
    state[:] = own
    return moved.copy()
