"""Small problems for optimizers: one with a closed form, one without."""

from __future__ import annotations

import numpy as np

from rankbench.kinds.optimizer import Problem, Solver
from rankbench.kinds.surrogate import PairwiseSurrogate
from rankbench.optimizers.problems import Gram, PairwiseProblem, QuadraticProblem
from rankbench.testing import samples
from rankbench.testing.check_results import CheckSkipped

__all__ = ["problems", "quadratic"]

L2 = 0.1


def quadratic(d: int = 5) -> QuadraticProblem:
    """Return a quadratic problem with eigenvalues of about 1."""
    rng = np.random.default_rng([d])
    a = rng.normal(size=(4 * d, d))
    return QuadraticProblem(Gram(a.T @ a / len(a)), rng.normal(size=d), L2, 1.0)


def problems(solver: Solver) -> dict[str, Problem]:
    """Return the problems that a solver's `needs` allow, by what they are.

    Raises
    ------
    CheckSkipped
        It needs what none of them has.
    """
    from rankbench.plugin import manager

    found: dict[str, Problem] = {}
    if solver.needs <= {"convex", "smooth", "quadratic", "equivariant"}:
        found["a quadratic"] = quadratic()
    design = samples.queries(4, (5, 6, 4), 4)
    for name in ("pairwise-logistic", "pairwise-hinge"):
        surrogate = manager.get(PairwiseSurrogate, name)
        if solver.needs <= surrogate.properties:
            said = samples.random_comparisons(design, 30, 4)
            found[f"{name} risk"] = PairwiseProblem(design.x, design.offsets, said, surrogate, L2)
            break
    if not found:
        raise CheckSkipped(f"no problem of the checks has what it needs: {', '.join(sorted(solver.needs))}")
    return found
