"""Compiled loops of empirical risk minimization; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
