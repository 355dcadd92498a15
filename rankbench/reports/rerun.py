"""Whether published rows are true: blocks of them computed again, and compared cell by cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.digest import blas_cores, code_digest, cpu_class, version
from rankbench.kinds.cell import CellResult
from rankbench.kinds.metric import Metric
from rankbench.kinds.protocol import BlockTask
from rankbench.kinds.suite import Suite
from rankbench.reports.verify import Difference, Verification
from rankbench.runner.plan import Planned, make_plan
from rankbench.runner.prepare import prepare_sources
from rankbench.runner.record import suite_record
from rankbench.runtime import settle_runtime
from rankbench.store.contents import StoredCell
from rankbench.store.open import open_results
from rankbench.store.published import ROWS
from rankbench.store.records import Member, SuiteRecord
from rankbench.store.stored import StoredResults

if TYPE_CHECKING:
    from rankbench.runner.progress import Progress

__all__ = ["FLIPPED", "rerun"]

FLIPPED = 0.01
"""Share of a cell's units in which a metric that jumps may have another value on another machine."""

SHIFT = 0.001
"""How far its mean may move by that, relative to the larger of the mean and 1."""


class _Place(NamedTuple):
    """A published cell, and where it is shown first."""

    cell: str
    experiment: str
    where: str


def rerun(
    directory: Path,
    blocks: int | None,
    seed: int,
    *,
    rows: Path | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verification:
    """Compute blocks of a published folder again and compare every cell with its rows.

    Parameters
    ----------
    directory, rows
        See `rankbench.reports.verify.verify_files`.
    blocks : int or None
        How many, drawn without replacement; None: all.
    seed : int
        Of that draw.
    workers : int
        Worker processes.

    Returns
    -------
    Verification
        Where code, versions and class of processor are the same, every number must be equal to the byte. Elsewhere
        values may differ by `Metric.tolerance`; of a metric that jumps (`Metric.jumps`) at most `FLIPPED` of a cell's
        units, and `SHIFT` of its mean: these are listed as flipped.

    Raises
    ------
    StoreError
        There are no rows.
    InputError, SpecError
        The data, or the contenders, are not here.
    """
    settle_runtime()
    with open_results(directory, rows, listed=False) as results:
        record = results.record()
        suite = _suite(record)
        found = prepare_sources(suite)
        changed = [
            Difference(ROWS, f"experiment {name}", f"made of data with the sha256 {source.fingerprint}, not {now}")
            for name, index in found.source_index.items()
            if (source := record.source(name)).fingerprint != (now := found.sources[index].fingerprint)
        ]
        if changed or found.left_out:
            left = [Difference(ROWS, f"experiment {name}", why) for name, why in found.left_out.items()]
            return Verification((*changed, *left), ())
        plan = make_plan(suite, found.sources, found.source_index, code_digest())
        shown = _shown(plan.members, results)
        made = SuiteRecord.model_validate(suite_record(Planned(**vars(found), plan=plan)))
        tasks = [task for task in plan.tasks if any(cell in shown for cell in task.cells)]
        chosen = _chosen(len(tasks), blocks, seed)
        again = [_of_published(tasks[i], shown) for i in chosen]
        from rankbench.runner.executors import run_here, run_in_pool

        ran = run_in_pool(found.sources, again, workers) if workers > 1 else run_here(found.sources, again)
        comparison = _Comparison(results, made)
        comparison.add_plan(plan.members, shown)
        if progress:
            progress.start(len(again), 0)
        for block in ran:
            for cell in block.cells:
                comparison.add(shown[cell.cell], cell)
            if progress:
                progress.advance()
    drawn = f"{len(again):,} of {len(tasks):,} blocks, drawn by seed {seed}" if len(again) < len(tasks) else (
        f"all {len(tasks):,} blocks"
    )  # fmt: skip
    return comparison.verified(drawn)


def _suite(record: SuiteRecord) -> Suite:
    """Return the suite that was run, each experiment with its protocol and data."""
    experiments = []
    for one in record.experiments:
        source = record.source(one.name)
        experiments.append(one.model_copy(update={"protocol": source.protocol, "dataset": source.dataset}))
    return Suite(name=record.name, title=record.title, seed=record.seed, experiments=tuple(experiments))


def _shown(members: Sequence[Member], results: StoredResults) -> dict[str, _Place]:
    """Return by cell of the present plan the published one, which was computed."""
    place = {(m.experiment, m.label, m.n, m.repetition): m.cell for m in results.members()}
    stored = results.cells()
    found: dict[str, _Place] = {}
    for m in members:
        published = place.get((m.experiment, m.label, m.n, m.repetition))
        if published in stored:
            where = f"{m.experiment}, {m.label!r}, n = {m.n:,}, repetition {m.repetition}"
            found.setdefault(m.cell, _Place(published, m.experiment, where))
    return found


def _of_published(task: BlockTask, shown: Mapping[str, _Place]) -> BlockTask:
    return replace(task, cells={cell: contender for cell, contender in task.cells.items() if cell in shown})


def _chosen(count: int, blocks: int | None, seed: int) -> list[int]:
    if blocks is None or blocks >= count:
        return list(range(count))
    return sorted(np.random.default_rng(seed).choice(count, blocks, replace=False).tolist())


class _Comparison:
    """Cells that were computed again beside the published ones."""

    def __init__(self, results: StoredResults, now: SuiteRecord) -> None:
        self.results, self.now = results, now
        self.stored = results.cells()
        held = json.loads(results.suite_text())
        here = {name: version(name) for name in held.get("versions", {})}
        machine = code_digest(), cpu_class(), blas_cores(), here
        self.exact = tuple(held.get(key) for key in ("code_digest", "cpu", "blas", "versions")) == machine
        self.cells = self.equal = 0
        self.differences: list[Difference] = []
        self.flipped: list[str] = []

    def add_plan(self, members: Sequence[Member], shown: Mapping[str, _Place]) -> None:
        """Compare the plan that the record gives today with the published one.

        How far numbers may differ, and what they mean, is not taken from the rows that are to be verified.
        """
        record, again = self.results.record(), {place.cell for place in shown.values()}
        alone = [m for m in self.results.members() if m.cell in self.stored and m.cell not in again]
        for experiment, label in dict.fromkeys((m.experiment, m.label) for m in alone):
            where = f"{experiment}, {label!r}"
            self.differences.append(
                Difference(ROWS, where, "the suite has no such cells: they cannot be computed again")
            )
        if not self.exact:
            return
        specs = {(m.experiment, m.label): m.spec for m in members}
        for (experiment, label), spec in {(m.experiment, m.label): m.spec for m in self.results.members()}.items():
            if spec != specs.get((experiment, label), spec):
                what = f"it is {spec!r}; the suite has {specs[experiment, label]!r} under this label"
                self.differences.append(Difference(ROWS, f"{experiment}, {label!r}", what))
        for experiment in self.now.source_index:
            held, made = (dict(one.source(experiment)) for one in (record, self.now))
            for name in (name for name, value in made.items() if held[name] != value):
                what = f"{name} is not what the protocol and the data give"
                self.differences.append(Difference(ROWS, f"experiment {experiment}", what))

    def add(self, place: _Place, cell: CellResult) -> None:
        """Compare a cell with the published one."""
        self.cells += 1
        stored = self.stored[place.cell]
        if (stored.status, stored.reason) != (cell.status, cell.reason):
            was, now = (f"{one.status} {one.reason}".strip() for one in (stored, cell))
            self._differs(place, f"{was!r}; computed again: {now!r}")
            return
        same = self._facts(place, stored, cell)
        source = self.now.source(place.experiment)
        for (metric, split), values in sorted(cell.losses.items()):
            published = self.results.losses(place.cell, metric, split)
            if published is None:  # a loss that another experiment asked for
                continue
            same &= self._values(place, source.metric(metric), f"{metric} ({split})", published, values)
        curves = self.results.curves(place.cell)
        for name, curve in sorted(cell.curves.items()):
            there = curves.get(name)
            if there is None or not np.array_equal(there.steps, curve.steps):
                self._differs(place, f"the curve {name!r} has other steps")
                same = False
            else:
                same &= self._values(place, Metric(name), f"curve {name}", there.values, curve.values)
        self.equal += same

    def _facts(self, place: _Place, stored: StoredCell, cell: CellResult) -> bool:
        was, now = ({"optimality": one.optimality, **one.info} for one in (stored, cell))
        if was.keys() != now.keys():
            self._differs(place, f"facts {sorted(was)}; computed again: {sorted(now)}")
            return False
        same = [self._equal(np.array([was[name]]), np.array([float(now[name])])) for name in was]
        if self.exact and not all(same):
            name = next(name for name, equal in zip(was, same, strict=True) if not equal)
            self._differs(place, f"{name} {was[name]!r}; computed again: {now[name]!r}")
        return all(same)

    def _values(
        self, place: _Place, metric: Metric, name: str, published: NDArray[np.float64], values: NDArray[np.float64]
    ) -> bool:
        """Compare the values of a cell; return whether all are equal to the byte."""
        values = np.asarray(values, dtype=np.float64)
        if published.shape != values.shape:
            self._differs(place, f"{name}: {len(published):,} values; computed again: {len(values):,}")
            return False
        if self._equal(published, values):
            return True
        with np.errstate(invalid="ignore"):
            size = np.maximum(1.0, np.fmax(np.abs(published), np.abs(values)))
            apart = ~(np.abs(published - values) <= metric.tolerance * size) & (published != values)
        apart &= ~(np.isnan(published) & np.isnan(values))
        if not self.exact and not apart.any():
            return False
        worst = int(np.argmax(np.where(apart if apart.any() else published != values, np.abs(published - values), -1)))
        what = f"{name}: {published[worst]!r}; computed again: {values[worst]!r} (value {worst + 1} of {len(values):,})"
        shift = abs(float(np.nanmean(published)) - float(np.nanmean(values)))
        mean = max(1.0, abs(float(np.nanmean(published))))
        flips = metric.jumps and apart.sum() <= max(1, FLIPPED * len(values)) and shift <= max(
            SHIFT * mean, float(np.abs(published - values)[worst]) / len(values)
        )  # fmt: skip
        if not self.exact and flips:
            self.flipped.append(f"{place.where}: {what}")
        else:
            self._differs(place, what)
        return False

    @staticmethod
    def _equal(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
        return bool(np.array_equal(one, other, equal_nan=True))

    def _differs(self, place: _Place, what: str) -> None:
        self.differences.append(Difference(ROWS, place.where, what))

    def verified(self, drawn: str) -> Verification:
        """Return what came of it."""
        how = (
            "the code, the versions and the class of processor are those of the rows, so every number must be equal to "
            "the byte"
            if self.exact
            else "other code, versions or another class of processor than those of the rows: values may differ by the "
            "tolerance of their metric, and where an order decides some may flip"
        )
        shown = [f"{drawn[:1].upper()}{drawn[1:]} were computed again ({how}): {self.equal:,} of {self.cells:,} cells "
                 "are equal to the byte."]  # fmt: skip
        if self.flipped:
            shown.append(f"{len(self.flipped):,} flipped within tolerance: {'; '.join(self.flipped)}.")
        return Verification(tuple(self.differences), tuple(shown))
