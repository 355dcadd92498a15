"""Bradley-Terry scores by penalized maximum likelihood.

References
----------
.. [F93] D. Firth. Bias reduction of maximum likelihood estimates. Biometrika 80(1), 1993.
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

from rankbench.aggregators.penalty_rule import PenalizedAggregator
from rankbench.component import Property
from rankbench.errors import ContenderDiverged
from rankbench.kinds.counts import ClusterCounts, PairCounts
from rankbench.kinds.queries import Comparisons
from rankbench.kinds.scales import Scales, connected_components

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.resamples import Resamples

__all__ = ["BradleyTerry"]


class BradleyTerry(PenalizedAggregator):
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

    The ridge makes good predictions, and scores that are too close to one another. With ``penalty=firth`` half the log
    determinant of the information takes the place of the ridge ([F93]_, Jeffreys' prior): scores have next to no
    bias and are finite on each connected component; two items of which one won k of n differ by
    log((k + 1/2) / (n - k + 1/2)). `rankbench aggregate` and the rankings of runs take it, for their intervals are of
    the log-odds behind the votes. It takes an m x m matrix: of more than 4000 items it is ``penalty=none``.

    With ridge 0, or ``penalty=none``, it is plain maximum likelihood: scores exist, and sum to zero, within strongly
    connected components of "beat, or tied with" alone ([F57]_). A log is then ranked on as many scales;
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

        if self.by_firth(counts):
            from rankbench.aggregators.likelihood.firth import firth_bradley_terry

            return firth_bradley_terry(counts).scores
        return fit_bradley_terry(counts, ridge=self.strength()).scores

    def from_counts_near(self, counts: PairCounts, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by Newton's method from scores that are near."""
        from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry

        if self.by_firth(counts):
            return self.from_counts(counts)
        try:
            return fit_bradley_terry(counts, ridge=self.strength(), start=scores).scores
        except ContenderDiverged:  # they were not near: chances of 0 and 1 have no curvature to go by
            return self.from_counts(counts)

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the scores of one query's comparisons, shape (m,), all on one scale; ties are half wins.

        Raises
        ------
        ContenderDiverged
            Without a penalty: there is no maximum on one scale.
        """
        counts = PairCounts.from_comparisons(comparisons, m)
        if len(self.scales(counts)) > len(connected_components(counts)):
            raise ContenderDiverged(
                "Bradley-Terry without a ridge: items that never won, or never lost, against the rest are infinitely "
                "far away; a ridge gives them a place"
            )
        return self.from_counts(counts)

    def scales(self, counts: PairCounts) -> Scales:
        """Return the connected components; without a penalty the strongly connected ones."""
        return super().scales(counts)

    def covariance(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None
    ) -> NDArray[np.float64]:
        """Return the sandwich covariance, shape (m, m); see `rankbench.aggregators.likelihood.covariance`."""
        from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
        from rankbench.aggregators.likelihood.covariance import sandwich
        from rankbench.aggregators.likelihood.firth import firth_sandwich

        data = counts if clusters is None else clusters
        if self.by_firth(counts):
            return firth_sandwich(scores, data)
        return sandwich(BradleyTerryFit.at(counts, scores, self.strength()), data)

    def replicates(self, scores: NDArray[np.float64], resamples: Resamples) -> NDArray[np.float64]:
        """Return the scores of resamples, shape (B, m), each by a few Newton steps from those of the log.

        Without a penalty a resample in which a scale falls apart has none: its row is nan. With Firth's each resample
        has the pseudo-votes of the log, which differ from its own by less the more votes there are.
        """
        from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
        from rankbench.aggregators.likelihood.refits import refitted

        strength, counts = self.strength(), resamples.counts
        if len(resamples.cells):
            more = None
            if self.by_firth(counts):
                from rankbench.aggregators.likelihood.firth import pseudo_votes

                more = pseudo_votes(counts, scores)[0]
            return refitted(BradleyTerryFit.at(counts, scores, strength), resamples, more=more)
        # With a penalty an item that was not drawn has the score of one that nobody judged.
        penalized = strength > 0 or self.by_firth(counts)
        return self.scores_of_each(resamples, None if penalized else self.scales(counts))

    def kernel(self) -> Kernel | None:
        """Return the compiled form, O(k + m) memory; None without a ridge, where a sample may have no maximum."""
        if self.strength() == 0:
            return None
        from rankbench.aggregators.kernels.bradley_terry import bradley_terry
        from rankbench.kernels.signatures import Kernel

        return Kernel(bradley_terry, np.array([self.ridge]))
