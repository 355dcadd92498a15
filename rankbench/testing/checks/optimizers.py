"""Checks differentiate surrogates, test convexity and consistency, and let optimizers solve known problems."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import RankbenchError
from rankbench.interfaces.method import Fit, Penalty, PenaltyName, Problem, Solver, StepOptimizer
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.plugin import manager
from rankbench.testing.calls import L2, objectives, problems, quadratic
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, conformance_check, must_agree

STEPS = 2000
ARRIVED = 0.05
"""Share of the way to the minimum that may be left: sizes of steps may be constant."""
STALLED = 1e-6
"""Share of the way that the second half of the steps goes at least, where they have not arrived."""
CALLS_A_STEP = 200
"""Evaluations of the objective that one iteration of a solver may take."""


@conformance_check("optimizer", base=StepOptimizer)
def step_descends(subject: Subject) -> None:
    """With exact gradients of a well-conditioned quadratic, steps lead to its minimum, or still toward it."""
    it = subject.it
    problem = quadratic()
    theta, state = np.zeros(problem.dimension), np.zeros(it.state_size(problem.dimension))
    values = [problem.value_and_gradient(theta)[0]]
    for t in range(1, STEPS + 1):
        gradient = problem.value_and_gradient(theta)[1] - L2 * theta  # of the unregularized risk
        theta = np.asarray(it.step(theta, gradient, t, Penalty(L2), state))
        values.append(problem.value_and_gradient(theta)[0])
    if not values[-1] < values[0]:
        raise CheckFailed(f"after {STEPS} steps the objective is {values[-1]:.6g}, at the start it was {values[0]:.6g}")
    _arrived(values, problem.value_and_gradient(manager.get(Solver, "exact").solve(problem).theta)[0])


LEAST = np.array([2.0, 0.6, -1.0, 0.2, 0.0])
"""Minimum of ``|theta - LEAST|^2 / 2``, without a penalty."""


@conformance_check("optimizer", base=StepOptimizer, of_values=True)
def penalties_hold(subject: Subject) -> None:
    """Steps on ``|theta - c|^2 / 2`` with a penalty lead to its minimum, and none leaves ``radius`` or ``box``.

    With any values of parameters, steps without a gradient shrink theta by ``l2`` and ``l1``.
    """
    it = subject.it
    for name, (size, least) in MINIMA.items():
        if name not in it.penalties:
            continue
        penalty, bounded = Penalty(**{name: size}), name in ("radius", "box")
        theta, state = np.full(5, 0.15), np.zeros(it.state_size(5))
        values, start = [_penalized(theta, penalty)], theta.copy()
        for t in range(1, STEPS if subject.by_default else 21):
            gradient = theta - LEAST if bounded or subject.by_default else np.zeros(5)
            theta = np.asarray(it.step(theta, gradient, t, penalty, state))
            reached = float(np.linalg.norm(theta) if name == "radius" else np.abs(theta).max())
            if bounded and reached > size * (1 + 1e-9):
                raise CheckFailed(f"step {t} reaches {reached:.6g}, and {name} is {size}")
            values.append(_penalized(theta, penalty))
        if subject.by_default:
            _arrived(values, _penalized(least, penalty), f"with {name}={size} ")
        elif not (bounded or np.linalg.norm(theta) < np.linalg.norm(start)):
            raise CheckFailed(f"20 steps without a gradient do not shrink theta, and {name} is {size}")


LEAST = np.array([2.0, 0.6, -1.0, 0.2, 0.0])
"""Minimum of ``|theta - LEAST|^2 / 2``, without a penalty."""

MINIMA: dict[PenaltyName, tuple[float, NDArray[np.float64]]] = {
    "l2": (1.0, LEAST / 2),
    "l1": (0.5, np.sign(LEAST) * np.maximum(np.abs(LEAST) - 0.5, 0.0)),
    "radius": (0.5, LEAST * (0.5 / np.linalg.norm(LEAST))),
    "box": (0.4, np.clip(LEAST, -0.4, 0.4)),
}
"""A size of each penalty, and the minimum with it."""


def _penalized(theta: NDArray[np.float64], penalty: Penalty) -> float:
    """Return ``|theta - LEAST|^2 / 2`` with the penalty."""
    charged = penalty.l2 / 2 * (theta**2).sum() + penalty.l1 * np.abs(theta).sum()
    return float(((theta - LEAST) ** 2).sum() / 2 + charged)


def _arrived(values: list[float], least: float, label: str = "") -> None:
    """Raise unless the values along the steps are near the least one in the end, or still fall."""
    start, half, value = values[0], values[len(values) // 2], values[-1]
    if value - least > ARRIVED * (start - least) and not half - value > STALLED * (start - least):
        raise CheckFailed(f"{label}steps stop at the objective {value:.6g}, and its minimum is {least:.6g}")


@conformance_check("optimizer", base=StepOptimizer, of_values=True)
def averages_some_iterate(subject: Subject) -> None:
    """At least one iterate is in the average that is the answer."""
    it = subject.it
    for steps in (1, 2, 7, 1000):
        left_out = it.unaveraged(steps)
        if not 0 <= left_out < steps:
            raise CheckFailed(f"the average leaves out {left_out} of {steps} iterates")


@conformance_check("optimizer", base=Solver)
def solver_says_how_optimal_it_is(subject: Subject) -> None:
    """`Fit` has the gradient norm, where the risk is smooth; where it says converged, no gradient step descends."""
    for label, problem, fit in _fits(subject):
        if fit.theta.shape != (problem.dimension,):
            raise CheckFailed(f"{label}: theta has shape {fit.theta.shape}, not ({problem.dimension},)")
        if not (np.isfinite(fit.optimality) and fit.optimality >= 0):
            raise CheckFailed(f"{label}: optimality is {fit.optimality}, no size of a gradient")
        value, gradient = problem.value_and_gradient(fit.theta)
        length = 1e-3 / max(1.0, float(np.linalg.norm(gradient)))
        lower = problem.value_and_gradient(fit.theta - length * gradient)[0]
        if subject.by_default and not value < problem.value_and_gradient(np.zeros(problem.dimension))[0]:
            raise CheckFailed(f"{label}: the objective is {value:.9g}, no less than at theta = 0")
        if fit.converged and value - lower > 1e-7 * max(1.0, abs(value)):
            raise CheckFailed(f"{label}: it says converged, but a gradient step lowers {value:.9g} to {lower:.9g}")
        norm = float(np.linalg.norm(gradient))
        if "hinge" not in label and abs(norm - fit.optimality) > 1e-6 + 0.01 * norm:
            raise CheckFailed(f"{label}: it reports {fit.optimality:.3g}, the gradient norm is {norm:.3g}")


@conformance_check("optimizer", base=Solver)
def budget_obeyed(subject: Subject) -> None:
    """No more iterations than the parameter that the class declares as its `budget`; honest about having stopped."""
    it = subject.it
    if it.budget is None:
        raise CheckSkipped("it declares no budget")
    if it.budget not in it.attributes():
        raise CheckFailed(f"its budget {it.budget!r} is none of its parameters")
    for few in (1, 3):
        short = it.model_copy(update={it.attributes()[it.budget]: few})
        for label, problem in problems(it).items():
            counted, evaluations = _counted(problem)
            fit = short.solve(counted)
            if fit.iterations > few:
                raise CheckFailed(f"{label}: {fit.iterations} iterations with {it.budget}={few}")
            if len(evaluations) > CALLS_A_STEP * (few + 1):
                raise CheckFailed(f"{label}: {len(evaluations)} evaluations with {it.budget}={few}")
            if fit.converged and fit.optimality > 1e-3:
                raise CheckFailed(f"{label}: stopped by its budget at {fit.optimality:.3g}, it says converged")


def _fits(subject: Subject) -> list[tuple[str, Problem, Fit]]:
    it = subject.it
    found = []
    for label, problem in problems(it).items():
        try:
            fit = it.solve(problem)
        except RankbenchError as error:
            raise CheckFailed(f"{label}: {error}") from error
        if not isinstance(fit, Fit):
            raise CheckFailed(f"{label}: solve returned {type(fit).__name__}, not Fit")
        found.append((label, problem, fit))
    return found


def _counted(problem: Problem) -> tuple[Problem, list[None]]:
    """Return a copy of a problem, and a list that grows with each of its evaluations."""
    counted, evaluations = copy.copy(problem), list[None]()

    def value_and_gradient(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        evaluations.append(None)
        return problem.value_and_gradient(theta)

    # On the instance: a solver may insist on the problem's class.
    counted.value_and_gradient = value_and_gradient  # type: ignore[method-assign]
    return counted, evaluations


@conformance_check("model")
def items_are_mapped_one_by_one(subject: Subject) -> None:
    """psi(x_i) depends on x_i alone: not on the other items, nor on how many there are."""
    x = np.random.default_rng(91).normal(size=(9, 4)).astype(np.float32)
    whole = subject.it.features(x.copy())
    order = np.random.default_rng(92).permutation(9)
    must_agree(subject.it.features(x[order]), whole[order], 1e-5, "features of items in another order differ")
    for rows in (slice(0, 1), slice(3, 7)):
        part = subject.it.features(x[rows].copy())
        must_agree(part, whole[rows], 1e-5, f"features of {len(part)} of 9 items alone differ")


STEP = 1e-5
TOLERANCE = 1e-4
"""Of a difference quotient, relative to the size of the gradient and of the value."""


@conformance_check("surrogate", of_values=True)
def gradient_is_the_difference_quotient(subject: Subject) -> None:
    """The gradient lies between the slopes of the value on both sides."""
    rng = np.random.default_rng(21)
    for objective in objectives(subject):
        for spread in (1.5,) * 6 + (5.0,) * 3:
            alpha = rng.normal(size=objective.m) * spread
            for i, slope in enumerate(objective.gradient(alpha)):
                step = np.zeros(objective.m)
                step[i] = STEP
                below, here, above = (objective.value(alpha + s * step) for s in (-1, 0, 1))
                sides = sorted([(here - below) / STEP, (above - here) / STEP])
                slack = TOLERANCE * max(1.0, abs(slope), abs(here), *map(abs, sides))
                if not sides[0] - slack <= slope <= sides[1] + slack:
                    raise CheckFailed(
                        f"{objective.label}: derivative {i} is {slope:.6g}, the difference quotients are "
                        f"{sides[0]:.6g} and {sides[1]:.6g}"
                    )


@conformance_check("surrogate", declares="smooth", base=PairwiseSurrogate, of_values=True)
def second_derivative_is_the_difference_quotient(subject: Subject) -> None:
    """`ddphi` of a pairwise surrogate that declares ``smooth`` is the slope of `dphi`, which has no jumps."""
    it = subject.it
    grid = np.arange(-32, 33) / 8
    jumps = np.abs(it.dphi(grid + STEP) - it.dphi(grid - STEP))
    # Parameters may make a bend as sharp as they like.
    if subject.by_default and (worst := float(jumps.max())) > 1e-2 * max(1.0, float(np.abs(it.dphi(grid)).max())):
        raise CheckFailed(f"dphi jumps by {worst:.3g} at {grid[jumps.argmax()]:g}, so it is not smooth")
    # Not on a grid that holds 0 or 1: a second derivative may jump there.
    for margins in (np.linspace(-3.07, 3.11, 57), np.linspace(-30.07, 30.11, 57)):
        _has_slopes(it, margins)


def _has_slopes(it: PairwiseSurrogate, margins: NDArray[np.float64]) -> None:
    quotients = (it.dphi(margins + STEP) - it.dphi(margins - STEP)) / (2 * STEP)
    must_agree(quotients, it.ddphi(margins), TOLERANCE, "ddphi differs from the difference quotients of dphi")


CHORDS = 200
SLACK = 1e-9
"""Of rounding, relative to the values."""


@conformance_check("surrogate", base=PairwiseSurrogate)
def edges_are_weighed_one_by_one(subject: Subject) -> None:
    """`edges` gives an edge the same factor and offset whatever other edges there are."""
    weights = np.array([0.3, 2.5, 0.7, 1.0])
    whole = subject.it.edges(weights.copy())
    for i in range(len(weights)):
        alone = subject.it.edges(weights[[i]])
        must_agree(np.ravel(alone), np.array([whole[0][i], whole[1][i]]), 1e-9, f"edge {i} of {weights} alone differs")


@conformance_check("surrogate", declares="convex", of_values=True)
def convex_at_random_chords(subject: Subject) -> None:
    """Where ``convex`` is declared the value lies below every chord, near and far."""
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


@conformance_check("surrogate", declares="quadratic", of_values=True)
def quadratic_is_half_the_mean_square(subject: Subject) -> None:
    """Where ``quadratic`` is declared, the value is ``|alpha - target|^2 / (2m)``."""
    it = subject.it
    if not isinstance(it, ScoreSurrogate):
        raise CheckFailed("only a surrogate of scores can be quadratic in the sense of the exact solver")
    rng = np.random.default_rng(81)
    for m in (1, 2, 7):
        alpha, target = rng.normal(size=m), np.asarray(it.target(rng.normal(size=m)))
        value = it.value_and_gradient(alpha.copy(), target.copy())[0]
        expected = float(((alpha - target) ** 2).sum()) / (2 * m)
        must_agree(value, expected, 1e-9, f"{m} items: the value differs from |alpha - target|^2 / (2m)")


@conformance_check("surrogate", declares="target-linear", of_values=True)
def target_linear_averages(subject: Subject) -> None:
    """Where ``target-linear`` is declared, the gradient at a mean of targets is the mean of the gradients."""
    it = subject.it
    rng = np.random.default_rng(82)
    for m in (2, 7):
        alpha = rng.normal(size=m)
        first, second = (np.asarray(it.target(rng.normal(size=m))) for _ in range(2))
        mean = it.value_and_gradient(alpha, 0.3 * first + 0.7 * second)[1]
        parts = 0.3 * it.value_and_gradient(alpha, first)[1] + 0.7 * it.value_and_gradient(alpha, second)[1]
        must_agree(mean, parts, 1e-9, f"{m} items: the gradients differ")


@conformance_check("surrogate", declares="score-linear", of_values=True)
def score_linear_targets_are_linear(subject: Subject) -> None:
    """Where ``score-linear`` is declared, the target of a sum of scores is the sum of the targets."""
    it = subject.it
    rng = np.random.default_rng(84)
    for m in (2, 7):
        first, second = rng.normal(size=m), rng.normal(size=m)
        mixed = np.asarray(it.target(0.3 * first - 0.7 * second))
        parts = 0.3 * np.asarray(it.target(first)) - 0.7 * np.asarray(it.target(second))
        must_agree(mixed, parts, 1e-9, f"{m} items: the targets differ")


@conformance_check("surrogate", declares="smooth", base=ScoreSurrogate, of_values=True)
def hessian_is_the_slope_of_the_gradient(subject: Subject) -> None:
    """A surrogate of scores that declares ``smooth`` has the second derivatives that it says it has."""
    it = subject.it
    rng, step = np.random.default_rng(83), 1e-5
    for m, spread in ((2, 1.0), (5, 1.0), (3, 5.0), (7, 5.0)):
        alpha, target = spread * rng.normal(size=m), np.asarray(it.target(rng.normal(size=m)))
        hessian = it.hessian(alpha.copy(), target.copy())
        above, below = ([it.value_and_gradient(alpha + e, target)[1] for e in s * np.eye(m)] for s in (step, -step))
        quotients = (np.stack(above) - np.stack(below)) / (2 * step)
        must_agree(hessian, quotients, 1e-4, f"{m} items: second derivatives differ from difference quotients")
