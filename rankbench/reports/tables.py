"""Tables of a leaderboard show standings with intervals, exact numbers, or rankings of items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import (
    code,
    grouped_digits,
    interval_text,
    markdown,
    mean_text,
    number,
    place_range_text,
    sentence,
    significant,
)
from rankbench.interfaces.cell import MAY_BE_FIRST, RANKING, VOTES, Split
from rankbench.interfaces.metric import Metric
from rankbench.reports.document import Bullets, Column, Grid, Node, Paragraph, first_rows
from rankbench.reports.experiment_data import ContenderRuns, ExperimentData, MatchedRuns
from rankbench.reports.standings import Standing, best_first
from rankbench.store.records import SourceRecord

MOST_ROWS = 20
"""Rows of a table; all are in a CSV file."""

RANK_RANGE = "rank, 95% range"
"""Title of a column of places that something may hold, where no other rank stands."""

NO_DIFFERENCE = "no significant difference"

TOO_FEW = "too few repetitions"
"""Verdict of a difference whose contender repetitions are too few to rank."""


def race_title(matched: MatchedRuns, source: SourceRecord) -> str:
    """Return n and the number of repetitions as text behind an experiment's name."""
    have, times = len(matched.repetitions), "run" if source.test_share is not None else "repetition"
    done = f", {have} {times}{'s' if have != 1 else ''}"
    if have != matched.planned:
        done = f" (partial: {have} of {matched.planned} {times}s)"
    drawn = f": n = {grouped_digits(matched.n)}" if source.counts else ""
    return drawn if source.layout != "race" else drawn + done


def metric_name(metric: Metric) -> str:
    """Return a metric's name, with ``loss`` if less is better."""
    loss = metric.quality and metric.direction == "minimize" and "loss" not in metric.name
    return f"{code(metric.name)}{' loss' if loss else ''}"


def metric_title(metric: Metric) -> str:
    """Return a metric's name and its better direction."""
    return f"{metric_name(metric)}, {metric.better}"


def difference_verdict(lower: float, upper: float, margin: float = 0.0) -> str:
    """Return the verdict of a difference's interval, which is below 0 where the contender is better."""
    if math.isnan(lower) or math.isnan(upper):
        return "no interval"
    apart = "worse" if lower > 0 else "better" if upper < 0 else ""
    if -margin < lower and upper < margin:
        return f"{f'{apart}, but ' if apart else ''}equivalent within {margin:g}"
    return apart or NO_DIFFERENCE


def mean_interval(row: Standing, splits: bool) -> tuple[float, float]:
    """Return the interval of a mean for other units too; the corrected one if runs are splits of one log."""
    return (row.lower, row.upper) if splits else (row.lower_queries, row.upper_queries)


def intervals_tables(data: ExperimentData, matched: MatchedRuns, rows: Sequence[Standing]) -> list[Node]:
    """Return the tables of one metric and n: one for each split."""
    source, parts = data.source, list[Node]()
    for split, group in groupby(rows, key=lambda row: row.split):
        parts.append(Paragraph(f"{_title(data, matched, split)}, {metric_title(source.metric(data.metrics[0]))}"))
        table = _standings(list(group), data.experiment.baseline, source)
        parts += first_rows(table, MOST_ROWS, "leaderboard.csv", data.experiment.name, split)
    return parts


def _title(data: ExperimentData, matched: MatchedRuns, split: Split) -> str:
    name = f"{markdown(data.experiment.name)}{race_title(matched, data.source)}"
    return f"{name}; **{markdown(data.source.splits[split])}**"


def _standings(rows: Sequence[Standing], baseline: str, source: SourceRecord) -> Grid:
    resampled = source.test_share is not None
    spread = ["SD", "corrected"] if resampled else ["over repetitions", f"over {source.judged_on} and repetitions"]
    columns = [Column("rank", "center"), Column("contender"), Column("mean", "right")]
    columns += [Column(title, "center") for title in spread]
    if against := any(row.contender == baseline and (row.oracle or row.rank_low is not None) for row in rows):
        columns += [Column(f"minus {markdown(baseline)}", "right"), Column(spread[-1], "center")]
        columns += [Column("wins", "center")] if resampled else []
    lines = []
    separated = any(row.rank_low is not None and row.rank_low > 1 for row in rows)
    for row in best_first(rows):
        name = row.shown + (" †" if row.equals else "")
        cells = [
            rank_text(row),
            f"**{name}**" if row.rank_low == 1 and separated else name,
            mean_text(row.mean),
            number(row.sd) if resampled else interval_text(row.lower, row.upper),
            interval_text(row.lower, row.upper) if resampled else interval_text(row.lower_queries, row.upper_queries),
        ]
        if against and row.contender == baseline:
            cells += ["baseline", *[""] * (len(columns) - 6)]
        elif against:
            cells += [
                number(row.difference, sign=True),
                interval_text(row.difference_lower, row.difference_upper, sign=True),
                *([f"{row.wins:g} of {row.repetitions}" if row.wins == row.wins else ""] if resampled else []),
            ]
        lines.append(cells)
    return Grid.from_rows(columns, lines)


