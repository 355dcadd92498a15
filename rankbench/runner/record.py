"""What a run says of itself: the suite's record in its journal, and ``run.json``."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rankbench.digest import blas_cores, code_digest, cpu_class, plugin_digest, version
from rankbench.kinds.metric import Metric
from rankbench.runner.plan import Planned
from rankbench.store.records import makers_text

__all__ = ["LIBRARIES", "run_facts", "suite_record"]

LIBRARIES = ("rankbench", "numpy", "scipy", "numba", "llvmlite", "polars")
"""Whose versions are kept, beside those of the distributions that contenders declare."""


def suite_record(made: Planned) -> dict[str, Any]:
    """Return what the journal keeps about the suite, see `rankbench.store.records.SuiteRecord`."""
    suite = made.plan.suite
    return {
        "name": suite.name,
        "title": suite.title,
        "asks": suite.asks,
        "seed": suite.seed,
        "sources": [_source(made, index) for index in range(len(made.sources))],
        "of": made.source_index,
        "left_out": made.left_out,
        "added": made.plan.added,
        "experiments": [experiment.model_dump(mode="json") for experiment in suite.experiments],
        "made_by": made.plan.made_by,
        "plugins": {name: plugin_digest(name) for name in made.plan.plugins},
        "versions": _versions(made),
        "cpu": cpu_class(),
        "blas": blas_cores(),
        "code_digest": code_digest(),
    }


def _versions(made: Planned) -> dict[str, str]:
    """Return the versions of libraries, of what contenders declare to be computed by, and of plugins."""
    plugins = [name for name in made.plan.plugins if plugin_digest(name)]  # the others are modules of a script
    return {name: version(name) for name in (*LIBRARIES, *sorted({*_packages(made), *plugins}))}


def _packages(made: Planned) -> list[str]:
    """Return the distributions that contenders declare to be computed by, sorted."""
    found = {id(contender): contender for task in made.plan.tasks for contender in task.cells.values()}
    return sorted({name for contender in found.values() for point in contender.points for name in point.all_packages()})


def _source(made: Planned, index: int) -> dict[str, Any]:
    prepared = made.sources[index]
    protocol = prepared.protocol
    metrics = list(prepared.metrics)
    if not protocol.metrics:
        own = [experiment for experiment in made.plan.suite.experiments if made.source_index[experiment.name] == index]
        losses = {str(loss): loss for task in made.plan.tasks if task.source == index for loss in task.losses}
        metrics = [
            Metric(
                text, loss.direction, loss.summary(), low=_bound(loss.range[0]), high=_bound(loss.range[1]), jumps=True
            )
            for text in dict.fromkeys(text for experiment in own for text in experiment.losses)
            if (loss := losses.get(text)) is not None
        ]
    return {
        "protocol": str(protocol),
        "dataset": str(prepared.dataset or ""),
        "fingerprint": prepared.fingerprint,
        "simulated": prepared.simulated,
        "assumptions": prepared.assumptions(),
        "notes": [*prepared.notes, *prepared.unused],
        "unused": list(prepared.unused),
        "splits": dict(prepared.splits),
        "units": {split: list(names) for split, names in prepared.units.items()},
        "counts": protocol.counts,
        "judged_on": protocol.judged_on,
        "test_share": prepared.test_share,
        "pool": prepared.pool,
        "layout": protocol.layout,
        "metrics": [asdict(metric) for metric in metrics],
        "facts": [asdict(fact) for fact in protocol.facts],
        "budget": asdict(protocol.budget) if protocol.budget else None,
        "curves": dict(protocol.curves),
    }


def _bound(edge: float) -> float | None:
    return edge if math.isfinite(edge) else None


def run_facts(
    made: Planned, record: dict[str, Any], computed: int, workers: int, seconds: dict[str, float]
) -> dict[str, Any]:
    """Return what goes into ``run.json``: what ran, on what, with what, and how long it took.

    Parameters
    ----------
    made : Planned
    record : dict
        Its `suite_record`.
    computed : int
        Blocks that this run computed.
    workers : int
    seconds : dict of str to float
    """
    plan = made.plan
    planned: dict[str, int] = {}
    for member in plan.members:
        planned[member.experiment] = max(planned.get(member.experiment, 0), member.repetition + 1)
    kept = ("versions", "cpu", "blas", "code_digest", "plugins", "seed")
    made_by: dict[str, dict[str, tuple[str, ...]]] = {}
    for experiment, label in dict.fromkeys((member.experiment, member.label) for member in plan.members):
        whose = makers_text(plan.made_by.get(experiment, {}).get(label), record["versions"])
        made_by.setdefault(experiment, {})[label] = whose
    return {
        "suite": plan.suite.name,
        **{key: record[key] for key in kept},
        "sources": [
            {
                "protocol": source["protocol"],
                "dataset": source["dataset"],
                "dataset_sha256": source["fingerprint"],
                "simulated": source["simulated"],
                "notes": source["notes"],
                "units": {split: len(names) for split, names in source["units"].items()},
                "experiments": [name for name, of in made.source_index.items() if of == index],
            }
            for index, source in enumerate(record["sources"])
        ],
        "made_by": made_by,
        "repetitions": {e.name: planned[e.name] for e in plan.suite.experiments},
        "n": {e.name: list(made.sources[made.source_index[e.name]].sizes(e.n)) for e in plan.suite.experiments},
        "blocks": {"computed": computed, "reused": len(plan.tasks) - computed},
        "workers": workers,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
    }
