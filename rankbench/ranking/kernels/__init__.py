"""Compiled fits of rankings to counts; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
