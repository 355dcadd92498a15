"""Experiments are checked: their names exist, and fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rankbench.errors import SpecError, nearest
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.suite import ContenderEntry, Experiment, Suite, matches
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager
from rankbench.plugin.manager import contenders, figure_kind
from rankbench.runner.prepare import dataset_of, protocol_of


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
    """Raise if a suite has unknown or ill-fitting names: before a run, and before data are read.

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
        with _named(experiment):
            protocol = protocol_of(experiment.protocol)
            own = dataset_of(experiment.dataset) if own_data and experiment.dataset and protocol.table else None
            if own is not None and (refusal := protocol.refusal(own)):
                raise SpecError(refusal)
        check_experiment(experiment, protocol)


@contextmanager
def _named(experiment: Experiment) -> Iterator[None]:
    """Add the experiment's name to errors raised inside."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"experiment {experiment.name!r}: {error}") from error


def check_experiment(experiment: Experiment, protocol: Protocol) -> CheckedExperiment:
    """Return contenders, metrics and losses of an experiment; check its figures and claims before a run.

    Raises
    ------
    SpecError
        An unknown component or parameter, or one that does not fit; two contenders of one label; an n, a metric or a
        label that an entry, a figure or a claim names and the experiment does not have.
    """
    with _named(experiment):
        found = [
            Competitor(order, entry, label, one)
            for order, entry in enumerate(experiment.contenders)
            for label, one in _fitting(entry, protocol)
        ]
        metrics, losses = _judged_by(experiment, protocol)
        labels: set[str] = set()
        for one in found:
            if one.label in labels:
                raise SpecError(f"two contenders are labelled {one.label!r}")
            labels.add(one.label)
            for n in set(one.entry.n or ()).difference(experiment.n):
                raise SpecError(f"a contender asks for n = {n}, which is not one of the experiment's n")
        _check_labels(experiment, labels)
        configs = [config_of(one.entry, one.contender) for one in found]
        for figure in experiment.figures:
            if misfit := figure_kind(figure).misfit(metrics, experiment.n, configs):
                raise SpecError(f"figure {figure.file!r}: {misfit}")
        return CheckedExperiment(found, metrics, losses)


def config_of(entry: ContenderEntry, found: Contender) -> dict[str, Any]:
    """Return all parameters of a contender as plain values; of one that is to be tuned, its points' parameters."""
    configs = [point.config() for point in found.points]
    return {"tuned": configs} if entry.tune else configs[0]


def _fitting(entry: ContenderEntry, protocol: Protocol) -> list[tuple[str, Contender]]:
    """Return the contenders of an entry, see `contenders`, if they can compete under a protocol.

    Raises
    ------
    SpecError
        An unknown component or parameter; one that the protocol has no use for, or cannot tune.
    """
    if entry.tune and not protocol.tunes:
        raise SpecError(f"protocol {protocol.name!r} chooses no parameters, so {str(entry.use)!r} cannot be tuned")
    found = contenders(entry, protocol.contender)
    for _, one in found:
        for point in one.points:
            if misfit := protocol.misfit(point):
                raise SpecError(f"{one.text!r} cannot compete: {misfit}")
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
        if misfits := list(filter(None, map(protocol.cannot_judge, losses))):
            raise SpecError(misfits[0])
        metrics = tuple(map(str, losses))
        if twice := [text for text in metrics if metrics.count(text) > 1]:
            raise SpecError(f"the loss {twice[0]!r} is named twice")
        return metrics, losses
    for text in experiment.losses:
        if text not in protocol.metric_names():
            known = nearest(text, protocol.metric_names())
            raise SpecError(f"protocol {protocol.name!r} has no metric {text!r}{known}")
    return experiment.losses, ()


def _check_labels(experiment: Experiment, labels: set[str]) -> None:
    """Raise if figures or claims name unknown contenders, or claims unplanned n."""
    patterns = [p for figure in experiment.figures for p in figure_kind(figure).patterns()]
    patterns += experiment.oracles
    named = [pattern for pattern in patterns if not any(matches(label, [pattern]) for label in labels)]
    named += [label for claim in experiment.claims for c in claim.contrasts for label in (c.a, c.b)]
    named += filter(None, (experiment.baseline, experiment.chance))
    for label in named:
        if label not in labels:
            raise SpecError(f"no contender is labelled {label!r}{nearest(label, labels)}")
    for claim in experiment.claims:
        if itself := [c.a for c in claim.contrasts if (c.a, c.n_a) == (c.b, c.n_b)]:
            raise SpecError(f"claim {claim.id!r} compares {itself[0]!r} with itself")
        for n in (n for contrast in claim.contrasts for n in (contrast.n_a, contrast.n_b) if n is not None):
            if n not in experiment.n:
                raise SpecError(f"claim {claim.id!r} is about n = {n}, which is not one of the experiment's n")
