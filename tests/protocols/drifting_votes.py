"""Votes on items whose strengths walk at random, and their prequential evaluation."""

from __future__ import annotations

import numpy as np
import polars as pl
from competing import executed
from drawn_votes import DrawnVotes, named, two_items
from scipy.special import expit

import rankbench
from rankbench.core.spec import expand, parse
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import CellResult
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Prepared
from rankbench.protocols.own_log import OneStepAhead

__all__ = ["METRICS", "Drifting", "grid", "judged", "prepared"]

METRICS = ("disagreement", "log-loss", "calibration", "three-outcome-loss")


class Drifting(DrawnVotes):
    """Votes on items whose strengths walk at random, some days with several of them."""

    name = "test-drifting"
    n: int = 600
    items: int = 6
    times: int = 200
    seed: int = 1
    order: str = "as-cast"
    weighted: bool = False
    judges: int = 0
    begin: str = ""

    def scan(self) -> pl.LazyFrame:
        rng = np.random.default_rng(self.seed)
        place = np.sort(rng.integers(0, self.times, self.n))
        walk = np.cumsum(rng.normal(0, 0.15, (self.times, self.items)), axis=0)
        a, b = two_items(rng, self.n, self.items)
        gap = walk[place, a] - walk[place, b]
        tied = rng.random(self.n) < 0.2
        won = rng.random(self.n) < expit(gap)
        weights = rng.integers(1, 4, self.n) * 0.5 if self.weighted else np.ones(self.n)
        frame = named(a, b, won, query_id="all", weight=weights, time=place, tie=tied)
        if self.begin:
            day = pl.lit(self.begin).str.to_date() + pl.duration(days=pl.col("time"))
            frame = frame.with_columns(time=day)
        if self.judges:
            frame = frame.with_columns(judge=pl.Series([f"j{x}" for x in rng.integers(0, self.judges, self.n)]))
        if self.order == "shuffled":
            frame = frame[np.random.default_rng(9).permutation(self.n)]
        return frame.lazy()


def grid(text: str) -> list[Aggregator]:
    return [rankbench.get(Aggregator, str(point)) for point in expand(parse(text))]


def prepared(data: Dataset, **options: object) -> Prepared:
    return OneStepAhead.model_validate(options).prepare(data, 0)


def judged(made: Prepared, *texts: str) -> list[CellResult]:
    found = list(executed(made, texts, METRICS, seed=0).values())
    assert [cell.status for cell in found] == ["done"] * len(texts), [cell.reason for cell in found]
    return found
