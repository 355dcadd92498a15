"""Comparisons (votes): two items, and who won."""
