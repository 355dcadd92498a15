"""From a suite to cells: what will be computed, once each, and where it is shown."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rankbench.component import Component, build
from rankbench.errors import SpecError, nearest
from rankbench.losses.base import Loss
from rankbench.methods.base import Method
from rankbench.plugin import manager
from rankbench.results.schema import BlockKey, Member
from rankbench.runner.prepare import Prepared
from rankbench.spec import parse
from rankbench.suites.schema import ContenderEntry, Experiment, Suite

__all__ = ["BlockTask", "Plan", "contenders", "make_plan"]

LABEL_LENGTH = 200


@dataclass(frozen=True)
class BlockTask:
    """One block with the cells to compute on it.

    Attributes
    ----------
    key : BlockKey
    entropy_fingerprint : str
        Of the data, see `rankbench.runner.seeds`.
    losses : tuple of str
        Canonical specs of the losses.
    cells : dict of cell id to canonical spec
    """

    key: BlockKey
    fingerprint: str
    losses: tuple[str, ...]
    cells: dict[str, str]


@dataclass(frozen=True)
class Plan:
    """Everything that a run is going to do.

    Attributes
    ----------
    suite : Suite
    members : list of Member
        Cells as experiments show them.
    tasks : list of BlockTask
        In the order of execution: repetition by repetition, so that a first leaderboard
        is there early.
    """

    suite: Suite
    members: list[Member]
    tasks: list[BlockTask]


def contenders(entry: ContenderEntry) -> list[tuple[str, Method]]:
    """Return the labelled methods of an entry, its grid multiplied out.

    Raises
    ------
    SpecError
        An unknown method or parameter, a label that names one, or a label that gets
        longer than 200 characters.
    """
    spec = parse(entry.use)
    cls = manager.component_class("method", spec.name)
    methods = [method for method in build(cls, spec) if isinstance(method, Method)]
    labelled = []
    for method in methods:
        written = {key: _short(getattr(method, attribute)) for key, attribute in method.attributes().items()}
        labelled.append((_label(entry, written) if entry.label else str(method), method))
    return labelled


def _label(entry: ContenderEntry, written: dict[str, str]) -> str:
    """Replace each ``{name}`` by that parameter's value: names only, no format string."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in written:
            raise SpecError(
                f"label {entry.label!r} of {entry.use!r}: {match[1]!r} is no parameter{nearest(match[1], written)}"
            )
        return written[match[1]]

    label = re.sub(r"\{([^{}]*)\}", value, entry.label)
    if len(label) > LABEL_LENGTH:
        raise SpecError(f"label {entry.label!r} of {entry.use!r}: longer than {LABEL_LENGTH} characters; shorten it")
    return label


def _short(value: object) -> str:
    if isinstance(value, Component):
        return value.spec().nested()
    return f"{value:g}" if isinstance(value, float) else str(value)


def make_plan(suite: Suite, prepared: Prepared, code: str, extra: Sequence[str] = ()) -> Plan:
    """Plan a suite.

    Parameters
    ----------
    suite : Suite
        With its includes resolved.
    prepared : Prepared
    code : str
        Code digest: part of every cell's id.
    extra : sequence of str
        Contenders to add to every experiment, in the contender grammar.

    Raises
    ------
    SpecError
        An unknown or ill-fitting component, or two contenders of one label.
    """
    members: list[Member] = []
    blocks: dict[tuple[BlockKey, tuple[str, ...]], dict[str, str]] = defaultdict(dict)
    added = tuple(ContenderEntry(use=use) for use in extra)
    for experiment in suite.experiments:
        losses = tuple(str(_loss(text)) for text in experiment.losses)
        labels: set[str] = set()
        order = 0
        for entry in (*experiment.contenders, *added):
            for label, method in contenders(entry):
                if label in labels:
                    raise SpecError(f"experiment {experiment.name!r}: two contenders are labelled {label!r}")
                labels.add(label)
                for declared in entry.n or experiment.n:
                    _check_n(experiment, declared)
                    for repetition in range(experiment.repetitions):
                        key = BlockKey(str(prepared.dataset), prepared.scaled(declared), repetition, suite.seed)
                        cell = _cell_id(key, prepared, suite, method, losses, code)
                        blocks[key, losses][cell] = str(method)
                        members.append(
                            Member(
                                experiment.name,
                                label,
                                str(method),
                                method.config(),
                                key.n,
                                declared,
                                repetition,
                                cell,
                                order,
                            )
                        )
                order += 1
        _check_labels(experiment, labels)
    tasks = [BlockTask(key, prepared.fingerprint, losses, cells) for (key, losses), cells in blocks.items()]
    tasks.sort(key=lambda task: (task.key.repetition, task.key.n, task.losses))
    return Plan(suite, members, tasks)


def _loss(text: str) -> Loss:
    loss = manager.get("loss", text)
    if not isinstance(loss, Loss):
        raise SpecError(f"{text!r} is not a loss")
    return loss


def _check_n(experiment: Experiment, n: int) -> None:
    if n not in experiment.n:
        raise SpecError(f"experiment {experiment.name!r}: a contender asks for n = {n}, which is not one of its n")


def _check_labels(experiment: Experiment, labels: set[str]) -> None:
    """Refuse figures and claims about contenders, and claims about n, that do not exist."""
    patterns = [p for figure in experiment.figures for p in (*figure.series, *figure.references)]
    patterns += [p for figure in experiment.figures for panel in figure.panels for p in panel.series]
    named = [pattern for pattern in patterns if not fnmatch.filter(labels, pattern)]
    named += [label for claim in experiment.claims for c in claim.contrasts for label in (c.a, c.b)]
    named += [experiment.baseline] if experiment.baseline else []
    for label in named:
        if label not in labels:
            raise SpecError(
                f"experiment {experiment.name!r}: no contender is labelled {label!r}{nearest(label, labels)}"
            )
    for claim in experiment.claims:
        for n in (n for contrast in claim.contrasts for n in (contrast.n_a, contrast.n_b) if n is not None):
            if n not in experiment.n:
                raise SpecError(
                    f"experiment {experiment.name!r}: claim {claim.id!r} is about n = {n}, which is not one of its n"
                )


def _cell_id(
    key: BlockKey, prepared: Prepared, suite: Suite, method: Method, losses: tuple[str, ...], code: str
) -> str:
    """Hash everything that determines a cell's value."""
    parts = [
        [key.dataset, key.n, key.repetition, key.seed],
        prepared.fingerprint,
        [len(prepared.design), len(prepared.heldout), list(suite.transforms)],
        method.digest(),
        list(losses),
        code,
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
