"""Bradley-Terry and Davidson aggregators maximize a penalized likelihood of comparisons.

References
----------
.. [F93] D. Firth. Bias reduction of maximum likelihood estimates. Biometrika 80(1), 1993.
.. [F57] L. R. Ford Jr. Solution of a ranking problem from binary comparisons. American
   Mathematical Monthly 64(8), 1957.
.. [BT52] R. A. Bradley and M. E. Terry. Rank analysis of incomplete block designs: I. The
   method of paired comparisons. Biometrika 39(3/4), 1952.
.. [D70] R. R. Davidson. On extending the Bradley-Terry model to accommodate ties in paired
   comparison experiments. Journal of the American Statistical Association 65(329), 1970.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.aggregators.likelihood.bradley_terry import PairFit, fit_bradley_terry, refitted
from rankbench.aggregators.likelihood.covariance import sandwich, sandwich_draws
from rankbench.aggregators.likelihood.covariate_fit import (
    Penalties,
    controlled_sandwich,
    fit_controlled,
    refuse_unidentified,
)
from rankbench.aggregators.likelihood.davidson_firth import (
    firth_bradley_terry,
    firth_davidson,
    fit_davidson,
    pseudo_votes,
)
from rankbench.aggregators.likelihood.profile import profile_ends
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.aggregator import MOST_DENSE
from rankbench.interfaces.aggregator_calls import scores_of_each
from rankbench.interfaces.covariate_aggregator import ControlledAggregator, ControlledFit, CovariateVotes
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts, Scales
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.resamples import Resamples
from rankbench.kernels import Kernel


class PenalizedAggregator(ControlledAggregator):
    """An aggregator of comparisons that maximizes a likelihood with one of three penalties.

    ``ridge``: rho |s|^2 / 2, which predicts well and shrinks the scores. ``firth``: half the log determinant of
    the information, which takes the bias out of the scores; they are finite whatever happened. ``none``.

    With covariates the penalty is on scores and effects together, beside the sum over votes: see
    `rankbench.aggregators.likelihood.covariate_fit`.
    """

    own_ties: ClassVar[bool] = False

    penalty: Literal["ridge", "firth", "none"] = Field(
        default="ridge", description="ridge, firth (without bias; for intervals), or none."
    )

    ridge: float = Field(default=1.0, ge=0, allow_inf_nan=False, description="Penalty rho on |s|^2 / 2; 0: none.")

    @model_validator(mode="after")
    def _one_penalty(self) -> Self:
        if self.penalty != "ridge" and self.ridge not in (0.0, type(self).model_fields["ridge"].default):
            raise ValueError(f"a ridge goes with penalty=ridge, not with penalty={self.penalty}")
        return self

    def strength(self) -> float:
        """Return the ridge that the scores are penalized by; 0 with another penalty."""
        return self.ridge if self.penalty == "ridge" else 0.0

    def prefers_covariance(self) -> bool:
        """Return whether the penalty is Firth's: its pseudo-votes are in the sandwich, and in no resample."""
        return self.penalty == "firth"

    def scales(self, counts: PairCounts) -> Scales:
        """Return the connected components; without a penalty the strongly connected ones."""
        return counts.strongly_connected if self.unpenalized() else counts.connected

    def unpenalized(self) -> bool:
        """Return whether there is no penalty."""
        return self.strength() == 0 and self.penalty != "firth"

    @abstractmethod
    def fitted(self, counts: PairCounts, start: NDArray[np.float64] | None = None) -> PairFit:
        """Return the fit to counts; Newton's method begins at given scores, except with Firth's penalty."""

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by Newton's method on the pairs; see `fitted`."""
        return self.fitted(counts).scores

    def from_counts_near(self, counts: PairCounts, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the same, with Newton's method started at scores nearby."""
        try:
            return self.fitted(counts, scores).scores
        except ContenderDiverged:  # they were not near: chances of 0 and 1 have no curvature to go by
            return self.from_counts(counts)

    def covariance(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None
    ) -> NDArray[np.float64]:
        r"""Return the sandwich covariance, shape (m, m); of Davidson's model :math:`\log \nu` is uncertain too."""
        fit = self.fitted(counts) if self.own_ties else PairFit(scores, self.scales(counts), self.strength())
        pseudo = pseudo_votes(counts, fit) if self.penalty == "firth" and fit.nu < np.inf else None
        return sandwich(fit, counts if clusters is None else clusters, pseudo)

    def _penalties(self, votes: CovariateVotes) -> Penalties:

        return Penalties(self.strength(), self.penalty == "firth" and votes.m <= MOST_DENSE)

    def fit_controlled(self, votes: CovariateVotes) -> ControlledFit:
        """Return scores and effects, by Newton's method."""
        return fit_controlled(votes, self._penalties(votes), ties=self.own_ties)

    def controlled_covariance(self, votes: CovariateVotes, fit: ControlledFit) -> NDArray[np.float64]:
        """Return the sandwich covariance of scores and effects, (m + p, m + p)."""
        return controlled_sandwich(votes, fit, self._penalties(votes), ties=self.own_ties)

    def refuse_unidentified(self, votes: CovariateVotes) -> None:
        """Refuse covariates whose effects the votes do not identify, beside items and other covariates."""
        refuse_unidentified(votes)


class BradleyTerry(PenalizedAggregator):
    r"""Bradley-Terry scores: maximum likelihood with a ridge penalty.

    .. math:: s = \operatorname{argmin}_{s \in R^m} \sum_{t=1}^k
       w_t \log(1 + e^{s_{l_t} - s_{w_t}}) + \frac{\rho}{2} |s|^2

    The penalty makes the minimizer exist and be unique where plain maximum likelihood has
    none: an item that won (or lost) all its judgments, a disconnected graph. The scores
    of each connected component sum to zero, and an item without judgments scores 0.

    The default ridge 1 is the posterior mode under a standard normal prior, the scale of
    graded relevance labels in (26). One judgment carries an information of at most
    1/4, so the penalty weighs as much as some four judgments an item and fades beyond them.

    The ridge makes good predictions, and scores that are too close to one another. With ``penalty=firth`` half the log
    determinant of the information takes the place of the ridge ([F93]_, Jeffreys' prior): scores have next to no
    bias and are finite on each connected component; two items differ, if one won k of n, by
    log((k + 1/2) / (n - k + 1/2)). `rankbench aggregate` and the rankings of runs take it, for their intervals are of
    the log-odds behind the votes. It takes shares of pairs in the information. Items of few opponents are eliminated
    for them; where more than 4000 items are left, the shares of pairs of these are estimated, to 18% each, from random
    projections: see `rankbench.aggregators.likelihood.elimination`.

    With ridge 0, or ``penalty=none``, it is plain maximum likelihood: scores exist, and sum to zero, within strongly
    connected components of "beat, or tied with" alone ([F57]_). A log is then ranked on as many scales;
    a question that needs scores on one scale ends in an error.

    Prefer it where pairs have few votes and one number for each item describes the votes about right: an item's
    score depends on whom it beat.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27). Multiplying all weights by a constant is the
    same as dividing the ridge by it.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "bradley-terry:penalty=firth").table.select("item", "score").rows()
    [('ada', 0.7689...), ('bob', 0.2790...), ('cy', -1.0480...)]
    """

    name: ClassVar[str] = "bradley-terry"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[BT52]_; [DMJ13]_ eq. (26)"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def fitted(self, counts: PairCounts, start: NDArray[np.float64] | None = None) -> PairFit:
        """Return the fit to counts, ties being half wins; see `fit_bradley_terry`."""
        if self.penalty == "firth":
            return firth_bradley_terry(counts)
        return fit_bradley_terry(counts, ridge=self.strength(), start=start)

    def error_draws(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None, seed: int
    ) -> Iterator[NDArray[np.float64]]:
        """Yield normal errors of the scores with about the covariance of the sandwich; see `sandwich_draws`."""
        fit = PairFit(scores, self.scales(counts), self.strength())
        pseudo = pseudo_votes(counts, fit) if self.penalty == "firth" else None
        return sandwich_draws(fit, counts if clusters is None else clusters, pseudo, seed)

    def score_ends(
        self,
        counts: PairCounts,
        scores: NDArray[np.float64],
        items: Sequence[int],
        level: float,
        known: NDArray[np.bool_],
    ) -> NDArray[np.float64] | None:
        """Return intervals by profile penalized likelihood with Firth's penalty, shape (k, 2); None with another one.

        See `rankbench.aggregators.likelihood.profile`.
        """
        return profile_ends(counts, scores, items, level, known) if self.penalty == "firth" else None

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the scores of one query's comparisons, shape (m,), all on one scale; ties are half wins.

        Raises
        ------
        ContenderDiverged
            Without a penalty: there is no maximum on one scale.
        """
        counts = PairCounts.from_comparisons(comparisons, m)
        if len(self.scales(counts).sizes) > len(counts.connected.sizes):
            raise ContenderDiverged(
                "Bradley-Terry without a ridge: items that never won, or never lost, against the rest are infinitely "
                "far away; a ridge gives them a place"
            )
        return self.from_counts(counts)

    def replicates(self, scores: NDArray[np.float64], resamples: Resamples) -> NDArray[np.float64]:
        """Return the scores of resamples, shape (B, m), by a few Newton steps from the log's scores.

        Without a penalty a resample in which a scale falls apart has none: its row is nan. With Firth's each resample
        has the pseudo-votes of the log, which differ from its own by less the more votes there are.
        """
        counts = resamples.counts
        if len(resamples.cells):
            fit, more = PairFit(scores, self.scales(counts), self.strength()), None
            if self.penalty == "firth":
                more = pseudo_votes(counts, fit)[0]
            return refitted(fit, resamples, more=more)
        # With a penalty an item that was not drawn has the score of an item without judgments.
        return scores_of_each(self, resamples, self.scales(counts) if self.unpenalized() else None)

    def kernel(self) -> Kernel | None:
        """Return the compiled form, O(k + m) memory; None without a ridge, where a sample may have no maximum."""
        if self.strength() == 0:
            return None
        from rankbench.aggregators.kernels.likelihood import bradley_terry

        return Kernel(bradley_terry, np.array([self.ridge]))


class Davidson(PenalizedAggregator):
    r"""Bradley-Terry scores with ties: penalized maximum likelihood of Davidson's model.

    .. math:: P(i \succ j) = \frac{e^{s_i}}{e^{s_i} + e^{s_j} + \nu e^{(s_i + s_j)/2}}, \quad
       P(i \sim j) = \frac{\nu e^{(s_i + s_j)/2}}{e^{s_i} + e^{s_j} + \nu e^{(s_i + s_j)/2}}

    The scores and :math:`\nu \ge 0` maximize the log-likelihood less
    :math:`\frac{\rho}{2} |s|^2`; `rankbench.aggregators.likelihood.davidson_firth.fit_davidson` has :math:`\nu`. The
    problem is convex in :math:`(s, \log \nu)`.

    Without ties :math:`\nu = 0`, and the scores equal the scores of `bradley-terry` with the same
    ridge exactly. If all comparisons are ties, :math:`\nu = \infty` and all scores are 0. As with
    `bradley-terry` the scores sum to zero, on each connected component by itself, and an item
    without judgments scores 0.

    ``penalty=firth`` and ``penalty=none`` are as for `bradley-terry`, on :math:`(s, \log \nu)` together. Without a
    penalty there may be no maximum, although items are strongly connected, where ties alone connect them.

    Prefer it to `bradley-terry` where many votes are ties, and ties shall be predicted.

    Notes
    -----
    Limit under the model itself, uniform pairs, k to infinity: the centered scores. Multiplying
    all weights by a constant is the same as dividing the ridge by it.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "ada"], "loser": ["bob", "bob", "cy", "cy"],
    ...          "tie": [False, True, False, False]}
    >>> rankbench.aggregate(votes, "davidson").table.select("item", "score").rows()
    [('ada', 0.5941...), ('bob', 0.0632...), ('cy', -0.6573...)]
    """

    name: ClassVar[str] = "davidson"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[D70]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    own_ties: ClassVar[bool] = True

    ridge: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Penalty rho on |s|^2 / 2.")

    def fitted(self, counts: PairCounts, start: NDArray[np.float64] | None = None) -> PairFit:
        """Return the fit to counts; see `fit_davidson`."""
        if self.penalty == "firth":
            return firth_davidson(counts)
        return fit_davidson(counts, ridge=self.strength(), start=start)

    def kernel(self) -> Kernel | None:
        """Return the compiled form for comparisons without ties, that of `bradley-terry`."""
        return BradleyTerry(ridge=self.ridge).kernel() if self.penalty == "ridge" else None
