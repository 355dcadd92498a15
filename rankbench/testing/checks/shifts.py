"""Shift invariance: adding a constant to all scores."""

from __future__ import annotations

import numpy as np

from rankbench.testing import samples
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.close import relative_difference
from rankbench.testing.objectives import objectives
from rankbench.testing.subjects import Subject

SHIFTS = (0.5, -3.0, 8.0)
TOLERANCE = 1e-8


@conformance_check("surrogate", "loss", "aggregator")
def shift_invariant(subject: Subject) -> None:
    """Where it is declared, a constant added to all scores changes nothing."""
    if not subject.declares("shift-invariant"):
        raise CheckSkipped("it does not declare shift-invariant")
    {"surrogate": _surrogate, "loss": _loss, "aggregator": _aggregator}[subject.kind](subject)


def _surrogate(subject: Subject) -> None:
    rng = np.random.default_rng(51)
    for objective in objectives(subject):
        alpha = rng.normal(size=objective.m)
        value, total = objective.value(alpha), float(objective.gradient(alpha).sum())
        for shift in SHIFTS:
            moved = objective.value(alpha + shift)
            if abs(moved - value) > TOLERANCE * max(1.0, abs(value)):
                raise CheckFailed(f"{objective.label}: the value {value:.9g} becomes {moved:.9g} with alpha + {shift}")
        if abs(total) > TOLERANCE * max(1.0, float(np.abs(objective.gradient(alpha)).max())):
            raise CheckFailed(f"{objective.label}: the gradient sums to {total:.3g}, not to 0")


def _loss(subject: Subject) -> None:
    it = subject.it
    rng = np.random.default_rng(52)
    for m in (2, 6, 9):
        # Quarters: adding halves is exact, so that ties stay ties.
        alpha = rng.integers(-8, 8, m) / 4
        structure = samples.random_structure(it.structure, m, rng)
        value = it.value(alpha.copy(), structure.copy())
        for shift in SHIFTS:
            moved = it.value(alpha + shift, structure.copy())
            if abs(moved - value) > TOLERANCE * max(1.0, abs(value)):
                raise CheckFailed(f"{m} items: the value {value:.9g} becomes {moved:.9g} with alpha + {shift}")


def _aggregator(subject: Subject) -> None:
    it = subject.it
    if not it.needs_truth:
        raise CheckSkipped("it is not made from labels: there is nothing to shift")
    labels = np.array([0.0, 1.0, 4.0, 1.0, 2.0])
    for shift in SHIFTS:
        if relative_difference(it.from_labels(labels + shift), it.from_labels(labels.copy())) > TOLERANCE:
            raise CheckFailed(f"the structure is another one with labels + {shift}")
