"""Compiled loops over votes that are described."""
