"""Compiled parts of `rankbench.theory`."""
