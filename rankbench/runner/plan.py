"""A plan lists the cells of a suite, with contenders that `--with` adds."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rankbench.core.code_digest import OURSELVES, plugin_digest
from rankbench.core.component import Component
from rankbench.core.spec import Spec, parse
from rankbench.errors import SpecError, nearest
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.protocol import BlockTask, Contender, Prepared, Protocol, sees_truth
from rankbench.interfaces.suite import ContenderEntry, Experiment, Suite, matches
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager
from rankbench.plugin.foreign_code import makers, strangers
from rankbench.plugin.manager import LABEL_LENGTH, contender, contenders, figure_kind
from rankbench.plugin.registry import KINDS, base_of
from rankbench.runner.prepare import Sources, dataset_of, protocol_of
from rankbench.store.records import Member

SOLVERS = ("newton", "lbfgs", "composite")
"""Optimizers that are tried, in this order, for a surrogate that a contender's own does not fit."""


def added(experiments: Sequence[Experiment], protocols: Sequence[Protocol], extra: Sequence[str]) -> list[Experiment]:
    """Return the experiments with what is to be added, wherever it fits.

    ``CONTENDER``
        Competes in every experiment whose contenders are of its kind.
    ``kind=COMPONENT``
        As in ``surrogate=mine``: stands beside every contender that has a component of
        this kind, in its place; an optimizer that does not fit is replaced. Its label says what
        differs, and beside whom: ``surrogate=mine, logistic``. A contender that is there already is
        not added, and nothing stands in the place of the truth. A loss judges
        wherever losses do, and where components of the kind compete it competes.

    Raises
    ------
    SpecError
        An unknown component, or one that fits nowhere; the message says why.
    """
    found = list(experiments)
    for text in extra:
        kind, _, written = text.partition("=")
        reasons: list[str] = []
        before = found
        if kind in KINDS:
            component = manager.get(base_of(kind), written)
            found = [_beside(e, p, component, reasons) for e, p in zip(found, protocols, strict=True)]
        else:
            spec = parse(text)
            found = [_competing(e, p, spec, reasons) for e, p in zip(found, protocols, strict=True)]
        if found == before:
            raise SpecError(f"--with {text}: it fits no experiment; {reasons[0] if reasons else 'nothing is like it'}")
    return found


def _competing(experiment: Experiment, protocol: Protocol, spec: Spec, reasons: list[str]) -> Experiment:
    """Add a contender."""
    try:
        points = contender(base_of(protocol.contender), spec).points
    except SpecError as error:
        reasons.append(str(error))
        return experiment
    misfits = [misfit for point in points if (misfit := protocol.misfit(point))]
    if misfits:
        reasons.append(misfits[0])
        return experiment
    return experiment.model_copy(update={"contenders": (*experiment.contenders, ContenderEntry(use=spec))})


def _beside(experiment: Experiment, protocol: Protocol, component: Component, reasons: list[str]) -> Experiment:
    """Add contenders in which a component replaces each component of its kind."""
    kind = component.kind
    if kind == "loss":
        known = {str(manager.get(Loss, text)) for text in experiment.losses} if not protocol.metrics else set()
        if protocol.metrics or str(component) in known:
            reasons.append(f"experiment {experiment.name!r} is judged by other metrics")
            return experiment
        return experiment.model_copy(update={"losses": (*experiment.losses, str(component))})
    if kind == protocol.contender:
        return _competing(experiment, protocol, component.spec(), reasons)
    there = {found.text for entry in experiment.contenders for _, found in contenders(entry, protocol.contender)}
    entries: dict[str, ContenderEntry] = {}
    for entry in experiment.contenders:
        # Of one that is to be tuned all points, under one label.
        points = [(label, point) for label, one in contenders(entry, protocol.contender) for point in one.points]
        for label, point in points:
            swapped = _swapped(point, component, reasons)
            if swapped is None:
                continue
            spec, differs = swapped
            if str(spec) in there:
                reasons.append(f"{str(spec)!r} competes already")
            elif str(spec) not in entries:
                said = f"{', '.join(f'{key}={value}' for key, value in differs.items())}, {label}"
                # A label has no braces of its own and a limit; points of a grid that is to be tuned share theirs.
                used = {each.label for each in entries.values()}
                shown = said if len(said) <= LABEL_LENGTH and "{" not in said and said not in used else ""
                entries[str(spec)] = ContenderEntry(use=spec, label=shown, n=entry.n)
    return experiment.model_copy(update={"contenders": (*experiment.contenders, *entries.values())})


