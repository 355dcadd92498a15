"""A run computes the planned blocks, and keeps its folder and a record of itself and its machine."""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import os
import platform
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rankbench.core.code_digest import OURSELVES, blas_cores, code_digest, cpu_class, plugin_digest, version
from rankbench.core.runtime import available_cores, cache_root
from rankbench.core.system import check_disk, check_memory
from rankbench.core.text import count_text
from rankbench.errors import StoreError, option
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask
from rankbench.logs.open import FILTERED, LogDataset
from rankbench.plugin import manager
from rankbench.runner.plan import Planned
from rankbench.store.journal import FILE, Journal
from rankbench.store.records import SuiteRecord, makers_text

RUNS = Path("runs")


def default_folder(made: Planned, datasets: Sequence[Dataset]) -> Path:
    """Return the default folder of a run.

    Parameters
    ----------
    made : Planned
    datasets : sequence of Dataset
        Data sets in the place of the suite's own.

    Returns
    -------
    Path
        ``runs/SUITE``, or ``runs/SUITE-DATASET``. Where that belongs to anything else (another log
        of this name, or the same one before it changed), the first 8 digits of the data's sha256
        stand behind it. A folder with them that holds these data comes first, so that each log
        finds its own folder again, even if the plain one changed.
    """
    names = (re.sub(r"[^A-Za-z0-9._=-]+", "-", _short_name(dataset)) for dataset in datasets)
    folder = RUNS / "-".join([made.plan.suite.name, *names])
    if not datasets:
        return folder
    own = folder.with_name(f"{folder.name}-{_sha256(made)[:8]}")
    return own if _belongs(own, made) or _belongs(folder, made) is False else folder


def _short_name(dataset: Dataset) -> str:
    """Return the name of a data set in a folder's name."""
    if not isinstance(dataset, LogDataset):
        return str(dataset)
    if isinstance(dataset.log, Dataset):
        return f"{_short_name(dataset.log)}-{FILTERED}"
    return dataset.path.name if dataset.path else str(dataset)


def _belongs(folder: Path, made: Planned) -> bool | None:
    """Return whether a folder's results are of this suite and these contents; None without results."""
    if not (folder / FILE).exists():
        return None
    with Journal(folder) as journal:
        if not journal.planned():
            return None
        held = journal.record()
    return _same_data(held, made) and not _changed(held, made)


def check_folder(journal: Journal, made: Planned) -> None:
    """Raise for a folder with the results of another suite or of other data.

    Raises
    ------
    StoreError
        The folder has other results; the message names them and a remedy.
    """
    if not journal.planned():
        return
    held, folder = journal.record(), journal.directory
    if not _same_data(held, made):
        data = ", ".join(dict.fromkeys(source.dataset or source.protocol for source in held.sources))
        raise StoreError(
            f"{folder} holds suite {held.name!r} on {data}; give another folder with {option('out')}, or remove it"
        )
    experiments = (
        {experiment.name for experiment in made.plan.suite.experiments} | made.left_out.keys() | {*made.others}
    )
    if experiments.isdisjoint({experiment.name for experiment in held.experiments} | held.left_out.keys()):
        raise StoreError(
            f"{folder} holds another suite that is called {held.name!r} too: the two have no experiment in common. "
            f"Give another folder with {option('out')}, or another name to one of them"
        )
    for name, before, now in _changed(held, made):
        raise StoreError(
            f"{folder} holds results on {name} with the sha256 {before}, and now it has {now}: these are other data. "
            f"To keep both, run again with {option('out', f'{folder}-{_sha256(made)[:8]}')}; or remove {folder}"
        )


def _same_data(held: SuiteRecord, made: Planned) -> bool:
    """Return whether results are of this suite on data of the same names, some or all of them."""
    there, wanted = set(_fingerprints(held)), {*_wanted(made), *made.others.values()}
    return held.name == made.plan.suite.name and (there <= wanted or wanted <= there)


def of_other_code(journal: Journal, record: Mapping[str, Any]) -> str:
    """Return a text on the code changes since a folder's results, which are not reused then; empty without any.

    Parameters
    ----------
    journal : Journal
        As it was before this run's plan.
    record : mapping
        This run's `rankbench.runner.run_record.suite_record`.
    """
    if not journal.planned() or not journal.progress()[0]:
        return ""
    held = journal.record()
    before = {**held.versions, "the CPU": held.cpu}
    now = {**record["versions"], "the CPU": record["cpu"]}
    changed = [f"{name} was {before[name]}, is {now[name]}" for name in now if before.get(name, now[name]) != now[name]]
    edited = [name for name, code in record["plugins"].items() if held.plugins.get(name, code) != code]
    changed += [f"{name} was edited" for name in edited if before.get(name) == now.get(name)]
    if held.code_digest != record["code_digest"] and not changed:
        changed = ["rankbench was edited since"]
    elif held.code_digest == record["code_digest"] and not edited:
        return ""
    return (
        f"{journal.directory} holds {journal.progress()[0]:,} results, some of other code ({'; '.join(changed)}). "
        "rankbench keeps them, does not use them, and computes those cells again"
    )


def _fingerprints(held: SuiteRecord) -> dict[tuple[str, str], str]:
    """Return the fingerprints of a journal's sources: protocol's name and data set to sha256."""
    return {(source.protocol.partition(":")[0], source.dataset): source.fingerprint for source in held.sources}


def _wanted(made: Planned) -> dict[tuple[str, str], str]:
    return {(source.protocol.name, str(source.dataset or "")): source.fingerprint for source in made.sources}


