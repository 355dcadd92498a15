"""rank-AD: a ranker learned from pairs of denser and less dense nominal points."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from rankbench.errors import ContenderDiverged, InputError
from rankbench_rankad.detector import Detector, Learned
from rankbench_rankad.margins import LOSSES, Floats
from rankbench_rankad.neighbors import leave_one_out, levels_of
from rankbench_rankad.objective import minimize
from rankbench_rankad.rbf import RbfMap, median_distance
from rankbench_rankad.tuning import LAMBDAS, SIGMAS, Problem, choose

__all__ = ["RankAD"]

HINGE_AT_MOST = 500
"""Points that ``loss=hinge`` is offered for: its solver lists their pairs."""

EXACT_AT_MOST = 4000
"""Points that the exact solution is offered for: its matrices have their square as entries."""


class RankAD(Detector):
    r"""Learn to rank nominal points by density, and call what ranks below them an anomaly.

    The judgments come from the points themselves: G(x) = -(mean distance to the K nearest
    neighbors), quantized by rank into levels; every pair of points of different levels is
    one. The ranker minimizes

    .. math:: \frac{1}{|P|} \sum_{(i, j) \in P} L(g(x_i) - g(x_j)) + \lambda \|g\|^2

    over functions of an RBF kernel's RKHS. It costs a kernel value a landmark to score a
    point, however many points it was learned from.

    Far from all landmarks g is 0, which may lie among the scores of ordinary points: with
    ``anchored``, points at infinity are an extra lowest level, as many as another level
    has. This departs from the paper, whose ranker is the plain one.
    """

    name: ClassVar[str] = "rank-ad"
    source: ClassVar[str] = "rank-AD, supplementary appendix, eq. (1)-(3)"

    neighbors: int = Field(default=10, ge=1, description="K of the statistic G.")
    levels: int = Field(default=3, ge=2, description="Levels that the ranks of G are quantized into.")
    anchored: bool = Field(default=False, description="Put the point at infinity below all others.")
    loss: Literal["squared-hinge", "hinge", "smooth-hinge", "exponential"] = Field(
        default="squared-hinge",
        description="Convex loss L of a pair's margin, not increasing, with L'(0) < 0; hinge takes "
        "few points, all others any number.",
    )
    kernel: Literal["nystroem", "exact"] = Field(
        default="nystroem", description="Functions spanned by some landmarks, or by all training points."
    )
    landmarks: int = Field(default=200, ge=1, description="Of the Nystroem approximation.")
    sigma: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="Of the kernel, in median distances of the training points; 0: by cross-validation.",
    )
    l2: float = Field(
        default=0.0, alias="lambda", ge=0, allow_inf_nan=False, description="Penalty; 0: by cross-validation."
    )
    exponent: float = Field(
        default=0.0, ge=0, le=2, description="Penalty n^-exponent for n points, the schedule of Proposition 1; 0: none."
    )
    folds: int = Field(default=3, ge=2, description="Of the cross-validation.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kernel == "exact" and self.landmarks != type(self).model_fields["landmarks"].default:
            raise ValueError("landmarks goes with kernel=nystroem; kernel=exact takes all training points")
        if self.exponent and self.l2:
            raise ValueError("exponent and lambda are two ways to say the penalty: give one of them")
        return self

    def learn(self, points: Floats, generator: np.random.Generator) -> Learned:
        """Rank the points by density, choose sigma and lambda, minimize, score the points.

        Raises
        ------
        InputError
            Too few points for K neighbors or the folds, all equally dense, or too many for
            ``kernel=exact`` or ``loss=hinge``.
        ContenderDiverged
            The minimization left the finite numbers.
        """
        problem = self.problem(points)
        landmarks = self._landmarks(points, generator)
        unit = median_distance(points, generator)
        sigmas = tuple(unit * sigma for sigma in ([self.sigma] if self.sigma else SIGMAS))
        l2 = len(points) ** -self.exponent if self.exponent else self.l2
        lambdas = (l2,) if l2 else LAMBDAS
        sigma, l2 = choose(problem, landmarks, sigmas, lambdas, self.folds, generator)
        rbf = RbfMap.from_landmarks(landmarks, sigma)
        found = minimize(problem.objective(rbf.coordinates(points), l2))
        if not np.isfinite(found.value) or not np.isfinite(found.theta).all():
            raise ContenderDiverged("the minimization left the finite numbers; try a larger lambda")
        beta = rbf.weights(found.theta)

        def score(new: Floats) -> Floats:
            return rbf.evaluate(new, beta)

        info = {
            "sigma": sigma / unit,
            "lambda": l2,
            "iterations": float(found.iterations),
            "radius": float(np.linalg.norm(found.theta)),
            "dimension": float(rbf.root.shape[1]),
        }
        return Learned(score, score(points), found.optimality, info)

    def problem(self, points: Floats) -> Problem:
        """Return the judgments that standardized points make of themselves."""
        if len(points) <= max(self.neighbors, 2 * self.folds):
            raise InputError(
                f"{len(points)} points are too few for neighbors={self.neighbors} and folds={self.folds}; "
                "give more points or lower them"
            )
        if self.loss == "hinge" and len(points) > HINGE_AT_MOST:
            raise InputError(
                f"loss=hinge is for at most {HINGE_AT_MOST} points, these are {len(points)}; use loss=smooth-hinge"
            )
        density = -leave_one_out(points, self.neighbors)
        levels = levels_of(density, self.levels)
        if not self.anchored and levels.min() == levels.max():
            raise InputError("all points are equally dense: there is no pair to learn from")
        return Problem(points, density, levels, LOSSES[self.loss], 1.0 / self.levels if self.anchored else 0.0)

    def _landmarks(self, points: Floats, generator: np.random.Generator) -> Floats:
        distinct = np.unique(points, axis=0)
        if self.kernel == "exact":
            if len(distinct) > EXACT_AT_MOST:
                raise InputError(
                    f"kernel=exact is for at most {EXACT_AT_MOST} distinct points, these are {len(distinct)}; "
                    "use kernel=nystroem"
                )
            return distinct
        return distinct[generator.permutation(len(distinct))[: self.landmarks]]
