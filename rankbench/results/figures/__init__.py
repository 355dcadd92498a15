"""Figures as the paper draws them: bands for intervals, for print and color-blind readers."""

from __future__ import annotations

from rankbench.results.figures.draw import draw

__all__ = ["draw"]
