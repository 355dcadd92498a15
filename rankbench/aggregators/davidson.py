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

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.penalty_rule import PenalizedAggregator
from rankbench.component import Property
from rankbench.errors import ContenderDiverged

if TYPE_CHECKING:
    from rankbench.aggregators.likelihood.davidson import DavidsonFit
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import ClusterCounts, PairCounts
    from rankbench.kinds.scales import Scales

__all__ = ["Davidson"]


class Davidson(PenalizedAggregator):
    r"""Bradley-Terry scores with ties: penalized maximum likelihood of Davidson's model.

    .. math:: P(i \succ j) = \frac{e^{s_i}}{e^{s_i} + e^{s_j} + \nu e^{(s_i + s_j)/2}}, \quad
       P(i \sim j) = \frac{\nu e^{(s_i + s_j)/2}}{e^{s_i} + e^{s_j} + \nu e^{(s_i + s_j)/2}}

    The scores and :math:`\nu \ge 0` maximize the log-likelihood less
    :math:`\frac{\rho}{2} |s|^2`; `rankbench.aggregators.likelihood.davidson.fit_davidson` has :math:`\nu`. The
    problem is convex in :math:`(s, \log \nu)`.

    Without ties :math:`\nu = 0`, and the scores are those of `bradley-terry` with the same ridge
    exactly. If all comparisons are ties, :math:`\nu = \infty` and all scores are 0. As with
    `bradley-terry` the scores sum to zero, on each connected component by itself, and an item
    without judgments scores 0.

    ``penalty=firth`` and ``penalty=none`` are those of `bradley-terry`, of :math:`(s, \log \nu)` together. Without a
    penalty there may be no maximum, although items are strongly connected, where ties alone connect them.

    Notes
    -----
    Limit under the model itself, uniform pairs, k to infinity: the centered scores. Multiplying
    all weights by a constant is the same as dividing the ridge by it.
    """

    name: ClassVar[str] = "davidson"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[D70]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    own_ties: ClassVar[bool] = True

    ridge: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Penalty rho on |s|^2 / 2.")

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by Newton's method on the pairs; see `fit_davidson`."""
        return self._fit(counts).scores

    def from_counts_near(self, counts: PairCounts, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by Newton's method from scores that are near."""
        try:
            return self._fit(counts, None if self.by_firth(counts) else scores).scores
        except ContenderDiverged:  # they were not near: chances of 0 and 1 have no curvature to go by
            return self.from_counts(counts)

    def _fit(self, counts: PairCounts, start: NDArray[np.float64] | None = None) -> DavidsonFit:
        from rankbench.aggregators.likelihood.davidson import fit_davidson

        if self.by_firth(counts):
            from rankbench.aggregators.likelihood.firth import firth_davidson

            return firth_davidson(counts)
        return fit_davidson(counts, ridge=self.strength(), start=start)

    def scales(self, counts: PairCounts) -> Scales:
        """Return the connected components; without a penalty the strongly connected ones."""
        return super().scales(counts)

    def covariance(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None
    ) -> NDArray[np.float64]:
        r"""Return the sandwich covariance, shape (m, m), in which :math:`\log \nu` is uncertain too."""
        from rankbench.aggregators.likelihood.firth import davidson_sandwich

        data = counts if clusters is None else clusters
        return davidson_sandwich(self._fit(counts), data, firth=self.by_firth(counts))

    def kernel(self) -> Kernel | None:
        """Return the compiled form for comparisons without ties, that of `bradley-terry`."""
        return BradleyTerry(ridge=self.ridge).kernel() if self.penalty == "ridge" else None