def _swapped(point: Component, component: Component, reasons: list[str]) -> tuple[Spec, dict[str, Spec]] | None:
    """Return a contender's spec with a component in the place of its own, and what differs; None: it does not fit."""
    values = {key: getattr(point, attribute) for key, attribute in point.attributes().items()}
    places = [key for key, value in values.items() if isinstance(value, Component) and value.kind == component.kind]
    if not places:
        return None
    if sees_truth(values[places[0]]) and not sees_truth(component):
        # What then competes does not know the truth: it stands beside another contender, with other draws if any.
        reasons.append(f"{component.kind} {values[places[0]].name!r} sees the truth, which {component.name!r} does not")
        return None
    other: dict[str, Spec] = {places[0]: component.spec()}
    optimizers: list[Spec | None] = [None]
    if component.kind != "optimizer" and "optimizer" in values:
        optimizers += [Spec(name) for name in SOLVERS]
    for optimizer in optimizers:
        differs = other | ({"optimizer": optimizer} if optimizer is not None else {})
        try:
            spec = type(point).from_spec(Spec(point.name, {**point.spec().params, **differs})).spec()
        except SpecError as error:
            reasons.append(str(error))
            continue
        return (spec, differs) if spec != point.spec() else None
    return None


MOST_CELLS = 5_000_000
"""Cells that experiments may show: their plan alone takes some GB."""


@dataclass(frozen=True)
class Plan:
    """Everything that a run is going to do.

    Attributes
    ----------
    suite : Suite
        Losses are as cells name them.
    members : list of Member
        Cells as experiments show them.
    tasks : list of BlockTask
        In the order of execution: repetition by repetition, so that a first leaderboard
        is there early.
    added : dict of str to tuple of str
        By experiment, the labels of contenders that are not of the suite.
    made_by : dict of str to dict of str to tuple of str
        By experiment and label, the distributions of a contender; of those in which plugins have a part.
    plugins : tuple of str
        Distributions of the plugins that have a part in any cell: in a contender, protocol, data set or loss.
    """

    suite: Suite
    members: list[Member]
    tasks: list[BlockTask]
    added: dict[str, tuple[str, ...]] = field(default_factory=dict)
    made_by: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planned(Sources):
    """A suite with its data and its plan.

    Attributes
    ----------
    plan : Plan
    """

    plan: Plan


def make_plan(
    suite: Suite, sources: Sequence[Prepared], source_index: Mapping[str, int], code: str, extra: Sequence[str] = ()
) -> Plan:
    """Plan a suite.

    Parameters
    ----------
    suite : Suite
        With its includes resolved.
    sources : sequence of Prepared
    source_index : mapping of str to int
        Index of each experiment's source.
    code : str
        Code digest of rankbench: part of every cell's id, with those of the plugins that have a part in the cell.
    extra : sequence of str
        What to add wherever it fits, see `rankbench.runner.plan`.

    Raises
    ------
    SpecError
        An unknown or ill-fitting component, two contenders of one label, or something to
        add that fits no experiment.
    """
    members: list[Member] = []
    named: list[Experiment] = []
    blocks: dict[tuple[BlockKey, int, tuple[str, ...]], dict[str, Contender]] = defaultdict(dict)
    components: dict[tuple[int, tuple[str, ...]], tuple[Loss, ...]] = {}
    made_by: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    plugins: set[str] = set()
    of_source = [_strangers_of(prepared) for prepared in sources]
    experiments = added(suite.experiments, [sources[source_index[e.name]].protocol for e in suite.experiments], extra)
    protocols = [sources[source_index[e.name]].protocol for e in experiments]
    checked = [check_experiment(e, protocol) for e, protocol in zip(experiments, protocols, strict=True)]
    _check_size([(e, sources[source_index[e.name]], found) for e, found in zip(experiments, checked, strict=True)])
    for experiment, (competing, metrics, losses) in zip(experiments, checked, strict=True):
        source = source_index[experiment.name]
        prepared = sources[source]
        sizes = prepared.sizes(experiment.n)
        components[source, metrics] = losses
        for order, entry, label, found in competing:
            whose = set[str]().union(*map(makers, found.points))
            if whose != {OURSELVES}:
                made_by[experiment.name][label] = tuple(sorted(whose))
            theirs = (whose | of_source[source]).union(*map(makers, losses)) - {OURSELVES}
            plugins |= theirs
            codes = [code, *([name, plugin_digest(name)] for name in sorted(theirs))]
            config = _config(entry, found)
            for scaled in prepared.sizes(entry.n or experiment.n):
                for repetition in range(prepared.repetitions(scaled, experiment.repetitions)):
                    data = str(prepared.dataset) if prepared.dataset else ""
                    key = BlockKey(str(prepared.protocol), data, scaled, repetition, suite.seed)
                    cell = _cell_id(key, prepared, found, metrics, codes)
                    blocks[key, source, metrics][cell] = found
                    at = scaled, sizes[scaled], repetition
                    members.append(Member(experiment.name, label, found.text, config, *at, cell, order))
        canonical = dict(zip(experiment.losses, metrics, strict=True))
        margin = {canonical[text]: value for text, value in experiment.margin.items()}
        shown = [one.label for one in competing if any(map(sees_truth, one.contender.points))]
        oracles = (*experiment.oracles, *(label for label in shown if not matches(label, experiment.oracles)))
        named.append(experiment.model_copy(update={"losses": metrics, "margin": margin, "oracles": oracles}))
    tasks = [
        BlockTask(key, source, metrics, cells, components[source, metrics])
        for (key, source, metrics), cells in blocks.items()
    ]
    tasks.sort(key=lambda task: (task.key.repetition, task.source, task.key.n, task.metrics))
    more = {
        e.name: tuple(one.label for one in found.competing if one.order >= len(e.contenders))
        for e, found in zip(suite.experiments, checked, strict=True)
    }
    kept = {name: labels for name, labels in more.items() if labels}
    settled = suite.model_copy(update={"experiments": tuple(named)})
    return Plan(settled, members, tasks, kept, dict(made_by), tuple(sorted(plugins)))


