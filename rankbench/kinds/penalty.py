"""What is added to the risk, and where the parameters may be: penalties and their proximal maps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError

__all__ = ["Penalty", "PenaltyName"]

PenaltyName: TypeAlias = Literal["l2", "l1", "radius", "box"]
"""A part of a penalty, by the parameter that it is written with (l2: ``lambda``)."""


@dataclass(frozen=True)
class Penalty:
    r"""The regularizer of [DMJ13]_ eq. (24) and (25), in the parts that have a closed form.

    .. math:: R(\theta) = \frac{\lambda}{2} |\theta|_2^2 + \kappa |\theta|_1
              \quad\text{where}\quad |\theta|_2 \le r, \ \max_j |\theta_j| \le b

    lambda with kappa is the elastic net.

    Parameters
    ----------
    l2, l1 : float
        lambda and kappa, at least 0 and finite.
    radius, box : float
        r and b, above 0; ``inf`` for none. Not both: a ball cut by a box has no closed form.

    Raises
    ------
    SpecError
        A parameter out of its range, or both a radius and a box.
    """

    l2: float = 0.0
    l1: float = 0.0
    radius: float = math.inf
    box: float = math.inf

    def __post_init__(self) -> None:
        if not (0 <= self.l2 < math.inf and 0 <= self.l1 < math.inf):
            raise SpecError(f"penalties lambda={self.l2:g} and l1={self.l1:g} must be at least 0 and finite")
        if not (self.radius > 0 and self.box > 0):
            raise SpecError(f"radius={self.radius:g} and box={self.box:g} must be above 0")
        if math.isfinite(self.radius) and math.isfinite(self.box):
            raise SpecError("radius and box exclude each other: give one of them")

    @property
    def parts(self) -> frozenset[PenaltyName]:
        """Names of the parts that do something."""
        doing: dict[PenaltyName, bool] = {
            "l2": self.l2 > 0,
            "l1": self.l1 > 0,
            "radius": math.isfinite(self.radius),
            "box": math.isfinite(self.box),
        }
        return frozenset(name for name, does in doing.items() if does)

    @property
    def smooth(self) -> bool:
        """Whether it is the l2 penalty alone (or nothing)."""
        return self.parts <= {"l2"}

    @property
    def rest(self) -> Penalty:
        """The penalty without its l2 part, which problems have in them."""
        return replace(self, l2=0.0)

    @property
    def params(self) -> NDArray[np.float64]:
        """lambda, kappa, r and b, as compiled steps take them, shape (4,)."""
        return np.array([self.l2, self.l1, self.radius, self.box])

    def value(self, theta: NDArray[np.float64]) -> float:
        """Return R at a theta, shape (d,), within radius and box."""
        return 0.5 * self.l2 * float(theta @ theta) + self.l1 * float(np.abs(theta).sum())

    def prox(self, point: NDArray[np.float64], size: float) -> NDArray[np.float64]:
        r"""Return :math:`\operatorname{argmin}_\theta R(\theta) + |\theta - v|^2 / (2 \eta)`.

        Soft thresholding at :math:`\eta \kappa`, shrinking by :math:`1 / (1 + \eta \lambda)`,
        and the projection onto box or ball, in this order: for each coordinate, and for a
        length, the constrained minimizer of a convex function is the nearest point to the
        unconstrained one.

        Parameters
        ----------
        point : ndarray of float64, shape (..., d)
            v; the last axis holds one parameter vector.
        size : float
            eta > 0.
        """
        if self.l1 > 0:
            point = np.sign(point) * np.maximum(np.abs(point) - size * self.l1, 0.0)
        shrunk = point * (1.0 / (1.0 + size * self.l2))
        return self._projected(shrunk)

    def _projected(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        if math.isfinite(self.box):
            return np.clip(point, -self.box, self.box)
        if math.isfinite(self.radius):
            # Divided by the largest entry first: squares of large numbers would overflow.
            top = np.abs(point).max(axis=-1, keepdims=True, initial=0.0)
            unit = point / np.where(top > 0, top, 1.0)
            length = top * np.sqrt(np.square(unit).sum(axis=-1, keepdims=True))
            return point * np.where(length > self.radius, self.radius / np.maximum(length, self.radius), 1.0)
        return point

    def optimality(self, theta: NDArray[np.float64], gradient: NDArray[np.float64]) -> float:
        r"""Return how far theta is from minimizing risk plus penalty.

        The length of :math:`\theta - \operatorname{prox}(\theta - g)`, the step of a proximal
        gradient method with eta = 1: 0 exactly at minimizers, and the length of the
        gradient where there is no more than the l2 penalty.

        Parameters
        ----------
        theta : ndarray of float64, shape (d,)
        gradient : ndarray of float64, shape (d,)
            g, of the risk with the l2 penalty in it.
        """
        if self.smooth:
            return float(np.linalg.norm(gradient))
        return float(np.linalg.norm(theta - self.rest.prox(theta - gradient, 1.0)))
