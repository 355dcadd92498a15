"""Predictions of a log's column: whose chances they are, and their losses, by the formula from the file itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from competing import executed
from drawn_votes import two_items
from scipy.special import expit, logit

from rankbench.aggregators.labels import Predictions
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.protocol import Prepared
from rankbench.interfaces.reading import with_told
from rankbench.logs.open import log_file, scan
from rankbench.logs.votes import load_votes
from rankbench.plugin.manager import get
from rankbench.protocols.items import Items
from rankbench.protocols.own_log import OneStepAhead, OwnLog
from rankbench.protocols.steps import unpack_steps


def games() -> pl.DataFrame:
    """Return games in the format of 538's NFL file, eight a day, a few of them ties."""
    rng, n = np.random.default_rng(5), 800
    skills, (one, two) = rng.normal(size=10), two_items(rng, 800, 10)
    chance = expit(skills[one] - skills[two] + 0.5)
    left, points, gap = rng.random(n) < chance, rng.integers(3, 30, n), rng.integers(1, 20, n) * (rng.random(n) < 0.95)
    return pl.DataFrame(
        {
            "date": pl.date_range(pl.date(2019, 9, 1), pl.date(2019, 12, 9), eager=True).gather(np.arange(n) // 8),
            "team1": [f"T{i}" for i in one],
            "team2": [f"T{i}" for i in two],
            "elo_prob1": chance.round(6),
            "score1": points + gap * left,
            "score2": points + gap * ~left,
        }
    )


def of_winners(frame: pl.DataFrame) -> np.ndarray:
    """Return the chance that each game's winner was given, shape (n,); nan for ties."""
    ahead, p = (frame["score1"] - frame["score2"]).to_numpy(), frame["elo_prob1"].to_numpy()
    return np.where(ahead == 0, np.nan, np.where(ahead > 0, p, 1 - p))


def prepared(folder: Path, protocol: OwnLog | OneStepAhead, frame: pl.DataFrame, columns: str) -> Prepared:
    frame.write_csv(folder / "games.csv")
    sides = "left=team1,right=team2,left_score=score1,right_score=score2,time=date"
    return protocol.prepare(log_file(folder / "games.csv", columns=f"{sides},{columns}"), 0)


@pytest.mark.full
def test_one_step_ahead_the_loss_is_that_of_the_column(tmp_path: Path) -> None:
    made = prepared(tmp_path, OneStepAhead(), games(), "predictions=elo_prob1")
    (found,) = executed(made, ("predictions:column=elo_prob1",), ("log-loss", "disagreement")).values()
    judged = of_winners(games())[unpack_steps(made.arrays).tested]
    judged = judged[~np.isnan(judged)]
    assert 550 < len(judged) < 640
    assert found.losses[("log-loss", "heldout")].mean() == pytest.approx(-np.log(judged).mean(), rel=1e-9)
    assert found.losses[("disagreement", "heldout")].mean() == pytest.approx((judged < 0.5).mean(), rel=1e-9)
    assert any("Predictions are in 'elo_prob1'" in note for note in made.notes)


def test_held_out_the_loss_is_that_of_the_column(tmp_path: Path) -> None:
    frame = games()
    made = prepared(tmp_path, OwnLog(), frame, "predictions=elo_prob1")
    metrics = ("log-loss", "disagreement", "calibration", "three-outcome-loss")
    (found,) = executed(made, ("predictions",), metrics, seed=3).values()
    cut = OwnLog()._trial(made, BlockKey("", "", 1, 0, 3))
    votes, part = cut._part_of_vote
    held = of_winners(frame)[part == cut.cut.tested]
    assert len(votes) == frame.height
    held = held[~np.isnan(held)]
    assert 100 < len(held) < 200
    assert found.losses[("log-loss", "heldout")][0] == pytest.approx(-np.log(held).mean(), rel=1e-9)
    assert found.losses[("disagreement", "heldout")][0] == pytest.approx((held < 0.5).mean(), rel=1e-9)
    assert (found.info["scale"], found.info["probit"]) == (1.0, 0.0)
    assert 0 < found.losses[("three-outcome-loss", "heldout")][0] < np.log(3)


@pytest.mark.full
@pytest.mark.parametrize("protocol", [OwnLog(), OneStepAhead()], ids=str)
def test_covariates_are_fitted_as_without_predictions(protocol: OwnLog | OneStepAhead, tmp_path: Path) -> None:
    texts, control = ("bradley-terry", "bradley-terry:control=true"), with_told("", "control", "side")
    alone, beside = (
        executed(prepared(tmp_path, protocol, games().head(240), columns), texts, ("log-loss",)).values()
        for columns in (control, with_told(control, "predictions", "elo_prob1"))
    )
    for one, other in zip(alone, beside, strict=True):
        assert one.status == "done"
        np.testing.assert_array_equal(one.losses[("log-loss", "heldout")], other.losses[("log-loss", "heldout")])


def test_who_was_not_asked_for_has_a_reason(tmp_path: Path) -> None:
    two = games().with_columns(other_prob1=pl.col("elo_prob1") / 2)
    made = prepared(tmp_path, OwnLog(), two, 'predictions="elo_prob1, other_prob1"')
    texts = ("predictions", "predictions:column=elo_prob1", "predictions:column=prob", "bradley-terry:control=true")
    several, done, unknown, uncontrolled = executed(made, texts, ("log-loss",)).values()
    assert (several.status, done.status) == ("skipped", "done")
    assert "write predictions:column=NAME" in several.reason
    assert unknown.reason.endswith("name them with predictions=")
    assert uncontrolled.reason.endswith("name them with control=")
    assert "shows none" in Items().misfit(get(Aggregator, "predictions"))


SIDES = "left=home_team,right=away_team,left_score=home_goals,right_score=away_goals"
VOTES = pl.DataFrame({"home_team": ["x", "y", "z"], "away_team": ["y", "z", "x"], "home_goals": [2, 0, 1]})
VOTES = VOTES.with_columns(away_goals=pl.Series([1, 3, 1]), p=pl.Series([0.6, 0.7, 0.2]))
NAMED = {"winner": ["x", "z", "x"], "loser": ["y", "y", "z"], "p": [0.6, 0.7, 0.2], "first": [True, False, False]}


def loaded(frame: pl.DataFrame, predictions: str) -> list[float]:
    """Return the log-odds of the winner over the loser; where neither won, of the left."""
    sides = SIDES if "home_team" in frame.columns else ""
    votes = load_votes(scan(frame, columns=with_told(sides, "predictions", predictions)))
    assert votes.covariates is not None
    return votes.covariates.values[:, 0].tolist()


@pytest.mark.parametrize("name", ["home_prob", "prob_home", "Home Win", "p_left"])
def test_a_name_says_whose_chance_it_is(name: str) -> None:
    assert loaded(VOTES.rename({"p": name}), name) == pytest.approx(logit([0.6, 0.3, 0.2]))


@pytest.mark.parametrize(
    ("name", "said"),
    [("away_prob", "away_prob"), ("p", "p:of=away_team"), ("p:q", '"p:q":of=away_team')],
)
def test_a_chance_of_the_right_is_turned(name: str, said: str) -> None:
    assert loaded(VOTES.rename({"p": name}), said) == pytest.approx(logit([0.4, 0.7, 0.8]))


def test_of_two_columns_it_is_the_chance_among_decided_votes() -> None:
    both = VOTES.rename({"p": "prob_home"}).with_columns(prob_away=pl.Series([0.1, 0.2, 0.3]))
    assert loaded(both, "prob") == pytest.approx(np.log([6, 2 / 7, 2 / 3]))
    assert loaded(both, "prob_home") == pytest.approx(logit([0.6, 0.3, 0.2]))


@pytest.mark.parametrize(
    ("of", "expected"), [("winner", [0.6, 0.7, 0.2]), ("loser", [0.4, 0.3, 0.8]), ("first", [0.6, 0.3, 0.8])]
)
def test_of_winners_and_losers_it_is_whose_one_says(of: str, expected: list[float]) -> None:
    assert loaded(pl.DataFrame(NAMED), f"p:of={of}") == pytest.approx(logit(expected))
    if of != "first":
        assert loaded(pl.DataFrame(NAMED).drop("first"), f"p:of={of}") == pytest.approx(logit(expected))


@pytest.mark.parametrize(
    ("frame", "said", "words"),
    [
        (VOTES, "p", "whose chance 'p' is: write p:of=home_team or p:of=away_team"),
        (VOTES, "p:of=venue", "'venue' is no column of items: write p:of=home_team or"),
        (
            VOTES.drop("p").with_columns(p_home=0.6, p_away=0.4),
            "p:of=home_team",
            "two columns, 'p_home' and 'p_away'.*leave out of=",
        ),
        (VOTES.drop("p").with_columns(p1=0.6, p2=0.4), "p", "which of 'p1' and 'p2' is of which item is not said"),
        (VOTES.rename({"p": "home_or_away"}), "home_or_away", "whose chance"),
        (pl.DataFrame(NAMED), "p", "write p:of=winner or p:of=loser or p:of=first"),
        (pl.DataFrame(NAMED).rename({"p": "p_winner"}), "p_winner", "write p_winner:of=winner or"),
        (VOTES, "prob", "no column 'prob'"),
        (VOTES, "p:of=home_team, p:of=away_team", "write each column once"),
        (VOTES, "p:side=home_team", "write each column once"),
        (VOTES, '"p', "not closed"),
        (VOTES.with_columns(p=pl.Series([0.6, 1.2, 0.2])), "p:of=home_team", r"row 2.*p.*1\.2 is no chance"),
        (VOTES.with_columns(p=pl.Series([0.6, 0.3, 0.0])), "p:of=home_team", r"row 3.*0\.0 is no chance above 0"),
        (VOTES.with_columns(p=pl.Series([60, 70, 20])), "p:of=home_team", "row 1.*60 is no chance.*percentages by 100"),
        (VOTES.with_columns(p=pl.Series(["60%", "70%", "20%"])), "p:of=home_team", "row 1.*60%.*percentages by 100"),
        (
            pl.DataFrame({"ranking": ["a>b"], "p": [0.5]}),
            "p",
            "reads columns beside votes, and this file holds ballots",
        ),
        (VOTES.with_columns(p=pl.Series(["0.6", "x", "0.2"])), "p:of=home_team", "row 2.*'x' is not a number"),
        (VOTES.with_columns(p=pl.Series([0.6, None, 0.2])), "p:of=home_team", "missing in 1 of 3 votes.*where="),
    ],
)
def test_what_is_no_prediction_is_refused(frame: pl.DataFrame, said: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        loaded(frame, said)


def test_a_constant_prediction_is_one() -> None:
    assert loaded(VOTES.with_columns(p=0.5), "p:of=home_team") == [0.0, 0.0, 0.0]


def test_it_reads_its_own_column_alone() -> None:
    assert Predictions(column="p").reads("prediction: p")
    assert not Predictions(column="p").reads("prediction: q")
    assert not Predictions().reads("side")


@pytest.mark.parametrize(
    ("names", "roles", "name"),
    [
        (("home_team", "away_team"), "", "prob_a"),  # of a, or of the away team
        (("away_team", "home_team"), "left=home_team,right=away_team", "prob1"),
        (("black", "white"), "left=black,right=white", "prob_b"),
    ],
)
def test_a_name_with_two_readings_says_nothing(names: tuple[str, str], roles: str, name: str) -> None:
    cities = {names[0]: ["Rome", "Oslo"], names[1]: ["Oslo", "Bonn"], "winner": ["Rome", "Bonn"]}
    frame = pl.DataFrame(cities | {name: [0.6, 0.3]})
    with pytest.raises(InputError, match=f"nothing says whose chance {name!r} is"):
        load_votes(scan(frame, columns=with_told(roles, "predictions", name)))


def test_the_right_may_be_the_home_team() -> None:
    frame = pl.DataFrame({"visitor": ["x", "y"], "home": ["y", "z"], "winner": ["x", "z"], "prob_home": [0.6, 0.3]})
    votes = load_votes(scan(frame, columns="left=visitor,right=home,winner=winner,predictions=prob_home"))
    assert votes.covariates is not None
    assert votes.covariates.values[:, 0] == pytest.approx(logit([0.4, 0.3]))