def _strangers_of(prepared: Prepared) -> set[str]:
    """Return the plugins that have a part in what is drawn: in the protocol, the data set, or in how it is read."""
    from rankbench.ranking.log_dataset import read_by

    data = [prepared.dataset, *read_by(prepared.dataset)] if prepared.dataset is not None else []
    return {each for component in (prepared.protocol, *data) for each in strangers(component)}


def _check_size(chosen: Sequence[tuple[Experiment, Prepared, CheckedExperiment]]) -> None:
    """Refuse what would not fit into memory, before any of it is made."""
    cells = sum(
        prepared.repetitions(n, experiment.repetitions)
        for experiment, prepared, found in chosen
        for one in found.competing
        for n in prepared.sizes(one.entry.n or experiment.n)
    )
    if cells > MOST_CELLS:
        raise SpecError(
            f"the experiments have {cells:,} cells (contenders by n by repetitions), more than {MOST_CELLS:,}; take "
            "fewer contenders, n or repetitions (--reps)"
        )


class Competitor(NamedTuple):
    """A contender of an experiment: its entry and the place of that among all, its label, and itself."""

    order: int
    entry: ContenderEntry
    label: str
    contender: Contender


class CheckedExperiment(NamedTuple):
    """Contenders, metrics and losses of an experiment; no losses if the protocol has metrics of its own."""

    competing: list[Competitor]
    metrics: tuple[str, ...]
    losses: tuple[Loss, ...]


def check_suite(suite: Suite, *, own_data: bool = True) -> None:
    """Refuse a suite that names what is not there or does not fit: before a run, and before data are read.

    Parameters
    ----------
    suite : Suite
        With its includes resolved.
    own_data : bool
        Whether the data sets that it names are looked at, which others may replace.

    Raises
    ------
    SpecError
        See `check_experiment`; or a data set that is not there or that a protocol does not take.
    InputError
        A data set is a file that is not there, or that no reader knows.
    """
    for experiment in suite.experiments:
        where = f"experiment {experiment.name!r}: "
        try:
            protocol = protocol_of(experiment.protocol)
            if own_data and experiment.dataset and protocol.table is not None:
                refusal = protocol.refusal(dataset_of(experiment.dataset))
                if refusal:
                    raise SpecError(refusal)
            check_experiment(experiment, protocol)
        except SpecError as error:
            raise SpecError(where + str(error).removeprefix(where)) from error


