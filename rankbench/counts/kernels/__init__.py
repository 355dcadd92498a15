"""Compiled counting of judgments; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
