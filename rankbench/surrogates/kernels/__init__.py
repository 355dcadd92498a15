"""Compiled forms of the surrogates; importing a module here imports numba."""

from rankbench.runtime import settle_runtime

settle_runtime()
