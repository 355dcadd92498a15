"""Full information: what the mean log-odds converge to, made from the labels."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Property
from rankbench.kinds.aggregator import Aggregator

__all__ = ["LimitScores"]


class LimitScores(Aggregator):
    r"""Full information: the limit of the mean log-odds under BTL, from the labels.

    .. math:: s(i) = \frac{1}{m-1} \sum_{j \ne i}
       [\log(1 + e^{r_i - r_j}) - \log(1 + e^{r_j - r_i})]
       = \frac{1}{m-1} \sum_{j \ne i} (r_i - r_j) = \frac{m r_i - \sum_j r_j}{m - 1}

    since :math:`\log(1 + e^x) - \log(1 + e^{-x}) = x`. The scores sum to zero. No
    judgment is looked at: this is the reference that no method on judgments can have.
    """

    name: ClassVar[str] = "limit-scores"
    source: ClassVar[str] = "[DMJ13]_ eq. (27)"
    needs_truth: ClassVar[bool] = True
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "shift-invariant"})

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Refuse: the structure is made by `from_labels`.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(f"aggregator {self.name!r} works on labels, not on judgments; call from_labels")

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the limit scores of m items, shape (m,); 0 for one alone, the empty sum."""
        m = len(labels)
        above = labels - labels.min()  # equal labels make zeros, whatever they are
        scores: NDArray[np.float64] = (m * above - above.sum()) / max(m - 1, 1)
        return scores
