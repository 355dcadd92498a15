"""Aggregators by likelihood whose scores are penalized by a ridge, by Firth's rule, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from rankbench.kinds.aggregator import MOST_DENSE
from rankbench.kinds.controlled_aggregator import ControlledAggregator, ControlledFit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankbench.aggregators.likelihood.controlled import Penalties
    from rankbench.kinds.counts import PairCounts
    from rankbench.kinds.covariates import CovariateVotes
    from rankbench.kinds.scales import Scales

__all__ = ["PenalizedAggregator"]


class PenalizedAggregator(ControlledAggregator):
    """An aggregator of comparisons that maximizes a likelihood with one of three penalties.

    ``ridge``: rho |s|^2 / 2, which predicts well and shrinks the scores. ``firth``: half the log determinant of
    the information, which takes the bias out of the scores; they are finite whatever happened. ``none``.

    With covariates the penalty is on scores and effects together, beside the sum over votes: see
    `rankbench.aggregators.likelihood.controlled`.
    """

    own_ties: ClassVar[bool] = False

    penalty: Literal["ridge", "firth", "none"] = Field(
        default="ridge", description="ridge, firth (without bias; for intervals), or none."
    )

    @model_validator(mode="after")
    def _one_penalty(self) -> Self:
        if self.penalty != "ridge" and self.ridge_given() not in (0.0, type(self).model_fields["ridge"].default):
            raise ValueError(f"a ridge goes with penalty=ridge, not with penalty={self.penalty}")
        return self

    def ridge_given(self) -> float:
        """Return the value of the parameter ``ridge``, whether it is what penalizes or not."""
        return float(getattr(self, "ridge", 0.0))

    def strength(self) -> float:
        """Return the ridge that the scores are penalized by; 0 with another penalty."""
        return self.ridge_given() if self.penalty == "ridge" else 0.0

    def prefers_covariance(self) -> bool:
        """Return whether the penalty is Firth's: its pseudo-votes are in the sandwich, and in no resample."""
        return self.penalty == "firth"

    def by_firth(self, counts: PairCounts) -> bool:
        """Return whether the scores of these counts are Firth's: of so many items there is no penalty."""
        return self.penalty == "firth" and counts.m <= MOST_DENSE

    def scales(self, counts: PairCounts) -> Scales:
        """Return the connected components; without a penalty the strongly connected ones."""
        from rankbench.kinds.scales import connected_components, strongly_connected

        penalized = self.strength() > 0 or self.by_firth(counts)
        return connected_components(counts) if penalized else strongly_connected(counts)

    def _penalties(self, votes: CovariateVotes) -> Penalties:
        from rankbench.aggregators.likelihood.controlled import Penalties

        return Penalties(self.strength(), self.penalty == "firth" and votes.m <= MOST_DENSE)

    def fit_controlled(self, votes: CovariateVotes) -> ControlledFit:
        """Return scores and effects, by Newton's method."""
        from rankbench.aggregators.likelihood.controlled import fit_controlled

        return fit_controlled(votes, self._penalties(votes), ties=self.own_ties)

    def controlled_covariance(self, votes: CovariateVotes, fit: ControlledFit) -> NDArray[np.float64]:
        """Return the sandwich covariance of scores and effects, (m + p, m + p)."""
        from rankbench.aggregators.likelihood.controlled_covariance import controlled_sandwich

        return controlled_sandwich(votes, fit, self._penalties(votes), ties=self.own_ties)

    def refuse_unidentified(self, votes: CovariateVotes) -> None:
        """Refuse covariates whose effects cannot be told from those of others, or of items."""
        from rankbench.aggregators.likelihood.controlled_covariance import refuse_unidentified

        refuse_unidentified(votes)
