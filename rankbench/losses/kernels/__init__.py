"""Compiled forms of the losses; importing a module here imports numba."""

from rankbench.runtime import settle_runtime

settle_runtime()
