"""Changes between two files ``leaderboard.csv``: means without their units are described, never called real."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from rankbench.errors import InputError
from rankbench.reports.compare.comparison import Change

__all__ = ["summary_changes"]

_KEYS = ("experiment", "dataset", "n", "metric", "split", "contender")


def summary_changes(base: Path, head: Path) -> tuple[list[Change], list[str]]:
    """Describe the differences between two leaderboards of which only the CSV is there.

    Raises
    ------
    InputError
        A file that is no leaderboard: names it, and the row.
    """
    before, after = _means(base), _means(head)
    notes = [f"gone: {_named(key)}" for key in before.keys() - after.keys()]
    notes += [f"new: {_named(key)}" for key in after.keys() - before.keys()]
    changes = []
    for key in after:
        if key not in before:
            continue
        (was, direction), (now, _) = before[key], after[key]
        experiment, _, n, metric, split, contender = key
        sign = 1.0 if direction == "minimize" else -1.0
        where = f"{experiment}, n = {int(n):,}, {metric}, {split}"
        changes.append(Change(where, contender, was, now, sign * (now - was), "described", "means alone"))
    return changes, sorted(notes)


def _named(key: tuple[str, ...]) -> str:
    experiment, dataset, n, metric, split, contender = key
    return f"{experiment} on {dataset or 'no data'}, n = {n}, {contender}, {metric}, {split}"


def _means(path: Path) -> dict[tuple[str, ...], tuple[float, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: it cannot be read as CSV ({error})") from error
    found: dict[tuple[str, ...], tuple[float, str]] = {}
    for number, row in enumerate(rows, 2):
        missing = [name for name in (*_KEYS, "mean", "direction") if row.get(name) is None]
        if missing:
            raise InputError(f"{path}: row {number}: there is no {missing[0]!r}: this is no leaderboard.csv")
        try:
            mean = float(row["mean"]) if row["mean"] else math.nan
            int(row["n"])
        except ValueError:
            raise InputError(
                f"{path}: row {number}: n is {row['n']!r} and mean is {row['mean']!r}; both must be numbers"
            ) from None
        if row["direction"] not in ("minimize", "maximize"):
            raise InputError(f"{path}: row {number}: the direction is {row['direction']!r}, not minimize or maximize")
        key = tuple(row[name] for name in _KEYS)
        if key in found:
            raise InputError(f"{path}: row {number}: {_named(key)} is there twice")
        if not math.isnan(mean):
            found[key] = mean, row["direction"]
    if not rows:
        raise InputError(f"{path}: it has no rows")
    return found
