"""Compiled forms of the optimizers; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
