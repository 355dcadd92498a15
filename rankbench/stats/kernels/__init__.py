"""Compiled forms of the statistics of all pairs; importing a module here imports numba."""

from rankbench.runtime import settle_runtime

settle_runtime()
