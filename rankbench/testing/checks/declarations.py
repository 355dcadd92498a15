"""Checks read documentation, parameters and outputs, and pickle components."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any, Literal, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from pydantic.fields import FieldInfo

from rankbench.core.component import Property, union_types
from rankbench.core.spec import Spec, parse
from rankbench.errors import ContenderDiverged, InputError, RankbenchError, SpecError, nearest
from rankbench.interfaces.cell import reason
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.plugin.registry import KINDS
from rankbench.testing.calls import CALLED, Call, Outputs, calls, outputs, same
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, checks_for, conformance_check, run_check


@conformance_check(*KINDS)
def documented(subject: Subject) -> None:
    """The class says what it computes in its own docstring, where that is described, and what parameters mean."""
    cls = type(subject.it)
    if not (cls.__dict__.get("__doc__") or "").strip():
        raise CheckFailed(f"class {cls.__name__} has no docstring")
    if not cls.summary().endswith("."):
        raise CheckFailed(f"the first line of the docstring is no sentence: {cls.summary()!r}")
    silent = [name for name, field in cls.parameters().items() if not (field.description or "").strip()]
    if silent:
        raise CheckFailed(f"parameter {silent[0]!r} has no description; write Field(..., description=...)")
    source = getattr(cls, "source", None)
    if not isinstance(source, str) or not source.strip():
        raise CheckFailed("`source` is empty; name the paper and the equation, or where else it is described")
    if source.strip().upper().rstrip(".:") in {"TODO", "FIXME", "TBD", "?", "-", "N/A", "NONE", "UNKNOWN"}:
        raise CheckFailed(f"`source` says {source!r}, which names nothing")


@conformance_check(*KINDS)
def properties_are_known(subject: Subject) -> None:
    """Every declared property is one that the checks know."""
    known = get_args(Property)
    for word in sorted(subject.it.properties):
        if word not in known:
            raise CheckFailed(f"there is no property {word!r}{nearest(word, known)}")


@conformance_check(*KINDS)
def parameters_are_validated(subject: Subject) -> None:
    """Unknown parameters are refused, and nan as a number; pydantic refuses what is out of declared bounds."""
    cls = type(subject.it)
    _refused(subject, {"no-such-parameter": 1}, "an unknown parameter is accepted")
    for name, field in cls.parameters().items():
        if float in union_types(field.annotation):
            bound = "give it a bound or allow_inf_nan=False"
            _refused(subject, {name: math.nan}, f"parameter {name!r} accepts nan; {bound}")


@conformance_check(*CALLED)
def parameters_work_within_their_bounds(subject: Subject) -> None:
    """At both ends of each parameter's bounds, and between, the checks of numbers pass; the others stay as they are.

    A refusal that says why, as `InputError`, `SpecError` and `ContenderDiverged` do, is an answer too.
    Budgets of solvers are left out: with the smallest there is nothing to promise.
    """
    cls, given = type(subject.it), subject.it.spec().params
    required = {name for name, field in cls.parameters().items() if field.is_required()}
    if not set(given) <= required:
        raise CheckSkipped("it is tried where the parameters have their defaults")
    checks = [check for check in checks_for(subject.kind) if check.of_values]
    if subject.kind == "method":  # a fit takes a while
        checks = [check for check in checks if check.function is shape_and_finiteness]
    checks = [check for check in checks if run_check(subject, check)[0].ok]  # what fails by default is said once
    for name, field in cls.parameters().items():
        for value in () if name == getattr(cls, "budget", None) else points(field):
            try:
                it = cls.from_spec(Spec(cls.name, {**given, name: value}))
            except SpecError:
                continue  # a validator refuses it
            for check in checks:
                result, error = run_check(Subject(subject.kind, it), check)
                refused = isinstance(error, ContenderDiverged | InputError | SpecError)
                if not (result.ok or refused):
                    raise CheckFailed(f"with {name}={value}: {check.name}: {result.reason}") from error


FAR = 1e6
"""Tried for a bound that is not there."""

CLOSE = 1e-6
"""Share of the range between a bound that must not be reached and the point that is tried."""

MOST_COUNTED, FARTHEST_END = 100, 1000
"""Whole numbers are tried up to so much above their least value, as they often count work; or up to a near end."""

POINTS = (-10.0, -1.0, -0.5, -0.1, 0.0, 0.1, 0.25, 0.5, 0.9, 1.0, 2.0, 10.0, 100.0)
"""Tried where a range has no end, or is long."""


def points(field: FieldInfo) -> list[Any]:
    """Return values of a parameter: all of a finite set, both ends of numbers, and points between."""
    found: list[Any] = []
    for option in union_types(field.annotation):
        if get_origin(option) is Literal:
            found += get_args(option)
        elif option is bool:
            found += [False, True]
        elif option in (int, float):
            found += _numbers(field, whole=option is int)
    return list(dict.fromkeys(found))


def _numbers(field: FieldInfo, *, whole: bool) -> list[Any]:
    """Return numbers within bounds, and just within exclusive bounds."""
    bounds: dict[str, float] = {}
    for constraint in field.metadata:
        for name in ("ge", "gt", "le", "lt"):
            if isinstance(bound := getattr(constraint, name, None), int | float):
                bounds[name] = float(bound)
    low, high = bounds.get("ge", bounds.get("gt", -FAR)), bounds.get("le", bounds.get("lt", FAR))
    if whole:
        first = int(low) if {"ge", "gt"} & set(bounds) else -2
        last = int(high if high - first <= FARTHEST_END else first + MOST_COUNTED)
        return sorted({*range(first, first + 4), first + 9, 0, (first + last) // 2, last} & {*range(first, last + 1)})
    span = high - low
    steps = [low + span * tenth / 10 for tenth in range(11)] if math.isfinite(span) else []
    points = steps if span <= POINTS[-1] else [low, *POINTS, *steps, high]
    ends = [low + CLOSE * min(span, 1.0)] * ("gt" in bounds) + [high - CLOSE * min(span, 1.0)] * ("lt" in bounds)
    unbounded = [math.inf] if not {"le", "lt"} & set(bounds) else []
    return [*sorted(x for x in {*points, *ends} if low <= x <= high), *unbounded]


@conformance_check(*KINDS)
def spec_reads_back(subject: Subject) -> None:
    """Written as a spec and read again it is the same component; its config is plain JSON."""
    it = subject.it
    try:
        again = type(it).from_spec(parse(str(it)))
    except RankbenchError as error:
        raise CheckFailed(f"it rejects its own spec {str(it)!r}: {error}") from error
    if again.config() != it.config() or again.digest() != it.digest():
        raise CheckFailed(f"{str(it)!r} is read back as {str(again)!r}")
    try:
        json.dumps(it.config(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckFailed(f"its config is not plain JSON: {error}") from error


def _refused(subject: Subject, params: dict[str, Any], complaint: str) -> None:
    try:
        type(subject.it).from_spec(Spec(subject.it.name, params))
    except SpecError:
        return
    except Exception as error:
        raise CheckFailed(f"{params} raises {reason(error)} instead of SpecError") from error
    raise CheckFailed(complaint)


CONDITIONS = "rankbench.conditions"
"""Entry points, named after kinds, of functions that say which conditions of the papers a component fails."""


@conformance_check("surrogate")
def consistency_conditions(subject: Subject) -> str:
    """Conditions of the papers on phi and on minimizers hold; a note names one that fails, which is no defect."""
    (failing,) = entry_points(group=CONDITIONS, name=subject.kind)
    return "; ".join(failing.load()(subject.it))


@conformance_check(*KINDS)
def picklable(subject: Subject) -> None:
    """Sent to a worker and back, also after it was used, it is equal and gives the same bytes."""
    found = [outputs(call) for call in calls(subject)] if subject.kind in CALLED else []
    try:
        again = pickle.loads(pickle.dumps(subject.it))
    except Exception as error:
        raise CheckFailed(f"it cannot be pickled: {reason(error)}") from error
    if type(again) is not type(subject.it) or again.config() != subject.it.config():
        raise CheckFailed("a pickled copy is another component")
    if found:
        for call, expected in zip(calls(Subject(subject.kind, again)), found, strict=True):
            if not same(outputs(call), expected):
                raise CheckFailed(f"{call.label}: a pickled copy gives something else")


SLACK = 1e-9
"""By how much rounding may leave a declared range."""


def well_formed(call: Call, least: int = 8) -> Outputs:
    """Return a call's result, checked: real, finite arrays of the declared shapes, floats of at least so many bytes.

    Raises
    ------
    CheckFailed
        With the label of the call and the error.
    """
    found = outputs(call)
    if len(found) != len(call.shapes):
        raise CheckFailed(f"{call.label}: {len(found)} arrays came out, not {len(call.shapes)}")
    for array, shape in zip(found, call.shapes, strict=True):
        if not isinstance(array, np.ndarray):
            raise CheckFailed(f"{call.label}: returned {type(array).__name__}, not an ndarray")
        fits = len(array.shape) == len(shape) and all(w in (-1, h) for h, w in zip(array.shape, shape, strict=True))
        if not fits:
            raise CheckFailed(f"{call.label}: shape {array.shape}, not {str(shape).replace('-1', 'any')}")
        if array.dtype.kind not in "fiub":
            raise CheckFailed(f"{call.label}: dtype {array.dtype}, not real numbers")
        if array.dtype.kind == "f" and array.dtype.itemsize < least:
            raise CheckFailed(f"{call.label}: dtype {array.dtype}, which rounds to fewer digits than float64")
        if not np.isfinite(array).all():
            raise CheckFailed(f"{call.label}: {int((~np.isfinite(array)).sum())} values are nan or infinite")
    return found


def _least(subject: Subject) -> int:
    """Return the bytes of a float: features are float32."""
    return 4 if subject.kind == "model" else 8


@conformance_check(*CALLED, of_values=True)
def shape_and_finiteness(subject: Subject) -> None:
    """Results of ordinary input have the declared shape and are finite.

    Edges are a weighted adjacency matrix: nonnegative, nothing on the diagonal. Scores by clicks are not negative.
    Features of a model are float32.
    """
    for call in calls(subject):
        found = well_formed(call, _least(subject))[0]
        if subject.kind == "model" and found.dtype != np.float32:
            raise CheckFailed(f"{call.label}: dtype {found.dtype}, not float32")
        edges = subject.kind == "aggregator" and subject.it.structure == "edges"
        if (edges or isinstance(subject.it, SelectionAggregator)) and (found < 0).any():
            raise CheckFailed(f"{call.label}: a {'weight' if edges else 'score'} of {found.min()}")
        if edges and np.diag(found).any():
            raise CheckFailed(f"{call.label}: an item is preferred to itself")


@conformance_check("loss", "aggregator", of_values=True)
def within_the_declared_range(subject: Subject) -> None:
    """No value of a loss, and no score of an aggregator, leaves its `bounds`; these do not leave a loss's `range`."""
    it = subject.it
    if subject.kind == "aggregator":
        low, high = (-sign * math.inf if end is None else end for sign, end in zip((1, -1), it.bounds(), strict=True))
        values = [(call.label, outputs(call)[0]) for call in calls(subject)]
    else:
        low, high = it.bounds()
        if not (it.range[0] <= low < high <= it.range[1]):
            raise CheckFailed(f"bounds {low, high} are not within the declared range {it.range}")
        values = list(_values(subject))
    for label, value in values:
        for one in np.ravel(value):
            if not (low - SLACK <= one <= high + SLACK):
                raise CheckFailed(f"{label}: {one} is outside of [{low}, {high}]")


def _values(subject: Subject) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield values of a loss, with labels."""
    it, rng = subject.it, np.random.default_rng(11)
    yield from ((call.label, outputs(call)[0]) for call in (*calls(subject), *calls(subject, edges=True)))
    for m in rng.integers(2, 12, size=60):
        alpha = rng.choice([-1.0, 0.0, 0.5, 2.0], size=m)
        scores = rng.integers(0, 5, m).astype(float)
        structure = scores if it.structure == "scores" else rng.random((m, m)) * (1 - np.eye(m))
        yield f"alpha {alpha}", np.asarray(it.value(alpha, structure))


@conformance_check(*CALLED, of_values=True)
def edge_cases(subject: Subject) -> None:
    """At the edges of the contract are finite numbers of the right shape and no warnings, or an error that says why."""
    for call in calls(subject, edges=True):
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always", RuntimeWarning)
                well_formed(call, _least(subject))
        except CheckFailed:
            raise
        except (InputError, ContenderDiverged):
            continue
        except Exception as error:
            raise CheckFailed(f"{call.label}: raised {reason(error)}") from error
        if numeric := [one for one in warned if issubclass(one.category, RuntimeWarning)]:
            raise CheckFailed(f"{call.label}: warns: {numeric[0].message}")
