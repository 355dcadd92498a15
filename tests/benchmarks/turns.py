"""Timing two ways of doing one thing in turns, so that both see the same load; both go into the benchmark's record."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

ROUNDS = 15


def pairs(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n pairs of different items among m, drawn at random."""
    a = rng.integers(0, m, n, dtype=np.int32)
    return a, (a + rng.integers(1, m, n, dtype=np.int32)) % np.int32(m)


def seconds(work: Callable[[], object]) -> float:
    """Return how long a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def against(
    benchmark: Any,
    ours: Callable[[], object],
    other: Callable[[], object],
    peer: str,
    *,
    units: float = 1.0,
    at_least: float | None = None,
    rounds: int = ROUNDS,
) -> None:
    """Time ours, and before each round the other; what is kept is every round of both.

    Parameters
    ----------
    benchmark : pytest_benchmark.fixture.BenchmarkFixture
    ours, other : callable
        Each is called once beforehand.
    peer : str
        Whose way the other one is.
    units : float
        How much more work ours does; the other's times count so many times.
    at_least : float, optional
        How many times as fast ours must be.
    rounds : int
    """
    others: list[float] = []
    with threadpool_limits(limits=1):
        ours(), other()
        benchmark.pedantic(ours, setup=lambda: others.append(units * seconds(other)), rounds=rounds)
    kept(benchmark, peer, others[-rounds:], at_least)


def kept(benchmark: Any, peer: str, others: list[float], at_least: float | None = None) -> None:
    """Write the reference's rounds beside ours, and hold their ratio against a bound."""
    faster = statistics.median(others) / benchmark.stats.stats.median
    benchmark.extra_info |= {"peer": peer, "peer_rounds": others, "times as fast": round(faster, 2)}
    assert at_least is None or faster >= at_least
