"""Entry points that need no installed distribution."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest

from rankbench.interfaces.method import Model
from rankbench.plugin.registry import hookimpl


@dataclass
class FakeDistribution:
    name: str
    version: str
    requires: list[str] | None = None


@dataclass
class FakeEntryPoint:
    """What `load` uses of `importlib.metadata.EntryPoint`."""

    name: str
    load: Callable[[], object]
    dist: FakeDistribution
    value: str = "some.module"


def _plugin(hooks: dict[str, Callable[[], object]]) -> types.ModuleType:
    module = types.ModuleType("fake_plugin")
    for hook, function in hooks.items():
        setattr(module, hook, hookimpl(_wrapped(function)))
    return module


def _wrapped(function: Callable[[], object]) -> Callable[[], object]:
    def implementation():
        return function()

    return implementation


@pytest.fixture
def entry():
    """Make an entry point whose plugin returns what `brings` returns, and has these other hooks too."""

    def make(name="fake", distribution="thirdparty", version="1.2", load=None, requires=None, brings=None, **others):
        module = _plugin(({} if brings is None else {"rankbench_register": brings}) | others)
        return FakeEntryPoint(name, load or (lambda: module), FakeDistribution(distribution, version, requires))

    return make


@pytest.fixture
def model():
    """Make a complete model class, with some class attributes replaced."""

    def make(name="doubled", **attributes):
        class Doubled(Model):
            """Doubles the features."""

            source: ClassVar[str] = "a test"

            def features(self, x):
                return 2 * x

        Doubled.name = name
        for key, value in attributes.items():
            setattr(Doubled, key, value)
        return Doubled

    return make
