"""Compiled code and signatures that several families share; importing a module here imports numba."""

from rankbench.runtime import settle_runtime

settle_runtime()
