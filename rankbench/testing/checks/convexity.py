"""Convexity at random chords and above tangents."""

from __future__ import annotations

import numpy as np

from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.checks.gradients import tangent
from rankbench.testing.objectives import objectives
from rankbench.testing.subjects import Subject

CHORDS = 200
SLACK = 1e-9
"""Of rounding, relative to the values."""


@conformance_check("surrogate")
def convex_at_random_chords(subject: Subject) -> None:
    """Where ``convex`` is declared the value lies below every chord, near and far."""
    if not subject.declares("convex"):
        raise CheckSkipped("it does not declare convex")
    rng = np.random.default_rng(41)
    for objective in objectives(subject):
        for _ in range(CHORDS):
            alpha = rng.normal(size=objective.m) * rng.choice([0.3, 1.0, 4.0])
            other = alpha + rng.normal(size=objective.m) * rng.choice([0.3, 1.0, 10.0])
            share = rng.uniform(0.05, 0.95)
            first, last = objective.value(alpha), objective.value(other)
            middle = objective.value((1 - share) * alpha + share * other)
            above = middle - ((1 - share) * first + share * last)
            if above > SLACK * max(1.0, abs(first), abs(last)):
                raise CheckFailed(f"{objective.label}: the value is {above:.3g} above the chord, so it is not convex")


@conformance_check("surrogate")
def convex_above_tangents(subject: Subject) -> None:
    """Where ``convex`` is declared the value lies above every tangent that the gradient makes."""
    if not subject.declares("convex"):
        raise CheckSkipped("it does not declare convex")
    rng = np.random.default_rng(42)
    for objective in objectives(subject):
        for _ in range(CHORDS // 2):
            alpha = rng.normal(size=objective.m)
            other = alpha + rng.normal(size=objective.m) * rng.choice([0.3, 3.0])
            below = tangent(objective, alpha, other)
            if below > 1e-8 * max(1.0, abs(objective.value(alpha)), abs(objective.value(other))):
                raise CheckFailed(f"{objective.label}: the value is {below:.3g} below a tangent")
