"""Davidson's extension of the Bradley-Terry model to ties.

References
----------
.. [D70] R. R. Davidson. On extending the Bradley-Terry model to accommodate ties in paired
   comparison experiments. Journal of the American Statistical Association 65(329), 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.base import Aggregator
from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.pairs import observed_pairs
from rankbench.component import Property

if TYPE_CHECKING:
    from rankbench.data.queries import Comparisons
    from rankbench.kernels import Kernel

__all__ = ["Davidson"]


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

        def objective(theta: NDArray[np.float64]) -> float:
            half = (theta[low] - theta[high]) / 2
            total = played @ np.logaddexp(np.logaddexp(half, -half), theta[m])
            observed = (forward - backward) @ half + ties * theta[m]
            return float(total - observed + penalty @ theta**2 / 2)

        for _ in range(200):
            half = (theta[low] - theta[high]) / 2
            top = np.maximum(np.abs(half), theta[m])
            first, second, tie = np.exp(half - top), np.exp(-half - top), np.exp(theta[m] - top)
            total = first + second + tie
            first, second, tie = first / total, second / total, tie / total
            # Derivatives by half the difference of the scores, and by log(nu).
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
            step = solve(hessian, gradient, assume_a="pos")
            decrease = float(gradient @ step)
            if decrease <= 1e-28 * max(1.0, float(theta @ theta)):
                break
            value, length = objective(theta), 1.0
            # Rounding of the objective hides decreases below a few units in its last place.
            while objective(theta - length * step) > value * (1 + 1e-14) - 1e-4 * length * decrease:
                length /= 2
            theta = theta - length * step
        return theta[:m], float(np.exp(theta[m]))

    def kernel(self) -> Kernel:
        """Return the compiled form for comparisons without ties, that of `bradley-terry`."""
        return BradleyTerry(ridge=self.ridge).kernel()
