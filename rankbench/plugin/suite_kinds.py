"""The kinds of claims and figures that a suite's tables name, with the parameters that the tables hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from rankbench.errors import SpecError, nearest
from rankbench.kinds.claim import ClaimKind
from rankbench.kinds.figure import FigureKind
from rankbench.kinds.suite import Claim, Experiment, Figure
from rankbench.plugin import manager

__all__ = ["check_tables", "claim_kind", "figure_kind"]

C = TypeVar("C", ClaimKind, FigureKind)


def claim_kind(claim: Claim) -> ClaimKind:
    """Return the kind of a claim, with the claim's own parameters.

    Keys that the kind does not know are left out: records of old runs hold those of all kinds.

    Raises
    ------
    SpecError
        It is not registered: the plugin that brought it is gone.
    """
    return _made(ClaimKind, claim)


def figure_kind(figure: Figure) -> FigureKind:
    """Return the kind of a figure, with the figure's own parameters; see `claim_kind`.

    Raises
    ------
    SpecError
        It is not registered: the plugin that brought it is gone. Or its parameters are none of this kind.
    """
    return _made(FigureKind, figure)


def check_tables(experiment: Experiment, where: str) -> None:
    """Check the tables of an experiment's claims and figures by what their kinds declare.

    Parameters
    ----------
    experiment : Experiment
    where : str
        Its key path, for the error.

    Raises
    ------
    SpecError
        A kind that is not registered, a key that it does not know, a value that does not fit, or one that is missing.
    """
    for i, claim in enumerate(experiment.claims):
        _check(ClaimKind, claim, f"{where}.claims.{i}")
    for i, figure in enumerate(experiment.figures):
        _check(FigureKind, figure, f"{where}.figures.{i}")


def _made(base: Callable[..., C], table: Claim | Figure) -> C:
    cls = manager.written_class(base, table.kind)
    try:
        return cls.model_validate({key: value for key, value in table.options.items() if key in cls.parameters()})
    except ValidationError as error:
        raise SpecError(f"a {cls.kind} of kind {cls.name!r}: {_first(error)}") from error


def _first(error: ValidationError, *where: str) -> str:
    """Return the first of the errors, with its key path."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in (*where, *first["loc"]))
    return f"{key}: {str(first['msg']).removeprefix('Value error, ')}".removeprefix(": ")


def _check(base: Callable[..., ClaimKind | FigureKind], table: Claim | Figure, where: str) -> None:
    try:
        cls = manager.written_class(base, table.kind)
    except SpecError as error:
        raise SpecError(f"{where}.kind: {error}") from error
    unknown = [key for key in table.options if key not in cls.parameters()]
    if unknown:
        known = [*type(table).model_fields, *cls.parameters()]
        raise SpecError(
            f"{where}.{unknown[0]}: unknown key of a {cls.kind} of kind {cls.name!r}{nearest(unknown[0], known)}"
        )
    try:
        lacking = cls.model_validate(table.options).lacks()
    except ValidationError as error:
        raise SpecError(_first(error, where)) from error
    if lacking:
        raise SpecError(f"{where}: {lacking}")
