"""Functions of declared signatures: nothing is compiled or loaded before it is needed, and nothing else ever."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.core.errors import TypingError

from rankbench.kernels.declared import declared, functions, load_declared
from rankbench.kernels.signatures import PHI

VECTOR = types.float64[::1]


def needed(function: Any) -> int:
    """Return how many forms of a function were compiled or found in the cache."""
    return sum(function.stats.cache_hits.values()) + sum(function.stats.cache_misses.values())


def made() -> tuple[Any, Any]:
    @declared(types.float64(types.float64))
    def half(x: float) -> float:
        return x / 2

    @declared(types.float64(types.float64), types.float64(VECTOR))
    def both(x: Any) -> Any:
        return half(1) + np.sum(np.asarray(x))

    return half, both


def test_what_nobody_calls_is_not_compiled() -> None:
    half, both = made()
    assert needed(half) == 0
    assert half(3) == 1.5
    assert half(5.0) == 2.5
    assert half.signatures == [(types.float64,)]
    assert (needed(half), needed(both)) == (1, 0)


def test_what_a_compiled_function_calls_is_compiled_for_what_is_declared() -> None:
    half, both = made()
    assert both(np.ones(4)) == 4.5
    assert both(2.0) == 2.5
    assert needed(both) == 2
    assert half.nopython_signatures == [types.float64(types.float64)]


def test_arguments_that_do_not_fit_are_refused_and_nothing_is_compiled_for_them() -> None:
    half, both = made()
    for _ in range(2):
        with pytest.raises(TypeError, match="No matching definition"):
            half("text")
        with pytest.raises(TypeError, match="No matching definition"):
            both(np.ones((2, 2)))
    assert (needed(half), needed(both)) == (1, 2)


def test_a_function_that_cannot_be_compiled_says_so_each_time() -> None:
    @declared(types.float64(types.float64))
    def wrong(x: float) -> float:
        return x.nothing  # type: ignore[attr-defined, no-any-return]

    for _ in range(2):
        with pytest.raises(TypingError, match="nothing"):
            wrong(1.0)
    wrong.awaited = ()  # type: ignore[attr-defined]  # it is not compiled when all others are


def test_one_that_calls_itself() -> None:
    @declared(types.int64(types.int64))
    def factorial(n: int) -> int:
        if n < 2:
            return 1
        return n * factorial(n - 1)

    assert factorial(10) == 3628800


def test_threads_that_call_it_first_at_the_same_time() -> None:
    half, _ = made()
    together = Barrier(4)

    def call(x: int) -> float:
        together.wait()
        return float(half(x))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(call, range(4))) == [0.0, 0.5, 1.0, 1.5]
    assert needed(half) == 1


def test_it_is_a_first_class_function() -> None:
    @declared(PHI)
    def doubled(margins: Any, params: Any, out: Any) -> None:
        out[:] = 2 * margins

    listed = functions(PHI, [doubled])
    out = np.zeros(3)
    listed[0](np.arange(3.0), np.zeros(0), out)
    assert out.tolist() == [0, 2, 4]
    assert needed(doubled) == 1


def test_all_that_waits_can_be_compiled_at_once() -> None:
    half, both = made()
    load_declared()
    assert (needed(half), needed(both)) == (1, 2)


def test_of_the_cache_only_what_is_called_is_loaded(tmp_path: Path) -> None:
    """`below` calls `next_u64`, whose machine code is in its own."""
    program = (
        "import numpy as np\n"
        "from rankbench.kernels import random\n"
        "random.below(np.ones(4, np.uint64), 7)\n"
        "functions = {name: one for name, one in vars(random).items() if hasattr(one, 'stats')}\n"
        "print(*sorted(name for name, one in functions.items() if one.stats.cache_hits or one.stats.cache_misses))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)  # which compiles it, should nobody have done so
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["below"]
