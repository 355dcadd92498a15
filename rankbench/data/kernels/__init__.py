"""Compiled forms of what `rankbench.data` does a million times."""

from rankbench.runtime import prepare

prepare()
