"""Covariates over time: scores and effects of one dense fit of all votes, and logs that identify no effect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from drawn_votes import two_items
from scipy.optimize import minimize
from scipy.special import expit

from rankbench.aggregators.sequential import DynamicBradleyTerry
from rankbench.cli import main
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.sequential_aggregator import ScoreHistory, TimedCounts
from rankbench.ranking.over_time import ScoresOverTime, scores_over_time
from rankbench.ranking.question import OverTimeQuestion

M, TIMES, DRIFT, VARIANCE, HOME = 4, 5, 0.2, 1.5, 0.8
METHOD = f"dynamic-bradley-terry:drift={DRIFT},variance={VARIANCE}"


def games(n: int = 150, seed: int = 1) -> pl.DataFrame:
    """Return matches of teams that walk, some on neutral ground, some drawn, of teams of different rest."""
    rng = np.random.default_rng(seed)
    skills = np.cumsum(rng.normal(scale=DRIFT**0.5, size=(TIMES, M)), axis=0)
    time, (home, away) = np.sort(rng.integers(0, TIMES, n)), two_items(rng, n, M)
    time[: M * 2], home[:M], away[:M] = 0, np.arange(M), (np.arange(M) + 1) % M
    neutral, rest = rng.random(n) < 0.3, rng.integers(1, 5, (2, n))
    lead = skills[time, home] - skills[time, away] + HOME * ~neutral + 0.3 * (rest[0] - rest[1])
    left, drawn = rng.random(n) < expit(lead), rng.random(n) < 0.1
    names = {"left": home, "right": away}
    return pl.DataFrame({side: [f"t{i}" for i in items] for side, items in names.items()}).with_columns(
        left_score=pl.Series(np.where(left | drawn, 1, 0)),
        right_score=pl.Series(np.where(~left | drawn, 1, 0)),
        neutral=pl.Series(neutral),
        left_rest=pl.Series(rest[0]),
        right_rest=pl.Series(rest[1]),
        time=pl.Series(time),
    )


BESIDE = "ignore=neutral|*_rest"


def over_time(frame: pl.DataFrame, control: str) -> ScoresOverTime:
    """Return scores over time with covariates; other columns say nothing of who won."""
    return scores_over_time(frame, OverTimeQuestion(method=METHOD, control=control, columns=BESIDE))


def dense(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the mode of all scores, time by time, with both effects behind them, and its covariance, by SciPy."""
    n, time = frame.height, frame["time"].to_numpy()
    design = np.zeros((n, TIMES * M + 2))
    for side, sign in (("left", 1), ("right", -1)):
        design[np.arange(n), time * M + frame[side].str.slice(1).cast(pl.Int64).to_numpy()] += sign
    design[:, -2] = ~frame["neutral"].to_numpy()
    design[:, -1] = (frame["left_rest"] - frame["right_rest"]).to_numpy()
    won = (np.sign((frame["left_score"] - frame["right_score"]).to_numpy()) + 1) / 2
    steps = np.eye(TIMES) - np.eye(TIMES, k=-1)
    walk = steps.T @ np.diag([1 / VARIANCE, *[1 / DRIFT] * (TIMES - 1)]) @ steps
    precision = np.zeros((TIMES * M + 2,) * 2)
    precision[:-2, :-2] = np.kron(walk, np.eye(M))

    def loss(x: np.ndarray) -> float:
        lead = design @ x
        return float(np.logaddexp(0, lead).sum() - won @ lead + x @ precision @ x / 2)

    def slope(x: np.ndarray) -> np.ndarray:
        return np.asarray(design.T @ (expit(design @ x) - won) + precision @ x)

    def bend(x: np.ndarray) -> np.ndarray:
        p = expit(design @ x)
        return np.asarray(design.T @ ((p * (1 - p))[:, None] * design) + precision)

    x = minimize(loss, np.zeros(TIMES * M + 2), jac=slope, hess=bend, method="trust-exact", options={"gtol": 1e-9}).x
    return x, np.linalg.inv(bend(x))


def test_scores_bands_and_effects_are_those_of_one_dense_fit() -> None:
    frame = games()
    found = over_time(frame, control="side:unless=neutral, raw(rest)")
    x, covariance = dense(frame)
    assert found.effects is not None
    assert found.effects["effect"].to_list() == pytest.approx(x[-2:], abs=1e-7)
    half = 1.959964 * np.sqrt(covariance.diagonal()[-2:])
    assert (found.effects["upper"] - found.effects["effect"]).to_list() == pytest.approx(half, abs=1e-5)
    around = np.eye(M) - 1 / M
    for time in range(TIMES):
        own = slice(time * M, time * M + M)
        rows = found.table.filter(time=str(time)).sort("item")
        assert rows["score"].to_list() == pytest.approx(around @ x[own], abs=1e-7)
        band = 1.959964 * np.sqrt((around @ covariance[own, own] @ around).diagonal())
        assert (rows["upper"] - rows["score"]).to_list() == pytest.approx(band, abs=1e-5)
    assert any("effects of covariates are the same at all times" in note for note in found.notes)


