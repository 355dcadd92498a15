"""Additions of `--with` are contenders and components that a run adds to the experiments of a suite."""

from __future__ import annotations

from collections.abc import Sequence

from rankbench.core.component import Component
from rankbench.core.spec import Spec, parse
from rankbench.core.text import listed
from rankbench.errors import SpecError, option
from rankbench.interfaces.contender import sees_truth
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.suite import ContenderEntry, Experiment
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager
from rankbench.plugin.manager import LABEL_LENGTH, contender, contenders
from rankbench.plugin.registry import KINDS, base_of

SOLVERS = ("newton", "lbfgs", "composite")
"""Optimizers that are tried, in this order, for a surrogate that a contender's own does not fit."""


def added(experiments: Sequence[Experiment], protocols: Sequence[Protocol], extra: Sequence[str]) -> list[Experiment]:
    """Return the experiments with the additions in each experiment that they fit.

    ``CONTENDER``
        Competes in every experiment whose contenders are of its kind. Where the experiment tunes grids, a list of
        values is a grid that is tuned too; elsewhere each point competes.
    ``kind=COMPONENT``
        As in ``surrogate=mine``: stands beside every contender that has a component of
        this kind, in its place; an optimizer that does not fit is replaced. Its label says what
        differs, and beside whom: ``surrogate=mine, logistic``. Beside a grid that is tuned stands one that is tuned
        too. A contender that is there already is not added, and nothing stands in the place of the truth. A loss
        judges wherever losses do, and where components of the kind compete it competes.

    Raises
    ------
    SpecError
        An unknown component, or one that fits nowhere; the message says why.
    """
    found = list(experiments)
    for text in extra:
        kind, _, written = text.partition("=")
        addition = manager.get(base_of(kind), written) if kind in KINDS else parse(text)
        misfits = list[str]()
        for at, (experiment, protocol) in enumerate(zip(found, protocols, strict=True)):
            try:
                found[at] = _with(experiment, protocol, addition)
            except SpecError as error:
                misfits.append(str(error))
        if len(misfits) == len(found):
            raise SpecError(
                f"{option('extra', text)}: it fits no experiment; {_reason(text, addition, found, protocols, misfits)}"
            )
    return found


def _reason(
    text: str,
    addition: Component | Spec,
    experiments: Sequence[Experiment],
    protocols: Sequence[Protocol],
    misfits: Sequence[str],
) -> str:
    """Return the reason why an addition fits no experiment, of the kind of component that has its name if any.

    Another way to write it is proposed where it fits an experiment.
    """
    if isinstance(addition, Spec):
        named = [kind for kind in KINDS if addition.name in manager.names(kind)]
        misfits = [why for one, why in zip(protocols, misfits, strict=True) if one.contender in named] or misfits
        if named and not {one.contender for one in protocols} & {*named}:
            contender(base_of(named[0]), addition)  # a wrong parameter is the nearer cause
            said = f"{addition.name!r} is of kind {named[0]}"
            if any(_fits(*one, named[0], addition) for one in zip(experiments, protocols, strict=True)):
                return f"{said}: write {option('extra', f'{named[0]}={text}')}"
            return f"{said}, and contenders of kind {listed(sorted({one.contender for one in protocols}))} compete"
    return next(filter(None, misfits), "nothing is like it")


def _fits(experiment: Experiment, protocol: Protocol, kind: str, spec: Spec) -> bool:
    """Return whether an experiment takes a component of a kind."""
    try:
        _with(experiment, protocol, manager.get(base_of(kind), spec))
    except SpecError:
        return False
    return True


def _with(experiment: Experiment, protocol: Protocol, addition: Component | Spec) -> Experiment:
    """Return an experiment with a contender, or with a component; raise `SpecError` if it does not fit."""
    if isinstance(addition, Component) and addition.kind == "loss":
        if protocol.metrics or addition in [manager.get(Loss, text) for text in experiment.losses]:
            raise SpecError(f"experiment {experiment.name!r} is judged by other metrics, or by this loss already")
        return experiment.model_copy(update={"losses": (*experiment.losses, str(addition))})
    if isinstance(addition, Component) and addition.kind != protocol.contender:
        more = _beside(experiment, protocol, addition)
    else:
        spec = addition.spec() if isinstance(addition, Component) else addition
        points = contender(base_of(protocol.contender), spec).points
        if misfit := next(filter(None, map(protocol.misfit, points)), ""):
            raise SpecError(misfit)
        # Beside grids that are tuned, a grid is tuned by the same rule.
        tuned = protocol.tunes and any(entry.tune for entry in experiment.contenders)
        more = [ContenderEntry(use=spec, tune=tuned and len(points) > 1)]
    return experiment.model_copy(update={"contenders": (*experiment.contenders, *more)})


def _beside(experiment: Experiment, protocol: Protocol, component: Component) -> list[ContenderEntry]:
    """Return contenders in which a component replaces each component of its kind."""
    known = [(entry, *one) for entry in experiment.contenders for one in contenders(entry, protocol.contender)]
    there, misfits = {found.text for *_, found in known}, list[str]()
    entries: dict[str, ContenderEntry] = {}
    for entry, label, found in known:
        point = found.points[0]
        try:
            spec, differs = _swapped(point, component)
            if entry.tune:
                spec = Spec(entry.use.name, {**entry.use.params, **differs})
                contender(base_of(protocol.contender), spec)  # each of its points fits
        except SpecError as error:
            misfits.append(str(error))
            continue
        if str(spec) in there or spec == point.spec():
            misfits.append(f"{str(spec)!r} competes already")
        elif str(spec) not in entries:
            said = f"{', '.join(f'{key}={value}' for key, value in differs.items())}, {label}"
            # A label has no braces of its own, and a limit.
            used = {each.label for each in entries.values()}
            shown = said if len(said) <= LABEL_LENGTH and "{" not in said and said not in used else ""
            entries[str(spec)] = ContenderEntry(use=spec, label=shown, n=entry.n, tune=entry.tune)
    if not entries:
        raise SpecError(next(filter(None, misfits), ""))
    return [*entries.values()]


def _swapped(point: Component, component: Component) -> tuple[Spec, dict[str, Spec]]:
    """Return a contender's spec with one component replaced, and the parameters that differ.

    Raises
    ------
    SpecError
        The component does not fit; without words where the contender has none of its kind.
    """
    values = {key: getattr(point, attribute) for key, attribute in point.attributes().items()}
    place = next((key for key, own in values.items() if getattr(own, "kind", "") == component.kind), "")
    if not place:
        raise SpecError("")
    if sees_truth(values[place]) and not sees_truth(component):
        # The addition does not know the truth: it stands beside another contender, with other repetitions if any.
        own = f"{component.kind} {values[place].name!r}"
        raise SpecError(f"{own} sees the truth, which {component.name!r} does not")
    choices: list[dict[str, Spec]] = [{place: component.spec()}]
    if component.kind != "optimizer" and "optimizer" in values:
        choices += [{**choices[0], "optimizer": Spec(name)} for name in SOLVERS]
    misfits = []
    for differs in choices:
        try:
            return type(point).from_spec(Spec(point.name, {**point.spec().params, **differs})).spec(), differs
        except SpecError as error:
            misfits.append(error)
    raise misfits[0]
