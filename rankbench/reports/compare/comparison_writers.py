"""A comparison as Markdown, JSON, and what GitHub's runners read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rankbench.reports.compare.comparison import Change, ChangeSubject, Comparison
from rankbench.reports.document.markdown import markdown_of
from rankbench.reports.document.tree import Bullets, Column, Grid, Heading, Node, Paragraph
from rankbench.text import markdown

__all__ = [
    "cells_of",
    "columns_of",
    "comparison_annotations",
    "comparison_json",
    "comparison_markdown",
    "how_to_read",
    "shown_first",
]

_COLUMNS = ("verdict", "where", "contender", "base", "head", "change", "95% interval", "p")

_PLUS: dict[ChangeSubject, tuple[str, str]] = {
    "quality": ("worse", "of a metric it is a difference, and + is worse, whether more or less of the metric is good"),
    "speed": ("slower", "of a time it is a share of base's, and + is slower"),
    "ranking": ("fell", "of an item it is how far its score fell, so + is a fall"),
}
"""What a change above 0 is: in the head of its column, and in a clause."""

MOST = 50
"""Rows that a table shows; all are in the JSON."""

_ERRORS = 10
"""Annotations that GitHub shows of a step."""

_ORDER = ("worse", "not tested", "better", "not shown", "described", "equal")


def shown_first(comparison: Comparison) -> list[Change]:
    """Return the changes, the worst first, those that are equal last."""
    return sorted(comparison.changes, key=lambda one: (_ORDER.index(one.verdict), one.p if one.p == one.p else 2.0))


def cells_of(change: Change) -> tuple[str, ...]:
    """Return a row of a table."""
    said = _share if change.about == "speed" else _difference
    interval = "" if math.isnan(change.lower) else f"[{said(change.lower)}, {said(change.upper)}]"
    p = "" if math.isnan(change.p) else f"{change.p:.2g}"
    numbers = ["" if math.isnan(one) else f"{one:.6g}" for one in (change.base, change.head)]
    numbers.append("" if math.isnan(change.change) else said(change.change))
    return change.verdict, change.where, change.what, *numbers, interval, p


def _difference(change: float) -> str:
    return f"{change:+.4g}"


def _share(log_ratio: float) -> str:
    """Return a logarithm of a ratio as the share by which the ratio is above 1."""
    return f"{100 * math.expm1(log_ratio):+.3g}%"


def columns_of(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the heads of a table's columns; that of changes says which way they go."""
    which = " or ".join(_PLUS[about][0] for about in _PLUS if any(one.about == about for one in changes))
    return tuple(f"change (+ {which})" if name == "change" else name for name in _COLUMNS)


def how_to_read(changes: Sequence[Change]) -> str:
    """Return which way changes go, in a sentence."""
    said = [clause for about, (_, clause) in _PLUS.items() if any(one.about == about for one in changes)]
    return f"A change is head against base: {'; '.join(said)}."


def comparison_markdown(comparison: Comparison) -> str:
    """Return a page: what came of it, then a table, then what was not compared."""
    title = f"{markdown(comparison.head)} against {markdown(comparison.base)}"
    page: list[Node] = [Heading(1, title), Paragraph(f"**{comparison.sentence()}**")]
    if comparison.finds():
        page.append(Paragraph(comparison.finds()))
    if comparison.differing:
        lines = tuple(markdown(one) for one in comparison.differing[:MOST])
        page += [Paragraph("What may not change, and differs by more than rounding:"), Bullets(lines)]
        if len(comparison.differing) > MOST:
            page.append(Paragraph(f"{len(comparison.differing) - MOST:,} more are in the JSON."))
    shown = [one for one in shown_first(comparison) if one.verdict != "equal"]
    if shown:
        cells = [[markdown(cell) for cell in cells_of(one)] for one in shown[:MOST]]
        page += [Paragraph(how_to_read(shown)), Grid.from_rows([Column(name) for name in columns_of(shown)], cells)]
        if len(shown) > MOST:
            page.append(Paragraph(f"{len(shown) - MOST:,} more rows are in the JSON."))
        page.append(Paragraph("The interval of a change is for this cell alone, p for all of them."))
    if comparison.notes:
        notes = Bullets(tuple(markdown(note) for note in comparison.notes))
        page += [Paragraph("What else is not the same:"), notes]
    return markdown_of(page) + "\n"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything, as JSON has it: what is not known is null."""
    changes = [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in values.items()}
        for values in (asdict(one) | {"detectable_percent": one.detectable_percent} for one in shown_first(comparison))
    ]
    return {
        "schema_version": 1,
        "base": comparison.base,
        "head": comparison.head,
        "sentence": comparison.sentence(),
        "finds": comparison.finds(),
        "exit_code": comparison.exit_code,
        "margin": comparison.margin,
        "alpha": comparison.alpha,
        "changes": changes,
        "notes": list(comparison.notes),
        "differing": None if comparison.differing is None else list(comparison.differing),
    }


def comparison_annotations(comparison: Comparison) -> list[str]:
    """Return workflow commands of GitHub's runners: an error for each cell that is worse, and one on the whole.

    That is a warning where something was not tested, or where only changes of more than `COARSE` could be found.
    """
    found = []
    for one in comparison.by_verdict("worse")[:_ERRORS]:
        what = "" if math.isnan(one.p) else f": {one.base:.6g} became {one.head:.6g} (p = {one.p:.2g})"
        found.append(f"::error title={_property(f'{one.what} is worse')}::{_message(one.where + what)}")
    for line in (comparison.differing or ())[: _ERRORS - len(found)]:
        found.append(f"::error title=rankbench compare --unchanged::{_message(line)}")
    whole = _message(" ".join(filter(None, (comparison.sentence(), comparison.finds()))))
    # A job may go on after exit code 3: who reads the page of the change sees that nobody tested it.
    title = f"rankbench compare{'' if comparison.exit_code != 3 else ' - not tested'}"
    return [*found, f"::{'warning' if comparison.coarse else 'notice'} title={title}::{whole}"]


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
