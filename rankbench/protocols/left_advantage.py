"""The left's advantage, such as a home team's, is estimated by stretches of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.cell import RANKING, VOTES, Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import Prepared, unpack
from rankbench.protocols.log_votes import misfit_of
from rankbench.protocols.periods import DatedVotes, PeriodProtocol, PeriodRows, counts_of_votes, dated_votes
from rankbench.ranking.rank import normal_deviations
from rankbench.ranking.sampling_units import Units, item_rank_ranges, score_intervals

_STEPS = 50
_FEWEST = 10


class LeftAdvantage(PeriodProtocol):
    r"""The advantage of the left item, in log-odds, for each stretch of years, beside the scores of a contender.

    It is the h at which the votes of the stretch went as was expected:

    .. math:: \sum_t w_t \big( y_t - \sigma(s_{left(t)} - s_{right(t)} + h) \big) = 0

    with y 1, 1/2 or 0 for a win of the left, a tie and a win of the right, and s what the contender makes of all votes
    of the stretch. Its variance is the sandwich's, with votes for clusters: the scores are taken for known, as each is
    of many votes and an item is on both sides. A stretch with fewer than ten votes has no interval. Ranks are of the
    stretches, all together at 95%: whether the advantage was larger in one than in another.

    Prefer it where a side has an advantage that may change over the years, as the home side in football.
    """

    name: ClassVar[str] = "left-advantage"
    source: ClassVar[str] = "[BT52]_"
    metrics: ClassVar[tuple[Metric, ...]] = (
        *(Metric(name, "maximize", jumps=name.startswith("rank-")) for name in RANKING),
        Metric(VOTES, "maximize", "Votes with sides."),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Stretches of time"}

    years: int = Field(default=10, ge=1, le=1000, description="Years of a stretch.")
    unless: str = Field(default="", description="Column of true and false; where it is true, sides mean nothing.")

    def dated(self, dataset: Dataset) -> DatedVotes:
        """Load the votes with their sides and stretches."""
        return dated_votes(dataset, self.years, sides=True, unless=self.unless)

    def rows(self, log: DatedVotes, votes: Mapping[str, NDArray[Any]]) -> PeriodRows:
        """Return the stretches, and the sides of the votes."""
        away = int((~log.sided).sum())
        notes = (f"{away:,} of {log.votes.count:,} votes have no sides ({self.unless}).",) if away else ()
        return log.names, {"lefts": log.lefts, "sided": log.sided}, notes

    def misfit(self, contender: Component) -> str:
        """Return why a component cannot say what was expected; empty if it can."""
        why = misfit_of(contender)
        if why or not isinstance(contender, Aggregator):
            return why
        if contender.score_unit() != "log-odds" or not isinstance(contender, CountAggregator):
            return f"{contender.name!r} makes no log-odds of counts, beside which an advantage is one"
        return ""

    def series(self, prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
        """Estimate the advantage of each stretch beside the contender's scores."""
        return _advantages(unpack(prepared.arrays, "dated"), prepared.units["design"], aggregator, seed)


def _advantages(
    stored: Mapping[str, NDArray[Any]], stretches: Sequence[str], aggregator: Aggregator, seed: int
) -> dict[str, NDArray[np.float64]]:
    count = len(stretches)
    score, se, votes = np.zeros(count), np.zeros(count), np.zeros(count)
    for p in range(count):
        rows = np.flatnonzero(stored["period"] == p)
        lefts, sided = stored["lefts"][rows], stored["sided"][rows]
        if not sided.any():
            raise InputError(f"no vote of {stretches[p]} has sides")
        counts, items = counts_of_votes(stored, rows)
        scores = call_aggregator(aggregator, counts, counts.m)
        winner, loser = (np.searchsorted(items, stored[name][rows]) for name in ("winners", "losers"))
        lead = scores[winner] - scores[loser]
        lead = np.where(lefts, lead, -lead)[sided]
        won = np.where(stored["ties"][rows], 0.5, lefts)[sided]
        weights = stored["weights"][rows][sided]
        score[p], se[p] = _advantage(lead, won, weights)
        votes[p] = weights.sum()
    units = Units(count, float(count), votes, votes, votes)
    covariance = np.diag(se**2)
    lower, upper = score_intervals(score, np.where(votes >= _FEWEST, se, 0.0), units)
    deviations = normal_deviations(covariance, seed)
    low, high = item_rank_ranges(score, covariance, np.zeros(count, np.int64), units, deviations)
    ends = {"rank-low": low.astype(np.float64), "rank-high": high.astype(np.float64)}
    return {"score": score, "lower": lower, "upper": upper, VOTES: votes, **ends}


def _advantage(
    lead: NDArray[np.float64], won: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float]:
    """Return h and its standard error, by Newton's method; half a vote each way is added, so that h is finite."""
    from scipy.special import expit

    found = 0.0
    for _ in range(_STEPS):
        chance, even = expit(lead + found), float(expit(found))
        slope = float(weights @ (won - chance)) + 0.5 - even
        bend = float(weights @ (chance * (1 - chance))) + even * (1 - even)
        step = slope / bend
        found += float(np.clip(step, -1.0, 1.0))
        if abs(step) < 1e-12:
            break
    chance = expit(lead + found)
    middle = float((weights**2) @ (won - chance) ** 2)
    return found, math.sqrt(middle) / bend
