"""Scores over time of a log: bands cover, changes are found and not invented, times are what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from click.testing import CliRunner
from data_files import stored
from drawn_votes import named, two_items

from rankbench.cli import main
from rankbench.errors import SpecError
from rankbench.ranking.history_average import even_lattice
from rankbench.ranking.over_time import ScoresOverTime, scores_over_time
from rankbench.ranking.question import OverTimeQuestion

FEW = "dynamic-bradley-terry:drift=[0.01,0.03,0.1,0.3],variance=[0.5,1,2]"


def over_time(log: Any, **asked: Any) -> ScoresOverTime:
    return scores_over_time(log, OverTimeQuestion(**asked))


def walks(
    seed: int, *, m: int = 8, times: int = 12, votes: int = 60, drift: float = 0.05
) -> tuple[np.ndarray, pl.DataFrame]:
    """Return scores that walk, shape (T, m), and votes on them."""
    rng = np.random.default_rng([20261123, seed])
    steps = rng.normal(scale=drift**0.5, size=(times, m))
    steps[0] = rng.normal(size=m)
    scores = np.cumsum(steps, axis=0)
    t = np.repeat(np.arange(times), votes)
    a, b = two_items(rng, len(t), m)
    a[:m], b[:m] = np.arange(m), (np.arange(m) + 1) % m  # all are there from the first time on
    won = rng.random(len(t)) < 1 / (1 + np.exp(scores[t, b] - scores[t, a]))
    return scores, named(a, b, won, time=t)


def covered(seed: int) -> tuple[float, bool, bool]:
    """Return the share of bands that cover, whether all changes do, and whether the best one now may be first."""
    scores, votes = walks(seed)
    found = over_time(votes, method=FEW)
    centered = scores - scores.mean(axis=1, keepdims=True)
    rows = found.table.with_columns(
        true=pl.Series([centered[int(t), int(i[1:])] for t, i in found.table.select("time", "item").iter_rows()])
    )
    inside = rows.select((pl.col("lower") <= pl.col("true")) & (pl.col("true") <= pl.col("upper"))).to_series().mean()
    then = int(found.facts["then"])
    moved = centered[-1] - centered[then]
    true = np.array([moved[int(item[1:])] for item in found.now["item"]])
    low, high = found.now["change_lower"].to_numpy(), found.now["change_upper"].to_numpy()
    best = found.now.filter(item=f"i{centered[-1].argmax()}")["may_be_first"].item()
    return float(inside), bool(((low <= true) & (true <= high)).all()), best


@pytest.mark.full
@pytest.mark.parametrize("count", [trials(80), pytest.param(300, marks=pytest.mark.long)])
def test_bands_and_changes_cover_on_walks(count: int) -> None:
    found = [covered(seed) for seed in range(count)]
    bands, together, best = np.mean(found, axis=0)
    slack = 2 * (0.93 * 0.07 / count) ** 0.5
    assert bands >= 0.93 - (0.01 if count < 300 else 0)
    assert together >= 0.93 - (slack if count < 300 else 0)
    assert best >= 0.93 - (slack if count < 300 else 0)


def judged(seed: int, *, judges: int, in_turn: bool, rise: float = 0.0) -> pl.DataFrame:
    """Return 1,200 votes of judges with tastes; the first of six items may rise at half of the 12 times."""
    rng = np.random.default_rng([20261124, seed])
    n, m = 1200, 6
    a, b = two_items(rng, n, m)
    times, judge = np.sort(rng.integers(12, size=n)), rng.integers(judges, size=n)
    if in_turn:
        judge.sort()
    tastes = rng.normal(scale=0.8, size=(judges, m))
    lead = tastes[judge, a] - tastes[judge, b] + rise * (times >= 6) * ((a == 0) * 1.0 - (b == 0))
    won = rng.random(n) < 1 / (1 + np.exp(-lead))
    return named(a, b, won, time=times, judge=[f"j{x}" for x in judge])


@pytest.mark.full
@pytest.mark.parametrize("in_turn", [False, True])
def test_tastes_of_judges_are_no_changes_and_bands_know_of_them(in_turn: bool) -> None:
    logs, named, inside = 20, 0, []
    for seed in range(logs):
        found = over_time(judged(seed, judges=10, in_turn=in_turn), method=FEW)
        named += bool((found.now["p"] <= 0.05).any())
        inside.append(found.now.select((pl.col("lower") <= 0) & (pl.col("upper") >= 0)).to_series().mean())
    assert named <= 2
    assert np.mean(inside) >= 0.9
    assert any("the 1,200 votes of 10 judges count as" in note for note in found.notes)


@pytest.mark.parametrize("weight", [1.0, 1.5])
def test_a_change_is_found_beside_tastes_of_judges(weight: float) -> None:
    votes = judged(1, judges=40, in_turn=False, rise=2.0).with_columns(weight=pl.lit(weight))
    found = over_time(votes, method=FEW, since="2")
    assert found.now.filter(pl.col("p") <= 0.05).row(0, named=True)["item"] == "i0"
    assert found.now["votes"].sum() == pytest.approx(2400 * weight)


def test_an_item_that_falls_is_named_and_the_others_are_not() -> None:
    _, votes = walks(3, drift=1e-9, votes=200)
    fallen = pl.col("time") >= 6
    involved = (pl.col("winner") == "i3") & fallen
    votes = votes.with_columns(
        winner=pl.when(involved).then("loser").otherwise("winner"),
        loser=pl.when(involved).then("winner").otherwise("loser"),
    )
    found = over_time(votes, method=FEW, since="0")
    worse = found.now.filter(pl.col("p") <= 0.05)
    assert "i3" in worse["item"].to_list()
    own = found.now.row(by_predicate=pl.col("item") == "i3", named=True)
    assert own["change_upper"] < 0
    assert own["rank_low"] == own["rank_high"] == 8
    assert found.now["item"][-1] == "i3"


def dated(days: int, *, clock: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    n = 400
    a, b = two_items(rng, n, 4)
    day = pl.lit("2020-01-01").str.to_datetime() + pl.duration(hours=24 * pl.col("time"))
    frame = named(a, b, time=np.sort(rng.integers(days, size=n))).with_columns(time=day)
    return frame if clock else frame.with_columns(pl.col("time").dt.date())


@pytest.mark.parametrize(
    ("days", "unit", "chosen", "first"),
    [
        (90, None, "day", "2020-01-0"),
        (900, None, "week", "2019-12-30"),
        (3000, None, "month", "2020-01"),
        (9000, None, "quarter", "2020-Q1"),
        (90, "month", "month", "2020-01"),
        (3000, "year", "year", "2020"),
    ],
)
def test_the_unit_is_the_finest_of_at_most_200_unless_it_is_said(days: int, unit: Any, chosen: str, first: str) -> None:
    frame = dated(days)
    found = over_time(frame, method="dynamic-bradley-terry", time_unit=unit)
    assert found.facts["time_unit"] == chosen
    assert found.facts["times"][0].startswith(first)
    assert len(found.facts["times"]) <= 200
    assert found.table["time"].unique(maintain_order=True).to_list() == found.facts["times"]
    assert found.table.select("votes").sum().item() == 2 * len(frame)


def test_a_gap_of_two_years_is_two_steps_of_the_walk() -> None:
    """What is not judged for long is less certain."""
    width = []
    for later, last in (("9y", "2029"), ("1y", "2021")):
        shifted = pl.when(pl.col("time").dt.month() > 2).then(pl.col("time").dt.offset_by(later)).otherwise("time")
        frame = dated(90).with_columns(time=shifted)
        found = over_time(frame, method="dynamic-bradley-terry:drift=0.5", time_unit="year")
        assert found.facts["times"] == ["2020", last]
        width.append(float((found.now["change_upper"] - found.now["change_lower"]).mean()))
    assert width[0] > width[1]


@pytest.mark.full
def test_times_backwards_in_the_future_and_very_many() -> None:
    votes = walks(1)[1]
    plain = over_time(votes, method="dynamic-bradley-terry:drift=0.05")
    shuffled = over_time(votes.sample(fraction=1.0, shuffle=True, seed=2), method="dynamic-bradley-terry:drift=0.05")
    assert shuffled.table["score"].to_numpy() == pytest.approx(plain.table["score"].to_numpy(), abs=1e-9)
    future = dated(90).with_columns(pl.col("time").dt.offset_by("200y"))
    assert over_time(future, method="dynamic-bradley-terry").facts["now"].startswith("2220-")
    rng = np.random.default_rng(3)
    n = 100_000
    a, b = two_items(rng, n, 6)
    many = named(a, b, time=rng.permutation(n), judge=[f"j{x}" for x in range(n)])
    found = over_time(many, method="dynamic-bradley-terry:drift=0.01")
    assert len(found.facts["times"]) == 50
    sizes = found.table.group_by("time").agg(pl.col("votes").sum() / 2)["votes"]
    assert (sizes.min(), sizes.max(), sizes.sum()) == (2000, 2000, n)


WALK = walks(1)[1]


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (WALK.drop("time"), {}, "the log does not say when votes were cast: there are no scores over time"),
        (WALK.with_columns(time=pl.when(pl.col("time") > 3).then("time")), {}, "have no time: there are no scores"),
        (WALK.with_columns(time=pl.lit(4)), {}, "all votes are of one time"),
        (dated(90), {"time_unit": "year"}, "all votes are of one year"),
        (WALK, {"time_unit": "day"}, "the log's times are numbers"),
        (dated(90), {"since": "2021"}, "since=2021: the log has no time from there on before its last one"),
        (WALK, {"method": "elo"}, "'elo' has no model of scores over time"),
        (WALK, {"method": "win-rate"}, "'win-rate' has no model of scores over time"),
    ],
)
def test_what_has_no_scores_over_time_is_refused(frame: pl.DataFrame, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        over_time(frame, **options)


def test_an_item_that_comes_late_has_no_score_before_and_no_change() -> None:
    votes = walks(2)[1]
    late = pl.DataFrame({"query_id": ["q"] * 12, "winner": ["new"] * 12, "loser": ["i1"] * 12, "time": [11] * 12})
    found = over_time(pl.concat([votes, late]), method="dynamic-bradley-terry:drift=0.05", since="2")
    own = found.table.filter(item="new")
    assert own["time"].to_list() == ["11"]
    assert found.now.row(by_predicate=pl.col("item") == "new", named=True)["change"] is None
    alone = pl.concat([votes, late.with_columns(loser=pl.lit("newer"))])
    assert any(note.startswith("no comparison joins") for note in over_time(alone, method=FEW).notes)


def test_the_grid_is_printed_and_the_likeliest_is_taken() -> None:
    found = over_time(walks(4, drift=0.2)[1], method=FEW)
    best = max(found.facts["grid"], key=lambda one: one["weight"])
    assert found.method == best["method"]
    assert len(found.facts["grid"]) == 12
    assert sum(one["weight"] for one in found.facts["grid"]) == pytest.approx(1)
    assert any(note.startswith("scores average 12 random-walk variances") for note in found.notes)


class Dense:
    """The posterior of all scores of all times by full matrices, integrated over a fine grid of both variances."""

    def __init__(self, votes: pl.DataFrame, m: int, times: int) -> None:
        t, w, loser = votes["time"].to_numpy(), votes["w"].to_numpy(), votes["l"].to_numpy()
        rows = np.zeros((len(votes), times * m))
        rows[np.arange(len(votes)), t * m + w] = 1
        rows[np.arange(len(votes)), t * m + loser] = -1
        self.rows, self.m, self.times = rows, m, times

    def laplace(self, q: float, v: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the log evidence, the mode and the covariance; every item is there from the first time on."""
        when = np.minimum.outer(np.arange(self.times), np.arange(self.times))
        prior = np.kron(v + q * when, np.eye(self.m))
        precision, x = np.linalg.inv(prior), np.zeros(len(prior))
        for _ in range(100):
            p = 1 / (1 + np.exp(-self.rows @ x))
            hessian = precision + self.rows.T @ ((p * (1 - p))[:, None] * self.rows)
            step = np.linalg.solve(hessian, self.rows.T @ (1 - p) - precision @ x)
            x = x + step
            if np.abs(step).max() < 1e-11:
                break
        likelihood = -np.logaddexp(0, -self.rows @ x).sum() - x @ precision @ x / 2
        determinants = np.linalg.slogdet(prior)[1] + np.linalg.slogdet(hessian)[1]
        return float(likelihood - determinants / 2), x, np.linalg.inv(hessian)

    def averaged(self, q: np.ndarray, v: np.ndarray, then: int) -> tuple[np.ndarray, ...]:
        """Return means and deviations of scores (T, m), and of changes (m,), each less its mean, and the best q, v."""
        around = np.kron(np.eye(self.times), np.eye(self.m) - 1 / self.m)
        change = np.zeros((self.m, len(around)))
        for i in range(self.m):
            change[i, (self.times - 1) * self.m + i], change[i, then * self.m + i] = 1, -1
        both = np.vstack([around, change @ around])
        logs, means, squares, at = [], [], [], []
        for one, other in [(one, other) for one in q for other in v]:
            evidence, x, covariance = self.laplace(one, other)
            # On a grid that is even in logarithms: deviations that are avoided at 0, and half-Cauchy.
            logs.append(evidence + np.log(one / (1 + one) ** 1.5 * other**0.5 / (1 + other)))
            means.append(both @ x)
            squares.append(np.einsum("ij,jk,ik->i", both, covariance, both))
            at.append((one, other, evidence))
        weights = np.exp(np.array(logs) - max(logs))
        weights /= weights.sum()
        mean = weights @ np.array(means)
        deviation = np.sqrt(weights @ (np.array(squares) + (np.array(means) - mean) ** 2))
        return mean, deviation, np.array(at), weights


