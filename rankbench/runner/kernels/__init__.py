"""Compiled loops of the runner."""
