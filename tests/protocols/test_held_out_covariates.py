"""Do covariates help to predict? Bradley-Terry with them is judged on held-out votes like any other contender."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize
from scipy.special import expit

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.cli import main
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.covariate_aggregator import ControlledFit, CovariateVotes
from rankbench.interfaces.protocol import Prepared
from rankbench.interfaces.table import with_column
from rankbench.protocols.folds import cut_groups
from rankbench.protocols.items import Items
from rankbench.protocols.links import margin_disagreement
from rankbench.protocols.log_votes import compared_pairs, group_votes, pack_votes, unpack_votes
from rankbench.protocols.own_log import OwnLog
from rankbench.protocols.trial import Trial
from rankbench.ranking.open import scan
from rankbench.ranking.votes import Votes, load_votes

CONTROL = "side, raw(log(length))"


def sided(n: int, seed: int, effect: float) -> pl.DataFrame:
    """Return votes on five items of which the left, and the longer one, wins more."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 5, n)
    right = (left + rng.integers(1, 5, n)) % 5
    lengths = np.exp(rng.standard_normal((n, 2)))
    scores = np.linspace(-1, 1, 5)
    margin = scores[left] - scores[right] + effect * (1 + np.log(lengths) @ [1, -1])
    won = rng.random(n) < expit(margin)
    return pl.DataFrame(
        {
            "left": [f"i{i}" for i in left],
            "right": [f"i{i}" for i in right],
            "winner": np.where(won, "left", "right"),
            "judge": [f"j{i}" for i in rng.integers(0, 40, n)],
            "length_left": lengths[:, 0],
            "length_right": lengths[:, 1],
        }
    )


def loaded(frame: pl.DataFrame, control: str = CONTROL) -> Votes:
    return load_votes(scan(frame, columns=with_column("", "control", control) if control else ""))


def trial_of(votes: Votes) -> Trial:
    pairs, of_vote = compared_pairs(votes)
    grouped = group_votes(votes, "judge", pairs, of_vote)
    cut = cut_groups(grouped.sizes, 0, np.random.default_rng(1), np.random.default_rng(2))
    return Trial(grouped, cut, votes.items, lambda: votes)


def test_margins_are_those_of_a_fit_to_the_other_votes() -> None:
    votes = loaded(sided(400, 1, 0.5))
    assert votes.covariates is not None
    assert votes.judges is not None
    trial = trial_of(votes)
    found = trial.tested(BradleyTerry(control=True))
    part = trial.cut.part[votes.judges]
    z = np.zeros((400, 5 + 2))
    z[np.arange(400), votes.winners] += 1
    z[np.arange(400), votes.losers] -= 1
    z[:, 5:] = votes.covariates.values
    training = z[(part >= 0) & (part < trial.cut.tested)]

    def loss(x: np.ndarray) -> float:
        return float(np.logaddexp(0, -training @ x).sum() + x @ x / 2)

    fitted = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(np.sort(found.margins), np.sort(z[part == trial.cut.tested] @ fitted), atol=1e-5)
    assert found.decisive == found.decided.sum() == (part == trial.cut.tested).sum()


def test_what_is_predicted_within_the_training_part_has_all_of_its_votes() -> None:
    votes = loaded(sided(400, 2, 0.5))
    trial = trial_of(votes)
    seen = trial.predicted(BradleyTerry(control=True))
    assert seen.decisive == trial.predicted(BradleyTerry()).decisive


@pytest.mark.parametrize("control", [CONTROL, "side"], ids=["each row apart", "rows summed up"])
def test_margins_are_asked_for_without_the_outcomes(control: str) -> None:
    shown: list[CovariateVotes] = []

    class Curious(ControlledFit):
        def margins(self, votes: CovariateVotes) -> np.ndarray:
            shown.append(votes)
            return np.ones(len(votes))  # for the first item, which in a log is the winner

    class Guesses(BradleyTerry):
        name: ClassVar[str] = "guesses"

        def fit_controlled(self, votes: CovariateVotes) -> ControlledFit:
            return Curious(**vars(super().fit_controlled(votes)))

    votes = loaded(sided(2000, 7, 0.0), control)
    found = trial_of(votes).tested(Guesses(control=True))
    (asked,) = shown
    assert not asked.outcomes.any()
    assert (asked.first < asked.second).all()
    # Items with a larger number are better here: who always takes the smaller one is worse than a coin.
    assert margin_disagreement(found) > 0.6


def test_a_log_without_covariates_has_none_to_show() -> None:
    with pytest.raises(SpecError, match="name them with --control"):
        trial_of(loaded(sided(400, 3, 0.5), "")).tested(BradleyTerry(control=True))


def test_without_a_penalty_scores_on_many_scales_predict_nothing() -> None:
    votes = sided(400, 4, 0.5).with_columns(
        winner=pl.when(pl.col("left") == "i4").then(pl.lit("left")).when(pl.col("right") == "i4").then(pl.lit("right"))
        .otherwise(pl.col("winner"))
    )  # fmt: skip
    with pytest.raises(ContenderDiverged):
        trial_of(loaded(votes)).tested(BradleyTerry(penalty="none", control=True))


def test_covariates_are_handed_on_with_their_votes() -> None:
    votes = loaded(sided(50, 5, 0.5))
    assert votes.covariates is not None
    prepared = Prepared(OwnLog(), None, "", {"heldout": ("all",)}, pack_votes(votes), 50.0, ())
    again = unpack_votes(prepared).covariates
    assert again is not None
    assert again.names == votes.covariates.names
    np.testing.assert_array_equal(again.values, votes.covariates.values)


def test_protocols_that_show_no_covariates_say_so() -> None:
    assert OwnLog().misfit(BradleyTerry(control=True)) == ""
    assert "covariates" in Items().misfit(BradleyTerry(control=True))


def test_a_run_compares_with_and_without(tmp_path: Path) -> None:
    sided(1200, 6, 0.6).write_csv(tmp_path / "votes.csv")
    arguments = ["run", "--log", str(tmp_path / "votes.csv"), "--control", CONTROL, "--reps", "2", "--workers", "1"]
    suite = tmp_path / "small.toml"
    suite.write_text(
        'name = "small"\ntitle = "Small"\nprotocol = "own-log"\n[[experiments]]\nname = "methods"\ntitle = "Methods"\n'
        'repetitions = 2\nlosses = ["log-loss"]\ncontenders = [{ use = "win-rate" }]\n'
    )
    done = CliRunner().invoke(main, [*arguments, "--suite", str(suite), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    board = pl.read_csv(tmp_path / "out" / "leaderboard.csv")
    means = dict(board.select("contender", "mean").iter_rows())
    assert set(means) == {"win-rate", "bradley-terry", "bradley-terry:control=true"}
    assert means["bradley-terry:control=true"] < means["bradley-terry"] - 0.03


def test_control_is_of_a_log() -> None:
    done = CliRunner().invoke(main, ["run", "--control", "side"])
    assert done.exit_code == 2
    assert "--control" in done.stderr
