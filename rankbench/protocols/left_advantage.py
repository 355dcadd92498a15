"""How much the left wins, as teams at home do, by stretches of time."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Component
from rankbench.counts.units import Units
from rankbench.errors import InputError, SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.cell import RANKING, VOTES, CellResult, Layout, Split
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.metric import Fact, Metric
from rankbench.kinds.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.protocols.log_votes import misfit_of, unchanged
from rankbench.protocols.own_log import OwnLog
from rankbench.protocols.periods import counts_of_period, dated_votes
from rankbench.ranking.certainty import item_rank_ranges, score_intervals
from rankbench.ranking.ranking import normal_deviations

__all__ = ["LeftAdvantage"]

_STEPS = 50
_FEWEST = 10


class LeftAdvantage(Protocol):
    r"""The advantage of the left item, in log-odds, for each stretch of years, beside the scores of a contender.

    It is the h at which the votes of the stretch went as was expected:

    .. math:: \sum_t w_t \big( y_t - \sigma(s_{left(t)} - s_{right(t)} + h) \big) = 0

    with y 1, 1/2 or 0 for a win of the left, a tie and a win of the right, and s what the contender makes of all votes
    of the stretch. Its variance is the sandwich's, with votes for clusters: the scores are taken for known, as each is
    of many votes and an item is on both sides. A stretch with fewer than ten votes has no interval. Ranks are of the
    stretches, all together at 95%: whether the advantage was larger in one than in another.
    """

    name: ClassVar[str] = "left-advantage"
    source: ClassVar[str] = "[BT52]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[Any] = "comparisons"
    metrics: ClassVar[tuple[Metric, ...]] = (
        *(Metric(name, "maximize", jumps=name.startswith("rank-")) for name in RANKING),
        Metric(VOTES, "maximize", "How many votes with sides there are."),
    )
    facts: ClassVar[tuple[Fact, ...]] = ()
    splits: ClassVar[dict[Split, str]] = {"design": "Stretches of time"}
    counts: ClassVar[str] = "votes"
    layout: ClassVar[Layout] = "series"

    years: int = Field(default=10, ge=1, le=1000, description="Years of a stretch.")
    unless: str = Field(default="", description="Column of true and false; where it is true, sides mean nothing.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes with their sides and years."""
        if dataset is None:
            raise SpecError(f"protocol {self.name!r} needs a log")
        fingerprint = dataset.fingerprint()
        log = dated_votes(dataset, self.years, sides=True, unless=self.unless)
        unchanged(dataset, fingerprint)
        votes = log.votes
        arrays = pack(
            "dated",
            winners=votes.winners,
            losers=votes.losers,
            ties=votes.ties,
            weights=np.array(votes.weights),
            lefts=log.lefts,
            sided=log.sided,
            period=log.period,
        )
        away = int((~log.sided).sum())
        notes = (f"{away:,} of {len(votes):,} votes have no sides ({self.unless}).",) if away else ()
        return Prepared(self, dataset, fingerprint, {"design": log.names}, arrays, float(len(votes)), notes)

    def refusal(self, dataset: Dataset) -> str:
        """Return why a data set is no log of votes; empty if it is one."""
        return OwnLog().refusal(dataset)

    def misfit(self, contender: Component) -> str:
        """Return why a component cannot say what was expected; empty if it can."""
        why = misfit_of(contender)
        if why or not isinstance(contender, Aggregator):
            return why
        if contender.score_unit() != "log-odds" or not contender.ranks_counts():
            return f"{contender.name!r} makes no log-odds of counts, beside which an advantage is one"
        return ""

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Estimate the advantage of each stretch beside every contender."""
        from rankbench.kinds.guard import failed, guarded

        found = []
        for cell, contender in task.cells.items():
            values = guarded(partial(_advantages, prepared, contender.component(Aggregator), task.key.seed))
            if isinstance(values, Exception):
                found.append(failed(cell, values))
                continue
            losses: dict[tuple[str, Split], NDArray[np.float64]] = {
                (name, "design"): array for name, array in values.items()
            }
            found.append(CellResult(cell, "done", "", math.nan, losses))
        return found


def _advantages(prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
    stored = {name.removeprefix("dated."): array for name, array in prepared.arrays.items()}
    period, count = stored["period"], len(prepared.units["design"])
    names = [str(i) for i in range(int(max(stored["winners"].max(), stored["losers"].max())) + 1)]
    score, se, votes = np.zeros(count), np.zeros(count), np.zeros(count)
    for p in range(count):
        rows = np.flatnonzero(period == p)
        winners, losers, ties, weights, lefts, sided = (
            stored[name][rows] for name in ("winners", "losers", "ties", "weights", "lefts", "sided")
        )
        if not sided.any():
            raise InputError(f"no vote of {prepared.units['design'][p]} has sides")
        counts, items = counts_of_period(winners, losers, ties, weights, names)
        scores = aggregator.from_counts(counts)
        lead = scores[np.searchsorted(items, winners)] - scores[np.searchsorted(items, losers)]
        lead = np.where(lefts, lead, -lead)[sided]
        won = np.where(ties, 0.5, lefts)[sided]
        score[p], se[p] = _advantage(lead, won, weights[sided])
        votes[p] = weights[sided].sum()
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