def _changed(held: SuiteRecord, made: Planned) -> list[tuple[str, str, str]]:
    """Return the data sets whose contents changed: name, sha256 then and now."""
    before, now = _fingerprints(held), _wanted(made)
    both = (place for place in now if place in before and place[1])
    return [(place[1], before[place], now[place]) for place in both if before[place] != now[place]]


def _sha256(made: Planned) -> str:
    """Return the sha256 of a run's data; of several data sets, the sha256 of their sums."""
    sums = sorted({source.fingerprint for source in made.sources if source.dataset is not None})
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


LIBRARIES = ("rankbench", "numpy", "scipy", "numba", "llvmlite", "polars")
"""Libraries whose versions a run keeps, beside the distributions that contenders declare."""


def suite_record(made: Planned) -> dict[str, Any]:
    """Return the journal's record of the suite, see `rankbench.store.records.SuiteRecord`."""
    suite = made.plan.suite
    return {
        **{key: getattr(suite, key) for key in ("name", "title", "asks", "seed")},
        "sources": [_source(made, index) for index in range(len(made.sources))],
        "of": made.source_index,
        "left_out": made.left_out,
        "added": made.plan.added,
        **({"smaller": list(made.plan.smaller)} if made.plan.smaller else {}),
        "experiments": [experiment.model_dump(mode="json") for experiment in suite.experiments],
        "made_by": made.plan.made_by,
        "plugins": {name: plugin_digest(name) for name in made.plan.plugins},
        "versions": _versions(made),
        "cpu": cpu_class(),
        "blas": blas_cores(),
        "code_digest": code_digest(),
    }


def _versions(made: Planned) -> dict[str, str]:
    """Return the versions of libraries, of packages that contenders declare, and of plugins."""
    contenders = {id(contender): contender for task in made.plan.tasks for contender in task.cells.values()}
    packages = {name for one in contenders.values() for point in one.points for name in point.all_packages()}
    plugins = {name for name in made.plan.plugins if plugin_digest(name)}  # the others are modules of a script
    return {name: version(name) for name in (*LIBRARIES, *sorted(packages | plugins))}


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
        **{key: getattr(prepared, key) for key in ("fingerprint", "simulated")},
        "assumptions": prepared.assumptions(),
        "notes": [*prepared.notes, *prepared.unused],
        "unused": list(prepared.unused),
        "splits": dict(prepared.splits),
        "units": {split: list(names) for split, names in prepared.units.items()},
        **{key: getattr(protocol, key) for key in ("counts", "judged_on")},
        **{key: getattr(prepared, key) for key in ("test_share", "pool")},
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
    """Return the contents of ``run.json``: contenders, data, versions and times.

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


def check_room(made: Planned, tasks: Sequence[BlockTask], folder: Path, workers: int) -> None:
    """Raise if blocks need more memory or disk space than available, before the first one begins.

    Parameters
    ----------
    made : Planned
    tasks : sequence of BlockTask
        Blocks to compute.
    folder : Path
        Of the results.
    workers : int

    Raises
    ------
    SpecError
        Memory or disk space is missing: need and supply.
    """
    placed = [(made.sources[task.source], task) for task in tasks]
    drawn = sorted((source.protocol.draw_bytes(source, task), task.key.n) for source, task in placed)[-workers:]
    at_once = sum(needed for needed, _ in drawn)
    if at_once > 1 << 20:
        check_memory(at_once, f"judgments of {len(drawn)} blocks at once, n = {max(n for _, n in drawn):,},", "fewer n")
    losses = sum(len(task.cells) * len(task.metrics) * sum(map(len, source.units.values())) for source, task in placed)
    check_disk(
        8 * losses,
        folder,
        f"the journal of {len(tasks):,} blocks",
        f"fewer repetitions ({option('reps')}) or contenders",
    )
    if workers > 1 or made.plan.plugins:
        arrays = {id(array): array.nbytes for source in made.sources for array in source.arrays.values()}
        shared = Path(tempfile.gettempdir())
        check_disk(sum(arrays.values()), shared, "what workers share", "a folder with more room (TMPDIR)")


def environment() -> dict[str, Any]:
    """Return versions, libraries, plugins and machine that a program runs with.

    ``rankbench``, ``python`` and ``platform`` are versions, ``libraries`` those of rankbench's dependencies and of
    llvmlite, ``plugins`` those of distributions of third parties. Equal ``cpu_class`` and equal ``code_digest`` give
    equal bytes. ``cpus`` are logical processors that this process may use, ``cache`` is the folder of downloads and
    compiled code, ``data`` is ``RANKBENCH_DATA``.
    """
    return {
        "rankbench": importlib.metadata.version("rankbench"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": _libraries(),
        "plugins": {s.distribution: s.version for s in manager.statuses() if s.distribution != OURSELVES},
        "cpu_class": cpu_class(),
        "cpus": available_cores(),
        "blas": _blas(),
        "code_digest": code_digest(),
        "cache": str(cache_root()),
        "data": os.environ.get("RANKBENCH_DATA", ""),
    }


def _libraries() -> dict[str, str]:
    required = importlib.metadata.requires("rankbench") or []
    names = {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line}
    return {name: version(name) for name in sorted(names | {"llvmlite"})}


def _blas() -> list[str]:
    import numpy as np  # noqa: F401  (loads its BLAS, which is looked up here)
    from threadpoolctl import threadpool_info

    described = (
        f"{found['internal_api']} {found['version']} ({found.get('architecture', '?')}), "
        + count_text(found["num_threads"], "thread")
        for found in threadpool_info()
        if found["user_api"] == "blas"
    )
    return list(dict.fromkeys(described))
