"""Logs of votes that settings draw, with the scores behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from drawn_votes import two_items
from numpy.typing import NDArray

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
from rankbench.aggregators.likelihood.davidson_firth import fit_davidson
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count import count_clusters, count_pairs
from rankbench.ranking.rank_ranges import score_intervals
from rankbench.ranking.ranked_log import CountedVotes


@dataclass(frozen=True)
class Setting:
    """Votes on random pairs of items; judges have lognormal shares of them, and each a taste of its own."""

    says: str
    skills: NDArray[np.float64]
    votes: int
    judges: int = 0
    taste: float = 0.0
    shares: float = 1.0
    ties: float = 0.0
    """nu of Davidson's model."""
    exposure: float = 0.0
    """Standard deviation of the logarithms of chances to be shown."""

    def method(self) -> Aggregator:
        return Davidson(penalty="firth") if self.ties else BradleyTerry(penalty="firth")

    def outcomes(self, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chances of the first, the second and a tie, shape (3, ...)."""
        weights = np.stack([np.exp(lead / 2), np.exp(-lead / 2), np.full(lead.shape, self.ties)])
        return weights / weights.sum(axis=0)

    def truth(self) -> NDArray[np.float64]:
        """Return the scores that the model has for all judges together: of infinitely many votes."""
        m = len(self.skills)
        low, high = np.triu_indices(m, 1)
        at, weight = np.polynomial.hermite_e.hermegauss(80)
        lead = self.skills[low] - self.skills[high] + np.sqrt(2) * self.taste * at[:, None]
        chances = np.einsum("b,cbp->cp", weight / weight.sum(), self.outcomes(lead))
        starts = np.searchsorted(low, np.arange(m + 1))
        names = [str(i) for i in range(m)]
        counts = PairCounts(
            names, starts, high.astype(np.int32), *np.ascontiguousarray(1e6 * chances), 1, weighted=True
        )
        return fit_davidson(counts).scores if self.ties else fit_bradley_terry(counts).scores

    def log(self, seed: int) -> CountedVotes:
        rng = np.random.default_rng([seed, self.votes, self.judges])
        m, n = len(self.skills), self.votes
        a, b = self.pairs(rng)
        lead = self.skills[a] - self.skills[b]
        judge = np.zeros(n, np.int64)
        if self.judges:
            share = rng.lognormal(sigma=self.shares, size=self.judges)
            judge = rng.choice(self.judges, size=n, p=share / share.sum())
            taste = self.taste * rng.normal(size=(self.judges, m))
            lead = lead + taste[judge, a] - taste[judge, b]
        chances, drawn = self.outcomes(lead), rng.random(n)
        lost, tied = (drawn >= chances[0]) & (drawn < chances[0] + chances[1]), drawn >= chances[0] + chances[1]
        winners, losers = np.where(lost, b, a), np.where(lost, a, b)
        ties = tied if self.ties else None
        if not self.judges:
            return CountedVotes(count_pairs(winners, losers, ties=ties, m=m))
        return CountedVotes(count_clusters(winners, losers, judge, ties=ties, m=m), by_judge=True)

    def pairs(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the two items of each vote."""
        m = len(self.skills)
        if not self.exposure:
            return two_items(rng, self.votes, m)
        weight = np.random.default_rng([8, m]).lognormal(sigma=self.exposure, size=m)
        drawn = rng.choice(m, (3 * self.votes, 2), p=weight / weight.sum())
        one, other = drawn[drawn[:, 0] != drawn[:, 1]][: self.votes].T
        return one, other

    def coverage(self, logs: int) -> tuple[NDArray[np.float64], float]:
        """Return the share of logs that cover each item's score, (m,), and the share of intervals that are missing."""
        method, truth = self.method(), self.truth()
        covered, missing = np.zeros(len(truth)), 0
        for seed in range(logs):
            log = self.log(seed)
            scores = log.scores(method)
            se = np.sqrt(np.diag(log.covariance(method, scores)[0]))
            lower, upper = score_intervals(scores, se, log.units)
            covered += (lower <= truth) & (truth <= upper)
            missing += int(np.isnan(lower).sum())
        return covered / logs, missing / (logs * len(truth))


def normal_skills(m: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(m)
