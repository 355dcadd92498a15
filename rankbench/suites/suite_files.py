"""Suite files are read and described."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from rankbench.core.spec import expand
from rankbench.data.cards import cards
from rankbench.errors import InputError, SpecError, nearest
from rankbench.interfaces.suite import Claim, ContenderEntry, Contrast, Experiment, Figure, Suite
from rankbench.plugin import manager
from rankbench.plugin.manager import check_tables
from rankbench.plugin.registry import SUITE

LONGEST = 10_000_000
"""Bytes of a suite file; ours have a few thousand."""

INCLUDE_DEPTH = 20
"""Largest depth of suites that include suites."""


def read_suite(path: Path) -> Suite:
    """Read one suite file as written, without following includes.

    Raises
    ------
    InputError
        There is no such file, or it is not TOML.
    SpecError
        A key that does not exist (with the nearest that does) or a value that does not
        fit, with its key path.
    """
    try:
        data = tomllib.loads(_text(path))
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError("there is no such suite file", path=path) from error
    except (OSError, ValueError, RecursionError) as error:
        # ValueError: not TOML, not UTF-8, a number of thousands of digits, a path with a null.
        raise InputError(f"not a suite file: {error}", path=path) from error
    try:
        suite = Suite.model_validate(data)
    except ValidationError as error:
        # A misspelled key also leaves the right one missing: the misspelling says more.
        errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        raise SpecError(f"{path}: {_error_text(errors[0])}") from error
    try:
        for i, experiment in enumerate(suite.experiments):
            check_tables(experiment, f"experiments.{i}")
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error
    return suite


def _text(path: Path) -> str:
    """Return the text of a suite file: a pipe may never answer, and a device never end."""
    if path.exists() and not path.is_file():
        raise InputError("not a suite file: it is a folder, a pipe or a device", path=path)
    with path.open("rb") as file:
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        size = path.stat().st_size
        raise InputError(f"not a suite file: it has {size:,} bytes, and suites have at most {LONGEST:,}", path=path)
    return data.decode("utf-8")


def _error_text(first: Any) -> str:
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        return f"{key}: {str(first['msg']).removeprefix('Value error, ')}"
    *path, unknown = [str(part) for part in first["loc"] if not isinstance(part, int)]
    owner: dict[str, type[BaseModel]] = {
        "experiments": Experiment,
        "contenders": ContenderEntry,
        "figures": Figure,
        "claims": Claim,
        "contrasts": Contrast,
    }
    model = next((owner[part] for part in reversed(path) if part in owner), Suite)
    return f"{key}: unknown key{nearest(unknown, model.model_fields)}"


def find_suite(name: str) -> Path:
    """Return the file of a registered suite, or of a path that ends in ``.toml``.

    Raises
    ------
    SpecError
        No such suite; the message has the nearest name.
    """
    if name.endswith(".toml"):
        return Path(name)
    manager.check_contested(name, SUITE)
    files = manager.suites()
    if name not in files:
        raise SpecError(f"unknown suite {name!r}{nearest(name, files)}{manager.broken_plugins(name)}")
    return files[name]


def load_suite(name: str) -> Suite:
    """Load a suite with the experiments of all suites that it includes, its own first.

    Raises
    ------
    SpecError, InputError
        See `read_suite` and `find_suite`; also for suites that include each other, a
        suite that is included twice or more than `INCLUDE_DEPTH` deep, an experiment or a
        figure's file named twice, or no experiments at all.
    """
    file = find_suite(name)
    suite = read_suite(file)
    experiments = _with_includes(suite, {file.resolve(): suite.name}, set())
    seen = [experiment.name for experiment in experiments]
    if twice := _second(seen):
        raise SpecError(f"suite {suite.name!r}: experiment {twice!r} is defined twice")
    for experiment in experiments:
        unknown = [name for name in experiment.confirmed_by or () if name not in seen]
        if unknown:
            raise SpecError(
                f"suite {suite.name!r}: experiment {experiment.name!r}: confirmed_by: there is no experiment "
                f"{unknown[0]!r}{nearest(unknown[0], seen)}"
            )
    # Some file systems do not tell capitals from small letters.
    files = [figure.file.casefold() for experiment in experiments for figure in experiment.figures]
    if twice := _second(files):
        raise SpecError(f"suite {suite.name!r}: two figures have the file {twice!r}; rename one")
    if not experiments:
        raise SpecError(f"suite {suite.name!r} has no experiments")
    # A suite without data of its own, as a log's, takes the data of the including suite.
    settled = [e if e.dataset else e.model_copy(update={"dataset": suite.dataset}) for e in experiments]
    settled = [one for e in settled for one in on_each_log(_joined(e))]
    return suite.model_copy(update={"experiments": tuple(settled), "include": ()})


def _joined(experiment: Experiment) -> Experiment:
    """Return an experiment on several logs with those whose data cards say that they join it."""
    own = {card.name: card.joins[experiment.name] for card in cards().values() if experiment.name in card.joins}
    logs = experiment.datasets and {**experiment.datasets, **own}
    return experiment.model_copy(update={"datasets": logs}) if own else experiment


def on_each_log(experiment: Experiment) -> list[Experiment]:
    """Return the experiments on the logs of `Experiment.datasets`; the experiment itself without them."""
    if not experiment.datasets or experiment.over:
        return [experiment]
    name, title, found = experiment.name, experiment.title, list[Experiment]()
    for log, place in experiment.datasets.items():
        own: dict[str, Any] = {"name": f"{name}-{log}", "title": f"{title}: {log}", "dataset": log}
        own |= {"protocol": place.protocol or experiment.protocol, "datasets": {log: place}}
        found.append(experiment.model_copy(update=own | {"over": name, "optional": True}))
    return found


def _second(names: Sequence[str]) -> str:
    """Return the first duplicate name, or ``""``."""
    return next((name for name in names if names.count(name) > 1), "")


def _with_includes(suite: Suite, path: dict[Path, str], included: set[Path]) -> list[Experiment]:
    """Collect experiments; `path` leads to `suite`, `included` is every file so far."""
    experiments: list[Experiment] = []
    for name in suite.include:
        found = read_suite(find_suite(name))
        file = find_suite(name).resolve()
        if file in path:
            raise SpecError(f"suites include each other: {' -> '.join((*path.values(), name))}")
        if file in included:
            raise SpecError(f"suite {name!r} is included twice, now by {suite.name!r}; include it once")
        if len(path) > INCLUDE_DEPTH:
            raise SpecError(f"suite {name!r} is included more than {INCLUDE_DEPTH} deep; include it further up")
        included.add(file)
        experiments += _with_includes(found, {**path, file: name}, included)
    own = [
        e.model_copy(update={"protocol": e.protocol or suite.protocol, "dataset": e.dataset or suite.dataset})
        for e in suite.experiments
    ]
    return own + experiments


def describe_suite(name: str) -> dict[str, Any]:
    """Return a registered suite's contents as plain values, with the number of contenders, grids expanded.

    Raises
    ------
    SpecError
        There is no such suite, or its file says something that a suite cannot say.
    InputError
        The file is not TOML.
    """
    path = find_suite(name)
    suite, origin = read_suite(path), manager.origin(SUITE, name)
    return {
        "name": name,
        "title": suite.title,
        "path": str(path),
        "protocol": suite.protocol,
        "dataset": suite.dataset,
        "seed": suite.seed,
        "includes": suite.include,
        "experiments": tuple(
            {
                "name": experiment.name,
                "title": experiment.title,
                "n": experiment.n,
                "repetitions": experiment.repetitions,
                "contenders": sum(1 if entry.tune else len(expand(entry.use)) for entry in experiment.contenders),
                "losses": experiment.losses,
                "claims": len(experiment.claims),
            }
            for experiment in suite.experiments
        ),
        "distribution": origin.distribution,
        "version": origin.version,
    }