def rank_text(row: Standing) -> str:
    """Return the places that a contender may hold, or its status."""
    if row.rank_low is None:
        return row.status if row.status != "done" else "—"
    return place_range_text(row.rank_low, row.rank_high or row.rank_low)


def exact_tables(data: ExperimentData, matched: MatchedRuns) -> list[Node]:
    """Return the first metric's tables: a row for each contender, a column for each unit."""
    parts: list[Node] = []
    metric = data.metrics[0]
    words = data.source.metric(metric).words
    for split in data.source.shown_splits():
        units = data.source.units[split]
        lines = []
        for runs in matched.contenders:
            if runs.done:
                found = [float(value) for value in data.values(runs, metric, split)]
                values = [markdown(words[value]) if value in words else significant(value) for value in found]
            else:
                values = [runs.status, *[""] * (len(units) - 1)]
            lines.append([markdown(runs.label), *values])
        columns = [Column("contender"), *(Column(markdown(unit), "right") for unit in units)]
        title = Paragraph(f"{_title(data, matched, split)}, {code(metric)}")
        parts += [
            title,
            *first_rows(Grid.from_rows(columns, lines), MOST_ROWS, "units.csv", data.experiment.name, split),
        ]
    return parts


def ranking_tables(data: ExperimentData, matched: MatchedRuns) -> list[Node]:
    """Return the table of items of the first contender that finished, and notes on each contender."""
    parts: list[Node] = []
    for split in data.source.shown_splits():
        done = [runs for runs in matched.contenders if runs.done]
        for runs in done[:1]:
            parts.append(Paragraph(f"{_title(data, matched, split)}, **{markdown(runs.label)}**"))
            parts += first_rows(item_table(data, runs, split), MOST_ROWS, "units.csv", data.experiment.name, split)
        marks = r"\*: may be first, by comparisons with the best (95%)."
        lines = [marks] * (MAY_BE_FIRST in data.metrics)
        lines += [
            f"**{markdown(runs.label)}**: {note}"
            for runs in done
            for note in (*_without_interval(data.values(runs, RANKING[1], split)), *_facts(runs, data.source))
        ]
        if len(done) > 1:
            names = ", ".join(markdown(runs.label) for runs in done[1:])
            lines.append(f"The rankings by {names} are in [units.csv](units.csv).")
        parts += [Bullets(tuple(lines))] if lines else []
    return parts


def may_be_first(data: ExperimentData, runs: ContenderRuns, split: Split) -> NDArray[np.float64] | None:
    """Return 1 of items that may be first, 0 of others, nan without intervals; None in runs that did not store it."""
    return data.values(runs, MAY_BE_FIRST, split) if MAY_BE_FIRST in data.metrics else None


def item_table(data: ExperimentData, runs: ContenderRuns, split: Split) -> Grid:
    """Return a ranking of items, the best first; stretches of time in their order, the last one first."""
    units = data.source.units[split]
    score, lower, upper, low, high = (data.values(runs, metric, split) for metric in RANKING)
    # Equal scores are in the order of the names, not of the log.
    series = data.source.layout == "series"
    best = sorted(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))
    order = [*reversed(range(len(units)))] if series else best
    votes = data.values(runs, VOTES, split) if VOTES in data.metrics else None
    first = may_be_first(data, runs, split)
    lines = [
        (
            markdown(units[i]),
            number(float(score[i]), 3),
            interval_text(float(lower[i]), float(upper[i]), 3),
            place_range_text(round(low[i]), round(high[i]), first=first is not None and first[i] == 1),
            *(() if votes is None else (grouped_digits(round(votes[i])),)),
        )
        for i in order
    ]
    name = Column("time" if series else "item")
    columns = [name, Column(RANKING[0], "right"), Column("95% interval", "center"), Column(RANK_RANGE, "center")]
    columns += [] if votes is None else [Column(VOTES, "right")]
    return Grid.from_rows(columns, lines)


def _facts(runs: ContenderRuns, source: SourceRecord) -> list[str]:
    """Return the facts of the protocol about one contender."""
    lines = []
    for fact in (fact for fact in source.facts if fact.about == "contender"):
        value = runs.fact(fact)
        if fact.tells(value):
            said = fact.sentence.format(value=value)
            lines.append(sentence(f"{said[:1].upper()}{said[1:]}"))
    return lines


def _without_interval(lower: NDArray[np.float64]) -> list[str]:
    """Return a note on dashes in a ranking, if any."""
    if not (missing := int(np.isnan(lower).sum())):
        return []
    if missing == len(lower):
        return ["No intervals: resampling does not show how certain these scores are, and any item may hold any place."]
    return ["—: too few votes, or all of them the same, for an interval."]
