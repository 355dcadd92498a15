"""What every component declares, and how it is read and written."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from rankbench.aggregators.sequential import Elo
from rankbench.core.component import Component, build
from rankbench.core.spec import parse
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Method
from rankbench.methods.erm import ERM
from rankbench.plugin import manager
from rankbench.plugin.manager import reference
from rankbench.plugin.registry import KINDS, base_of


def components() -> list[tuple[str, str]]:
    return [(kind, name) for kind in KINDS for name in manager.names(kind)]


def test_canonical_specs_leave_defaults_out() -> None:
    assert str(manager.get(Method, "erm:k=inf,surrogate=regression,lambda=1e-3")) == "erm"
    assert str(manager.get(Method, "erm:lambda=0.5,k=10.0")) == "erm:k=10,lambda=0.5"
    nested = "erm:aggregator=mean-log-odds(smoothing=2),k=3"
    assert str(manager.get(Method, nested)) == nested


class Everything(Component):
    """Parameters of every type that can be told in the contender grammar."""

    kind: ClassVar[str] = "aggregator"
    name: ClassVar[str] = "everything"
    source: ClassVar[str] = "a test"

    flag: bool = False
    whole: int = 0
    number: float = 0.5
    text: str = ""
    word: Literal["none", "all"] = "none"
    perhaps: float | None = 1.0
    either: float | Literal["auto"] = "auto"
    said: str | None = "auto"
    place: Path = Path("a")
    inner: Annotated[Aggregator, reference(Aggregator)] = Field(default="borda", validate_default=True)
    off_list: str = Field(default="drop", alias="off-list")


any_text = st.one_of(st.text(max_size=20), st.text(alphabet=st.characters(), max_size=6), st.just("null"))
any_float = st.floats(allow_nan=False)


@pytest.mark.full
@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "flag": st.booleans(),
            "whole": st.integers(-(10**38), 10**38),
            "number": any_float,
            "text": any_text,
            "word": st.sampled_from(["none", "all"]),
            "perhaps": st.none() | any_float,
            "either": st.just("auto") | any_float,
            "said": st.none() | any_text,
            "place": st.text(st.characters(exclude_characters="\0"), min_size=1).map(Path),
            "inner": st.builds(Elo, factor=st.floats(0.1, 100)) | st.just("borda"),
            "off-list": any_text,
        },
    )
)
def test_every_value_of_a_parameter_is_read_back(values: dict[str, Any]) -> None:
    made = Everything.model_validate(values)
    again = Everything.from_spec(parse(str(made)))
    assert again == made
    assert str(again) == str(made)
    assert again.digest() == made.digest()


def test_digests_see_every_parameter() -> None:
    texts = ["erm", "erm:k=3", "erm:lambda=1", "erm:aggregator=borda", "erm:aggregator=mean-log-odds(smoothing=2)"]
    assert len({manager.get(Method, text).digest() for text in texts}) == len(texts)


def moved(component: Component, module: str) -> Component:
    """Return the same component, its class in another module."""
    cls = type(component)
    body = {"__module__": module, "__doc__": cls.__doc__, "name": cls.name, "source": cls.source}
    return type("Anything", (cls,), body)()


def test_identity_is_kind_name_distribution_and_parameters_wherever_the_class_stands() -> None:
    borda = manager.get(Aggregator, "borda")
    named = {"kind": "aggregator", "name": "borda", "distribution": "rankbench"}
    assert borda.identity() == named | {"parameters": {}}
    assert moved(borda, "rankbench.elsewhere").digest() == borda.digest()
    assert moved(borda, "a_script").digest() != borda.digest()
    assert moved(borda, "rankbench_example").digest() != moved(borda, "a_script").digest()


def test_identity_names_the_distributions_of_components_within() -> None:
    composed = manager.get(Method, "erm:aggregator=average-adjacency,k=1,surrogate=squared-hinge,optimizer=lbfgs")
    assert composed.identity()["distribution"] == "rankbench"
    assert composed.identity()["parameters"]["surrogate"]["distribution"] == "rankbench-example"
    assert ERM(aggregator=Borrowed()).identity()["parameters"]["aggregator"]["distribution"] == ""


def test_config_has_all_parameters_as_plain_values() -> None:
    config = manager.get(Method, "erm").config()
    assert config["k"] == "inf"
    assert config["lambda"] == 1e-3
    assert config["surrogate"]["name"] == "regression"


class Borrowed(Aggregator):
    """Computed by somebody else's package."""

    name: ClassVar[str] = "borrowed"
    source: ClassVar[str] = "A test"
    packages: ClassVar[tuple[str, ...]] = ("choix", "evalica")