def check_experiment(experiment: Experiment, protocol: Protocol) -> CheckedExperiment:
    """Return contenders, metrics and losses of an experiment; check its figures and claims before a run.

    Raises
    ------
    SpecError
        An unknown component or parameter, or one that does not fit; two contenders of one label; an n, a metric or a
        label that an entry, a figure or a claim names and the experiment does not have.
    """
    found = [
        Competitor(order, entry, label, one)
        for order, entry in enumerate(experiment.contenders)
        for label, one in _fitting(experiment, entry, protocol)
    ]
    metrics, losses = _judged_by(experiment, protocol)
    labels: set[str] = set()
    for one in found:
        if one.label in labels:
            raise SpecError(f"experiment {experiment.name!r}: two contenders are labelled {one.label!r}")
        labels.add(one.label)
        for n in set(one.entry.n or ()).difference(experiment.n):
            raise SpecError(f"experiment {experiment.name!r}: a contender asks for n = {n}, which is not one of its n")
    _check_labels(experiment, labels)
    configs = [_config(one.entry, one.contender) for one in found]
    for figure in experiment.figures:
        misfit = figure_kind(figure).misfit(metrics, experiment.n, configs)
        if misfit:
            raise SpecError(f"experiment {experiment.name!r}: figure {figure.file!r}: {misfit}")
    return CheckedExperiment(found, metrics, losses)


def _config(entry: ContenderEntry, found: Contender) -> dict[str, Any]:
    """Return all parameters of a contender as plain values; of one that is to be tuned those of its points."""
    configs = [point.config() for point in found.points]
    return {"tuned": configs} if entry.tune else configs[0]


def _fitting(experiment: Experiment, entry: ContenderEntry, protocol: Protocol) -> list[tuple[str, Contender]]:
    """Return the contenders of an entry, see `contenders`, if they can compete under a protocol.

    Raises
    ------
    SpecError
        An unknown component or parameter; one that the protocol has no use for, or cannot tune.
    """
    if entry.tune and not protocol.tunes:
        raise SpecError(
            f"experiment {experiment.name!r}: protocol {protocol.name!r} chooses no parameters, so {str(entry.use)!r} "
            "cannot be tuned"
        )
    found = contenders(entry, protocol.contender)
    for _, one in found:
        for point in one.points:
            misfit = protocol.misfit(point)
            if misfit:
                raise SpecError(f"experiment {experiment.name!r}: {one.text!r} cannot compete: {misfit}")
    return found


def _judged_by(experiment: Experiment, protocol: Protocol) -> tuple[tuple[str, ...], tuple[Loss, ...]]:
    """Return an experiment's metrics as cells name them, and the loss components that these are, if any.

    Raises
    ------
    SpecError
        The protocol has no such metric, or there is no such loss.
    """
    if not protocol.metrics:
        losses = tuple(manager.get(Loss, text) for text in experiment.losses)
        metrics = tuple(map(str, losses))
        twice = [text for text in metrics if metrics.count(text) > 1]
        if twice:
            raise SpecError(f"experiment {experiment.name!r}: the loss {twice[0]!r} is named twice")
        return metrics, losses
    for text in experiment.losses:
        if text not in protocol.metric_names():
            raise SpecError(
                f"experiment {experiment.name!r}: protocol {protocol.name!r} has no metric {text!r}"
                f"{nearest(text, protocol.metric_names())}"
            )
    return experiment.losses, ()


def _check_labels(experiment: Experiment, labels: set[str]) -> None:
    """Refuse figures and claims about contenders that there are not, and claims about n that there are not."""
    patterns = [p for figure in experiment.figures for p in figure_kind(figure).patterns()]
    patterns += experiment.oracles
    named = [pattern for pattern in patterns if not any(matches(label, [pattern]) for label in labels)]
    named += [label for claim in experiment.claims for c in claim.contrasts for label in (c.a, c.b)]
    named += [experiment.baseline] if experiment.baseline else []
    for label in named:
        if label not in labels:
            raise SpecError(
                f"experiment {experiment.name!r}: no contender is labelled {label!r}{nearest(label, labels)}"
            )
    for claim in experiment.claims:
        itself = [c.a for c in claim.contrasts if (c.a, c.n_a) == (c.b, c.n_b)]
        if itself:
            raise SpecError(f"experiment {experiment.name!r}: claim {claim.id!r} compares {itself[0]!r} with itself")
        for n in (n for contrast in claim.contrasts for n in (contrast.n_a, contrast.n_b) if n is not None):
            if n not in experiment.n:
                raise SpecError(
                    f"experiment {experiment.name!r}: claim {claim.id!r} is about n = {n}, which is not one of its n"
                )


def _cell_id(
    key: BlockKey, prepared: Prepared, found: Contender, metrics: tuple[str, ...], codes: Sequence[object]
) -> str:
    """Hash everything that determines a cell's value; `codes` are rankbench's digest and those of plugins."""
    parts = [
        [key.dataset, key.n, key.repetition, key.seed],
        prepared.protocol.digest(),
        prepared.fingerprint,
        [point.digest() for point in found.points],
        list(metrics),
        *codes,
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
