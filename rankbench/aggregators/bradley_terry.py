"""Bradley-Terry scores by penalized maximum likelihood.

References
----------
.. [F57] L. R. Ford Jr. Solution of a ranking problem from binary comparisons. American
   Mathematical Monthly 64(8), 1957.
.. [BT52] R. A. Bradley and M. E. Terry. Rank analysis of incomplete block designs: I. The
   method of paired comparisons. Biometrika 39(3/4), 1952.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.errors import ContenderDiverged
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import ClusterCounts, PairCounts
from rankbench.kinds.queries import Comparisons
from rankbench.kinds.scales import Scales, connected_components, strongly_connected

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.resamples import Resamples

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

    With ridge 0 it is plain maximum likelihood: scores exist, and sum to zero, within strongly connected
    components of "beat, or tied with" alone ([F57]_). A log is then ranked on as many scales;
    whoever needs scores on one scale gets an error.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27). Multiplying all weights by a constant is the
    same as dividing the ridge by it.
    """

    name: ClassVar[str] = "bradley-terry"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[BT52]_; [DMJ13]_ eq. (26)"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    ridge: float = Field(default=1.0, ge=0, allow_inf_nan=False, description="Penalty rho on |s|^2 / 2; 0: none.")

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by Newton's method on the pairs; see `fit_bradley_terry`."""
        from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry

        return fit_bradley_terry(counts, ridge=self.ridge).scores

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the scores of one query's comparisons, shape (m,), all on one scale; ties are half wins.

        Raises
        ------
        ContenderDiverged
            Without a ridge: there is no maximum on one scale.
        """
        counts = PairCounts.from_comparisons(comparisons, m)
        if self.ridge == 0 and len(strongly_connected(counts)) > len(connected_components(counts)):
            raise ContenderDiverged(
                "Bradley-Terry without a ridge: items that never won, or never lost, against the rest are infinitely "
                "far away; a ridge gives them a place"
            )
        return self.from_counts(counts)

    def scales(self, counts: PairCounts) -> Scales:
        """Return the connected components; without a ridge the strongly connected ones."""
        return connected_components(counts) if self.ridge > 0 else strongly_connected(counts)

    def covariance(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None
    ) -> NDArray[np.float64]:
        """Return the sandwich covariance, shape (m, m); see `rankbench.aggregators.likelihood.covariance`."""
        from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
        from rankbench.aggregators.likelihood.covariance import sandwich

        return sandwich(BradleyTerryFit.at(counts, scores, self.ridge), counts if clusters is None else clusters)

    def replicates(self, scores: NDArray[np.float64], resamples: Resamples) -> NDArray[np.float64]:
        """Return the scores of resamples, shape (B, m), each by a few Newton steps from those of the log.

        Without a ridge a resample in which a scale falls apart has none: its row is nan.
        """
        from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
        from rankbench.aggregators.likelihood.refits import refitted

        if len(resamples.cells):
            return refitted(BradleyTerryFit.at(resamples.counts, scores, self.ridge), resamples)
        # With a ridge an item that was not drawn has the score of one that nobody judged.
        return self.scores_of_each(resamples, self.scales(resamples.counts) if self.ridge == 0 else None)

    def kernel(self) -> Kernel | None:
        """Return the compiled form, O(k + m) memory; None without a ridge, where a sample may have no maximum."""
        if self.ridge == 0:
            return None
        from rankbench.aggregators.kernels.bradley_terry import bradley_terry
        from rankbench.kernels.signatures import Kernel

        return Kernel(bradley_terry, np.array([self.ridge]))
