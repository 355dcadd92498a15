"""Descriptions of components: parameters in words, and what is compiled."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from rankbench.core.component import Order
from rankbench.interfaces.aggregator import ComparisonAggregator
from rankbench.interfaces.method import Method, Model
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, ScoreSurrogate
from rankbench.losses.positions import NDCG
from rankbench.methods.baselines import LinearModel
from rankbench.plugin import manager
from rankbench.plugin.component_description import (
    component_parameters,
    describe_component,
    has_compiled_form,
    json_value,
)
from rankbench.plugin.loading import load
from rankbench.plugin.manager import reference


class Everything(Method):
    """Has a parameter of every type.

    And a second paragraph.
    """

    name: ClassVar[str] = "everything"
    source: ClassVar[str] = "a test"

    needed: int
    penalty: float = Field(default=1e-3, alias="lambda", ge=0, allow_inf_nan=False, description="Ridge.")
    share: float = Field(default=0.5, gt=0, lt=1)
    k: Order = float("inf")
    flag: bool = True
    word: str = "x"
    choice: Literal["counts", "joint"] = "joint"
    maybe: int | None = None
    model: Annotated[Model, reference(Model)] = LinearModel()

    def fit(self, block):
        raise NotImplementedError


def test_parameters_are_said_in_words():
    found = {p.name: p for p in component_parameters(Everything)}
    assert {name: (p.type, p.default) for name, p in found.items()} == {
        "needed": ("integer", None),
        "lambda": ("number", 1e-3),
        "share": ("number", 0.5),
        "k": ("number", "inf"),
        "flag": ("true or false", True),
        "word": ("word", "x"),
        "choice": ("counts or joint", "joint"),
        "maybe": ("integer or none", None),
        "model": ("model", "linear"),
    }
    assert [name for name, p in found.items() if p.required] == ["needed"]
    assert found["lambda"].bounds == ">= 0, finite"
    assert found["share"].bounds == "> 0, < 1"
    assert found["k"].bounds == ""
    assert found["lambda"].description == "Ridge."
    assert str(found["needed"]) == "needed"
    assert str(found["lambda"]) == "lambda=0.001"
    assert str(found["flag"]) == "flag=true"


class OtherNDCG(NDCG):
    name = "other-ndcg"

    def value(self, alpha, structure):
        raise NotImplementedError

    kernel, ranked_kernel = Loss.kernel, Loss.ranked_kernel


@pytest.mark.parametrize(
    ("base", "defines", "expected"),
    [
        (NDCG, (), True),
        (OtherNDCG, (), False),
        (ComparisonAggregator, ("aggregate",), False),
        (ComparisonAggregator, ("aggregate", "kernel"), True),
        (ScoreSurrogate, ("target_kernel",), False),
        (ScoreSurrogate, ("target_kernel", "gradient_kernel"), True),
        (PairwiseSurrogate, (), False),
        (PairwiseSurrogate, ("phi_kernels",), True),
        (PairwiseSurrogate, ("phi_kernels", "edges"), False),
        (PairwiseSurrogate, ("phi_kernels", "edges", "edges_kernel"), True),
        (LinearModel, (), None),
        (Everything, (), None),
    ],
)
def test_compiled_means_all_kernels_of_the_kind(base, defines, expected):
    cls = base
    for method in defines:
        cls = type("Lower", (cls,), {"__module__": __name__, method: lambda self, *arguments: None})
    assert has_compiled_form(cls) is expected


class Bounded(Loss):
    """A loss."""

    name: ClassVar[str] = "bounded"
    source: ClassVar[str] = "[X]_ eq. (1)"
    direction: ClassVar[Literal["minimize", "maximize"]] = "maximize"
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    properties: ClassVar[frozenset[str]] = frozenset({"shift-invariant", "equivariant"})

    def value(self, alpha, structure):
        return 0.0


def test_a_description_has_declarations_and_origin_and_is_json(monkeypatch, entry):
    loaded = load([entry("own", "third", "7", brings=lambda: [Bounded, Everything])])
    monkeypatch.setattr(manager, "_loader", loaded)
    description = describe_component("loss", "bounded")
    assert description.declarations == {"structure": "scores", "direction": "maximize", "range": [0.0, "inf"]}
    assert description.properties == ("equivariant", "shift-invariant")
    assert (description.distribution, description.version) == ("third", "7")
    assert description.compiled is False
    everything = describe_component("method", "everything")
    assert everything.summary == "Has a parameter of every type."
    assert everything.documentation.endswith("And a second paragraph.")
    json.dumps([asdict(description), asdict(everything)], allow_nan=False)


def test_plain_values_hold_in_json():
    numbers = (1.5, float("inf"), float("-inf"), float("nan"))
    values = [1, True, "a", None, *numbers, (1, 2), frozenset({"b", "a"}), LinearModel()]
    assert json_value(values) == [1, True, "a", None, 1.5, "inf", "-inf", "nan", [1, 2], ["a", "b"], "linear"]
