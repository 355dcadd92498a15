"""How often intervals of scores cover: `make long ARGS="FILE -s"` prints a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from amounts import trials
from drawn_votes import two_items
from numpy.typing import NDArray
from scipy import stats

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
from rankbench.aggregators.likelihood.davidson_firth import fit_davidson
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.ranking.count import count_pairs
from rankbench.ranking.partial_counts import count_clusters
from rankbench.ranking.ranked_log import CountedVotes
from rankbench.ranking.sampling_units import score_intervals

LOGS = 2000


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
        a, b = two_items(rng, n, m)
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


SETTINGS = (
    Setting("8 items a gap of 1 apart, 600 votes", np.arange(8.0), 600),
    Setting("8 items a gap of 2 apart, 400 votes", np.arange(8.0) * 2, 400),
    Setting(
        "10 items at the deciles of t with 2 degrees of freedom, 500 votes",
        stats.t(2).ppf(np.arange(0.05, 1, 0.1)),
        500,
    ),
    Setting("100 items of normal skills, 3,000 votes", normal_skills(100, 1), 3000),
    Setting("8 items, 30 judges with tastes, 600 votes", np.linspace(-1, 1, 8), 600, 30, 0.7),
    Setting("8 items, 30 equal judges with tastes, 600 votes", np.linspace(-1, 1, 8), 600, 30, 0.7, 0.0),
    Setting("8 items a gap of 1/2 apart, ties, 600 votes", np.arange(8.0) / 2, 600, ties=0.7),
    Setting("8 items, ties, 30 judges with tastes, 600 votes", np.linspace(-1, 1, 8), 600, 30, 0.7, ties=0.7),
)

CHOSEN_ON = (
    Setting("6 items a gap of 1/2 apart, 100 votes", np.arange(6.0) / 2, 100),
    Setting("12 items a gap of 3/2 apart, 600 votes", np.arange(12.0) * 1.5, 600),
    Setting("5 items a gap of 3 apart, 200 votes", np.arange(5.0) * 3, 200),
    Setting("20 items of normal skills, 400 votes", normal_skills(20, 2), 400),
    Setting("6 items, 12 equal judges with tastes, 300 votes", np.linspace(-0.7, 0.7, 6), 300, 12, 0.7, 0.0),
    Setting("6 items, 20 judges with tastes, 800 votes", np.linspace(-0.7, 0.7, 6), 800, 20, 0.7),
    Setting("8 items, 60 judges with tastes, 1,500 votes", np.linspace(-1, 1, 8), 1500, 60, 0.7),
)
"""Where the corrections of the sandwich and the degrees of freedom were chosen, before `SETTINGS` were looked at."""


def check(setting: Setting, logs: int, slack: float = 0.0) -> None:
    covered, missing = setting.coverage(logs)
    print(f"\n| {setting.says} | {covered.mean():.3f} | {covered.min():.3f} | {missing:.1%} |")
    assert covered.mean() >= 0.93 - slack
    assert covered.min() >= 0.90 - slack
    assert missing <= 0.02


@pytest.mark.long
@pytest.mark.parametrize("setting", [*SETTINGS, *CHOSEN_ON], ids=lambda one: one.says)
def test_scores_are_covered(setting: Setting) -> None:
    check(setting, LOGS)


@pytest.mark.parametrize("setting", [SETTINGS[1], SETTINGS[4], SETTINGS[7]], ids=lambda one: one.says)
def test_scores_are_covered_in_a_few_logs(setting: Setting) -> None:
    """Of 100 logs a share of 95% has a standard deviation of 2.2% for one item."""
    check(setting, trials(400), slack=0.05)
