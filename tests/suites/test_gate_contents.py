"""The suite `gate` has every built-in component that can compete in a suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rankbench.core.component import Component
from rankbench.core.spec import expand, parse
from rankbench.plugin import manager
from rankbench.plugin.registry import base_of
from rankbench.runner.prepare import protocol_of
from rankbench.suites.suite_files import load_suite


def parts(component: Component) -> Iterator[tuple[str, str]]:
    """Yield kind and name of a component, and of the components that it consists of."""
    yield component.kind, component.name
    for field in type(component).model_fields:
        value = getattr(component, field)
        if isinstance(value, Component):
            yield from parts(value)


@pytest.fixture(scope="module")
def in_gate() -> set[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for experiment in load_suite("gate").experiments:
        protocol = protocol_of(experiment.protocol)
        found.update(parts(protocol))
        for contender in experiment.contenders:
            for point in expand(contender.use):
                found.update(parts(manager.get(base_of(protocol.contender), str(point))))
        if not protocol.metrics:
            found.update(("loss", parse(loss).name) for loss in experiment.losses)
    return found


@pytest.mark.parametrize("kind", ["protocol", "method", "aggregator", "surrogate", "optimizer", "model", "loss"])
def test_the_gate_has_every_component(kind: str, in_gate: set[tuple[str, str]]) -> None:
    known = {one for one in manager.names(kind) if manager.origin(kind, one).distribution == "rankbench"}
    # Chances that a log holds are there where `rankbench run` is told of their column: no suite names one.
    assert {name for of, name in in_gate if of == kind} == known - {"predictions"}
