"""Gradients against finite differences."""

from __future__ import annotations

import numpy as np

from rankbench.kinds.surrogate import ScoreSurrogate
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.objectives import Objective, objectives
from rankbench.testing.subjects import Subject

STEP = 1e-5
TOLERANCE = 1e-4
"""Of a difference quotient, relative to the size of the gradient and of the value."""


@conformance_check("surrogate")
def gradient_is_the_difference_quotient(subject: Subject) -> None:
    """The gradient is the slope of the value; of one with kinks, between the slopes of both sides."""
    rng = np.random.default_rng(21)
    kinks = not subject.declares("smooth")
    for objective in objectives(subject):
        for _ in range(8):
            alpha = rng.normal(size=objective.m) * 1.5
            for i, slope in enumerate(objective.gradient(alpha)):
                step = np.zeros(objective.m)
                step[i] = STEP
                below, here, above = (objective.value(alpha + s * step) for s in (-1, 0, 1))
                sides = sorted([(here - below) / STEP, (above - here) / STEP])
                slack = TOLERANCE * max(1.0, abs(slope), abs(here), *map(abs, sides))
                middle = (above - below) / (2 * STEP)
                wrong = not (sides[0] - slack <= slope <= sides[1] + slack) if kinks else abs(slope - middle) > slack
                if wrong:
                    said = f"between {sides[0]:.6g} and {sides[1]:.6g}" if kinks else f"{middle:.6g}"
                    raise CheckFailed(
                        f"{objective.label}: derivative {i} is {slope:.6g}, the difference quotient {said}"
                    )


@conformance_check("surrogate")
def second_derivative_is_the_difference_quotient(subject: Subject) -> None:
    """`ddphi` of a pairwise surrogate that declares ``smooth`` is the slope of `dphi`."""
    it = subject.it
    if isinstance(it, ScoreSurrogate):
        raise CheckSkipped("a surrogate of scores has no ddphi")
    if not subject.declares("smooth"):
        raise CheckSkipped("it does not declare smooth")
    # Not on a grid that holds 0 or 1: a second derivative may jump there.
    margins = np.linspace(-3.07, 3.11, 57)
    found = it.ddphi(margins)
    quotient = (it.dphi(margins + STEP) - it.dphi(margins - STEP)) / (2 * STEP)
    worst = int(np.argmax(np.abs(found - quotient)))
    if np.abs(found - quotient)[worst] > TOLERANCE * max(1.0, float(np.abs(found).max())):
        raise CheckFailed(
            f"ddphi({margins[worst]:.3g}) is {found[worst]:.6g}, the difference quotient {quotient[worst]:.6g}"
        )


def tangent(objective: Objective, alpha: np.ndarray, other: np.ndarray) -> float:
    """Return how far the value at `other` is below the tangent at `alpha`."""
    return float(objective.value(alpha) + objective.gradient(alpha) @ (other - alpha) - objective.value(other))
