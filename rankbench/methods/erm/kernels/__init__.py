"""Compiled loops of empirical risk minimization; importing a module here imports numba."""

from rankbench.runtime import settle_runtime

settle_runtime()
