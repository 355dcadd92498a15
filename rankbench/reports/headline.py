"""What a run says first: who is best in the experiment that stands for the suite, and its table in few columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from rankbench.kinds.cell import Split
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.document.tree import Bullets, Column, Grid, Node, Paragraph
from rankbench.reports.opening import headline_section, items_said, who_is_best
from rankbench.reports.sample import Race
from rankbench.reports.standings import Standing, best_first
from rankbench.text import code, grouped_digits, markdown, number, place_range_text

__all__ = ["Headline", "headline_of"]

MOST_SHOWN = 15
"""Contenders in the table of a terminal; all are on the leaderboard."""


class Headline(NamedTuple):
    """Who is best, in sentences and as a table.

    Attributes
    ----------
    sentences : tuple of str
        Sentences in Markdown.
    title : str
        What the table is of, in Markdown; empty where no contenders are compared.
    splits : mapping of str to str
        What was judged on, in a few words.
    rows : tuple of Standing
        Of the headline experiment's largest n with results, by its first metric, on each split.
    """

    sentences: tuple[str, ...]
    title: str = ""
    splits: Mapping[Split, str] = MappingProxyType({})
    rows: tuple[Standing, ...] = ()

    def nodes(self) -> list[Node]:
        """Return it for a terminal: the table, then the sentences."""
        said = [Bullets(self.sentences)] if self.sentences else []
        return [Paragraph(self.title), *self._table(), *said] if self.rows else [*said]

    def _table(self) -> list[Node]:
        by_split = {split: {row.contender: row for row in self.rows if row.split == split} for split in self.splits}
        order = best_first([row for row in self.rows if row.split == next(iter(by_split))])
        columns = [Column("contender")]
        for words in self.splits.values():
            columns += [Column(f"rank, {markdown(words)}", "center"), Column("mean", "right")]
        lines = [
            [row.shown, *(cell for own in by_split.values() for cell in _cells(own[row.contender]))]
            for row in order[:MOST_SHOWN]
        ]
        left = len(order) - MOST_SHOWN
        more = [Paragraph(f"and {left} more: see leaderboard.md")] if left > 0 else []
        return [Grid.from_rows(columns, lines), *more]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON: sentences, and a row for each contender and split."""
        rows = [
            {
                "experiment": row.experiment, "n": row.n, "contender": row.contender, "spec": row.spec,
                "metric": row.metric, "direction": row.direction, "split": row.split, "status": row.status,
                "rank_low": row.rank_low, "rank_high": row.rank_high, "oracle": row.oracle,
                **{name: _known(getattr(row, name)) for name in ("mean", "lower", "upper")},
            }
            for row in self.rows
        ]  # fmt: skip
        return {"who_is_best": list(self.sentences), "headline": rows}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _cells(row: Standing) -> tuple[str, str]:
    if row.rank_low is None:
        return (row.status if row.status != "done" else "—"), number(row.mean)
    return place_range_text(row.rank_low, row.rank_high or row.rank_low), number(row.mean)


def headline_of(analysis: Analysis) -> Headline:
    """Return what a run says first."""
    said, section = tuple(items_said(analysis)), headline_section(analysis)
    race = _largest(section) if section is not None else None
    if section is None or race is None:
        return Headline(said)
    sampler = section.sampler
    source, metric = sampler.source, sampler.metrics[0]
    rows = tuple(row for row in section.rows if row.n == race.n and row.metric == metric)
    at = f", n = {grouped_digits(race.n)}" if source.counts else ""
    simulated = ", **simulated data**" if source.simulated else ""
    title = f"{markdown(sampler.experiment.name)}{at}: {code(metric)}, {source.metric(metric).better}{simulated}"
    splits = {split: source.short(split) for split in source.shown_splits()}
    return Headline((*who_is_best(section), *said), title, splits, rows)


def _largest(section: Section) -> Race | None:
    return next((race for race in reversed(section.sampler.races) if race.racing and race.repetitions), None)
