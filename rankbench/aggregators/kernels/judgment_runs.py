"""Compiled runs of equal judgments."""

from __future__ import annotations

from numba import types

from rankbench.aggregators import judgment_runs
from rankbench.kernels.declared import declared

__all__ = ["run_starts"]

run_starts = declared(types.int64[::1](types.int32[::1], types.int32[::1], types.int8[::1]))(judgment_runs.run_starts)
