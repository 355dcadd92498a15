"""The regularized risk (2) and its minimizer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import rankbench
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench_rankad.margins import Floats, Hinge, MarginLoss
from rankbench_rankad.pairs import LevelPairs

__all__ = ["Minimum", "Objective", "minimize"]


@dataclass(frozen=True, eq=False)
class Objective:
    """``1/|P| sum_P L(g(x_i) - g(x_j)) + lambda |g|^2`` for ``g(x) = <theta, psi(x)>``, eq. (1), (2).

    Attributes
    ----------
    features : ndarray of float64, shape (n, r)
        psi(x_i) of the training points.
    pairs : LevelPairs
        Of their levels.
    loss : MarginLoss
    l2 : float
        lambda.
    anchors : int
        Points at infinity: every psi is 0 there, so g is, and each of them makes a pair
        with every training point, which is above it. 0 is the paper's objective.
    """

    features: Floats
    pairs: LevelPairs
    loss: MarginLoss
    l2: float
    anchors: int = 0

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the value and its gradient, shape (r,)."""
        scores = self.features @ theta
        total, slope = self.pairs.total(scores, self.loss)
        if self.anchors:
            total += self.anchors * float(self.loss.value(scores).sum())
            slope = slope + self.anchors * self.loss.derivative(scores)
        number = max(self.pairs.count + self.anchors * len(scores), 1)
        value = total / number + self.l2 * float(theta @ theta)
        return value, self.features.T @ (slope / number) + 2.0 * self.l2 * theta


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimization stopped.

    Attributes
    ----------
    theta : ndarray of float64, shape (r,)
    value : float
    optimality : float
        Norm of the gradient; of the hinge the duality gap.
    iterations : int
    """

    theta: Floats
    value: float
    optimality: float
    iterations: int


def minimize(objective: Objective, start: Floats | None = None, tolerance: float = 1e-6, steps: int = 500) -> Minimum:
    """Minimize by L-BFGS, or the hinge by rankbench's dual solver on a list of all pairs.

    Parameters
    ----------
    objective : Objective
    start : ndarray of float64, shape (r,), optional
        Where L-BFGS starts; zeros by default. The dual solver takes no start.
    tolerance : float
        Largest component of the gradient, or duality gap, to stop at.
    steps : int
        Iterations at most.
    """
    if isinstance(objective.loss, Hinge):
        return _dual(objective, tolerance, steps)
    from scipy.optimize import minimize as lbfgs

    first = np.zeros(objective.features.shape[1]) if start is None else start
    found = lbfgs(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"gtol": tolerance, "ftol": 1e-12, "maxiter": steps, "maxcor": 20},
    )
    value, gradient = objective(found.x)
    return Minimum(found.x, value, float(np.linalg.norm(gradient)), int(found.nit))


def _dual(objective: Objective, tolerance: float, steps: int) -> Minimum:
    """Return what rankbench's `erm` finds on one query, whose items are the points and the point at infinity."""
    n, dimension = objective.features.shape
    rows = np.concatenate([objective.features, np.zeros((1, dimension))]).astype(np.float32)
    higher, lower = objective.pairs.listed()
    weights = np.ones(len(higher))
    if objective.anchors:
        higher = np.concatenate([higher, np.arange(n, dtype=np.int32)])
        lower = np.concatenate([lower, np.full(n, n, dtype=np.int32)])
        weights = np.concatenate([weights, np.full(n, float(objective.anchors))])
    queries = Queries(["points"], np.array([0, n + 1]), rows, None)
    said = Comparisons(np.array([0, len(higher)]), higher, lower, weights)
    # Its objective is the sum over pairs by their number, plus half of its lambda times |theta|^2.
    l2 = 2.0 * objective.l2 * float(weights.mean())
    solver = f"hinge-dual(tolerance={tolerance!r},max_iterations={steps})"
    method = f"erm:aggregator=identity,k=1,surrogate=pairwise-hinge,optimizer={solver},lambda={l2!r}"
    fitted = rankbench.get(rankbench.Method, method).fit(Block(queries, said, len(higher), 0, (0,)))
    theta = np.array(fitted.theta, dtype=np.float64)
    return Minimum(theta, objective(theta)[0], fitted.optimality, int(fitted.info["iterations"]))
