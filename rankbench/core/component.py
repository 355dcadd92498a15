"""The base of all components declares parameters, name, spec and digest.

A component is a frozen, validated set of parameters with a name. Aggregators,
surrogates, losses, optimizers, models, methods, readers and data sets are all
components; their kinds' base classes (`rankbench.interfaces.aggregator`, ...) add the
mathematics. Third-party classes derive from the same bases as the built-in ones.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import math
import types
from collections.abc import Iterator, Mapping
from numbers import Real
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from rankbench.core.code_digest import distribution_of
from rankbench.core.spec import Spec, Value, expand, parse
from rankbench.core.text import returned_numbers
from rankbench.errors import PluginError, SpecError, nearest

_WORDS = {bool: "true or false", int: "a number", float: "a number", str: "a text"}


class Typed(BaseModel):
    """A model that does not convert values between types.

    Pydantic by itself takes ``true`` and ``"1"`` for the number 1, and 1, ``"on"`` and ``"y"``
    for true. Whole numbers stand for floats, and floats without a fraction for whole numbers:
    ``1e5`` is how one writes a hundred thousand.
    """

    @field_validator("*", mode="before", check_fields=False)
    @classmethod
    def _of_its_type(cls, value: object, info: ValidationInfo) -> object:
        field = cls.model_fields[info.field_name or ""]
        _check(value, field.annotation)
        return value


class Record(Typed):
    """An immutable model that rejects keys it does not know, as files of settings are read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values for some fields, and without what was cached for the old ones."""
        copied = super().model_copy(update=update, deep=deep)
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied


def _check(value: object, annotation: object) -> None:
    """Raise if a plain value has none of the types of an annotation; leave other values to pydantic."""
    options = list(union_types(annotation))
    if isinstance(value, list | tuple):
        inner = [get_args(option)[0] for option in options if get_origin(option) in (list, tuple, set, frozenset)]
        if len(inner) == 1:
            for one in value:
                _check(one, inner[0])
        return
    expected = [option for option in options if option in _WORDS]
    closed = all(option in _WORDS or option is type(None) or get_origin(option) is Literal for option in options)
    if expected and closed and not any(_is(value, option) for option in options):
        listed = [repr(word) for option in options if get_origin(option) is Literal for word in get_args(option)]
        wanted = " or ".join(dict.fromkeys([*(_WORDS[option] for option in expected), *listed]))
        shown = str(value).lower() if _is(value, bool) else repr(value)
        raise ValueError(f"must be {wanted}, not {shown}")


def union_types(annotation: object) -> Iterator[Any]:
    """Yield the members of a union type."""
    while hasattr(annotation, "__value__"):  # ``type Name = ...``, from Python 3.12 on
        annotation = annotation.__value__
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from union_types(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from union_types(part)
    else:
        yield annotation


def _is(value: object, option: object) -> bool:
    """Return whether a value is of a plain type; NumPy's own scalars are."""
    if get_origin(option) is Literal:
        return any(type(value) is type(word) and value == word for word in get_args(option))
    if option is type(None):
        return value is None
    boolean = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    if option is bool:
        return boolean
    if option in (int, float):
        return isinstance(value, Real) and not boolean
    return isinstance(value, str)


Property = Literal[
    "additive",
    "convex",
    "equivariant",
    "hinge",
    "irregular",
    "quadratic",
    "score-linear",
    "sequential",
    "shift-invariant",
    "smooth",
    "stochastic",
    "target-linear",
    "winner-not-first",
]
"""Mathematical properties that a component may declare; checks follow declarations.

``additive``: averaged over all k-subsets of judgments, the structure is the average of the
structures of one judgment, so that a risk linear in the structure does not depend on k.
``hinge``: phi of a pairwise surrogate is ``max(0, 1 - t)``, which the dual solver relies on.
``irregular``: scores jump with the judgments, so that resampling does not show how certain
they are: rankings have no intervals.
``score-linear``: the target of a score surrogate is linear in the scores, so that on an
``additive`` aggregator the mean target over k-subsets is that of all judgments, for every k.
``sequential``: the structure depends on the order in which the judgments were made.
``target-linear``: up to a term without alpha, a score surrogate is linear in its target, so
that averaged over structures it is the surrogate of the mean target.
``winner-not-first``: an item that wins every judgment need not be first, nor one that loses all
last, even where all pairs are judged alike; a surrogate may push the worse of two items up.
"""

