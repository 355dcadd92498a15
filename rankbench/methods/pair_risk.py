"""Pair risks minimize the three pairwise losses of [DMJ10]_ section 4, for few features and many pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.interfaces.method import Block, Fit, Fitted, Method
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.row_weights import check_weights
from rankbench.methods.baselines import LinearModel
from rankbench.optimizers.hinge_dual import HingeRisk
from rankbench.optimizers.newton import Newton, finite
from rankbench.optimizers.problems import Gram, PairwiseProblem
from rankbench.surrogates.pairwise import PairwiseLogistic

GAP = 1e-6
"""Duality gap of the hinge, in the units of the mean weight."""

GRADIENT = 1e-7
"""Gradient norm of the logistic loss."""

STEPS = 300
"""Newton steps for each lambda."""


class PairRisk(Method):
    r"""Minimize a linear model's mean pairwise loss, weighted, plus ``lambda |w|^2``.

    With n pairs, the better item i and the worse item j of each, weights a_ij and
    ``m = w'(x_i - x_j)``:

    .. math:: \text{hinge:}    \quad \frac1n \sum a_{ij} \max(0, 1 - m_{ij})
    .. math:: \text{logistic:} \quad \frac1n \sum a_{ij} \log(1 + e^{-m_{ij}})
    .. math:: \text{linear:}   \quad -\frac1n \sum a_{ij} m_{ij} + \frac\theta n \sum (w'x_i)^2 + (w'x_j)^2

    The paper's sums are divided by n, so that lambda means the same at every n; lambda is
    not halved, and theta penalizes the scores of both items of each pair. Unlike hinge and
    logistic, the linear loss therefore changes when a number is added to a query's scores.

    Prefer it to reproduce Table 1 of [DMJ10]_, and for grids of lambda on single pairs; `erm` aggregates, and has
    more surrogates.

    Notes
    -----
    Hinge: to a duality gap of 1e-6. Logistic: Newton steps, to a gradient norm of 1e-7.
    Linear: closed form, ``w = (2 theta S + 2 lambda I)^-1 b`` with S the second moments
    of the pairs' end points and b the mean weighted difference. A whole grid of lambdas
    (`fit_path`) shares the pairs; each fit starts from the one before.
    """

    name: ClassVar[str] = "pair-risk"
    source: ClassVar[str] = "[DMJ10]_ section 4; Herbrich et al. 2000; Dekel et al. 2004"

    loss: Literal["hinge", "logistic", "linear"] = Field(default="hinge", description="Loss of a pair.")
    ridge: float = Field(default=1e-3, alias="lambda", gt=0, allow_inf_nan=False, description="Ridge penalty.")
    theta: float = Field(
        default=1e-4, ge=0, allow_inf_nan=False, description="Penalty on the scores; of the linear loss only."
    )

    def fit(self, block: Block) -> Fitted:
        """Minimize from w = 0."""
        return self.fit_path(block, [self])[0]

    @classmethod
    def fit_path(cls, block: Block, points: Sequence[Self]) -> list[Fitted]:
        """Fit contenders that differ in lambda alone, each started at the previous solution.

        Parameters
        ----------
        block : Block
        points : sequence of PairRisk
            Best with lambda from large to small.

        Raises
        ------
        InputError
            Sums of the weights would be wrong: see `rankbench.interfaces.row_weights.check_weights`.
        """
        check_weights(block.comparisons.weights[block.comparisons.weights != 0])
        # All three losses share the pairs, their shares and their differences.
        problem = PairwiseProblem(block.design.x, block.design.offsets, block.comparisons, PairwiseLogistic())
        ridges = [point.ridge for point in points]
        if points[0].loss == "hinge":
            fits = HingeRisk(problem.differences, problem.shares).path([2.0 * ridge for ridge in ridges], GAP, STEPS)
        elif points[0].loss == "logistic":
            fits = _logistic_path(problem, ridges)
        else:
            fits = _linear_path(problem, _ends(block) / len(block.comparisons), points[0].theta, ridges)
        return [
            Fitted(
                partial(_scores, fit.theta),
                LinearModel(),
                fit.theta,
                fit.optimality,
                fit.converged,
                {"iterations": float(fit.iterations)},
            )
            for fit in fits
        ]


def _scores(theta: NDArray[np.float64], queries: Queries) -> NDArray[np.float64]:
    return queries.x @ theta


def _ends(block: Block) -> NDArray[np.float64]:
    """Return the number of pairs that each item is an end point of, shape (N,)."""
    said = block.comparisons
    base = np.repeat(block.design.offsets[:-1], said.counts)
    ends = np.concatenate([base + said.winners, base + said.losers])
    return np.bincount(ends, minlength=len(block.design.x)).astype(np.float64)


def _linear_path(
    problem: PairwiseProblem,
    ends: NDArray[np.float64],
    theta: float,
    ridges: Sequence[float],
) -> list[Fit]:
    """Solve the normal equations for all lambdas through one eigendecomposition."""
    x = problem.x
    gram = Gram(2.0 * theta * ((x * ends[:, None]).T @ x))
    b = problem.differences.combine(problem.shares)
    fits = []
    for ridge in ridges:
        w = gram.solve(b, 2.0 * ridge)
        residual = gram.matrix @ w + 2.0 * ridge * w - b
        finite("pair-risk", 0.0, residual, 1)
        # The normal equations have b on the right: relative to it, rounding is all that is left.
        norm = float(np.linalg.norm(residual))
        fits.append(Fit(w, norm, 1, norm <= 1e-8 * max(1.0, float(np.linalg.norm(b)))))
    return fits


def _logistic_path(problem: PairwiseProblem, ridges: Sequence[float]) -> list[Fit]:
    """Take Newton steps for each lambda, starting at the solution for the previous one."""
    newton = Newton(tolerance=GRADIENT, max_iterations=STEPS)
    fits: list[Fit] = []
    for ridge in ridges:
        problem.l2 = 2.0 * ridge
        fits.append(newton.solve(problem, fits[-1].theta if fits else None))
    return fits
