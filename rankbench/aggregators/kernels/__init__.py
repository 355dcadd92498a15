"""Compiled forms of the aggregators; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
