"""Lists of compiled functions: what is in them, what they keep, and that nothing is compiled to make one."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from rankbench.kernels.declared import functions, vectors
from rankbench.kernels.signatures import PHI, TARGET

from numba import njit, types  # isort: skip
from numba.core import event  # isort: skip

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
