"""The routines are SciPy's own, and their library is loaded with them."""

from __future__ import annotations

import subprocess
import sys

import scipy.linalg.lapack

from rankbench import lapack


def test_they_are_those_of_scipy_linalg():
    for name in lapack.__all__:
        assert getattr(lapack, name) is getattr(scipy.linalg.lapack, name), name


def test_they_load_the_library_that_scipy_linalg_loads():
    program = (
        "import {}, threadpoolctl; print(sorted(i['filepath'] for i in threadpoolctl.threadpool_info() "
        "if i['user_api'] == 'blas'))"
    )
    found = [
        subprocess.run([sys.executable, "-c", program.format(name)], capture_output=True, text=True, check=True).stdout
        for name in ("rankbench.lapack", "scipy.linalg")
    ]
    assert found[0] == found[1]
