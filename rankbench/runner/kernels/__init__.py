"""Compiled loops of the runner."""

from rankbench.runtime import prepare

prepare()
