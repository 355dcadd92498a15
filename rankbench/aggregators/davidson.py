"""Davidson's extension of the Bradley-Terry model to ties.

References
----------
.. [D70] R. R. Davidson. On extending the Bradley-Terry model to accommodate ties in paired
   comparison experiments. Journal of the American Statistical Association 65(329), 1970.
.. [EW94] S. C. Eisenstat and H. F. Walker. Globally convergent inexact Newton methods.
   SIAM Journal on Optimization 4(2), 1994.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.pairs import observed_pairs
from rankbench.component import Property
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Comparisons

__all__ = ["Davidson"]

_TOLERANCE = 1e-12
_ROUNDING = 1e-14
_SHORTEST = 1e-10
_MAX_STEPS = 200


class Davidson(Aggregator):
    r"""Bradley-Terry scores with ties: penalized maximum likelihood of Davidson's model.

    .. math:: P(i \succ j) = \frac{e^{s_i}}{e^{s_i} + e^{s_j} + \nu e^{(s_i + s_j)/2}}, \quad
       P(i \sim j) = \frac{\nu e^{(s_i + s_j)/2}}{e^{s_i} + e^{s_j} + \nu e^{(s_i + s_j)/2}}

    The scores and :math:`\nu \ge 0` maximize the log-likelihood less
    :math:`\frac{\rho}{2} |s|^2`; see `fit` for :math:`\nu`. The problem is convex in
    :math:`(s, \log \nu)`.

    Without ties :math:`\nu = 0`, and the scores are those of `bradley-terry` with the same ridge
    exactly. If all comparisons are ties, :math:`\nu = \infty` and all scores are 0. As with
    `bradley-terry` the scores sum to zero, on each connected component by itself, and an item
    without judgments scores 0.

    Notes
    -----
    Limit under the model itself, uniform pairs, k to infinity: the centered scores. Multiplying
    all weights by a constant is the same as dividing the ridge by it.
    """

    name: ClassVar[str] = "davidson"
    source: ClassVar[str] = "[D70]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    ridge: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Penalty rho on |s|^2 / 2.")

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Return the scores of comparisons without ties, shape (m,)."""
        return BradleyTerry(ridge=self.ridge).aggregate(winners, losers, weights, m)

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the scores, shape (m,)."""
        return self.fit(comparisons, m)[0]

    def fit(self, comparisons: Comparisons, m: int) -> tuple[NDArray[np.float64], float]:
        r"""Return the scores, shape (m,), and :math:`\nu`, by Newton's method with the dense Hessian.

        Parameters
        ----------
        comparisons : Comparisons
            Of one query, at least one.
        m : int
            Number of its items.
        """
        from scipy.linalg import solve

        winners, losers, weights = comparisons.winners, comparisons.losers, comparisons.weights
        tied = comparisons.ties
        if tied is None or not tied.any():
            return self.aggregate(winners, losers, weights, m), 0.0
        if tied.all():
            return np.zeros(m), float("inf")
        whole = comparisons.without_ties()
        low, high, forward, backward = observed_pairs(whole.winners, whole.losers, whole.weights, m)
        played, ties = forward + backward, float(weights[tied].sum())
        # The last entry is log(nu); at equal scores its best value is this.
        theta = np.zeros(m + 1)
        theta[m] = np.log(2 * ties / (played.sum() - ties))
        penalty = np.full(m + 1, self.ridge)
        penalty[m] = 0.0

        def derivatives(theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            half = (theta[low] - theta[high]) / 2
            top = np.maximum(np.abs(half), theta[m])
            first, second, tie = np.exp(half - top), np.exp(-half - top), np.exp(theta[m] - top)
            whole = first + second + tie
            first, second, tie = first / whole, second / whole, tie / whole
            # By half the difference of the scores, and by log(nu).
            slope = (played * (first - second) - (forward - backward)) / 2
            gradient = penalty * theta
            gradient[:m] += np.bincount(low, slope, m) - np.bincount(high, slope, m)
            gradient[m] += played @ tie - ties
            curve = played * (first + second - (first - second) ** 2) / 4
            cross = -played * tie * (first - second) / 2
            hessian = np.diag(penalty)
            hessian[low, high] = hessian[high, low] = -curve
            hessian[range(m), range(m)] += np.bincount(low, curve, m) + np.bincount(high, curve, m)
            hessian[m, :m] = hessian[:m, m] = np.bincount(low, cross, m) - np.bincount(high, cross, m)
            hessian[m, m] = played @ (tie * (1 - tie))
            return gradient, hessian

        gradient, hessian = derivatives(theta)
        norm = float(np.linalg.norm(gradient))
        enough = max(_TOLERANCE * min(1.0, norm), _ROUNDING * float(played.sum()) / m)
        for _ in range(_MAX_STEPS):
            if norm <= enough:
                break
            step, length = solve(hessian, gradient, assume_a="pos"), 1.0
            # Backtracking on the gradient's norm [EW94]_: it is small at the minimum, where the
            # objective is a small difference of large sums.
            while length > _SHORTEST:
                trial = theta - length * step
                gradient, hessian = derivatives(trial)
                if float(np.linalg.norm(gradient)) <= (1 - 1e-4 * length) * norm:
                    break
                length /= 2
            else:
                break
            theta, norm = trial, float(np.linalg.norm(gradient))
        return theta[:m], float(np.exp(theta[m]))

    def kernel(self) -> Kernel:
        """Return the compiled form for comparisons without ties, that of `bradley-terry`."""
        return BradleyTerry(ridge=self.ridge).kernel()
