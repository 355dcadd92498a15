"""What a new compiled surrogate costs: its own compilation, and nothing of the runner's."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any, ClassVar

import numpy as np
import pytest
from numba import njit
from test_lockstep_speed import NOTHING, STEP, block, contenders, lockstep

from rankbench.kernels.signatures import PHI, Kernel
from rankbench.methods.erm.kernels import lockstep as loop
from rankbench.methods.erm.kernels import sampling as contender_columns
from rankbench.methods.erm.kernels import targets
from rankbench.methods.erm.lockstep import Lockstep
from rankbench.plugin import manager
from rankbench.plugin.registry import Origin
from rankbench.surrogates.pairwise import PairwiseSquared

__all__ = ["block"]

STEPS = 200
BOUND = 0.25
"""A new surrogate's compilation, as a share of that of the one loop that it must not compile again."""

_number = itertools.count()


def surrogate() -> type[PairwiseSquared]:
    """Return a surrogate whose kernels nobody has compiled yet."""
    shift = float(next(_number))

    def phi(margins, params, out):  # type: ignore[no-untyped-def]
        for i in range(len(margins)):
            out[i] = (1.0 + shift - margins[i]) ** 2

    def dphi(margins, params, out):  # type: ignore[no-untyped-def]
        for i in range(len(margins)):
            out[i] = 2.0 * (margins[i] - 1.0 - shift)

    class Shifted(PairwiseSquared):
        """(1 + shift - t)^2."""

        name: ClassVar[str] = f"shifted-{int(shift)}"
        source: ClassVar[str] = "test"

        def phi_kernels(self) -> Any:
            one, two = (Kernel(njit(PHI)(f)) for f in (phi, dphi))
            return one, two, None

    return Shifted


def compiled() -> dict[str, int]:
    """Return how many forms of each of the runner's functions have been compiled."""
    return {
        f"{module.__name__}.{name}": len(value.signatures)
        for module in (loop, contender_columns, targets)
        for name, value in vars(module).items()
        if hasattr(value, "signatures")
    }


def first_steps(block: Any, member: str) -> float:
    start = time.perf_counter()
    made: Lockstep = lockstep(block, contenders([member]))
    made.run(STEPS, NOTHING)
    return time.perf_counter() - start


def test_a_new_surrogate_compiles_itself_alone(benchmark: Any, block: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = f"erm:aggregator=average-adjacency,k=1,surrogate=pairwise-squared,{STEP}"
    first_steps(block, known)
    start = time.perf_counter()
    njit(nogil=True)(loop.advance.py_func).compile(loop.advance.signatures[0])
    whole = time.perf_counter() - start
    before = compiled()
    usual = statistics.median(first_steps(block, known) for _ in range(5))
    registry = manager.plugins().registry

    def fresh() -> str:
        cls = surrogate()
        registry.add(cls, Origin("new", "1", "x"))
        return known.replace("pairwise-squared", cls.name)

    extra: list[float] = []

    def setup() -> tuple[tuple[str], dict[str, Any]]:
        return (fresh(),), {}

    benchmark.pedantic(lambda spec: extra.append(first_steps(block, spec) - usual), setup=setup, rounds=7)
    cost = statistics.median(extra)
    benchmark.extra_info["ms"] = round(1000 * cost, 1)
    benchmark.extra_info["ms_runner"] = round(1000 * whole, 1)
    assert compiled() == before
    assert np.isfinite(cost)
    assert cost <= BOUND * whole
