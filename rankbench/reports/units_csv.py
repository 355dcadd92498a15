"""``units.csv``: exact numbers and rankings of items, a row for each contender, unit and metric."""

from __future__ import annotations

from collections.abc import Sequence

from rankbench.reports.document.csvfile import csv_of
from rankbench.reports.sample import Sampler

__all__ = ["UNIT_COLUMNS", "units_csv"]

UNIT_COLUMNS = ("experiment", "dataset", "n", "contender", "split", "unit", "metric", "value")
"""Columns of ``units.csv``, in order; described in docs/leaderboard.md."""


def units_csv(samplers: Sequence[Sampler]) -> str:
    """Return the values of all experiments that compare nothing; empty if there are none.

    A bound of an interval that is not known is an empty cell.
    """
    rows = [row for sampler in samplers if sampler.source.layout != "race" for row in _rows(sampler)]
    return csv_of(UNIT_COLUMNS, rows) if rows else ""


def _rows(sampler: Sampler) -> list[tuple[object, ...]]:
    names = sampler.experiment.name, sampler.source.dataset
    return [
        (*names, race.n, arm.label, split, unit, metric, float(value))
        for race in sampler.races
        for arm in race.arms
        if arm.done
        for metric in sampler.metrics
        for split in sampler.source.shown_splits()
        for unit, value in zip(sampler.source.units[split], sampler.values(arm, metric, split), strict=True)
    ]
