"""The environment as runs record it."""

from __future__ import annotations

import platform

import numba
import numpy as np

import rankbench
from rankbench.core import code_digest as digest
from rankbench.core import runtime
from rankbench.runner.run_record import environment


def test_versions_are_those_of_what_is_imported(monkeypatch):
    monkeypatch.setenv("RANKBENCH_DATA", "/some/folder")
    found = environment()
    assert found["rankbench"] == rankbench.__version__
    assert found["python"] == platform.python_version()
    assert found["libraries"]["numpy"] == np.__version__
    assert found["libraries"]["numba"] == numba.__version__
    assert "missing" not in found["libraries"].values()
    assert found["code_digest"] == digest.code_digest()
    assert found["cpu_class"] == digest.cpu_class()
    assert found["cache"] == str(runtime.cache_root())
    assert found["data"] == "/some/folder"
    assert found["cpus"] >= 1
    assert found["blas"]
    assert "rankbench" not in found["plugins"]
