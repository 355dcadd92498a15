"""A problem with the parts of its penalty that have no gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError
from rankbench.kinds.optimizer import Problem
from rankbench.kinds.penalty import Penalty

__all__ = ["PenalizedProblem"]


@dataclass(frozen=True, eq=False)
class PenalizedProblem:
    """A problem, which has the l2 penalty in it, beside the rest of the penalty.

    Value and derivatives are those of the smooth part alone.

    Attributes
    ----------
    smooth : Problem
    penalty : Penalty
        The rest: its l2 is 0.
    """

    smooth: Problem
    penalty: Penalty

    quadratic = False

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return self.smooth.dimension

    def value_and_gradient(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the smooth part and its gradient, shape (d,)."""
        return self.smooth.value_and_gradient(theta)

    def hessian(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives of the smooth part, shape (d, d)."""
        return self.smooth.hessian(theta)

    def minimizer(self) -> NDArray[np.float64]:
        """Raise: there is no closed form.

        Raises
        ------
        SpecError
            Always.
        """
        raise SpecError("a problem with l1, radius or box has no closed-form minimizer; use proximal")
