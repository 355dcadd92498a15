"""Functions of declared signatures, and lists of them: nothing else is compiled."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.core.errors import TypingError

from rankbench.kernels.declared import declared, functions, vectors
from rankbench.kernels.signatures import PHI, TARGET

from numba import njit  # isort: skip
from numba.core import event  # isort: skip

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


@pytest.mark.full
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


def test_a_function_that_cannot_be_compiled_says_so() -> None:
    def wrong(x: float) -> float:
        return x.nothing  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(TypingError, match="nothing"):
        declared()(wrong)


def test_one_that_calls_itself() -> None:
    @declared(types.int64(types.int64))
    def factorial(n: int) -> int:
        if n < 2:
            return 1
        return n * factorial(n - 1)

    assert factorial(10) == 3628800


def test_it_is_a_first_class_function() -> None:
    @declared(PHI)
    def doubled(margins: Any, params: Any, out: Any) -> None:
        out[:] = 2 * margins

    listed = functions(PHI, [doubled])
    out = np.zeros(3)
    listed[0](np.arange(3.0), np.zeros(0), out)
    assert out.tolist() == [0, 2, 4]
    assert needed(doubled) == 1


Vector = types.float64[::1]
ListOfPhi = types.ListType(types.FunctionType(PHI))  # type: ignore[no-untyped-call]


def times(factor):
    """Return a new kernel that multiplies."""

    @njit(PHI)
    def multiply(margins, params, out):
        for i in range(len(margins)):
            out[i] = factor * margins[i]

    return multiply


@pytest.fixture(scope="module")
def multiples():
    """Return two kernels, compiled only where a test wants them."""
    return times(2.0), times(3.0)


@pytest.fixture(scope="module")
def called():
    """Return what tells what each function of a list makes of a margin."""

    @njit(types.void(ListOfPhi, Vector, Vector, Vector, Vector))
    def call(listed, margins, params, out, found):
        for i in range(len(listed)):
            listed[i](margins, params, out)
            found[i] = out[0]

    def called(listed, margin):
        found = np.zeros(len(listed))
        call(listed, np.full(1, margin), np.zeros(0), np.zeros(1), found)
        return found

    return called


def test_functions_are_called_in_their_order(multiples, called) -> None:
    twice, thrice = multiples
    assert called(functions(PHI, [twice, thrice, twice]), 5.0).tolist() == [10.0, 15.0, 10.0]
    assert called(functions(PHI, []), 5.0).tolist() == []


def test_a_function_lives_as_long_as_lists_may_call_it(called) -> None:
    kernel = times(4.0)
    gone, listed = weakref.ref(kernel), functions(PHI, [kernel])
    del kernel
    gc.collect()
    assert gone() is not None
    assert called(listed, 2.0).tolist() == [8.0]


def test_new_functions_are_listed_without_compiling_anything(multiples) -> None:
    functions(PHI, [])
    with event.install_recorder("numba:run_pass") as passes:
        functions(PHI, multiples)
    assert not passes.buffer


FRESH = """
from rankbench.kernels.declared import functions, vectors
from rankbench.kernels.signatures import PHI, TARGET
from numba import njit
from numba.core import event
import numpy as np
kernels = [(PHI, njit(PHI)(lambda a, b, c: None)), (TARGET, njit(TARGET)(lambda a, b, c, d: None))]
with event.install_recorder("numba:run_pass") as passes:
    for signature, kernel in kernels:
        functions(signature, [kernel])
    vectors([np.ones(2)])
print(len(passes.buffer))
"""


@pytest.mark.full
def test_a_new_process_finds_all_that_makes_a_list_in_the_cache(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    counts = [
        int(subprocess.run([sys.executable, "-c", FRESH], env=environment, capture_output=True, check=True).stdout)
        for _ in range(2)
    ]
    assert counts[0] > 0
    assert counts[1] == 0
    # Two signatures in one file could get each other's machine code, where two processes write them at once.
    files = [path for path in tmp_path.rglob("*.nbi") if path.name.startswith("declared.")]
    assert len(files) == 2 * 3
    assert {len(list(path.parent.glob(f"{path.stem}.*.nbc"))) for path in files} == {1}


def test_what_has_another_signature_is_refused(multiples) -> None:
    @njit(types.float64(types.float64))
    def other(x):
        return x

    for member in (other, len, 3):
        with pytest.raises(TypeError):
            functions(PHI, [member])
    with pytest.raises(TypeError):
        functions(TARGET, [multiples[0]])


def test_vectors_are_those_that_were_given() -> None:
    given = [np.array([1.0, 2.0]), np.zeros(0), np.array([3.0])]
    assert [vector.tolist() for vector in vectors(given)] == [[1.0, 2.0], [], [3.0]]
