"""Interfaces define what components are, and the values that travel between packages.

This is all that the author of a plugin derives from or is given.
"""
