"""Parameters: validated, written and read back."""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic.fields import FieldInfo

from rankbench.errors import RankbenchError, SpecError
from rankbench.kinds.guard import reason
from rankbench.plugin.kinds import KINDS
from rankbench.spec import Spec, parse
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject


@conformance_check(*KINDS)
def parameters_are_validated(subject: Subject) -> None:
    """Unknown parameters, words for numbers and values out of declared bounds are refused."""
    cls = type(subject.it)
    _refused(subject, {"no-such-parameter": 1}, "an unknown parameter is accepted")
    for name, field in cls.parameters().items():
        for value, what in _wrong(field):
            _refused(subject, {name: value}, f"parameter {name!r} accepts {what}")


@conformance_check(*KINDS)
def numbers_are_bounded(subject: Subject) -> None:
    """A parameter that is a number refuses nan."""
    numbers = [n for n, field in type(subject.it).parameters().items() if field.annotation is float]
    if not numbers:
        raise CheckSkipped("no parameter is a float")
    for name in numbers:
        _refused(subject, {name: math.nan}, f"parameter {name!r} accepts nan; give it a bound or allow_inf_nan=False")


@conformance_check(*KINDS)
def spec_reads_back(subject: Subject) -> None:
    """Written as a spec and read again it is the same component; its config is plain JSON."""
    it = subject.it
    try:
        again = type(it).from_spec(parse(str(it)))
    except RankbenchError as error:
        raise CheckFailed(f"its own spec {str(it)!r} is refused: {error}") from error
    if again.config() != it.config() or again.digest() != it.digest():
        raise CheckFailed(f"{str(it)!r} is read back as {str(again)!r}")
    try:
        json.dumps(it.config(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckFailed(f"its config is not plain JSON: {error}") from error


@conformance_check(*KINDS)
def frozen(subject: Subject) -> None:
    """It cannot be changed once it is made: it stands for the cells that carry its name."""
    it = subject.it
    if not type(it).model_config.get("frozen"):
        raise CheckFailed("model_config is not frozen")
    before = it.digest()
    for attribute in it.attributes().values():
        value = getattr(it, attribute)
        try:
            setattr(it, attribute, value)
        except Exception:
            continue
        raise CheckFailed(f"parameter {attribute!r} can be set")
    if it.digest() != before:
        raise CheckFailed("its digest changes")


def _wrong(field: FieldInfo) -> list[tuple[Any, str]]:
    """Return values that the field's declaration rules out, with what they are."""
    found: list[tuple[Any, str]] = []
    if field.annotation in (int, float, bool):
        found.append(("not-a-number-or-a-truth", "the word 'not-a-number-or-a-truth'"))
    for constraint in field.metadata:
        for bound, outside in (("ge", -1), ("le", 1)):
            value = getattr(constraint, bound, None)
            if isinstance(value, (int, float)) and math.isfinite(value):
                found.append((value + outside, f"{value + outside}, which is out of its bounds"))
        for bound in ("gt", "lt"):
            value = getattr(constraint, bound, None)
            if isinstance(value, (int, float)) and math.isfinite(value):
                found.append((value, f"{value}, which is out of its bounds"))
        if getattr(constraint, "allow_inf_nan", None) is False:
            found.append((math.inf, "inf, though it declares allow_inf_nan=False"))
    return found


def _refused(subject: Subject, params: dict[str, Any], complaint: str) -> None:
    try:
        type(subject.it).from_spec(Spec(subject.it.name, params))
    except SpecError:
        return
    except Exception as error:
        raise CheckFailed(f"{params} raises {reason(error)} instead of SpecError") from error
    raise CheckFailed(complaint)
