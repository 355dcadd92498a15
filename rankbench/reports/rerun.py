"""A rerun computes blocks of published rows again and compares them cell by cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rankbench.core.code_digest import blas_cores, code_digest, cpu_class, plugin_digest, version
from rankbench.core.runtime import settle_runtime
from rankbench.interfaces.suite import Suite
from rankbench.reports.same_cells import EarlierCell, SameCells, places_of
from rankbench.reports.verify import Difference, Verification
from rankbench.runner.executors import run_in_pool
from rankbench.runner.plan import Planned, make_plan
from rankbench.runner.prepare import prepare_sources
from rankbench.runner.progress import Progress
from rankbench.runner.run_record import suite_record
from rankbench.store.journal import StoredResults
from rankbench.store.published import ROWS, open_results
from rankbench.store.records import Member, SuiteRecord


def rerun(
    directory: Path,
    blocks: int | None,
    seed: int,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verification:
    """Compute blocks of a published folder again and compare every cell with its rows.

    Parameters
    ----------
    directory : Path
        See `rankbench.reports.verify.verify_files`.
    blocks : int or None
        Number of blocks, drawn without replacement; None: all.
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
    with open_results(directory, listed=False) as results:
        planned = planned_again(results.record())
        if isinstance(planned, list):
            return Verification(tuple(planned), ())
        plan = planned.plan
        shown = places_of(plan.members, results)
        made = SuiteRecord.model_validate(suite_record(planned))
        tasks = [
            replace(task, cells={cell: contender for cell, contender in task.cells.items() if cell in shown})
            for task in plan.tasks
            if not shown.keys().isdisjoint(task.cells)
        ]
        chosen = tasks
        if blocks is not None and blocks < len(tasks):
            places = np.random.default_rng(seed).choice(len(tasks), blocks, replace=False)
            chosen = [tasks[i] for i in sorted(places.tolist())]
        comparison = SameCells(results, made, exact=same_machine(results))
        comparison.differences += _plan_differences(comparison, plan.members, shown)
        told = progress or Progress()
        told.start(chosen, 0)
        chosen = [replace(task, advance=told.advance) for task in chosen]
        for block in run_in_pool(planned.sources, chosen, workers if workers > 1 else 0):
            for cell in block.cells:
                comparison.add(shown[cell.cell], cell)
            told.done(block)
    drawn = f"{len(chosen):,} of {len(tasks):,} blocks, drawn by seed {seed}" if len(chosen) < len(tasks) else (
        f"all {len(tasks):,} blocks"
    )  # fmt: skip
    how = (
        "the rows have the same code, versions and class of processor, so every number must be equal to the byte"
        if comparison.exact
        else "the rows have other code, versions or another class of processor: values may differ by their metric's "
        "tolerance, and may flip where an order decides"
    )
    said = [f"{drawn[:1].upper()}{drawn[1:]} were computed again ({how}): {comparison.equal:,} of {comparison.cells:,} "
            "cells are equal to the byte."]  # fmt: skip
    if comparison.flipped:
        said.append(f"{len(comparison.flipped):,} flipped within tolerance: {'; '.join(comparison.flipped)}.")
    return Verification(tuple(comparison.differences), tuple(said))


def planned_again(record: SuiteRecord) -> Planned | list[Difference]:
    """Return the plan of a suite that was run, with its data; or the differences of data that are others now.

    Raises
    ------
    InputError, SpecError
        The data, or the contenders, are not here.
    """
    suite = _suite(record)
    found = prepare_sources(suite)
    changed = [
        Difference(ROWS, f"experiment {name}", f"made of data with the sha256 {source.fingerprint}, not {now}")
        for name, index in found.source_index.items()
        if (source := record.source(name)).fingerprint != (now := found.sources[index].fingerprint)
    ]
    left = [Difference(ROWS, f"experiment {name}", why) for name, why in found.left_out.items()]
    if changed or left:
        return [*changed, *left]
    return Planned(**vars(found), plan=make_plan(suite, found.sources, found.source_index, code_digest()))


def _suite(record: SuiteRecord) -> Suite:
    """Return the suite that was run, each experiment with its protocol and data."""
    experiments = []
    for one in record.experiments:
        source = record.source(one.name)
        experiments.append(one.model_copy(update={"protocol": source.protocol, "dataset": source.dataset}))
    return Suite(name=record.name, title=record.title, seed=record.seed, experiments=tuple(experiments))


def same_machine(results: StoredResults) -> bool:
    """Return whether this machine has the code, the versions and the class of processor of the rows."""
    held = json.loads(results.contents.suite)
    here = {name: version(name) for name in held.get("versions", {})}
    plugins = held.get("plugins") or {}
    machine = {"code_digest": code_digest(), "cpu": cpu_class(), "blas": blas_cores(), "versions": here}
    return machine == {key: held.get(key) for key in machine} and (
        plugins == {name: plugin_digest(name) for name in plugins}
    )


def _plan_differences(
    comparison: SameCells, members: Sequence[Member], shown: Mapping[str, EarlierCell]
) -> Iterator[Difference]:
    """Compare the plan that the record gives today with the published one.

    The tolerance and the meaning of numbers are not taken from the rows that are to be verified.
    """
    again, published = {place.cell for place in shown.values()}, comparison.first.members()
    alone = [m for m in published if m.cell in comparison.stored and m.cell not in again]
    for experiment, label in dict.fromkeys((m.experiment, m.label) for m in alone):
        what = "the suite has no such cells: they cannot be computed again"
        yield Difference(ROWS, f"{experiment}, {label!r}", what)
    if not comparison.exact:
        return
    specs = {(m.experiment, m.label): m.spec for m in members}
    for (experiment, label), spec in {(m.experiment, m.label): m.spec for m in published}.items():
        if spec != specs.get((experiment, label), spec):
            what = f"it is {spec!r}; the suite has {specs[experiment, label]!r} under this label"
            yield Difference(ROWS, f"{experiment}, {label!r}", what)
    for experiment in comparison.now.source_index:
        held, made = (dict(one.source(experiment)) for one in (comparison.record, comparison.now))
        for name in (name for name, value in made.items() if held[name] != value):
            yield Difference(ROWS, f"experiment {experiment}", f"{name} is not what the protocol and the data give")
