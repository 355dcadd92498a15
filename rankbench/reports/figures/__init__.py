"""Figures as the paper draws them: bands for intervals, for print and color-blind readers."""

from __future__ import annotations

from rankbench.reports.figures.cast import assign
from rankbench.reports.figures.draw import casts_of, draw

__all__ = ["assign", "casts_of", "draw"]
