"""Log-odds as points that people know: Elo, with one item at a number of one's own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from rankbench.errors import SpecError, nearest
from rankbench.ranking.aggregate import Aggregation

__all__ = ["ELO_POINTS", "PointScale", "point_scale_of", "rescaled"]

ELO_POINTS = 400 / math.log(10)
"""Elo points of one unit of log-odds: 400 points are a factor 10 of the odds."""

MIDDLE = 1500.0
"""Mean of the items where none of them is an anchor."""


class PointScale(NamedTuple):
    """Elo points.

    Attributes
    ----------
    anchor : str
        Item that has `points`; empty: the mean of the items has.
    points : float
    """

    anchor: str = ""
    points: float = MIDDLE


def point_scale_of(text: str) -> PointScale:
    """Read ``elo`` or ``elo:anchor=NAME@POINTS``; a name may hold anything, what follows its last @ is the points.

    Raises
    ------
    SpecError
        It is neither.
    """
    name, colon, rest = text.partition(":")
    if name != "elo" or (colon and not rest.startswith("anchor=")):
        raise SpecError(f"--scale {text}: write elo, or elo:anchor=NAME@1000")
    if not colon:
        return PointScale()
    anchor, at, points = rest.removeprefix("anchor=").rpartition("@")
    try:
        found = float(points) if at and anchor else math.nan
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise SpecError(f"--scale {text}: after the anchor's name comes @ and its points, as elo:anchor=NAME@1000")
    return PointScale(anchor, found)


def rescaled(found: Aggregation, scale: PointScale) -> Aggregation:
    """Return a ranking with its scores, and their intervals, in Elo points.

    All scores are stretched and shifted alike. An interval stays that of its score around the mean of the items: that
    the anchor's own score is uncertain is not in those of the others.

    Raises
    ------
    SpecError
        The scores are no log-odds, the anchor is no item, or items stand on scales of their own.
    """
    if found.facts.get("unit") != "log-odds":
        raise SpecError(f"--scale: scores of {found.method} are no log-odds, of which Elo points are made")
    table = found.table
    if "query" in table.columns or table["scale"].n_unique() > 1:
        raise SpecError("--scale: the items are not on one scale, so that no shift puts them all on the same points")
    middle, other = (_middle(table, name) for name in ("score", "unadjusted_score"))
    if scale.anchor:
        known = table.filter(item=scale.anchor)
        if not known.height:
            raise SpecError(
                f"--scale: no item is called {scale.anchor!r}{nearest(scale.anchor, table['item'].to_list())}"
            )
        middle, other = (_middle(known, name) for name in ("score", "unadjusted_score"))
    names = [name for name in table.columns if name.removeprefix("unadjusted_") in ("score", "lower", "upper")]
    points = [
        (pl.col(name) - (other if name.startswith("unadjusted_") else middle)) * ELO_POINTS + scale.points
        for name in names
    ]
    at = f"{scale.anchor} at" if scale.anchor else "mean"
    unit = f"Elo points, {at} {scale.points:g}"
    return replace(found, table=table.with_columns(points), facts={**found.facts, "unit": unit})


def _middle(table: pl.DataFrame, name: str) -> float:
    """Return the mean of some scores; nan where a ranking has none of these."""
    return float(table[name].mean()) if name in table.columns else math.nan  # type: ignore[arg-type]  # of floats
