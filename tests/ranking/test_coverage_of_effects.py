"""How often intervals of effects and scores beside them cover, by `make long ARGS="FILE -s"`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
import pytest
from ranked_logs import sided_votes

import rankbench

LOGS = 300
CONTROL = "side:unless=neutral, raw(log(length))"
SIDE, LENGTH = 0.25, 0.3


@dataclass(frozen=True)
class Setting:
    """Votes on random pairs of items; judges, if any, have lognormal shares of them, and tastes of their own."""

    says: str
    m: int
    votes: int
    effect: float = 1.0
    """By what the effects of the side, `SIDE`, and of a length e times as large, `LENGTH`, are multiplied."""
    judges: int = 0
    taste: float = 0.0
    """Standard deviation of what a judge adds to an item's score, and to the side's effect."""
    stronger_left: float = 0.5
    """Chance that the stronger of two stands left."""

    @property
    def scores(self) -> np.ndarray:
        return np.linspace(1, -1, self.m)

    def log(self, seed: int) -> pl.DataFrame:
        """Return a log of this setting."""
        rng = np.random.default_rng([seed, self.m, self.votes])
        share = rng.lognormal(size=max(self.judges, 1))
        judge = rng.choice(len(share), size=self.votes, p=share / share.sum())
        return self.votes_of(rng, judge, rng.normal(size=(len(share), self.m + 1)))

    def votes_of(self, rng: np.random.Generator, judge: np.ndarray, normal: np.ndarray) -> pl.DataFrame:
        """Return votes of judges whose tastes are those of a row of standard normal numbers."""
        side, length = SIDE * self.effect + self.taste * normal[judge, -1], LENGTH * self.effect
        tastes = self.taste * normal[judge, :-1] if self.taste else None
        effects = {"side": side, "length": length, "strong_left": self.stronger_left, "tastes": tastes}
        frame = sided_votes(rng, self.scores, len(judge), **effects)
        return frame.with_columns(pl.Series("judge", [f"j{j}" for j in judge])) if self.judges else frame

    def truth(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the effects, (2,), and the scores, (m,), that the model has of infinitely many judges.

        Tastes draw effects and scores of the model, which has none, towards 0: found of 2,000,000 votes, each of a
        judge of its own, which leaves standard errors of some .002.
        """
        if not self.taste:
            return np.array([SIDE, LENGTH]) * self.effect, self.scores
        n, rng = 2_000_000, np.random.default_rng(1)
        parts = [self.votes_of(rng, np.arange(n // 4), rng.normal(size=(n // 4, self.m + 1))) for _ in range(4)]
        found = rankbench.aggregate(pl.concat(parts).drop("judge"), control=CONTROL)
        assert found.effects is not None
        return found.effects["effect"].to_numpy(), found.table.sort("item")["score"].to_numpy()

    def coverage(self, logs: int) -> tuple[np.ndarray, float]:
        """Return the shares of logs that cover each effect, (2,), and the items' scores, on average over them."""
        effects, scores = true_of(self)
        covered, items = np.zeros(2), 0.0
        for seed in range(logs):
            found = rankbench.aggregate(self.log(seed), control=CONTROL, intervals="sandwich")
            assert found.effects is not None
            covered += [
                row["lower"] <= truth <= row["upper"]
                for truth, row in zip(effects, found.effects.iter_rows(named=True), strict=True)
            ]
            table = found.table.sort("item")
            items += float(np.mean((table["lower"].to_numpy() <= scores) & (scores <= table["upper"].to_numpy())))
        return covered / logs, items / logs


@cache
def true_of(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    return setting.truth()


SETTINGS = (
    Setting("5 items, 200 votes", 5, 200),
    Setting("5 items, 1,000 votes", 5, 1000),
    Setting("5 items, 1,000 votes, no effect", 5, 1000, effect=0.0),
    Setting("5 items, 1,000 votes, the stronger stands left in 9 of 10", 5, 1000, stronger_left=0.9),
    Setting("20 items, 1,000 votes", 20, 1000),
    Setting("5 items, 30 judges with tastes, 1,000 votes", 5, 1000, judges=30, taste=0.7),
)


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.says)
def test_effects_are_covered(setting: Setting) -> None:
    """Of 300 logs, a share of 95% has a standard deviation of 1.3%."""
    covered, items = setting.coverage(LOGS)
    print(f"\n| {setting.says} | {covered[0]:.3f} | {covered[1]:.3f} | {items:.3f} |")
    assert covered.min() >= 0.90
    assert items >= 0.93
