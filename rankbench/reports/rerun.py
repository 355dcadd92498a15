"""A rerun computes blocks of published rows again and compares them cell by cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankbench.core.code_digest import blas_cores, code_digest, cpu_class, plugin_digest, version
from rankbench.core.runtime import settle_runtime
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.suite import Suite
from rankbench.reports.same_cells import EarlierCell, SameCells, places_of
from rankbench.reports.verify import Difference, Verification
from rankbench.runner.plan import Planned, make_plan
from rankbench.runner.prepare import prepare_sources
from rankbench.runner.run_record import suite_record
from rankbench.store.journal import StoredResults
from rankbench.store.published import ROWS, open_results
from rankbench.store.records import Member, SuiteRecord

if TYPE_CHECKING:
    from rankbench.runner.progress import Progress


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
        they may differ as `rankbench.reports.same_cells.SameCells` says.

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
        shown = places_of(plan.members, results)
        made = SuiteRecord.model_validate(suite_record(Planned(**vars(found), plan=plan)))
        tasks = [task for task in plan.tasks if any(cell in shown for cell in task.cells)]
        chosen = _chosen(len(tasks), blocks, seed)
        again = [_of_published(tasks[i], shown) for i in chosen]
        from rankbench.runner.executors import run_in_pool

        ran = run_in_pool(found.sources, again, workers if workers > 1 else 0)
        comparison = _Again(results, made)
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


def _of_published(task: BlockTask, shown: Mapping[str, EarlierCell]) -> BlockTask:
    return replace(task, cells={cell: contender for cell, contender in task.cells.items() if cell in shown})


def _chosen(count: int, blocks: int | None, seed: int) -> list[int]:
    if blocks is None or blocks >= count:
        return list(range(count))
    return sorted(np.random.default_rng(seed).choice(count, blocks, replace=False).tolist())


class _Again(SameCells):
    """Cells that were computed again beside the published ones."""

    def __init__(self, results: StoredResults, now: SuiteRecord) -> None:
        held = json.loads(results.suite_text())
        here = {name: version(name) for name in held.get("versions", {})}
        machine = code_digest(), cpu_class(), blas_cores(), here
        plugins = held.get("plugins") or {}
        exact = tuple(held.get(key) for key in ("code_digest", "cpu", "blas", "versions")) == machine and (
            plugins == {name: plugin_digest(name) for name in plugins}
        )
        super().__init__(results, now, exact=exact)

    def add_plan(self, members: Sequence[Member], shown: Mapping[str, EarlierCell]) -> None:
        """Compare the plan that the record gives today with the published one.

        How far numbers may differ, and what they mean, is not taken from the rows that are to be verified.
        """
        again = {place.cell for place in shown.values()}
        alone = [m for m in self.first.members() if m.cell in self.stored and m.cell not in again]
        for experiment, label in dict.fromkeys((m.experiment, m.label) for m in alone):
            where = f"{experiment}, {label!r}"
            self.differences.append(
                Difference(ROWS, where, "the suite has no such cells: they cannot be computed again")
            )
        if not self.exact:
            return
        specs = {(m.experiment, m.label): m.spec for m in members}
        for (experiment, label), spec in {(m.experiment, m.label): m.spec for m in self.first.members()}.items():
            if spec != specs.get((experiment, label), spec):
                what = f"it is {spec!r}; the suite has {specs[experiment, label]!r} under this label"
                self.differences.append(Difference(ROWS, f"{experiment}, {label!r}", what))
        for experiment in self.now.source_index:
            held, made = (dict(one.source(experiment)) for one in (self.record, self.now))
            for name in (name for name, value in made.items() if held[name] != value):
                what = f"{name} is not what the protocol and the data give"
                self.differences.append(Difference(ROWS, f"experiment {experiment}", what))

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