JudgmentKind = Literal["comparisons", "selections", "orders", "measurements", "predictions"]
"""One judgment: a winner and a loser, clicks on a shown list, a ballot, a system's score on a task, or a chance."""

StructureKind = Literal["scores", "edges"]
"""A score vector in R^m, or a weighted adjacency matrix held as a list of edges."""


C = TypeVar("C", bound="Component")


MOST_JUDGMENTS = 2**31
"""Kernels count judgments in 32 bits."""


def _order(value: object) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool) or value == math.inf:
        return value
    if not 1 <= value < MOST_JUDGMENTS or value != int(value):
        raise ValueError(f"order k must be a positive integer below 2^31 or inf, not {value}")
    return int(value)


Order = Annotated[float, BeforeValidator(_order)]
"""Order k of a U-statistic: a positive integer, or ``inf`` for all of a query's judgments."""


class Component(Typed):
    """Base of all components.

    Attributes
    ----------
    kind : str
        ``aggregator``, ``surrogate``, ... set by the kind's base class.
    name : str
        Kebab-case, unique within the kind.
    source : str
        Paper and equation, as in ``"[DMJ13]_ eq. (28)"``.
    properties : frozenset of Property
        Mathematical properties that the component promises.
    packages : tuple of str
        Distributions of third parties that compute it; leaderboards print their versions. A
        component that misses one raises `SpecError` when it is used, and is skipped.
    derived_forms : mapping of str to tuple of str
        Methods that are another form of plain methods, as compiled ones, with the names of
        these; set by the kind's base class. A class that overrides a plain method must override
        its inherited forms too, or has two formulas: see `defect`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=True, defer_build=True)

    kind: ClassVar[str]
    name: ClassVar[str]
    source: ClassVar[str]
    properties: ClassVar[frozenset[Property]] = frozenset()
    packages: ClassVar[tuple[str, ...]] = ()
    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def model_post_init(self, context: object) -> None:
        """Raise if the class has a `defect`: classes of a script are never registered.

        Raises
        ------
        PluginError
        """
        if words := _defect_of(type(self)):
            raise PluginError(f"{type(self).__module__}.{type(self).__qualname__}: {words}")

    @classmethod
    def defect(cls) -> str:
        """Return an error text for inconsistent declarations of the class, or ``""``; called at registration.

        A class that defines a plain method anew has another formula than a form that it inherits.
        """
        for form, plain in cls.derived_forms.items():
            at = _declared(cls, form)[0]
            owner = cls.__mro__[at] if at < len(cls.__mro__) else Component
            newer = [name for name in plain if _declared(cls, name)[0] < at]
            # The default of a kind, which declares the form itself, offers nothing.
            if newer and owner is not Component and form not in vars(owner).get("derived_forms", {}):
                return (
                    f"it defines {newer[0]} anew, and inherits {form} of {owner.__name__}, which computes another "
                    f"formula; define {form} too"
                )
        return ""

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the docstring."""
        return (inspect.getdoc(cls) or "").split("\n", 1)[0]

    @classmethod
    def parameters(cls) -> dict[str, FieldInfo]:
        """Return the parameters by their names in specs."""
        return {field.alias or key: field for key, field in cls.model_fields.items()}

    def config(self) -> dict[str, Any]:
        """Return name and *all* parameters, defaults too, as plain JSON-able values."""
        return {"name": self.name} | {
            key: _plain(getattr(self, attribute)) for key, attribute in self.attributes().items()
        }

    def spec(self) -> Spec:
        """Return the canonical spec: the parameters that differ from their defaults, in order."""
        params: dict[str, Value] = {}
        for key, attribute in self.attributes().items():
            value = getattr(self, attribute)
            default = type(self).model_fields[attribute].get_default(call_default_factory=True)
            if isinstance(value, Component):
                # The default of a component-valued parameter is written as a spec.
                if not isinstance(default, str) or value.spec() != parse(default):
                    params[key] = value.spec()
            elif _plain(value) != _plain(default):
                params[key] = str(value) if isinstance(value, PurePath) else value
        return Spec(self.name, params)

    def identity(self) -> dict[str, Any]:
        """Return the identity of this component: kind, name, distribution and *all* parameters.

        Not where its class stands: code may move between modules. A component that no
        installed distribution brings, as one of a script, has the distribution ``""``.
        """
        parameters = {key: getattr(self, attribute) for key, attribute in self.attributes().items()}
        return {
            "kind": self.kind,
            "name": self.name,
            "distribution": distribution_of(type(self).__module__),
            "parameters": {
                key: value.identity() if isinstance(value, Component) else _plain(value)
                for key, value in parameters.items()
            },
        }

    def digest(self) -> str:
        """Return a hash (blake2b, 32 hex digits) of `identity`, not of the code."""
        text = json.dumps(self.identity(), sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def all_packages(self) -> frozenset[str]:
        """Return `packages` of this component and of all components in its parameters."""
        values = [getattr(self, attribute) for attribute in self.attributes().values()]
        inner = [value.all_packages() for value in values if isinstance(value, Component)]
        return frozenset(self.packages).union(*inner)

    def checked_numbers(self, method: str, returned: object) -> Any:
        """Return a method's result as numbers; a `PluginError` if it is anything else."""
        return returned_numbers(returned, f"{self.kind} {self.name!r}, {method}")

    def __str__(self) -> str:
        return str(self.spec())

    @classmethod
    def attributes(cls) -> dict[str, str]:
        """Return the attribute of each parameter, by its name in specs."""
        return {field.alias or key: key for key, field in cls.model_fields.items()}

    @classmethod
    def from_spec(cls, spec: Spec) -> Self:
        """Validate `spec`'s parameters into a component.

        Raises
        ------
        SpecError
            An unknown parameter (with the nearest valid one), or a value that does not
            fit; lists must have been expanded before.
        """
        unknown = [key for key in spec.params if key not in cls.parameters()]
        if unknown:
            raise SpecError(
                f"{cls.kind} {cls.name!r} has no parameter {unknown[0]!r}{nearest(unknown[0], cls.parameters())}"
            )
        try:
            return cls.model_validate(spec.params)
        except ValidationError as error:
            # A part that is not there, as an unknown aggregator, says so itself.
            if isinstance(said := error.errors()[0].get("ctx", {}).get("error"), SpecError):
                raise said from None
            where, reason = first_problem(error)
            at = f", parameter {where!r}" if where else ""
            raise SpecError(f"{cls.kind} {cls.name!r}{at}: {reason}") from error


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return key path and message of the first error."""
    first = error.errors()[0]
    return ".".join(map(str, first["loc"])), str(first["msg"]).removeprefix("Value error, ")


@functools.cache
def _defect_of(cls: type[Component]) -> str:
    return cls.defect()


def _declared(cls: type, method: str) -> list[int]:
    """Return the positions in the method resolution order of the classes that define a method."""
    return [at for at, base in enumerate(cls.__mro__) if method in vars(base)] or [len(cls.__mro__)]


def _plain(value: Any) -> Any:
    if isinstance(value, Component):
        return value.config()
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value


def build(cls: type[C], spec: Spec) -> list[C]:
    """Return the grid of components that `spec` describes, one for each point."""
    return [cls.from_spec(point) for point in expand(spec)]
