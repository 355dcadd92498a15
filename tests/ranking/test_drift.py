"""Items whose strength changes with time are found; where none does, nearly none is named."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from numpy.typing import NDArray
from ranked_logs import named, two_items

from rankbench.ranking.count_log import count_log
from rankbench.ranking.describe_votes import describe_votes
from rankbench.ranking.drift import Drift, _Looked, _tested, drift


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


@pytest.mark.long
@pytest.mark.parametrize("null", NULLS, ids=str)
def test_at_most_a_twentieth_of_a_thousand_logs_without_drift_names_an_item(null: Null) -> None:
    assert sum(bool(found(null.votes(seed)).items) for seed in range(1000)) <= 50


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


M, JUDGES, MOMENTS = 7, 40, 3


def looked(n: int = 900) -> _Looked:
    """Return votes with any residuals, those of one judge together; the last judge has none."""
    rng = np.random.default_rng(20261123)
    winners, losers = two_items(rng, n, M)
    judges = np.sort(rng.integers(JUDGES - 1, size=n))
    return _Looked(
        winners.astype(np.int32),
        losers.astype(np.int32),
        rng.integers(MOMENTS + 1, size=n).astype(np.int32),
        rng.normal(size=n),
        rng.random(n),
        rng.random(n) + 0.5,
        np.where(rng.random(n) < 0.2, 0.5, 1.0),
        np.searchsorted(judges, np.arange(JUDGES + 1)).astype(np.int64),
    )


def sides(votes: _Looked, aside: NDArray[np.bool_]) -> list[tuple[int, int, float, int]]:
    """Return vote, item, its sign and its judge, of each item of the votes that count."""
    judge = np.repeat(np.arange(len(votes.starts) - 1), np.diff(votes.starts)) if votes.starts is not None else None
    found = []
    for vote, (winner, loser) in enumerate(zip(votes.winners.tolist(), votes.losers.tolist(), strict=True)):
        if not (aside[winner] or aside[loser]):
            who = vote if judge is None else int(judge[vote])
            found += [(vote, winner, 1.0, who), (vote, loser, -1.0, who)]
    return found


@pytest.fixture(params=[(), (2, 5)], ids=["all", "two aside"])
def aside(request: pytest.FixtureRequest) -> NDArray[np.bool_]:
    return np.isin(np.arange(M), request.param)


def squares_of(votes: _Looked, aside: NDArray[np.bool_], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums of squares and of fourth powers over what votes are grouped by, (2, moments, M)."""
    found = np.zeros((2, MOMENTS, M))
    for k in range(MOMENTS):
        sums: dict[tuple[int, int], float] = defaultdict(float)
        for vote, item, sign, who in sides(votes, aside):
            after = float(votes.quarter[vote] > k)
            sums[who, item] += sign * votes.residual[vote] * (after - mean[k, item])
        for (_, item), total in sums.items():
            found[:, k, item] += total**2, total**4
    return found


@pytest.mark.parametrize("judged", [False, True])
def test_an_item_is_tested_by_the_larger_of_the_sums_over_votes_and_over_judges(
    aside: NDArray[np.bool_], judged: bool
) -> None:
    """Student's t of each item and moment again, from its definition, item by item."""
    votes = looked()
    single = _Looked(*(getattr(votes, name) for name in list(votes.__dataclass_fields__)[:-1]), None)
    t, freedom, change, before, after = _tested(votes if judged else single, aside, MOMENTS)
    known = sides(votes, aside)
    for item in np.flatnonzero(~aside):
        own = [(vote, sign) for vote, it, sign, _ in known if it == item]
        rows = np.array([vote for vote, _ in own])
        residual = votes.residual[rows] * np.array([sign for _, sign in own])
        share = np.array([votes.won[vote] if sign > 0 else 1 - votes.won[vote] for vote, sign in own])
        w, weight = votes.information[rows], votes.weight[rows]
        for k in range(MOMENTS):
            late = votes.quarter[rows] > k
            mean = (w * late).sum() / w.sum()
            apart = late - mean
            score = residual * apart
            squares, fourths = (score**2).sum(), (score**4).sum()
            if judged:
                of_judges = squares_of(votes, aside, np.full((MOMENTS, M), mean))[:, k, item]
                if of_judges[0] > squares:
                    squares, fourths = of_judges
            assert t[k, item] == pytest.approx(abs(score.sum()) / squares**0.5, rel=1e-8)
            assert freedom[k, item] == pytest.approx(squares**2 / fourths - 1, rel=1e-8)
            assert change[k, item] == pytest.approx(score.sum() / (w * apart**2).sum(), rel=1e-8)
            assert before[k, item] == pytest.approx(np.average(share[~late], weights=weight[~late]))
            assert after[k, item] == pytest.approx(np.average(share[late], weights=weight[late]))
    assert np.isnan(t[:, aside]).all()
