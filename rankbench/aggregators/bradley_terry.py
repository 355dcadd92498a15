"""Bradley-Terry scores by penalized maximum likelihood.

References
----------
.. [BT52] R. A. Bradley and M. E. Terry. Rank analysis of incomplete block designs: I. The
   method of paired comparisons. Biometrika 39(3/4), 1952.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.pairs import Pairs, observed_pairs
from rankbench.component import Property
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["BradleyTerry"]


class BradleyTerry(Aggregator):
    r"""Bradley-Terry scores: maximum likelihood with a ridge penalty.

    .. math:: s = \operatorname{argmin}_{s \in R^m} \sum_{t=1}^k
       w_t \log(1 + e^{s_{l_t} - s_{w_t}}) + \frac{\rho}{2} |s|^2

    The penalty makes the minimizer exist and be unique where plain maximum likelihood has
    none: an item that won (or lost) all its judgments, a disconnected graph. The scores
    sum to zero; so do those of each connected component by itself, and an item without
    judgments scores 0.

    The default ridge 1 is the posterior mode under a standard normal prior, the scale of
    graded relevance labels in (26). One judgment carries an information of at most
    1/4, so the penalty weighs as much as some four judgments an item and fades beyond them.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27). Multiplying all weights by a constant is the
    same as dividing the ridge by it.
    """

    name: ClassVar[str] = "bradley-terry"
    source: ClassVar[str] = "[BT52]_; [DMJ13]_ eq. (26)"
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
        """Return the scores, shape (m,), by Newton's method with the dense m x m Hessian."""
        from scipy.linalg import solve
        from scipy.special import expit

        pairs = observed_pairs(winners, losers, weights, m)
        low, high, forward, backward = pairs
        scores = np.zeros(m)
        for _ in range(200):
            p = expit(scores[low] - scores[high])
            slope = (forward + backward) * p - forward
            gradient = self.ridge * scores + np.bincount(low, slope, m) - np.bincount(high, slope, m)
            curvature = (forward + backward) * p * (1 - p)
            hessian = np.diag(self.ridge + np.bincount(low, curvature, m) + np.bincount(high, curvature, m))
            hessian[low, high] = hessian[high, low] = -curvature
            step = solve(hessian, gradient, assume_a="pos")
            decrease = float(gradient @ step)
            if decrease <= 1e-28 * max(1.0, float(scores @ scores)):
                break
            value, length = self._objective(scores, pairs), 1.0
            # Rounding of the objective hides decreases below a few units in its last place.
            while self._objective(scores - length * step, pairs) > value * (1 + 1e-14) - 1e-4 * length * decrease:
                length /= 2
            scores = scores - length * step
        return scores

    def _objective(self, scores: NDArray[np.float64], pairs: Pairs) -> float:
        margin = scores[pairs.low] - scores[pairs.high]
        losses = pairs.forward @ np.logaddexp(0, -margin) + pairs.backward @ np.logaddexp(0, margin)
        return float(losses + self.ridge / 2 * scores @ scores)

    def kernel(self) -> Kernel:
        """Return the compiled form, O(k + m) memory; see its module for the method."""
        from rankbench.aggregators.kernels.bradley_terry import bradley_terry, work_size
        from rankbench.kernels.signatures import Kernel

        return Kernel(bradley_terry, np.array([self.ridge]), work_size)