@pytest.mark.full
@pytest.mark.parametrize(("apart", "walk"), [(0.05, 0.002), (2.5, 0.02), (0.7, 2.0)])
def test_bands_are_those_of_a_fine_grid_wherever_the_likeliest_variances_are(apart: float, walk: float) -> None:
    """Equal items, items far apart, and scores that walk faster than any default had."""
    m, times, n = 4, 5, 40
    rng = np.random.default_rng([20261125, int(10 * apart)])
    scores = np.cumsum(
        np.vstack([rng.normal(size=(1, m)) * apart**0.5, rng.normal(size=(times - 1, m)) * walk**0.5]), axis=0
    )
    t = np.repeat(np.arange(times), n)
    a, b = two_items(rng, len(t), m)
    a[:m], b[:m] = np.arange(m), (np.arange(m) + 1) % m
    won = rng.random(len(t)) < 1 / (1 + np.exp(scores[t, b] - scores[t, a]))
    votes = named(a, b, won, time=t, w=np.where(won, a, b), l=np.where(won, b, a))
    found = over_time(votes.select("winner", "loser", "time"), since="1")
    mean, deviation, at, weights = Dense(votes, m, times).averaged(
        np.geomspace(1e-6, 100, 32), np.geomspace(3e-4, 3e3, 28), 1
    )
    rows = found.table.sort("time", "item")
    half = (rows["upper"] - rows["lower"]).to_numpy() / 2
    # What is left out is where the density of the variances is below a two-hundredth of its largest.
    assert (np.abs(rows["score"].to_numpy() - mean[: times * m]) < 0.06 * half).all()
    assert half == pytest.approx(1.959964 * deviation[: times * m], rel=0.04)
    now = found.now.sort("item")
    assert now["change"].to_numpy() == pytest.approx(mean[times * m :], abs=0.03)
    # All together they are wider by one factor.
    wider = ((now["change_upper"] - now["change_lower"]).to_numpy() / 2) / deviation[times * m :]
    assert wider == pytest.approx(np.full(m, wider.mean()), rel=0.03)
    assert 1.96 < wider.mean() < 3.2
    best = max(found.facts["grid"], key=lambda one: one["log_likelihood"])
    assert best["log_likelihood"] == pytest.approx(at[weights > 1e-3, 2].max(), abs=0.7)
    assert any("rankbench extended their grid until the likeliest is inside, and refined" in n for n in found.notes)


