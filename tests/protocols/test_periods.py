"""The advantage of the left, and who was first, by stretches of years: planted values, and scipy's optimum."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from amounts import trials
from competing import executed
from drawn_votes import DrawnVotes, named, two_items
from scipy.optimize import brentq
from scipy.special import expit

import rankbench
from rankbench.core.component import Component
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import RANKING, VOTES
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Prepared, Protocol
from rankbench.plugin import manager
from rankbench.protocols.periods import LeftAdvantage, PeriodLeaders

METRICS = (*RANKING, VOTES)


class Seasons(DrawnVotes):
    """Matches of 1990 to 2009 with sides; the home team has an advantage in one of the two decades, or in both."""

    name = "test-seasons"
    n: int = 4000
    items: int = 8
    seed: int = 0
    advantages: tuple[float, float] = (0.6, 0.2)
    neutral: float = 0.0
    sides: bool = True
    dated: bool = True
    swapped: bool = False

    def scan(self) -> pl.LazyFrame:
        return self.table_of("all")

    def scan_as(self, columns: str) -> pl.LazyFrame:
        return self.table_of(columns.removeprefix("query="))

    def table_of(self, column: str) -> pl.LazyFrame:
        rng = np.random.default_rng(self.seed)
        year = np.sort(rng.integers(1990, 2010, self.n))
        a, b = two_items(rng, self.n, self.items)
        neutral = rng.random(self.n) < self.neutral
        skill = np.linspace(-1, 1, self.items)
        home = np.where(neutral, 0.0, np.where(year < 2000, *self.advantages))
        won = rng.random(self.n) < expit(skill[a] - skill[b] + home)
        query = [str(one).lower() for one in neutral] if column == "neutral" else "maybe"
        frame = named(a, b, won, query_id=query, time=[date(int(one), 6, 1) for one in year], first=won != self.swapped)
        left_out = [name for name, kept in (("first", self.sides), ("time", self.dated)) if not kept]
        return frame.drop(left_out).lazy()

    def fingerprint(self) -> str:
        return "0" * 64


def judged(protocol: Protocol, dataset: Dataset, text: str = "bradley-terry:penalty=firth") -> tuple[Prepared, Any]:
    prepared = protocol.prepare(dataset, 0)
    (found,) = executed(prepared, [text], METRICS, seed=0).values()
    assert found.status == "done", found.reason
    return prepared, {name: found.losses[name, "design"] for name in METRICS}


def test_the_advantage_is_that_at_which_the_left_won_as_often_as_expected() -> None:
    data = Seasons(n=500)
    prepared, found = judged(LeftAdvantage(), data)
    assert prepared.units["design"] == ("1990 to 1999", "2000 to 2009")
    frame = data.scan().collect()
    for at, rows in enumerate((pl.col("time").dt.year() < 2000, pl.col("time").dt.year() >= 2000)):
        some = frame.filter(rows)
        table = rankbench.aggregate(some.select("winner", "loser")).table
        score = dict(table.select("item", "score").iter_rows())
        lead = np.array([score[w] - score[v] for w, v in some.select("winner", "loser").iter_rows()])
        first = some["first"].to_numpy()
        lead = np.where(first, lead, -lead)

        def excess(h: float, lead: Any = lead, first: Any = first) -> float:
            return float((first - expit(lead + h)).sum() + 0.5 - expit(h))

        assert found["score"][at] == pytest.approx(brentq(excess, -5, 5), abs=1e-9)
        assert found[VOTES][at] == some.height


def test_swapped_sides_mirror_the_advantage_at_its_chance_level() -> None:
    _, found = judged(LeftAdvantage(), Seasons(n=500))
    _, mirrored = judged(LeftAdvantage(), Seasons(n=500, swapped=True))
    assert LeftAdvantage.metrics[0].chance == 0
    np.testing.assert_allclose(mirrored["score"], -found["score"], atol=1e-9)


@pytest.mark.full
def test_planted_advantages_are_covered_and_told_apart() -> None:
    logs, hits, apart = trials(80), 0.0, 0
    for seed in range(logs):
        _, found = judged(LeftAdvantage(unless="neutral"), Seasons(seed=seed, neutral=0.3))
        truth = np.array([0.6, 0.2])
        hits += ((found["lower"] <= truth) & (truth <= found["upper"])).mean()
        apart += bool(found["rank-high"][0] == 1 and found["rank-low"][1] == 2)
    assert hits / logs >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / (2 * logs))
    assert apart / logs > 0.7


@pytest.mark.full
def test_equal_advantages_are_seldom_told_apart() -> None:
    logs = trials(120)
    wrong = 0
    for seed in range(logs):
        _, found = judged(LeftAdvantage(), Seasons(seed=seed, advantages=(0.3, 0.3), n=1500))
        wrong += bool((found["rank-low"] > 1).any())
    assert wrong / logs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / logs)


def test_votes_without_sides_say_nothing_of_them() -> None:
    prepared, found = judged(LeftAdvantage(unless="neutral"), Seasons(neutral=0.5))
    away = int(Seasons(neutral=0.5).scan_as("query=neutral").collect()["query_id"].eq("true").sum())
    assert prepared.notes == (f"{away:,} of 4,000 votes have no sides (neutral).",)
    assert found[VOTES].sum() == 4000 - away


def as_matches(frame: pl.DataFrame, folder: Path) -> Dataset:
    """Return votes as a file of two sides and the winner; `neutral` is what the query says."""
    home, away = (pl.when("first").then(one).otherwise(two) for one, two in (("winner", "loser"), ("loser", "winner")))
    frame.select("time", "winner", left=home, right=away, neutral="query_id").write_csv(folder / "log.csv")
    return rankbench.log_file(folder / "log.csv", columns="ignore=neutral")


def test_a_file_says_on_which_grounds_sides_mean_nothing(tmp_path: Path) -> None:
    log = as_matches(Seasons(neutral=0.5).scan_as("query=neutral").collect(), tmp_path)
    _, found = judged(LeftAdvantage(unless="neutral"), log)
    _, expected = judged(LeftAdvantage(unless="neutral"), Seasons(neutral=0.5))
    for name in METRICS:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.full
@pytest.mark.parametrize(
    ("protocol", "first", "ends"),
    [
        (PeriodLeaders(years=4), 1988, [1991, 1995, 1999, 2003, 2007, 2009]),
        (PeriodLeaders(years=4, every=2), 1988, [*range(1991, 2010, 2)]),
        (PeriodLeaders(years=6, every=3), 1986, [*range(1991, 2009, 3), 2009]),
    ],
)
def test_the_first_of_a_period_is_the_first_of_its_ranking(
    protocol: PeriodLeaders, first: int, ends: list[int]
) -> None:
    data = Seasons(n=3000)
    prepared, found = judged(protocol, data)
    frame = data.scan().collect()
    names = [name.split(": ") for name in prepared.units["design"]]
    step = protocol.every or protocol.years
    assert [years for years, _ in names] == [f"{first + i * step} to {end}" for i, end in enumerate(ends)]
    for at, (years, team) in enumerate(names):
        begin, end = (int(year) for year in years.split(" to "))
        some = frame.filter(pl.col("time").dt.year().is_between(begin, end)).select("winner", "loser")
        first = rankbench.aggregate(some, intervals="sandwich", seed=0).table.row(0, named=True)
        assert (first["item"], first["votes"]) == (team, found[VOTES][at])
        for metric, column in zip(RANKING[:3], ("score", "lower", "upper"), strict=True):
            assert found[metric][at] == pytest.approx(first[column], abs=1e-9)
        assert found["rank-low"][at] <= 1 <= found["rank-high"][at]


@pytest.mark.parametrize(
    ("protocol", "dataset", "error", "says"),
    [
        (LeftAdvantage(), Seasons(sides=False), InputError, "does not say which item was on the left"),
        (LeftAdvantage(), Seasons(dated=False), InputError, "does not say on which day"),
        (PeriodLeaders(), Seasons(dated=False), InputError, "does not say on which day"),
        (LeftAdvantage(unless="other"), Seasons(), SpecError, "column 'other' says more than true and false"),
        (PeriodLeaders(), Seasons(n=8), SpecError, "no stretch of 1 years has an item with ten votes"),
    ],
)
def test_what_cannot_be(protocol: Protocol, dataset: Dataset, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        protocol.prepare(dataset, 0)


@pytest.mark.parametrize(
    ("protocol", "text", "says"),
    [(LeftAdvantage(), "win-rate", "makes no log-odds"), (PeriodLeaders(), "win-rate", "has no formula for intervals")],
)
def test_who_cannot_compete(protocol: Protocol, text: str, says: str) -> None:
    found: Component = manager.get(Aggregator, text)
    assert says in protocol.misfit(found)
    assert protocol.misfit(manager.get(Aggregator, "bradley-terry")) == ""


SUITE = """
name = "seasons"
title = "Seasons"
seed = 1
[[experiments]]
name = "home"
title = "How much the home team wins"
protocol = "left-advantage"
losses = ["score", "lower", "upper", "rank-low", "rank-high", "votes"]
contenders = [{ label = "home", use = "bradley-terry:penalty=firth" }]
[[experiments.figures]]
file = "home"
kind = "dots"
unit = "log-odds"
"""


def test_pages_have_stretches_in_their_order_and_no_item_that_is_first(tmp_path: Path) -> None:
    log = as_matches(Seasons(advantages=(0.1, 0.8)).scan().collect(), tmp_path)
    (tmp_path / "seasons.toml").write_text(SUITE)
    rankbench.run(str(tmp_path / "seasons.toml"), dataset=log, out=tmp_path / "out", workers=1)
    page = synthetic.both_pages(tmp_path / "out")
    assert "Which item is first?" not in page
    rows = [line for line in page.splitlines() if " to 1999 |" in line or " to 2009 |" in line]
    assert [row.split(" | ")[0] for row in rows] == ["| 2000 to 2009", "| 1990 to 1999"]
    scores = [float(row.split(" | ")[1]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "| time | score | 95% interval | rank, 95% range | votes |" in page
    latest = rf"latest, \*\*2000 to 2009\*\*, {scores[0]:.3f} log-odds, 95% interval \[0.*\]\."
    assert re.search(rf"(?m)^How much the home team wins: {latest}$", page)
    assert "own 95% intervals lie above 0 in 1 of 2 stretches of time, and below it in 0." in page
    assert (tmp_path / "out" / "figures" / "home.png").exists()


class WithStrangers(Seasons):
    """The same seasons, and two teams that met one another alone."""

    name = "test-strangers"

    def table_of(self, column: str) -> pl.LazyFrame:
        frame = super().table_of(column).collect()
        met = {"winner": "team x", "loser": "team y", "time": date(1992, 6, 1)}
        return pl.concat([frame, frame.head(1).with_columns(**{name: pl.lit(one) for name, one in met.items()})]).lazy()


def test_whom_few_votes_are_about_may_hold_any_place() -> None:
    ends = []
    for data in (Seasons(n=3000), WithStrangers(n=3000)):
        prepared, found = judged(PeriodLeaders(years=4), data)
        at = [name.startswith("1992") for name in prepared.units["design"]].index(True)
        assert found["rank-low"][at] == 1
        ends.append(found["rank-high"][at])
    assert ends[1] == ends[0] + 2


def test_stretches_are_put_together_from_whole_steps() -> None:
    with pytest.raises(ValueError, match="every=3 does not divide years=4"):
        PeriodLeaders(years=4, every=3)
