"""The second step that quadratic surrogates share: from targets to squared distances."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.exact import ConvexPhi, ExactSurrogate, PhiTerm
from rankbench.kinds.surrogate import ScoreSurrogate

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["LeastSquares", "exact_squares"]


class LeastSquares(ScoreSurrogate):
    """Base of surrogates that declare ``quadratic``: ``|alpha - target|^2 / (2m)``, whatever the target is."""

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return ``|alpha - target|^2 / (2m)`` and ``(alpha - target) / m``."""
        residual = alpha - target
        return float(residual @ residual) / (2 * len(alpha)), residual / len(alpha)

    def hessian(self, alpha: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``I / m``, shape (m, m)."""
        return np.eye(len(alpha)) / len(alpha)

    def gradient_kernel(self) -> Kernel:
        """Return the compiled `value_and_gradient`."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.least_squares import value_and_gradient

        return Kernel(value_and_gradient)


def exact_squares(target: Sequence[Fraction]) -> ExactSurrogate:
    """Return ``|alpha - target|^2 / (2m)`` in rational numbers."""
    m = len(target)
    square = ConvexPhi.polynomial(0, 0, 1)
    terms = [PhiTerm(Fraction(1, 2 * m), tuple(int(k == j) for k in range(m)), t, square) for j, t in enumerate(target)]
    return ExactSurrogate(tuple(terms), (Fraction(0),) * m)
