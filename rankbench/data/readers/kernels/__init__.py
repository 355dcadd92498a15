"""Compiled parsers of text formats; importing a module here imports numba."""

from rankbench.runtime import settle_runtime

settle_runtime()
