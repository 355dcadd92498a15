"""A comparison is written as a table, as a page in Markdown, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rankbench.core.text import without_nan
from rankbench.tracking.comparison import Change, ChangeSubject, Comparison

_COLUMNS = ("verdict", "where", "contender", "base", "head", "change", "95% interval", "p")

_PLUS: dict[ChangeSubject, tuple[str, str]] = {
    "quality": ("worse", "a positive difference of a loss (ndcg: 1 - NDCG) is worse"),
    "speed": ("slower", "a positive share of a base time is slower"),
    "memory": ("larger", "a positive difference of peak memory is larger"),
    "ranking": ("fell", "a positive change of an item is a fall of its score"),
}
"""Meaning of a change above 0: in the head of its column, and in a clause."""

_ORDER = ("worse", "not tested", "better", "changed", "not significant", "described", "rounding", "equal")


def shown_first(comparison: Comparison) -> list[Change]:
    """Return the changes, the worst first and the equal ones last."""
    return sorted(comparison.changes, key=lambda one: (_ORDER.index(one.verdict), one.p if one.p == one.p else 2.0))


def shown_changes(comparison: Comparison) -> list[Change]:
    """Return the changes in tables: all except rows that are equal, or differ by rounding."""
    return [one for one in shown_first(comparison) if one.verdict not in ("equal", "rounding")]


def cells_of(change: Change) -> tuple[str, ...]:
    """Return a row of a table."""
    lower, upper, changed = (_difference(one, change.about) for one in (change.lower, change.upper, change.change))
    p = "" if math.isnan(change.p) else f"{change.p:.2g}"
    means = (_mean(one, change.about) for one in (change.base, change.head))
    return change.verdict, change.where, change.what, *means, changed, f"[{lower}, {upper}]" if lower else "", p


def _mean(value: float, about: ChangeSubject) -> str:
    """Return a mean as a cell: bytes in MB; empty if missing."""
    if math.isnan(value):
        return ""
    return f"{value / 1e6:,.1f} MB" if about == "memory" else f"{0.0 if abs(value) < 1e-12 else value:.6g}"


def _difference(change: float, about: ChangeSubject) -> str:
    """Return a change with its sign: of speed the ratio less 1, not its logarithm."""
    if math.isnan(change):
        return ""
    if about == "speed":
        return f"{100 * math.expm1(change):+.3g}%"
    return f"{change / 1e6:+,.1f} MB" if about == "memory" else f"{change:+.4g}"


def columns_of(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the heads of a table's columns; the head of changes has their direction."""
    which = " or ".join(_PLUS[about][0] for about in _PLUS if any(one.about == about for one in changes))
    return tuple(f"change (+ {which})" if name == "change" else name for name in _COLUMNS)


def how_to_read(changes: Sequence[Change]) -> str:
    """Return a note on the direction of changes, and on intervals and p; empty without changes."""
    if not changes:
        return ""
    meaning = "; ".join(clause for about, (_, clause) in _PLUS.items() if any(one.about == about for one in changes))
    return f"{meaning[0].upper()}{meaning[1:]}. The interval is for its row alone; p is adjusted for all rows."


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return the whole comparison for JSON; unknown values are null."""
    percent = "detectable_percent"
    changes = [without_nan(asdict(one) | {percent: one.detectable_percent}) for one in shown_first(comparison)]
    return {
        "base": comparison.base,
        "head": comparison.head,
        "sentence": comparison.sentence(),
        "finds": comparison.finds(),
        **{key: getattr(comparison, key) for key in ("exit_code", "margin", "alpha", "declared")},
        "changes": changes,
        "notes": list(comparison.notes),
        "differing": list(comparison.differing),
    }