def test_the_edge_of_a_grid_is_said() -> None:
    votes = walks(4, drift=0.2)[1]
    for method, said in (
        (
            "dynamic-bradley-terry:drift=[0.001,0.01],variance=1",
            "the likeliest has 'drift 0.01', at the edge of the grid",
        ),
        ("dynamic-bradley-terry:drift=0.1,variance=[0.1,1,30]", ""),
    ):
        notes = " ".join(over_time(votes, method=method).notes)
        assert (said in notes) if said else ("at the edge" not in notes)


def shown(*args: str) -> Any:
    return CliRunner().invoke(main, ["aggregate", *args])


def test_the_verb_prints_ranks_and_changes_and_writes_files(tmp_path: Path) -> None:
    log = stored(walks(3)[1], tmp_path / "votes.csv")
    method = ("--method", "dynamic-bradley-terry:drift=0.05")
    table = shown(str(log), "--over", "time", *method, "--since", "6", "--top", "3")
    assert table.exit_code == 0, table.output
    assert "change since 6" in table.stdout
    facts = json.loads(shown(str(log), "--over", "time", *method, "--json").stdout)
    assert facts["time"]["times"] == [str(t) for t in range(12)]
    assert len(facts["over_time"]) == 12 * 8
    assert {"rank_low", "change", "change_lower", "p"} <= set(facts["items"][0])
    first = [item["item"] for item in facts["items"] if item["may_be_first"]]
    assert (f"but {len(first)} may be first: " if len(first) > 1 else f"{first[0]} is first of ") in table.stdout
    rows = [line for line in table.stdout.splitlines() if line[:1] in [*"12345678"] and "more:" not in line]
    assert [" * " in row for row in rows] == [item["may_be_first"] for item in facts["items"][:3]]
    for ending in ("csv", "parquet", "md", "png", "svg"):
        out = tmp_path / f"out.{ending}"
        done = shown(str(log), "--over", "time", *method, "--out", str(out))
        assert done.exit_code == 0, done.output
        assert out.stat().st_size > 500
    assert pl.read_csv(tmp_path / "out.csv", schema_overrides={"time": pl.String}).equals(
        pl.read_parquet(tmp_path / "out.parquet")
    )


