"""Predictions that a log has beside its votes compete with what aggregators predict."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from rankbench.core.component import JudgmentKind
from rankbench.errors import SpecError
from rankbench.interfaces.covariate_aggregator import PREDICTION, ControlledFit, CovariateAggregator, CovariateVotes


class Predictions(CovariateAggregator):
    r"""The chances in a column of the log, as a published rating or a bookmaker gives them.

    It learns nothing and ranks no items. The margin of a vote is the log-odds of the chance p that its item wins:

    .. math:: \log \frac{p}{1 - p}, \qquad \text{or } \log \frac{p_i}{p_j} \text{ where both items have a column}

    Protocols fit no link to it, so that its log loss is that of the chances as they are. The loss of three outcomes
    needs the chance of a tie, which one column does not have: there Davidson's link is fitted, as for all.

    Prefer it to learn whether a method predicts better than those who publish chances: ``rankbench run --log LOG
    --predictions COLUMN`` reads the column and adds it.

    Examples
    --------
    >>> import rankbench
    >>> games = {"team1": ["ada", "bob"], "team2": ["bob", "cy"], "winner": ["ada", "cy"], "elo_prob1": [0.6, 0.75]}
    >>> rankbench.scan(games, columns="predictions=elo_prob1").collect()["prediction: elo_prob1"].to_list()
    [0.4054..., 1.0986...]
    """

    name: ClassVar[str] = "predictions"
    source: ClassVar[str] = "The log"
    unit: ClassVar[str] = "log-odds"
    judgments: ClassVar[JudgmentKind] = "predictions"
    stated: ClassVar[bool] = True

    column: str = Field(default="", description="The column of predictions by its name; empty: the only one.")

    def reads(self, covariate: str) -> bool:
        """Return whether it reads a covariate of this name: the log-odds of its column."""
        return covariate == f"{PREDICTION}{self.column}" if self.column else covariate.startswith(PREDICTION)

    def fit_controlled(self, votes: CovariateVotes) -> ControlledFit:
        """Return scores of 0, and the effect 1 of the log-odds."""
        if len(votes.covariates.names) > 1:
            raise SpecError(f"the log has {len(votes.covariates.names)} predictions: write predictions:column=NAME")
        scales = votes.counts().connected
        return ControlledFit(np.zeros(votes.m), np.ones(1), scales, np.zeros(0), 0.0, 0)
