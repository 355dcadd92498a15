"""A journal for each built-in suite: its own contenders and figures, with made-up numbers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import synthetic

from rankbench.interfaces.cell import RANKING, BlockKey, BlockResult, CellResult, Curve
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.suite import Experiment
from rankbench.plugin import manager
from rankbench.runner.experiment_check import check_experiment
from rankbench.store.records import Member
from rankbench.store.store import Store
from rankbench.suites.suite_files import load_suite

UNITS = ("a", "b", "c", "d", "e", "f")
STEPS = np.array([1, 10, 100, 1000])
REPETITIONS = 4


def write(directory: Path, name: str) -> Path:
    """Write the experiments of a suite that have figures, four repetitions of each."""
    suite = load_suite(name)
    drawn = [experiment for experiment in suite.experiments if experiment.figures]
    sources: list[dict[str, Any]] = []
    members: list[Member] = []
    blocks: list[BlockResult] = []
    named = []
    for experiment in drawn:
        protocol = manager.get(Protocol, experiment.protocol or suite.protocol)
        assert isinstance(protocol, Protocol)
        losses = RANKING if protocol.layout == "ranking" else check_experiment(experiment, protocol).metrics
        named.append(experiment.model_copy(update={"losses": tuple(losses), "claims": ()}).model_dump(mode="json"))
        sources.append(
            synthetic.source({}, protocol=str(protocol), dataset=experiment.name, layout=protocol.layout)
            | {"units": {"design": list(UNITS)}, "splits": {"design": "Units"}}
        )
        own = _members(experiment, protocol)
        members += own
        for n in dict.fromkeys(member.n for member in own):
            for repetition in range(REPETITIONS):
                key = BlockKey(str(protocol), experiment.name, n, repetition, 7)
                cells = {m.cell: _cell(m, losses) for m in own if (m.n, m.repetition) == (n, repetition)}
                blocks.append(BlockResult(key, list(cells.values()), 1.0))
    record = {"name": name, "title": name, "seed": 7, "sources": sources, "experiments": named,
              "of": {e.name: i for i, e in enumerate(drawn)}}  # fmt: skip
    with Store(directory) as store:
        store.begin(record, members)
        for block in blocks:
            store.commit(block)
    return directory


def _members(experiment: Experiment, protocol: Protocol) -> list[Member]:
    found = []
    for order, entry, label, contender in check_experiment(experiment, protocol).competing:
        for n in entry.n or experiment.n:
            for repetition in range(REPETITIONS):
                text = f"{experiment.name}|{label}|{n}|{repetition}"
                cell = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
                config = contender.points[0].config()
                found.append(Member(experiment.name, label, contender.text, config, n, n, repetition, cell, order))
    return found


def _cell(member: Member, losses: list[str] | tuple[str, ...]) -> CellResult:
    rng = np.random.default_rng(int(member.cell[:8], 16))
    values = {(name, "design"): rng.uniform(0.1, 0.9, len(UNITS)) for name in losses}
    curves = {}
    if "stochastic" in member.label:
        names = ("estimated-gap", "exact-gap-last", "exact-gap-average")
        curves = {name: Curve(STEPS, rng.uniform(0.1, 1, len(STEPS))) for name in names}
    return CellResult(member.cell, "done", "", 1e-9, values, curves, {})  # type: ignore[arg-type]
