"""Declared shape, range and finiteness."""

from __future__ import annotations

import numpy as np

from rankbench.testing.calls import CALLED, Call, calls, outputs
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject

SLACK = 1e-9
"""By how much rounding may leave a declared range."""


def well_formed(call: Call) -> None:
    """Raise unless a call returns real, finite arrays of the shapes it should.

    Raises
    ------
    CheckFailed
        With the label of the call and what is wrong.
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
        if not np.isfinite(array).all():
            raise CheckFailed(f"{call.label}: {int((~np.isfinite(array)).sum())} values are nan or infinite")


@conformance_check(*CALLED)
def shape_and_finiteness(subject: Subject) -> None:
    """What comes out of ordinary input has the declared shape and is finite."""
    for call in calls(subject):
        well_formed(call)


@conformance_check("loss")
def within_the_declared_range(subject: Subject) -> None:
    """No value leaves `bounds`, and `bounds` does not leave `range`."""
    from rankbench.testing.calls import edge_calls

    it = subject.it
    low, high = it.bounds()
    if not (it.range[0] <= low < high <= it.range[1]):
        raise CheckFailed(f"bounds {low, high} are not within the declared range {it.range}")
    if it.direction not in ("minimize", "maximize"):
        raise CheckFailed(f"direction is {it.direction!r}, neither 'minimize' nor 'maximize'")
    for call in [*calls(subject), *edge_calls(subject), *_random(subject)]:
        value = float(outputs(call)[0])
        if not (low - SLACK <= value <= high + SLACK):
            raise CheckFailed(f"{call.label}: {value} is outside of [{low}, {high}]")


def _random(subject: Subject) -> list[Call]:
    it = subject.it
    rng = np.random.default_rng(11)
    found = []
    for m in rng.integers(2, 12, size=60):
        alpha = rng.choice([-1.0, 0.0, 0.5, 2.0], size=m)
        scores = rng.integers(0, 5, m).astype(float)
        structure = scores if it.structure == "scores" else rng.random((m, m)) * (1 - np.eye(m))

        def run(a: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
            return (np.asarray(it.value(a, s)),)

        found.append(Call(f"alpha {alpha}", lambda a=alpha, s=structure: (a.copy(), s.copy()), run, ((),)))  # type: ignore[misc]
    return found


@conformance_check("aggregator")
def adjacency_has_no_negative_weight(subject: Subject) -> None:
    """An edge structure is a weighted adjacency matrix: nonnegative, nothing on the diagonal."""
    if subject.it.structure != "edges":
        raise CheckSkipped("its structure is scores")
    for call in calls(subject):
        adjacency = outputs(call)[0]
        if (adjacency < 0).any():
            raise CheckFailed(f"{call.label}: a weight of {adjacency.min()}")
        if np.diag(adjacency).any():
            raise CheckFailed(f"{call.label}: an item is preferred to itself")


@conformance_check("model")
def features_are_float32(subject: Subject) -> None:
    """Coordinates are float32, as the features are."""
    for call in calls(subject):
        if (dtype := outputs(call)[0].dtype) != np.float32:
            raise CheckFailed(f"{call.label}: dtype {dtype}, not float32")
