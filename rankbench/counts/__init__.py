"""Logs of any length, counted by pair as they stream by.

Importing this package imports neither numba nor Polars.
"""
