"""Compiled forms of the ratings' features and draws; importing a module here imports numba."""

from rankbench.runtime import settle_runtime

settle_runtime()
