"""Compiled parts of protocols; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
