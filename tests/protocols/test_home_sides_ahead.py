"""Covariates one step ahead: effects of earlier votes alone, equal to SciPy's fit, and what they are worth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from competing import executed
from drawn_votes import two_items
from scipy.optimize import minimize
from scipy.special import expit

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.interfaces.protocol import Prepared
from rankbench.interfaces.reading import with_told
from rankbench.logs.open import log_file
from rankbench.protocols.forecast import sequential_margins
from rankbench.protocols.log_votes import unpack_items
from rankbench.protocols.own_log import OneStepAhead
from rankbench.protocols.steps import unpack_steps

HOME = 0.8


def games(n: int, seed: int) -> pl.DataFrame:
    """Return games of eight teams, 20 a day, a quarter of them on neutral ground."""
    rng = np.random.default_rng(seed)
    skills, (home, away) = np.linspace(-1, 1, 8), two_items(rng, n, 8)
    neutral = rng.random(n) < 0.25
    won = rng.random(n) < expit(skills[home] - skills[away] + np.where(neutral, 0.0, HOME))
    return pl.DataFrame(
        {
            "left": [f"t{i}" for i in home],
            "right": [f"t{i}" for i in away],
            "winner": np.where(won, "left", "right"),
            "neutral": neutral,
            "time": np.arange(n) // 20,
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepared_games(tmp_path_factory.mktemp("games"), "side:unless=neutral")


def prepared_games(folder: Path, control: str) -> Prepared:
    games(2400, 4).write_csv(folder / "games.csv")
    columns = with_told("", "control", control) if control else "ignore=neutral"
    return OneStepAhead().prepare(log_file(folder / "games.csv", columns=columns), 0)


@pytest.mark.full
def test_margins_are_those_of_a_fit_to_earlier_games(made: Prepared) -> None:
    """SciPy maximizes the penalized likelihood of all games before a moment, in teams and home advantage."""
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    margins = sequential_margins(BradleyTerry(control=True), steps, items)
    frame = games(2400, 4)
    moment, until = steps.moments[40:42].tolist()
    home, away = (frame[side].str.slice(1).cast(pl.Int64).to_numpy() for side in ("left", "right"))
    won, side = (frame["winner"] == "left").to_numpy(), (~frame["neutral"]).to_numpy().astype(float)
    past = frame["time"].to_numpy() < moment

    def loss(x: np.ndarray) -> float:
        lead = x[home] - x[away] + x[8] * side
        return float(np.logaddexp(0, np.where(won, -lead, lead))[past].sum() + x @ x / 2)

    x = minimize(loss, np.zeros(9), tol=1e-10).x
    ahead = (moment <= frame["time"].to_numpy()) & (frame["time"].to_numpy() < until)
    expected = np.where(home < away, 1, -1) * (x[home] - x[away] + x[8] * side)
    rows = slice(*steps.starts[[moment, until]].tolist())
    assert ahead.sum() == rows.stop - rows.start > 0
    np.testing.assert_allclose(np.sort(margins[rows]), np.sort(expected[ahead]), atol=1e-4)


@pytest.mark.full
def test_the_future_changes_no_margin_of_the_past(made: Prepared) -> None:
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    cut = steps.up_to(5)
    assert 0 < len(cut) < len(steps)
    np.testing.assert_array_equal(
        sequential_margins(BradleyTerry(control=True), cut, items),
        sequential_margins(BradleyTerry(control=True), steps, items)[: len(cut)],
    )


@pytest.mark.full
def test_a_known_home_side_predicts_better(made: Prepared) -> None:
    """The home advantage explains what the best possible loss is below that without it."""
    texts = ("bradley-terry", "bradley-terry:control=true")
    found = executed(made, texts, ("log-loss", "disagreement"), seed=0)
    assert [cell.status for cell in found.values()] == ["done", "done"], [cell.reason for cell in found.values()]
    plain, sided = (cell.losses[("log-loss", "heldout")].mean() for cell in found.values())
    frame = games(2400, 4)[480:]
    skills = np.linspace(-1, 1, 8)
    home, away = (frame[side].str.slice(1).cast(pl.Int64).to_numpy() for side in ("left", "right"))
    lead = skills[home] - skills[away] + HOME * (~frame["neutral"]).to_numpy()
    best = np.logaddexp(0, np.where((frame["winner"] == "left").to_numpy(), -lead, lead)).mean()
    assert plain - best > 0.04
    assert sided - best < 0.01


def test_a_log_that_was_asked_for_no_side_has_none(tmp_path: Path) -> None:
    bare = prepared_games(tmp_path, "")
    (found,) = executed(bare, ("bradley-terry:control=true",), ("log-loss",), seed=0).values()
    assert found.status == "skipped"
    assert "name them with control=" in found.reason
    assert OneStepAhead().misfit(BradleyTerry(control=True)) == ""
