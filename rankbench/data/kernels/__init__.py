"""Compiled forms of what `rankbench.data` does a million times."""
