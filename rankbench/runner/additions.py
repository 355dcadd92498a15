"""What ``--with`` adds: a contender, or a component in the place of the built-in ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rankbench.component import Component
from rankbench.errors import SpecError
from rankbench.kinds.contender import sees_truth
from rankbench.kinds.loss import Loss
from rankbench.kinds.protocol import Protocol
from rankbench.kinds.suite import ContenderEntry, Experiment
from rankbench.plugin import manager
from rankbench.plugin.kinds import KINDS, base_of
from rankbench.plugin.resolve import LABEL_LENGTH, contender, contenders
from rankbench.spec import Spec, parse

__all__ = ["added"]

_OF_KIND = re.compile(r"([a-z]+)=(.+)\Z", re.DOTALL)

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
        match = _OF_KIND.match(text)
        reasons: list[str] = []
        before = found
        if match and match[1] in KINDS:
            component = manager.get(base_of(match[1]), match[2])
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
    return _with(experiment, [ContenderEntry(use=spec)])


def _beside(experiment: Experiment, protocol: Protocol, component: Component, reasons: list[str]) -> Experiment:
    """Put a component in the place of those of its kind, as contenders of their own."""
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
        for label, point in _points(entry, protocol):
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
    return _with(experiment, list(entries.values()))


def _points(entry: ContenderEntry, protocol: Protocol) -> list[tuple[str, Component]]:
    """Return an entry's contenders by label; of one that is to be tuned all points, under one label."""
    return [(label, point) for label, found in contenders(entry, protocol.contender) for point in found.points]


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


def _with(experiment: Experiment, entries: Sequence[ContenderEntry]) -> Experiment:
    return experiment.model_copy(update={"contenders": (*experiment.contenders, *entries)}) if entries else experiment
