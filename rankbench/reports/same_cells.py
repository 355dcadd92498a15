"""Two computations of a cell are compared to the byte, or to the tolerance of each number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.cell import CellResult
from rankbench.interfaces.figure import matches
from rankbench.interfaces.metric import Metric
from rankbench.reports.verify import Difference
from rankbench.store.contents import StoredCell
from rankbench.store.journal import StoredResults
from rankbench.store.published import ROWS
from rankbench.store.records import Member, SuiteRecord

FLIPPED = 0.01
"""Share of a cell's units, or one of fewer than 100, in which a metric that jumps may have another value."""

SHIFT = 0.001
"""How far its mean may move by that, relative to the larger of the mean and 1: of a cell, and so of all cells."""


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
    """Cells of a second computation beside those of the first.

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
        What the second computation is called.

    Attributes
    ----------
    cells, equal : int
        How many were compared, and how many are equal to the byte.
    differences : list of Difference
    flipped : list of str
        What has another value, and may.
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
        stored = self.stored[place.cell]
        if (stored.status, stored.reason) != (cell.status, cell.reason):
            was, now = (f"{one.status} {one.reason}".strip() for one in (stored, cell))
            self._differs(place, f"{was!r}; {self.again}: {now!r}")
            return
        same = self._facts(place, stored, cell)
        source = self.now.source(place.experiment)
        before = self.record.source(place.experiment)
        for metric, split in product(_metrics(self.record), before.shown_splits()):
            published, values = self.first.losses(place.cell, metric, split), cell.losses.get((metric, split))
            if published is None:  # a loss that another experiment asked for
                continue
            if values is None:
                self._differs(place, f"{metric} ({split}) is not computed any more")
                same = False
            else:
                same &= self._values(place, source.metric(metric), f"{metric} ({split})", published, values)
        curves = self.first.curves(place.cell)
        for name in sorted(curves.keys() | cell.curves.keys()):
            there, curve = curves.get(name), cell.curves.get(name)
            if there is None or curve is None or not np.array_equal(there.steps, curve.steps):
                self._differs(place, f"the curve {name!r} has other steps")
                same = False
            else:
                same &= self._values(place, Metric(name), f"curve {name}", there.values, curve.values)
        self.equal += same

    def _facts(self, place: EarlierCell, stored: StoredCell, cell: CellResult) -> bool:
        """Compare how far from optimal a fit stopped, and all named facts; counts, as of iterations, may flip."""
        was, now = ({"optimality": one.optimality, **one.info} for one in (stored, cell))
        if was.keys() != now.keys():
            self._differs(place, f"facts {sorted(was)}; {self.again}: {sorted(now)}")
            return False
        same = True
        for name in was:
            before, after = float(was[name]), float(now[name])
            if _equal(np.array([before]), np.array([after])):
                continue
            same = False
            if self.exact or beyond(np.array([before]), np.array([after]), Metric(name).tolerance).any():
                counts = name != "converged" and before.is_integer() and after.is_integer()
                self._told(place, f"{name} {before!r}; {self.again}: {after!r}", may=counts)
        return same

    def _values(
        self, place: EarlierCell, metric: Metric, name: str, published: NDArray[np.float64], values: NDArray[np.float64]
    ) -> bool:
        """Compare the values of a cell; return whether all are equal to the byte."""
        values = np.asarray(values, dtype=np.float64)
        if published.shape != values.shape:
            self._differs(place, f"{name}: {len(published):,} values; {self.again}: {len(values):,}")
            return False
        if _equal(published, values):
            return True
        apart = beyond(published, values, 0.0 if self.exact else metric.tolerance)
        if apart.any():
            worst = int(np.argmax(np.where(apart, np.abs(published - values), -1)))
            mean, shift = abs(float(published.mean())), abs(float(published.mean()) - float(values.mean()))
            what = f"{name}: {float(published[worst])!r}; {self.again}: {float(values[worst])!r}"
            few = apart.sum() <= max(1, FLIPPED * len(values)) and shift <= SHIFT * max(1.0, mean)
            self._told(place, f"{what} (value {worst + 1} of {len(values):,})", may=metric.jumps and few)
        return False

    def _told(self, place: EarlierCell, what: str, *, may: bool) -> None:
        if may and not self.exact:
            self.flipped.append(f"{place.where}: {what}")
        else:
            self._differs(place, what)

    def _differs(self, place: EarlierCell, what: str) -> None:
        self.differences.append(Difference(ROWS, place.where, what))


def unchanged_cells(base: StoredResults, head: StoredResults, gate: Sequence[str]) -> tuple[list[str], list[str]]:
    """Compare every cell of two results, as a change that should change nothing must leave them.

    Parameters
    ----------
    base, head : StoredResults
    gate : sequence of str
        What is compared; empty: everything.

    Returns
    -------
    differing : list of str
        What differs by more than `SameCells` allows, or is gone.
    flipped : list of str
        What differs, and may.
    """
    same = SameCells(base, head.record(), exact=False, again="head")
    places, done = places_of(head.members(), base), head.cells()
    compared = set()
    for name, place in places.items():
        if name not in done or not in_gate(gate, place.experiment, place.label):
            continue
        stored, losses = done[name], {}
        for metric, split in product(_metrics(head.record()), head.record().source(place.experiment).shown_splits()):
            if (values := head.losses(name, metric, split)) is not None:
                losses[metric, split] = values
        cell = CellResult(name, stored.status, stored.reason, stored.optimality, losses, head.curves(name), stored.info)
        same.add(place, cell)
        compared.add(place.cell)
    for m in base.members():
        if m.cell in same.stored and m.cell not in compared and in_gate(gate, m.experiment, m.label):
            same.differences.append(Difference(ROWS, _where(m), "head has no such cell"))
    if not same.cells and not same.differences:
        same.differences.append(Difference(ROWS, "", "base has no cell that was computed"))
    return [f"{one.where}: {one.what}" for one in same.differences], same.flipped


def _metrics(record: SuiteRecord) -> list[str]:
    """Return all that is asked for."""
    return sorted({metric for one in record.experiments for metric in one.losses})


def _where(m: Member) -> str:
    return f"{m.experiment}, {m.label!r}, n = {m.n:,}, repetition {m.repetition}"


def _equal(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))


def beyond(one: NDArray[np.float64], other: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
    """Return where values differ by more than a tolerance, relative to the larger of them and 1."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(1.0, np.maximum(np.abs(one), np.abs(other)))
        near = np.isfinite(size) & (np.abs(one - other) <= tolerance * size)
    return np.asarray(~(near | (one == other) | (np.isnan(one) & np.isnan(other))))


def in_gate(gate: Sequence[str], experiment: str, label: str) -> bool:
    """Return whether a gate names a cell: by ``EXPERIMENT`` or ``EXPERIMENT/CONTENDER``; an empty one names all."""
    return not gate or any(
        matches(f"{experiment}/{label}" if "/" in pattern else experiment, [pattern]) for pattern in gate
    )
