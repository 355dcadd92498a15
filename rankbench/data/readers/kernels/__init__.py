"""Compiled parsers of text formats; importing a module here imports numba."""

from rankbench.runtime import prepare

prepare()
