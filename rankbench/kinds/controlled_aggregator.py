"""The interface of aggregators that know what votes were cast under: side, length, whatever is a column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.scales import Scales
from rankbench.returned import Promise

if TYPE_CHECKING:
    from rankbench.kinds.covariates import CovariateVotes

__all__ = ["ControlledAggregator", "ControlledFit"]


@dataclass(frozen=True, eq=False)
class ControlledFit:
    """Scores of items and effects of covariates.

    Attributes
    ----------
    scores : ndarray of float64, shape (m,)
        They sum to zero on every scale.
    effects : ndarray of float64, shape (p,)
        What a covariate of 1 adds to the margin of a vote's first item.
    scales : Scales
        Items that can be compared.
    extra : ndarray of float64, shape (e,)
        Further parameters of the model, as the log of Davidson's nu; none of most.
    step : float
        Largest change of a number in the last step.
    iterations : int
    """

    scores: NDArray[np.float64]
    effects: NDArray[np.float64]
    scales: Scales
    extra: NDArray[np.float64]
    step: float
    iterations: int

    def margins(self, votes: CovariateVotes) -> NDArray[np.float64]:
        """Return by how much the first item of each row is expected to win, shape (R,)."""
        lead = self.scores[votes.first] - self.scores[votes.second]
        return np.asarray(lead + votes.covariates.values @ self.effects)


class ControlledAggregator(Aggregator):
    r"""Base of aggregators of comparisons that estimate effects of covariates beside the scores.

    The margin of a vote is :math:`s_i - s_j + x^T \beta`, with x the covariates of the first item less those of
    the second. With ``control=true`` an aggregator is shown `CovariateVotes` (`fit_controlled`) wherever the log has
    covariates, ``--control``; without it is one like any other, made of counts.
    """

    promises: ClassVar[Mapping[str, Promise]] = {**Aggregator.promises, "controlled_covariance": "array"}

    control: bool = Field(default=False, description="Use the covariates of the log, those of --control.")

    @abstractmethod
    def fit_controlled(self, votes: CovariateVotes) -> ControlledFit:
        """Return scores and effects.

        Raises
        ------
        ContenderDiverged
            There is no maximum: covariates, or items, separate the votes.
        """

    @abstractmethod
    def controlled_covariance(self, votes: CovariateVotes, fit: ControlledFit) -> NDArray[np.float64]:
        """Return a robust covariance of scores and effects (a sandwich, by cluster if there are some), (m + p, m + p).

        Raises
        ------
        InputError
            One vote, one cluster, or more items than fit into a matrix.
        """

    def refuse_unidentified(self, votes: CovariateVotes) -> None:
        """Refuse covariates whose effects the votes cannot tell from those of others, or of items.

        Raises
        ------
        InputError
            With the name of the first.
        """