def test_a_picture_has_a_line_for_each_of_the_first() -> None:
    found: ScoresOverTime = over_time(walks(3)[1], method="dynamic-bradley-terry:drift=0.05")
    axes = found.plot(3).axes[0]
    assert len(axes.get_lines()) == 3
    marked = [f"{item} *" if first else item for item, first in found.now.head(3).select("item", "may_be_first").rows()]
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == marked
    assert axes.get_lines()[0].get_xdata().tolist() == [float(t) for t in range(12)]


@pytest.mark.parametrize("parts", part_of([1, 10**3, 10**6, 10**9]))
@pytest.mark.parametrize("asked", [{}, {"time_unit": "month"}, {"since": "2020-02"}])
def test_seconds_since_1970_are_moments(parts: int, asked: dict[str, Any]) -> None:
    moments = dated(90, clock=True).with_columns(pl.col("time").dt.replace_time_zone("UTC").dt.truncate("1s"))
    epochs = moments.with_columns(pl.col("time").dt.epoch("s") * parts)
    expected, found = (over_time(frame, method="dynamic-bradley-terry", **asked) for frame in (moments, epochs))
    assert found.facts["times"] == expected.facts["times"]
    assert found.now.equals(expected.now)
    assert found.notes[0] == expected.notes[0]
    assert found.notes[1].startswith("rankbench reads times as ")
    assert found.notes[2:] == expected.notes[1:]
    numbers = over_time(epochs, method="dynamic-bradley-terry", since=str(epochs["time"].median()))
    assert numbers.facts["time_unit"] == "time"
    with pytest.raises(SpecError, match="nothing says how many make a month"):
        over_time(epochs.with_columns(time=pl.col("time") - 1_500_000_000 * parts), time_unit="month")


