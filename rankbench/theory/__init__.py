"""Consistency of surrogates on small populations, computed instead of estimated."""
