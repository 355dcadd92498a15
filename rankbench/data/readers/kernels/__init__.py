"""Compiled parsers of text formats; importing a module here imports numba."""
