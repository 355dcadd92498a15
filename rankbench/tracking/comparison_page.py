"""A comparison is written as a table, as a page in Markdown, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rankbench.core.text import count_text, markdown, without_nan
from rankbench.reports.document import Bullets, Column, Grid, Heading, Node, Paragraph, markdown_of
from rankbench.tracking.comparison import Change, ChangeSubject, Comparison

_COLUMNS = ("verdict", "where", "contender", "base", "head", "change", "95% interval", "p")

_PLUS: dict[ChangeSubject, tuple[str, str]] = {
    "quality": ("worse", "a positive difference of a metric is worse"),
    "speed": ("slower", "a positive share of a base time is slower"),
    "memory": ("larger", "a positive difference of peak memory is larger"),
    "ranking": ("fell", "a positive change of an item is a fall of its score"),
}
"""Meaning of a change above 0: in the head of its column, and in a clause."""

MOST = 50
"""Rows that a table shows; all are in the JSON."""

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
    return f"{value / 1e6:,.1f} MB" if about == "memory" else f"{value:.6g}"


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
    """Return a note on the direction of changes, and on intervals and p."""
    meaning = "; ".join(clause for about, (_, clause) in _PLUS.items() if any(one.about == about for one in changes))
    return f"{meaning[0].upper()}{meaning[1:]}. The interval is for its row alone; p is adjusted for all rows."


def comparison_markdown(comparison: Comparison) -> str:
    """Return a page: the result, then a table, then entries that were not compared."""
    title = f"{markdown(comparison.head)} against {markdown(comparison.base)}"
    page: list[Node] = [Heading(1, title), Paragraph(f"**{comparison.sentence()}**")]
    if comparison.finds():
        page.append(Paragraph(comparison.finds()))
    if comparison.differing:
        lines = tuple(markdown(one) for one in comparison.differing[:MOST])
        page += [Paragraph("Other values that differ by more than rounding:"), Bullets(lines)]
        if len(comparison.differing) > MOST:
            page.append(Paragraph(f"The JSON has {len(comparison.differing) - MOST:,} more."))
    if shown := shown_changes(comparison):
        cells = [[markdown(cell) for cell in cells_of(one)] for one in shown[:MOST]]
        page += [Paragraph(how_to_read(shown)), Grid.from_rows([Column(name) for name in columns_of(shown)], cells)]
        if len(shown) > MOST:
            page.append(Paragraph(f"The JSON has {count_text(len(shown) - MOST, 'more row')}."))
    if comparison.notes:
        notes = Bullets(tuple(markdown(note) for note in comparison.notes))
        page += [Paragraph("Other differences:"), notes]
    return markdown_of(page) + "\n"


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
