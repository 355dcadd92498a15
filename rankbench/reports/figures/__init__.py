"""Figures as the paper draws them: bands for intervals, for print and color-blind readers."""

from __future__ import annotations

from rankbench.drawing.cast import assign_looks
from rankbench.reports.figures.draw import casts_of, draw_figures, drawings_of, figure_canvas

__all__ = ["assign_looks", "casts_of", "draw_figures", "drawings_of", "figure_canvas"]