def test_packages_are_those_of_all_components_within() -> None:
    assert ERM().all_packages() == frozenset()
    assert ERM(aggregator=Borrowed()).all_packages() == {"choix", "evalica"}


def test_a_grid_builds_every_point() -> None:
    grid = build(ERM, parse("erm:k=[1,10,inf],lambda=[0,1]"))
    assert [(c.k, c.l2) for c in grid] == [(k, l2) for k in (1, 10, math.inf) for l2 in (0, 1)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("erm:lamda=1", "did you mean 'lambda'"),
        ("erm:aggregator=mean-log-ods", "did you mean 'mean-log-odds'"),
        ("erm:aggregator=mean-log-odds(smothing=1)", "did you mean 'smoothing'"),
        ("erm:k=0", "positive integer"),
        ("erm:k=2.5", "positive integer"),
        ("erm:lambda=-1", "lambda"),
        ("erm:surrogate=pairwise-logistic", "wants edges"),
        ("erm:draws=0", "draws"),
        ("erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=exact", "quadratic"),
        (
            "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-hinge,optimizer=newton",
            "write optimizer=hinge-dual",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_help(text: str, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        ERM.from_spec(parse(text))
    assert said in str(caught.value)


def derived_forms() -> list[tuple[type[Component], str, str]]:
    """Return every built-in class that has a compiled form of its own, with the plain methods that it stands for."""
    classes = [manager.component_class(base_of(kind), name) for kind, name in components()]
    return [
        (cls, method, plain)
        for cls in classes
        for method, plains in cls.derived_forms.items()
        if any(method in vars(base) and method not in vars(base).get("derived_forms", {}) for base in cls.__mro__)
        for plain in plains
    ]


@pytest.mark.parametrize(("cls", "method", "plain"), derived_forms())
def test_a_class_that_overrides_the_plain_form_must_override_the_compiled_one(cls, method: str, plain: str) -> None:
    def other(self: object, *arguments: object) -> object:
        return getattr(super(cls, self), plain)(*arguments)

    assert cls.defect() == ""
    assert type("Same", (cls,), {"__module__": __name__}).defect() == ""
    lower = type("Other", (cls,), {"__module__": __name__, plain: other})
    for found in (lower, type("Lowest", (lower,), {"__module__": __name__})):
        assert f"it defines {plain} anew, and inherits" in found.defect()
    forms = {form: other for form, plains in cls.derived_forms.items() if plain in plains}
    assert type("Whole", (lower,), {"__module__": __name__, **forms, "prefers_covariance": other}).defect() == ""


def test_derived_forms_are_those_of_every_kind_that_has_them() -> None:
    methods = {(cls.kind, method) for cls, method, _ in derived_forms()}
    assert methods == {
        *(("aggregator", f"{name}kernel") for name in ("", "walk_", "selection_")),
        *(("aggregator", name) for name in ("from_comparisons", "from_counts_near", "covariance", "replicates")),
        *(("loss", "kernel"), ("loss", "ranked_kernel"), ("optimizer", "kernel")),
        *(("surrogate", f"{name}_kernel") for name in ("target", "gradient", "edges")),
        ("surrogate", "phi_kernels"),
        *(("surrogate", name) for name in ("exact", "exact_phi", "exact_edge")),
    }


def test_a_part_that_is_not_there_says_so_itself() -> None:
    with pytest.raises(SpecError, match=r"^unknown optimizer 'newtn'; did you mean 'newton'"):
        ERM.from_spec(parse("erm:optimizer=newtn"))
    with pytest.raises(SpecError, match=r"^aggregator 'mean-log-odds', parameter 'smoothing'"):
        manager.get(Method, "erm:aggregator=mean-log-odds(smoothing=-1)")


def test_errors_of_given_values_are_value_errors() -> None:
    for error in (SpecError, InputError):
        assert issubclass(error, ValueError)