def test_a_typical_difference_is_the_unit_of_an_effect_here_too() -> None:
    raw, scaled = (over_time(games(), control=said).effects for said in ("raw(rest)", "rest"))
    assert raw is not None
    assert scaled is not None
    rest = (games()["left_rest"] - games()["right_rest"]).to_numpy()
    assert scaled["unit"][0] == pytest.approx((rest**2).mean() ** 0.5)
    assert scaled["effect"][0] == pytest.approx(raw["effect"][0] * scaled["unit"][0], rel=1e-6)


@pytest.mark.full
@pytest.mark.parametrize(("of_sides", "of_items"), [(0.8, 0.0), (0.0, 0.8)], ids=["sides", "items"])
def test_intervals_know_of_tastes_of_judges(of_sides: float, of_items: float) -> None:
    """Where judges differ in sides an effect is as sure as its judges are many; differences in items hardly matter.

    Beside these a log-odds of all votes together is nearer 0 than that of a judge, which is no fault of its interval.
    """
    inside, width = [], []
    for seed in range(12):
        rng = np.random.default_rng([7, seed])
        judges = rng.normal(HOME, of_sides, 15) if of_sides else np.full(15, HOME)
        tastes, n = rng.normal(0, max(of_items, 1e-9), (15, M)), 900
        judge, (left, right), time = rng.integers(0, 15, n), two_items(rng, n, M), np.sort(rng.integers(0, TIMES, n))
        won = rng.random(n) < expit(tastes[judge, left] - tastes[judge, right] + judges[judge])
        votes = {"left": left.astype(str), "right": right.astype(str), "winner": np.where(won, "left", "right")}
        frame = pl.DataFrame(votes | {"judge": judge.astype(str), "time": time})
        found = scores_over_time(frame, OverTimeQuestion(method=METHOD, control="side")).effects
        assert found is not None
        inside.append(bool(found["lower"][0] <= HOME <= found["upper"][0]))
        width.append(found["upper"][0] - found["lower"][0])
    # A mean of 15 judges has the standard error .8 / 15**.5 = .21, an effect in 900 votes about .075.
    expected = 2 * 2.145 * (0.2 if of_sides else 0.075)
    assert np.mean(width) == pytest.approx(expected, rel=0.2)
    assert sum(inside) >= 9 or not of_sides


RANK = {f"{side}_rest": pl.col(side).str.slice(1).cast(pl.Int64) for side in ("left", "right")}


@pytest.mark.parametrize(
    ("changed", "control", "words"),
    [
        (
            {"left_score": pl.lit(12), "right_score": pl.lit(8)},
            "side",
            "'side' separates the votes.*over time have none",
        ),
        ({"left_rest": pl.lit(3), "right_rest": pl.lit(3)}, "rest", "0 in every vote"),
        (RANK, "rest", "follows from the items alone"),
        ({}, "side, venue", "no column 'venue'"),
    ],
)
def test_effects_that_votes_do_not_identify_are_refused(changed: dict[str, pl.Expr], control: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        over_time(games().with_columns(**changed), control=control)


def test_a_model_that_ignores_covariates_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DynamicBradleyTerry.history

    def blind(self: DynamicBradleyTerry, counts: TimedCounts) -> ScoreHistory:
        return replace(whole(self, counts), effects=np.zeros(0), effects_covariance=np.zeros((0, 0)))

    monkeypatch.setattr(DynamicBradleyTerry, "history", blind)
    with pytest.raises(SpecError, match="estimates no effects of covariates"):
        over_time(games(), control="side")


def test_the_command_shows_effects_below_the_scores(tmp_path: Path) -> None:
    games().write_csv(tmp_path / "games.csv")
    asked = ["aggregate", str(tmp_path / "games.csv"), "--over", "time", "--method", METHOD, "--control", "side"]
    asked += ["--columns", BESIDE]
    shown, said = (CliRunner().invoke(main, [*asked, *more]) for more in ([], ["--format", "json"]))
    assert shown.exit_code == said.exit_code == 0, shown.output
    assert "between equals, the left wins" in shown.stdout
    (effect,) = json.loads(said.stdout)["effects"]
    assert effect["covariate"] == "side"
    assert effect["lower"] < effect["effect"] < effect["upper"]
