"""Score problems are risks of score surrogates, and handle penalties without a gradient."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError, SpecError
from rankbench.interfaces.method import Penalty, Problem
from rankbench.interfaces.surrogate import ScoreSurrogate


class ScoreProblem:
    """``sum_q v_q phi(alpha_q, t_q) + l2/2 |theta|^2``, ``alpha = X theta``.

    With shares ``v_q = n_q/n`` it is the risk (19) of every order k >= n_q, where t_q is the
    target of all judgments; and, up to a constant, of every k if the surrogate is
    ``target-linear`` and t_q the mean target over the k-subsets.

    Parameters
    ----------
    x : ndarray of float32 or float64, shape (N, d)
        Features; float64 is not copied.
    offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``offsets[q]:offsets[q + 1]``.
    targets : ndarray of float64, shape (N,)
    shares : ndarray of float64, shape (Q,)
        v_q >= 0; queries of share 0 do not count.
    surrogate : ScoreSurrogate
        Compiled if it has a gradient kernel; else its NumPy form is used.
    l2 : float
        lambda >= 0.

    Raises
    ------
    InputError
        Shapes that do not fit, or no query with a share.
    """

    def __init__(
        self,
        x: NDArray[np.float32] | NDArray[np.float64],
        offsets: NDArray[np.int64],
        targets: NDArray[np.float64],
        shares: NDArray[np.float64],
        surrogate: ScoreSurrogate,
        l2: float = 0.0,
    ) -> None:
        self.x: NDArray[np.float64] = np.ascontiguousarray(x, dtype=np.float64)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.shares = np.ascontiguousarray(shares, dtype=np.float64)
        self.targets = np.require(targets, np.float64, ["C", "W"])
        shapes = (len(self.x), len(self.targets), len(self.shares) + 1)
        if shapes != (self.offsets[-1], self.offsets[-1], len(self.offsets)):
            raise InputError(f"{shapes} features, targets and ends of queries do not fit {self.offsets[-1]} items")
        if not (self.shares > 0).any():
            raise InputError("no query has a share in the risk: there are no judgments")
        self.surrogate, self.l2 = surrogate, l2
        self._kernel = surrogate.gradient_kernel()

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return int(self.x.shape[1])

    def value_and_gradient(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the objective and its gradient, shape (d,)."""
        value, pull = self._risk(self.x @ theta, self.targets)
        return value + 0.5 * self.l2 * float(theta @ theta), pull @ self.x + self.l2 * theta

    def _risk(self, alpha: NDArray[np.float64], targets: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the risk and its gradient in alpha, shape (N,)."""
        pull = np.zeros(len(alpha))
        if self._kernel is not None:
            from rankbench.optimizers.kernels import risk

            kernel = self._kernel
            return risk(kernel.function, alpha, targets, self.offsets, self.shares, kernel.params, pull), pull
        value = 0.0
        for q, (start, stop) in enumerate(itertools.pairwise(self.offsets)):
            if self.shares[q] > 0:
                lost, slope = self.surrogate.value_and_gradient(alpha[start:stop], targets[start:stop])
                value += self.shares[q] * lost
                pull[start:stop] = self.shares[q] * self.surrogate.checked_numbers("value_and_gradient", slope)
        return value, pull

    def hessian(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sum_q v_q X_q' H_q X_q + l2 I``, shape (d, d).

        Raises
        ------
        SpecError
            The surrogate is not smooth.
        """
        if "smooth" not in self.surrogate.properties:
            raise SpecError(f"surrogate {self.surrogate.name!r} has no second derivative; use another optimizer")
        alpha, spread = self.x @ theta, np.zeros_like(self.x)
        for q, (start, stop) in enumerate(itertools.pairwise(self.offsets)):
            if self.shares[q] > 0:
                curvature = self.surrogate.hessian(alpha[start:stop], self.targets[start:stop])
                np.matmul(self.shares[q] * curvature, self.x[start:stop], out=spread[start:stop])
        hessian: NDArray[np.float64] = self.x.T @ spread
        # Exact arithmetic is symmetric, two different products are not.
        return 0.5 * (hessian + hessian.T) + self.l2 * np.eye(self.dimension)

    def relative_error(self, theta: NDArray[np.float64], error: NDArray[np.float64]) -> float:
        """Return the first-order effect of an error in the targets on the minimizer theta, relative to theta.

        Both in the norm of the Hessian H there: ``|H^-1 dg| / |theta|`` with dg the change
        of the gradient. For a quadratic surrogate it is exact.

        Parameters
        ----------
        theta : ndarray of float64, shape (d,)
        error : ndarray of float64, shape (N,)
            Of the targets, in which the surrogate is linear.
        """
        if not error.any():
            return 0.0
        alpha, curved = self.x @ theta, self.hessian(theta)
        changed = (self._risk(alpha, self.targets + error)[1] - self._risk(alpha, self.targets)[1]) @ self.x
        moved = np.linalg.lstsq(curved, changed, rcond=None)[0]
        size = float(theta @ curved @ theta)
        return float(np.sqrt(max(float(changed @ moved), 0.0) / size)) if size > 0 else 0.0


@dataclass(frozen=True, eq=False)
class PenalizedProblem:
    """A problem, which has the l2 penalty in it, beside the rest of the penalty.

    Value and derivatives are of the smooth part alone.

    Attributes
    ----------
    smooth : Problem
    penalty : Penalty
        The rest: its l2 is 0.
    """

    smooth: Problem
    penalty: Penalty

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
