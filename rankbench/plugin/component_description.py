"""Descriptions tell what `list` and `info` show of a component class, without making one."""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from rankbench.core.component import Component
from rankbench.plugin import manager
from rankbench.plugin.registry import base_of

KERNELS = ("kernel", "target_kernel", "gradient_kernel", "phi_kernels")
"""Methods by which a component offers its compiled form."""

DECLARATIONS = (
    "judgments",
    "columns",
    "optional",
    "shapes",
    "method",
    "suite",
    "structure",
    "direction",
    "range",
    "needs_truth",
    "title",
    "simulated",
    "licence",
    "packages",
)
"""Class-level facts of the kinds, shown where a class has them."""

_BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "multiple_of": "a multiple of"}
_WORDS = {bool: "true or false", int: "integer", float: "number", str: "word", type(None): "none"}


@dataclass(frozen=True)
class Parameter:
    """A parameter as people write it.

    Attributes
    ----------
    name : str
    type : str
        In words; a component-valued parameter has the kind.
    default : object
        A plain value; None if the parameter is required.
    required : bool
    bounds : str
        As in ``">= 0, finite"``; empty if there are none.
    description : str
    """

    name: str
    type: str
    default: object
    required: bool
    bounds: str
    description: str

    def __str__(self) -> str:
        return self.name if self.required else f"{self.name}={_written(self.default)}"


@dataclass(frozen=True)
class Description:
    """Description of a component for `rankbench list` and `rankbench info`.

    Attributes
    ----------
    kind, name, summary, source : str
    documentation : str
        The whole docstring.
    properties : tuple of str
    parameters : tuple of Parameter
    declarations : dict
        Class-level facts such as a loss's direction and range.
    compiled : bool or None
        None: the kind knows no compiled form.
    distribution, version : str
    """

    kind: str
    name: str
    summary: str
    documentation: str
    source: str
    properties: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    declarations: dict[str, object]
    compiled: bool | None
    distribution: str
    version: str


def describe_component(kind: str, name: str) -> Description:
    """Describe a registered component.

    Raises
    ------
    SpecError
        Unknown kind or name.
    """
    cls = manager.component_class(base_of(kind), name)
    origin = manager.origin(kind, name)
    return Description(
        kind=kind,
        name=name,
        summary=cls.summary(),
        documentation=inspect.getdoc(cls) or "",
        source=cls.source,
        properties=tuple(sorted(cls.properties)),
        parameters=tuple(component_parameters(cls)),
        declarations={fact: json_value(getattr(cls, fact)) for fact in DECLARATIONS if getattr(cls, fact, ()) != ()},
        compiled=has_compiled_form(cls),
        distribution=origin.distribution,
        version=origin.version,
    )


def component_parameters(cls: type[Component]) -> list[Parameter]:
    """Return the parameters of a component class in the order it declares them."""
    return [
        Parameter(
            name=name,
            type=_type(field.annotation),
            default=None if field.is_required() else json_value(field.get_default(call_default_factory=True)),
            required=field.is_required(),
            bounds=_bounds(field),
            description=field.description or "",
        )
        for name, field in cls.parameters().items()
    ]


def has_compiled_form(cls: type[Component]) -> bool | None:
    """Return whether a class overrides all the kernel methods of its kind; None if it has none.

    Nothing is compiled and numba is not imported to find out. Aggregators of selections and of
    ballots have no form for the runner: its samples are comparisons.
    """
    if getattr(cls, "judgments", "comparisons") != "comparisons":
        return None
    overridden = [_overrides(cls, method) for method in KERNELS if hasattr(cls, method)]
    # Only a class that overrides the plain form of edges needs a kernel for them.
    if hasattr(cls, "edges") and _overrides(cls, "edges"):
        overridden.append(_overrides(cls, "edges_kernel"))
    return all(overridden) if overridden else None


def _overrides(cls: type[Component], method: str) -> bool:
    """Return whether a method differs from that of the outermost class that has it."""
    declared = [vars(base)[method] for base in cls.__mro__ if method in vars(base)]
    return getattr(cls, method) is not declared[-1]


def json_value(value: Any) -> object:
    """Return a value that JSON can hold: specs for components, ``"inf"`` for infinity."""
    if isinstance(value, Component):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(json_value(v) for v in value)  # type: ignore[type-var]
    if isinstance(value, (list, tuple)):
        return [json_value(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(_written(option) for option in get_args(annotation))
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(option) for option in get_args(annotation)))
    if isinstance(annotation, type) and origin is None:
        if issubclass(annotation, Component):
            return getattr(annotation, "kind", "component")
        return _WORDS.get(annotation, annotation.__name__)
    return str(annotation).replace("typing.", "")


def _bounds(field: FieldInfo) -> str:
    found = []
    for constraint in field.metadata:
        for attribute, symbol in _BOUNDS.items():
            bound = getattr(constraint, attribute, None)
            if bound is not None:
                found.append(f"{symbol} {bound}")
        if getattr(constraint, "allow_inf_nan", None) is False:
            found.append("finite")
    return ", ".join(found)
