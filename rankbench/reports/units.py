"""``units.csv``: exact numbers and rankings of items, a row for each contender, unit and metric."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from rankbench.reports.sample import Sampler
from rankbench.text import csv_cell

__all__ = ["UNIT_COLUMNS", "units_csv"]

UNIT_COLUMNS = ("experiment", "dataset", "n", "contender", "split", "unit", "metric", "value")
"""Columns of ``units.csv``, in order; described in docs/leaderboard.md."""


def units_csv(samplers: Sequence[Sampler]) -> str:
    """Return the values of all experiments that compare nothing; empty if there are none.

    A bound of an interval that is not known is an empty cell.
    """
    rows = [row for sampler in samplers if sampler.source.layout != "race" for row in _rows(sampler)]
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(UNIT_COLUMNS)
    writer.writerows(rows)
    return text.getvalue()


def _rows(sampler: Sampler) -> list[list[str]]:
    return [
        [
            csv_cell(sampler.experiment.name),
            csv_cell(sampler.source.dataset),
            str(race.n),
            csv_cell(arm.member.label),
            split,
            csv_cell(unit),
            csv_cell(metric),
            "" if math.isnan(value) else f"{round(float(value), 6) + 0.0:.6f}",
        ]
        for race in sampler.races
        for arm in race.arms
        if arm.done
        for metric in sampler.metrics
        for split in sampler.source.shown_splits()
        for unit, value in zip(sampler.source.units[split], sampler.values(arm, metric, split), strict=True)
    ]
