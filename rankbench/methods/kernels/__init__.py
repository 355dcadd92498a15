"""Compiled parts of methods."""
