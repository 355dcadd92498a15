"""Compiled draws of the simulators; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
