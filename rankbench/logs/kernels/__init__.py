"""Compiled forms of the log engine; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
