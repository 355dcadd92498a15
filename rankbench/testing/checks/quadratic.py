"""What surrogates promise to solvers: squares, linearity in scores and targets, second derivatives."""

from __future__ import annotations

import numpy as np

from rankbench.kinds.surrogate import ScoreSurrogate
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.close import relative_difference
from rankbench.testing.subjects import Subject


@conformance_check("surrogate")
def quadratic_is_half_the_mean_square(subject: Subject) -> None:
    """Where ``quadratic`` is declared, the value is ``|alpha - target|^2 / (2m)``."""
    it = subject.it
    if not subject.declares("quadratic"):
        raise CheckSkipped("it does not declare quadratic")
    if not isinstance(it, ScoreSurrogate):
        raise CheckFailed("only a surrogate of scores can be quadratic in the sense of the exact solver")
    rng = np.random.default_rng(81)
    for m in (1, 2, 7):
        alpha, target = rng.normal(size=m), np.asarray(it.target(rng.normal(size=m)))
        value = it.value_and_gradient(alpha.copy(), target.copy())[0]
        expected = float(((alpha - target) ** 2).sum()) / (2 * m)
        if abs(value - expected) > 1e-9 * max(1.0, expected):
            raise CheckFailed(f"{m} items: the value is {value:.9g}, |alpha - target|^2 / (2m) is {expected:.9g}")


@conformance_check("surrogate")
def target_linear_averages(subject: Subject) -> None:
    """Where ``target-linear`` is declared, the gradient at a mean of targets is the mean of the gradients."""
    it = subject.it
    if not subject.declares("target-linear"):
        raise CheckSkipped("it does not declare target-linear")
    rng = np.random.default_rng(82)
    for m in (2, 7):
        alpha = rng.normal(size=m)
        first, second = (np.asarray(it.target(rng.normal(size=m))) for _ in range(2))
        mean = it.value_and_gradient(alpha, 0.3 * first + 0.7 * second)[1]
        parts = 0.3 * it.value_and_gradient(alpha, first)[1] + 0.7 * it.value_and_gradient(alpha, second)[1]
        if (difference := relative_difference(mean, parts)) > 1e-9:
            raise CheckFailed(f"{m} items: the gradients differ by {difference:.3g}")


@conformance_check("surrogate")
def score_linear_targets_are_linear(subject: Subject) -> None:
    """Where ``score-linear`` is declared, the target of a sum of scores is the sum of the targets."""
    it = subject.it
    if not subject.declares("score-linear"):
        raise CheckSkipped("it does not declare score-linear")
    rng = np.random.default_rng(84)
    for m in (2, 7):
        first, second = rng.normal(size=m), rng.normal(size=m)
        mixed = np.asarray(it.target(0.3 * first - 0.7 * second))
        parts = 0.3 * np.asarray(it.target(first)) - 0.7 * np.asarray(it.target(second))
        if (difference := relative_difference(mixed, parts)) > 1e-9:
            raise CheckFailed(f"{m} items: the targets differ by {difference:.3g}")


@conformance_check("surrogate")
def hessian_is_the_slope_of_the_gradient(subject: Subject) -> None:
    """A surrogate of scores that declares ``smooth`` has the second derivatives that it says it has."""
    it = subject.it
    if not subject.declares("smooth") or not isinstance(it, ScoreSurrogate):
        raise CheckSkipped("it is no smooth surrogate of scores")
    rng, step = np.random.default_rng(83), 1e-5
    for m in (2, 5):
        alpha, target = rng.normal(size=m), np.asarray(it.target(rng.normal(size=m)))
        hessian = it.hessian(alpha.copy(), target.copy())
        quotients = np.stack(
            [
                (it.value_and_gradient(alpha + e, target)[1] - it.value_and_gradient(alpha - e, target)[1]) / (2 * step)
                for e in step * np.eye(m)
            ]
        )
        if (difference := relative_difference(hessian, quotients)) > 1e-4:
            raise CheckFailed(f"{m} items: second derivatives differ from difference quotients by {difference:.3g}")