def test_points_of_a_grid_are_different_and_even() -> None:
    start, peak = (float(np.log(0.3)), float(np.log(0.00091))), np.array([-1.3, -6.2])
    points = np.array(even_lattice(lambda at: float(-np.square(np.subtract(at, peak)).sum()), start, [(-9.0, 9.0)] * 2))
    steps = [np.diff(np.unique(np.round(axis, 9))) for axis in points.T]
    assert len(np.unique(np.round(points, 9), axis=0)) == len(points) > 10
    assert all(np.ptp(step) < 1e-8 for step in steps)


def test_one_vote_on_a_stranger_moves_no_other_score_and_widens_no_band() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(6, size=1500)
    second = (first + rng.integers(1, 6, size=1500)) % 6
    votes = (
        pl.DataFrame({"winner": first, "loser": second}).cast(pl.String).with_columns(time=pl.int_range(1500) // 300)
    )
    more = pl.concat([votes, pl.DataFrame({"winner": ["3"], "loser": ["stranger"], "time": [4]})])
    plain, found = (over_time(one, method="dynamic-bradley-terry").now.sort("item") for one in (votes, more))
    others = found.filter(pl.col("item") != "stranger")
    width, before = (table["upper"] - table["lower"] for table in (others, plain))
    assert (width / before).max() <= 1.05
    np.testing.assert_allclose(others["score"], plain["score"], atol=0.02)
    np.testing.assert_allclose(others["change"], plain["change"], atol=0.02)
    assert others["score"].mean() == pytest.approx(0, abs=1e-9)
