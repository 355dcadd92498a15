"""Items whose strength changes with time are found; where none does, nearly none is named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from ranked_logs import named, two_items

from rankbench.ranking.count_log import count_log
from rankbench.ranking.describe_votes import describe_votes
from rankbench.ranking.drift import Drift, drift


@dataclass(frozen=True)
class Null:
    """Logs in which no strength changes.

    Attributes
    ----------
    judges : int
        0: not named. Each cares for items in a way of its own.
    in_turn : bool
        Judges vote one after the other, so that tastes come and go.
    """

    n: int = 600
    m: int = 8
    judges: int = 0
    in_turn: bool = False
    ties: bool = False

    def votes(self, seed: int, *, fallen: int | None = None) -> pl.DataFrame:
        """Return votes; the item `fallen` loses everything from half of the log on."""
        rng = np.random.default_rng([20261123, seed])
        scores = rng.normal(size=self.m)
        a, b = two_items(rng, self.n, self.m)
        lead = scores[a] - scores[b]
        judge = rng.integers(max(self.judges, 1), size=self.n)
        judge = np.sort(judge) if self.in_turn else judge
        if self.judges:
            taste = rng.normal(size=(self.judges, self.m))
            lead = lead + taste[judge, a] - taste[judge, b]
        won = rng.random(self.n) < 1 / (1 + np.exp(-lead))
        tied = rng.random(self.n) < 0.15 if self.ties else np.zeros(self.n, np.bool_)
        if fallen is not None:
            late = np.arange(self.n) >= self.n // 2
            won = np.where(late & (a == fallen), False, np.where(late & (b == fallen), True, won))
            tied &= ~(late & ((a == fallen) | (b == fallen)))
        judged = {"judge": [f"j{x}" for x in judge]} if self.judges else {}
        return named(a, b, won, tie=tied, time=np.arange(self.n), **judged)


def found(frame: pl.DataFrame) -> Drift:
    what = drift(frame.lazy(), len(frame), count_log(frame.lazy()))
    assert what is not None
    return what


NULLS = (
    Null(),
    Null(ties=True),
    Null(n=300, m=20),
    Null(judges=30),
    Null(judges=30, in_turn=True),
    Null(judges=6, in_turn=True),
)


@pytest.mark.parametrize("null", part_of(NULLS), ids=str)
def test_few_logs_without_drift_name_an_item(null: Null) -> None:
    count = trials(400)
    wrong = sum(bool(found(null.votes(seed)).items) for seed in range(count))
    assert wrong <= 0.05 * count + 2 * (0.05 * 0.95 * count) ** 0.5


@pytest.mark.parametrize("null", [Null(), Null(ties=True), Null(n=2000, m=20), Null(n=3000, judges=60)], ids=str)
def test_an_item_that_begins_to_lose_everything_is_found_with_the_time_and_the_size(null: Null) -> None:
    """And nobody else is: those who now win against it are not accused."""
    for seed in range(5):
        votes = null.votes(seed, fallen=3)
        (one,) = found(votes).items
        assert one.item == "i3"
        assert int(one.since) == null.n // 2
        own = votes.filter((pl.col("winner") == "i3") | (pl.col("loser") == "i3"))
        share = pl.when("tie").then(0.5).otherwise((pl.col("winner") == "i3").cast(pl.Float64))
        early = own.filter(pl.col("time") < null.n // 2).select(share).to_series().mean()
        assert (one.before, one.after) == (pytest.approx(early), 0.0)
        assert one.change < -1
        assert one.p < 0.05


def test_the_order_of_rows_means_nothing_and_dates_are_said() -> None:
    votes = (
        Null()
        .votes(1, fallen=3)
        .with_columns(time=pl.lit("2024-01-01").str.to_date() + pl.duration(days=pl.col("time")))
    )
    shuffled = votes.sample(fraction=1.0, shuffle=True, seed=4)
    assert found(votes).items[0].since == "2024-10-27"
    assert [one.item for one in found(shuffled).items] == ["i3"]
    assert found(shuffled).items[0].p == pytest.approx(found(votes).items[0].p, rel=1e-6)


def test_without_an_order_of_time_nothing_is_known() -> None:
    votes = Null().votes(0, fallen=3)
    for frame in (
        votes.drop("time"),
        votes.with_columns(time=pl.lit(3)),
        votes.with_columns(time=pl.when(pl.col("time") > 5).then("time")),
    ):
        summary = describe_votes(frame.lazy())
        assert summary.facts["drift"] is None
        assert dict(summary.lines)["drift"].startswith("not known")


def test_an_item_with_few_votes_before_the_moment_is_not_accused() -> None:
    votes = Null().votes(0)
    late = named(["1"] * 60, ["new"] * 60, tie=False, time=range(540, 600))
    assert found(pl.concat([votes, late])).items == []


def test_the_line_is_marked_and_says_item_size_and_time() -> None:
    line = dict(describe_votes(Null().votes(0, fallen=3).lazy()).lines)["drift"]
    assert line.startswith("1: 'i3' (-")
    assert "log-odds from 300 on; won " in line
    assert line.endswith("0% after) (votes taken as independent)  !")
    assert dict(describe_votes(Null().votes(0).lazy()).lines)["drift"].startswith("no item is shown to change")


def test_a_long_log_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankbench.ranking import drift as module

    monkeypatch.setattr(module, "_SAMPLE", 1000)
    what = found(Null(n=4000).votes(0, fallen=3))
    assert what.sampled == 1 / 4
    assert [one.item for one in what.items] == ["i3"]
