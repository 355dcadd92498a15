"""The dual solver minimizes pairwise hinge risks to a duality gap."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.errors import SpecError
from rankbench.interfaces.method import Fit, Problem, Solver
from rankbench.optimizers.newton import finite
from rankbench.optimizers.problems import PairDifferences, PairwiseProblem

WIDTH = 0.1
"""Width of the smoothing at first, in units of the margin."""

FLAT = 0.1
"""A line search ends where the slope is this share of the first one."""


class HingeRisk:
    r"""``P(theta) = sum_c v_c max(0, 1 + o_c - <theta, delta_c>) + l2/2 |theta|^2``.

    Its dual has a variable ``0 <= beta_c <= v_c`` for every pair:

    .. math:: D(\beta) = \sum_c \beta_c (1 + o_c) - \frac{1}{2 l_2} \Big| \sum_c \beta_c \delta_c \Big|^2

    and any two feasible points bound the minimum from both sides. Smoothing the hinge
    over a width gives, at any theta, such a beta: the slopes of the smoothed hinge. With
    ``z_c = 1 + o_c - <theta, delta_c>`` and g the gradient of the smoothed objective

    .. math:: P(\theta) - D(\beta) = \sum_c \big(v_c \max(z_c, 0) - \beta_c z_c\big) + \frac{|g|^2}{2 l_2},

    a smoothing part, which shrinks with the width, and an optimization part.

    Parameters
    ----------
    differences : PairDifferences
        delta, shape (P, d).
    shares : ndarray of float64, shape (P,)
        v > 0.
    offsets : ndarray of float64, shape (P,) or (1,)
    """

    def __init__(
        self, differences: PairDifferences, shares: NDArray[np.float64], offsets: NDArray[np.float64] | None = None
    ) -> None:
        self.differences, self.shares = differences, shares
        self.wanted = np.ones(len(shares)) + (0.0 if offsets is None else offsets)

    def path(self, l2s: Iterable[float], tolerance: float, steps: int) -> list[Fit]:
        """Minimize for each l2 in turn, each started at the previous solution.

        Parameters
        ----------
        l2s : iterable of float
            Positive; best from large to small.
        tolerance : float
            Duality gap to stop at.
        steps : int
            Newton steps to take at most, for each l2.

        Returns
        -------
        list of Fit
            `Fit.optimality` is the duality gap.
        """
        theta = np.zeros(self.differences.dimension)
        fits = []
        for l2 in l2s:
            fits.append(self._solve(theta, l2, tolerance, steps))
            theta = fits[-1].theta
        return fits

    def _solve(self, theta: NDArray[np.float64], l2: float, tolerance: float, steps: int) -> Fit:
        """Take Newton steps on the smoothed risk, with less smoothing whenever it is most of the gap."""
        from rankbench.optimizers.kernels import dual_point

        shortfall = self.wanted - self.differences.margins(theta)
        beta = np.empty(len(shortfall))
        width, best = WIDTH, Fit(theta, math.inf, 0, False)
        step = 0
        while True:
            smoothing = dual_point(shortfall, self.shares, width, beta)
            gradient = l2 * theta - self.differences.combine(beta)
            remaining = float(gradient @ gradient) / (2.0 * l2)
            finite("hinge-dual", smoothing, gradient, step)
            gap = smoothing + remaining
            if gap < best.optimality:
                best = Fit(theta, gap, step, gap <= tolerance)
            if best.converged or step == steps or width < 1e-12:
                return Fit(best.theta, best.optimality, step, best.converged)
            if remaining < FLAT * smoothing:
                # The smoothing part is about quadratic in the width, once that is small.
                width *= max(0.1, min(0.5, math.sqrt(0.5 * tolerance / smoothing)))
                continue
            step += 1
            zone = np.flatnonzero((shortfall > 0.0) & (shortfall < width))
            hessian = self.differences.gram(self.shares[zone] / width, zone) + l2 * np.eye(len(theta))
            direction = np.asarray(-np.linalg.solve(hessian, gradient), dtype=np.float64)
            gain = self.differences.margins(direction)
            length = self._search(theta, direction, shortfall, gain, l2, width, float(gradient @ direction))
            theta = theta + length * direction
            shortfall = shortfall - length * gain

    def _search(
        self,
        theta: NDArray[np.float64],
        direction: NDArray[np.float64],
        shortfall: NDArray[np.float64],
        gain: NDArray[np.float64],
        l2: float,
        width: float,
        steepest: float,
    ) -> float:
        """Return the step length where the smoothed objective is flat along `direction`.

        Its slope is piecewise linear and increasing: Newton's method within a bracket.
        """
        from rankbench.optimizers.kernels import slope_along

        low, high, length = 0.0, math.inf, 1.0
        base, curve = l2 * float(theta @ direction), l2 * float(direction @ direction)
        derivatives = np.empty(2)
        for _ in range(60):
            slope_along(shortfall, gain, self.shares, width, length, derivatives)
            slope, bend = float(derivatives[0]) + base + curve * length, float(derivatives[1]) + curve
            if abs(slope) <= FLAT * abs(steepest):
                break
            if slope > 0.0:
                high = length
            else:
                low = length
            guess = length - slope / bend if bend > 0.0 else math.inf
            length = guess if low < guess < high else (2.0 * length if high == math.inf else 0.5 * (low + high))
        return length


class HingeDual(Solver):
    """Minimize a pairwise hinge risk until primal and dual objective meet.

    Newton steps on a smoothed hinge whose width shrinks; the slopes of the smoothed hinge
    are dual variables, so that every step comes with a gap. For few features and many
    pairs: a step costs two passes over the pairs, and d^2 for the few near the kink.

    `Fit.optimality` is the duality gap, an upper bound on how far the objective is above
    its minimum.

    Prefer it for `pairwise-hinge`, in either form. ``lambda`` must be above 0: without it there is no dual to
    compare with.
    """

    name: ClassVar[str] = "hinge-dual"
    source: ClassVar[str] = "Herbrich, Graepel and Obermayer 2000; Chapelle 2007 (Newton on the primal)"
    needs: ClassVar[frozenset[Property]] = frozenset({"hinge"})
    budget: ClassVar[str | None] = "max_iterations"

    tolerance: float = Field(default=1e-5, gt=0, allow_inf_nan=False, description="Duality gap to stop at.")
    max_iterations: int = Field(default=500, ge=1, description="Newton steps to take at most.")

    def solve(self, problem: Problem) -> Fit:
        """Minimize from theta = 0.

        Raises
        ------
        SpecError
            The surrogate is not a hinge, or lambda is 0: there is no dual then.
        ContenderDiverged
            Objective or gradient are not finite.
        """
        if not isinstance(problem, PairwiseProblem) or "hinge" not in problem.surrogate.properties:
            raise SpecError("optimizer 'hinge-dual' needs the surrogate pairwise-hinge; use newton, lbfgs or composite")
        if problem.l2 <= 0.0:
            raise SpecError("optimizer 'hinge-dual' needs lambda > 0; try a small one, such as 1e-6")
        risk = HingeRisk(problem.differences, problem.shares, problem.offsets)
        return risk.path([problem.l2], self.tolerance, self.max_iterations)[0]
