"""Votes with covariates, as they are fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankbench.counts.votes import Votes
from rankbench.errors import InputError
from rankbench.kinds.covariates import CovariateVotes

__all__ = ["covariate_votes"]


def covariate_votes(votes: Votes, *, by_judge: bool = False) -> CovariateVotes:
    """Return votes with their covariates, each a row: its winner is the first item.

    Parameters
    ----------
    votes : Votes
        That have covariates.
    by_judge : bool
        Whether votes of a judge belong together.

    Raises
    ------
    InputError
        They have none.
    """
    if votes.covariates is None:
        raise InputError("the log was asked for no covariates")
    outcomes = np.zeros((len(votes), 3))
    outcomes[:, 0] = np.where(votes.ties, 0.0, votes.weights)
    outcomes[:, 2] = np.where(votes.ties, votes.weights, 0.0)
    clusters = votes.judges if by_judge else None
    rows = CovariateVotes(
        votes.items, votes.winners, votes.losers, outcomes, votes.covariates, clusters, not votes.alike
    )
    if votes.rest is None:
        return rows
    # What the loser has of a vote stands in its row: a sandwich takes the two together.
    outcomes[np.flatnonzero(votes.rest) - 1, 1] = votes.weights[votes.rest]
    rows = rows.take(~votes.rest)
    return rows if by_judge else replace(rows, clusters=np.arange(len(rows), dtype=np.int32))
