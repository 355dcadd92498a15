"""Optimizers: they descend, say how far from optimal they stopped, and obey their budget."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import RankbenchError
from rankbench.kinds.optimizer import Fit, Problem, Solver, StepOptimizer
from rankbench.kinds.penalty import Penalty
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.small_problems import L2, problems, quadratic
from rankbench.testing.subjects import Subject

STEPS = 2000
CALLS_A_STEP = 200
"""Evaluations of the objective that one iteration of a solver may take."""


@conformance_check("optimizer")
def step_descends(subject: Subject) -> None:
    """With exact gradients of a well-conditioned quadratic, steps lead towards its minimum."""
    it = subject.it
    if not isinstance(it, StepOptimizer):
        raise CheckSkipped("it is a solver")
    problem = quadratic()
    theta, state = np.zeros(problem.dimension), np.zeros(it.state_size(problem.dimension))
    start = problem.value_and_gradient(theta)[0]
    for t in range(1, STEPS + 1):
        gradient = problem.value_and_gradient(theta)[1] - L2 * theta  # of the unregularized risk
        theta = np.asarray(it.step(theta, gradient, t, Penalty(L2), state))
    value = problem.value_and_gradient(theta)[0]
    if not value < start:
        raise CheckFailed(f"after {STEPS} steps the objective is {value:.6g}, at the start it was {start:.6g}")


@conformance_check("optimizer")
def averages_some_iterate(subject: Subject) -> None:
    """At least one iterate is in the average that is the answer."""
    it = subject.it
    if not isinstance(it, StepOptimizer):
        raise CheckSkipped("it is a solver")
    for steps in (1, 2, 7, 1000):
        left_out = it.unaveraged(steps)
        if not 0 <= left_out < steps:
            raise CheckFailed(f"{left_out} of {steps} iterates are left out of the average")


@conformance_check("optimizer")
def solver_says_how_optimal_it_is(subject: Subject) -> None:
    """`Fit` is complete; where it says converged, no gradient step lowers the objective."""
    for label, problem, fit in _fits(subject):
        if fit.theta.shape != (problem.dimension,):
            raise CheckFailed(f"{label}: theta has shape {fit.theta.shape}, not ({problem.dimension},)")
        if not (np.isfinite(fit.optimality) and fit.optimality >= 0):
            raise CheckFailed(f"{label}: optimality is {fit.optimality}, no size of a gradient")
        value, gradient = problem.value_and_gradient(fit.theta)
        length = 1e-3 / max(1.0, float(np.linalg.norm(gradient)))
        lower = problem.value_and_gradient(fit.theta - length * gradient)[0]
        if fit.converged and value - lower > 1e-7 * max(1.0, abs(value)):
            raise CheckFailed(f"{label}: it says converged, but a gradient step lowers {value:.9g} to {lower:.9g}")


@conformance_check("optimizer")
def optimality_is_the_gradient_norm(subject: Subject) -> None:
    """What a solver reports is the norm of the gradient at its theta, where the objective is smooth."""
    for label, problem, fit in _fits(subject):
        if "hinge" in label:
            continue
        norm = float(np.linalg.norm(problem.value_and_gradient(fit.theta)[1]))
        if abs(norm - fit.optimality) > 1e-6 + 0.01 * norm:
            raise CheckFailed(f"{label}: it reports {fit.optimality:.3g}, the gradient norm is {norm:.3g}")


@conformance_check("optimizer")
def budget_obeyed(subject: Subject) -> None:
    """No more iterations than the parameter that the class declares as its `budget`; honest about having stopped."""
    it = subject.it
    if not isinstance(it, Solver):
        raise CheckSkipped("a step has no budget of its own")
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
    if not isinstance(it, Solver):
        raise CheckSkipped("it is a step")
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
