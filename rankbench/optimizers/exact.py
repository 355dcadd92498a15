"""The closed form of quadratic problems."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from rankbench.component import Property
from rankbench.errors import SpecError
from rankbench.kinds.optimizer import Fit, Problem, Solver
from rankbench.optimizers.finite import finite

__all__ = ["Exact"]


class Exact(Solver):
    """Solve the normal equations through the problem's eigendecomposition.

    ``theta = (H + lambda I)^-1 b``; with ``lambda = 0`` and a singular H the minimizer of
    least norm.
    """

    name: ClassVar[str] = "exact"
    source: ClassVar[str] = "Normal equations of ridge regression (Hoerl and Kennard 1970)"

    needs: ClassVar[frozenset[Property]] = frozenset({"quadratic"})

    tolerance: float = Field(
        default=1e-8, gt=0, allow_inf_nan=False, description="Gradient norm up to which the fit counts as converged."
    )

    def solve(self, problem: Problem) -> Fit:
        """Return the minimizer with the gradient norm that rounding left.

        Raises
        ------
        SpecError
            The problem is not quadratic.
        ContenderDiverged
            The solution is not finite.
        """
        if not problem.quadratic:
            raise SpecError(
                "optimizer 'exact' needs a quadratic surrogate, such as regression; use newton or lbfgs for this one"
            )
        theta = problem.minimizer()
        value, gradient = problem.value_and_gradient(theta)
        finite(self.name, value, gradient, 1)
        norm = float(np.linalg.norm(gradient))
        return Fit(theta, norm, 1, norm <= self.tolerance)
