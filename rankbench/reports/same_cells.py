"""Two computations of a cell are compared to the byte, or to the tolerance of each number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.cell import CellResult
from rankbench.reports.verify import Difference
from rankbench.store.journal import StoredResults
from rankbench.store.published import ROWS
from rankbench.store.records import Member, StoredCell, SuiteRecord

FLIPPED = 0.01
"""Share of a cell's units, or one of fewer than 100, in which a metric that jumps may have another value."""

SHIFT = 0.001
"""Largest change of a mean by flips, relative to the larger of the mean and 1: of a cell, and so of all cells."""


class EarlierCell(NamedTuple):
    """A cell of the first computation, and where it is shown first."""

    cell: str
    experiment: str
    label: str
    where: str


def places_of(members: Sequence[Member], first: StoredResults) -> dict[str, EarlierCell]:
    """Return by cell of a second plan the cell of the first one, which was computed."""
    place = {(m.experiment, m.label, m.n, m.repetition): m.cell for m in first.members()}
    stored = first.cells()
    found: dict[str, EarlierCell] = {}
    for m in members:
        before = place.get((m.experiment, m.label, m.n, m.repetition))
        if before in stored:
            found.setdefault(m.cell, EarlierCell(before, m.experiment, m.label, _where(m)))
    return found


class SameCells:
    """Cells of a second computation beside the cells of the first.

    Parameters
    ----------
    first : StoredResults
    now : SuiteRecord
        Of the second computation: it says how far each metric may differ.
    exact : bool
        Every number must be equal to the byte; else it may differ by `Metric.tolerance`. Of a metric that jumps
        (`Metric.jumps`) `FLIPPED` of a cell's units may have any other value, where the cell's mean moves by at most
        `SHIFT`.
    again : str
        Name of the second computation.

    Attributes
    ----------
    cells, equal : int
        Number of compared cells, and of cells that are equal to the byte.
    differences : list of Difference
    flipped : list of str
        Values that differ, and may.
    """

    def __init__(self, first: StoredResults, now: SuiteRecord, *, exact: bool, again: str = "computed again") -> None:
        self.first, self.now, self.exact, self.again = first, now, exact, again
        self.stored, self.record = first.cells(), first.record()
        self.cells = self.equal = 0
        self.differences: list[Difference] = []
        self.flipped: list[str] = []

    def add(self, place: EarlierCell, cell: CellResult) -> None:
        """Compare a cell with that of the first computation."""
        self.cells += 1
        stored = stored_cell(self.first, self.record, place.experiment, place.cell, self.stored[place.cell])
        if (stored.status, stored.reason) != (cell.status, cell.reason):
            was, now = (f"{one.status} {one.reason}".strip() for one in (stored, cell))
            self._differs(place, f"{was!r}; {self.again}: {now!r}")
            return
        asked = {at: values for at, values in cell.losses.items() if at in stored.losses}
        published, computed = _numbers(stored), _numbers(replace(cell, losses=asked))
        found = [f"{name} is not computed any more" for name in published if name not in computed]
        found += [f"{name} was not computed before" for name in computed if name not in published]
        for what in found:
            self._differs(place, what)
        same = [self._same(place, name, *published[name], computed[name][1]) for name in published if name in computed]
        self.equal += all(same) and not found

    def _same(
        self, place: EarlierCell, name: str, metric: str, published: NDArray[np.float64], values: NDArray[np.float64]
    ) -> bool:
        """Compare numbers of a cell; return whether all are equal to the byte.

        Values of a metric that jumps may flip, within bounds; of facts counts may, as of iterations.
        """
        if published.shape != values.shape:
            self._differs(place, f"{name}: {len(published):,} values; {self.again}: {len(values):,}")
            return False
        if np.array_equal(published, values, equal_nan=True):
            return True
        known = self.now.source(place.experiment).metric(metric)
        size = np.maximum(1.0, np.maximum(np.abs(published), np.abs(values)))
        apart = beyond(published, values, 0.0 if self.exact else known.tolerance * size)
        if apart.any():
            worst = int(np.argmax(np.where(apart, np.abs(published - values), -1)))
            before, after = float(published[worst]), float(values[worst])
            mean, shift = abs(float(published.mean())), abs(float(published.mean()) - float(values.mean()))
            few = apart.sum() <= max(1, FLIPPED * len(values)) and shift <= SHIFT * max(1.0, mean)
            whole = before.is_integer() and after.is_integer()
            counts = whole and name.startswith("fact ") and name != "fact converged"
            where = f" (value {worst + 1} of {len(values):,})" if len(values) > 1 else ""
            digits = next((n for n in range(6, 17) if f"{before:.{n}g}" != f"{after:.{n}g}"), 17)
            what = f"{name}: {before:.{digits}g}; {self.again}: {after:.{digits}g}{where}"
            if not self.exact and ((known.jumps and few) or counts):
                self.flipped.append(f"{place.where}: {what}")
            else:
                self._differs(place, what)
        return False

    def _differs(self, place: EarlierCell, what: str) -> None:
        self.differences.append(Difference(ROWS, place.where, what))


def stored_cell(
    results: StoredResults, record: SuiteRecord, experiment: str, name: str, stored: StoredCell
) -> CellResult:
    """Return a cell as computed, with all losses that any experiment asks for."""
    metrics = sorted({metric for one in record.experiments for metric in one.losses})
    losses = {
        (metric, split): values
        for metric, split in product(metrics, record.source(experiment).shown_splits())
        if (values := results.losses(name, metric, split)) is not None
    }
    return CellResult(name, stored.status, stored.reason, stored.optimality, losses, results.curves(name), stored.info)


def _numbers(cell: CellResult) -> dict[str, tuple[str, NDArray[np.float64]]]:
    """Return all numbers of a cell by their names in errors, losses with their metric."""
    facts = {"optimality": cell.optimality, **cell.info}
    found = {f"fact {name}": ("", np.array([value], dtype=np.float64)) for name, value in facts.items()}
    for (metric, split), values in cell.losses.items():
        found[f"{metric} ({split})"] = metric, np.asarray(values, dtype=np.float64)
    for name, curve in sorted(cell.curves.items()):
        found[f"steps of the curve {name}"] = "", curve.steps.astype(np.float64)
        found[f"curve {name}"] = "", curve.values
    return found


def other_differences(base: StoredResults, head: StoredResults, asked: Callable[[str, str], bool]) -> list[str]:
    """Return which statuses, facts and curves of cells differ beyond `SameCells`, a line each.

    Parameters
    ----------
    base, head : StoredResults
    asked : callable
        Whether the cells of an experiment and a contender are compared.
    """
    record, done = head.record(), head.cells()
    same = SameCells(base, record, exact=False, again="head")
    for name, place in places_of(head.members(), base).items():
        if name in done and asked(place.experiment, place.label):
            same.add(place, stored_cell(head, record, place.experiment, name, done[name]))
    return [f"{one.where}: {one.what}" for one in same.differences]


def _where(m: Member) -> str:
    return f"{m.experiment}, {m.label!r}, n = {m.n:,}, repetition {m.repetition}"


def beyond(
    one: NDArray[np.float64], other: NDArray[np.float64], allowed: float | NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return whether values differ by more than is allowed; infinite and missing ones are to be the same."""
    with np.errstate(invalid="ignore"):
        near = np.isfinite(one) & np.isfinite(other) & (np.abs(one - other) <= allowed)
    return np.asarray(~(near | (one == other) | (np.isnan(one) & np.isnan(other))))
