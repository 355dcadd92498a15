"""Grouped counts, held against the same done vote by vote."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, get_args

import numpy as np
import polars as pl
import pytest
import votewise
from amounts import examples
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.rates import WinRate
from rankbench.aggregators.sequential import Elo
from rankbench.cli import main
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.covariate_aggregator import ControlledFit, CovariateVotes
from rankbench.interfaces.protocol import Prepared
from rankbench.interfaces.reading import with_told
from rankbench.logs.open import scan
from rankbench.logs.votes import Votes, all_ones, load_votes
from rankbench.plugin import manager
from rankbench.protocols.folds import HeldOut, cut_groups, grouping_of
from rankbench.protocols.items import Items
from rankbench.protocols.links import margin_disagreement
from rankbench.protocols.log_votes import (
    group_votes,
    pack_grouped,
    pack_votes,
    unpack_grouped,
    unpack_votes,
)
from rankbench.protocols.own_log import OwnLog
from rankbench.protocols.trial import Trial, trial_losses

LOSSES = ("disagreement", "log-loss", "calibration", "three-outcome-loss")


def random_log(seed: int, n: int, m: int = 5, *, weighted: bool, queries: int = 12) -> Votes:
    """Return votes with judges, ties, times of which some are equal, queries, and perhaps weights."""
    rng = np.random.default_rng(seed)
    winners = rng.integers(0, m, n).astype(np.int32)
    losers = ((winners + rng.integers(1, m, n)) % m).astype(np.int32)
    pair = np.minimum(winners, losers) * m + np.maximum(winners, losers)
    query = np.unique(rng.integers(0, queries, n), return_inverse=True)[1].astype(np.int32)
    groups = np.unique(query * m * m + pair, return_inverse=True)[1]
    times = np.unique(np.sort(rng.integers(0, n // 2, n)), return_inverse=True)[1]
    return Votes(
        [f"i{i}" for i in range(m)], winners, losers, rng.random(n) < rng.choice([0.0, 0.2, 0.6]),
        rng.choice([0.1, 1.0, 2.5, 1 / 3], n) if weighted else all_ones(n),
        np.unique(rng.integers(0, 14, n), return_inverse=True)[1],
        groups.astype(np.int32), times.astype(np.int32), queries=query,
    )  # fmt: skip


def trials(log: Votes, kind: HeldOut, seed: int, repetition: int) -> tuple[Trial, tuple]:
    """Return a repetition on groups; and its votes to learn from, to test on, and within the training part."""
    grouped = group_votes(log, kind, *log.pairs())
    assert len(grouped.slot) <= len(log)
    cut = cut_groups(grouped.kind, (grouped.total, grouped.decisive), seed, repetition)
    groups = grouping_of(log, kind)
    train, test = votewise.rows_of(cut, groups)
    part = cut.part[groups[train]]
    inner = [(np.flatnonzero(np.isin(part, learned)), np.flatnonzero(part == out)) for learned, out in cut.inner]
    return Trial(grouped, cut, log.items, lambda: log), (train, test, inner)


LOGS = st.builds(random_log, st.integers(0, 10_000), st.integers(80, 300), weighted=st.booleans())


@given(LOGS, st.sampled_from(get_args(HeldOut)), st.integers(0, 4), st.floats(0.0, 4.0), st.floats(0.01, 3.0))
@examples(120)
def test_losses_are_those_of_single_votes(log: Votes, kind: HeldOut, repetition: int, b: float, nu: float) -> None:
    from rankbench.protocols import links

    trial, (_, test, _) = trials(log, kind, 3, repetition)
    # Scores that both are given, of sizes that no link was fitted to; two are equal.
    scores = np.random.default_rng(len(log)).normal(size=len(log.items))
    scores[0] = scores[1]
    trial.scores = lambda *_: scores
    pairs = trial.tested(WinRate())
    votes = votewise._outcomes(scores, log, test)
    decisive = votes.decisive()
    wrong = (decisive.margins < 0) + 0.5 * (decisive.margins == 0)
    close = {"rel": 1e-12, "abs": 1e-15, "nan_ok": True}
    if len(decisive.margins):
        assert links.margin_disagreement(pairs) == pytest.approx(
            decisive.weights @ wrong / decisive.weights.sum(), **close
        )
    assert links.tie_log_loss(pairs, b, nu) == pytest.approx(votewise.tie_log_loss(votes, b, nu), **close)
    for link in links.LINKS:
        expected = votewise.win_log_loss(votes, b, link)
        assert links.win_log_loss(pairs, b, link) == pytest.approx(expected, **close)
        expected = votewise.calibration_error(votes, b, link)
        assert links.calibration_error(pairs, b, link) == pytest.approx(expected, **close)


@given(LOGS, st.sampled_from(get_args(HeldOut)), st.integers(0, 4))
@examples(15)
@pytest.mark.parametrize("aggregator", [BradleyTerry(), WinRate(), Elo(factor=8)], ids=str)
def test_a_contender_is_judged_as_vote_by_vote(aggregator, log: Votes, kind: HeldOut, repetition: int) -> None:
    trial, rows = trials(log, kind, 5, repetition)
    found, _ = trial_losses([aggregator], trial, LOSSES)
    expected, _ = votewise._judged([aggregator], log, *rows)
    for loss in LOSSES:
        assert found[loss] == pytest.approx(expected[loss], rel=1e-9, abs=1e-12, nan_ok=True)


@given(LOGS, st.sampled_from(get_args(HeldOut)), st.integers(0, 4))
@examples(60)
def test_scores_come_from_the_votes_of_the_parts(log: Votes, kind: HeldOut, repetition: int) -> None:
    trial, (train, _, inner) = trials(log, kind, 7, repetition)
    for (learned, _), (inside, _) in zip(trial.cut.inner, inner, strict=True):
        expected = votewise.scores_of(WinRate(), log, train[inside])
        np.testing.assert_allclose(trial.scores(WinRate(), learned), expected, rtol=1e-12, atol=1e-15)
    expected = votewise.scores_of(Elo(), log, train)
    np.testing.assert_array_equal(trial.scores(Elo(), tuple(range(trial.cut.tested))), expected)


def test_nothing_is_left_of_votes_that_are_held_out() -> None:
    """.1 + .2 - .2 - .1 is not 0: what the other folds hold is added up, never taken away from the whole."""
    log = random_log(1, 200, 12, weighted=True, queries=1)
    for repetition in range(5):
        trial, (train, _, _) = trials(log, "judge", 1, repetition)
        everything = trial._counts[tuple(range(trial.cut.tested))]
        expected = log.counts(train)
        np.testing.assert_array_equal(everything.starts, expected.starts)
        np.testing.assert_array_equal(everything.high, expected.high)
        for name in ("forward", "backward", "ties"):
            np.testing.assert_allclose(getattr(everything, name), getattr(expected, name), rtol=1e-14)
        assert everything.judgments == expected.judgments


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", get_args(HeldOut))
def test_grouped_votes_come_back(kind: HeldOut, weighted: bool) -> None:
    log = random_log(2, 150, weighted=weighted)
    grouped = group_votes(log, kind, *log.pairs())
    found = unpack_grouped(pack_grouped(grouped))
    assert found.kind == kind
    for name in ("starts", "slot", "count", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(grouped, name))
    assert len(grouped.weight) == (len(grouped.slot) if weighted else 0)
    assert int(grouped.count.sum()) == len(log)
    assert int(grouped.decisive.sum()) == int(log.decisive().sum())


def test_many_votes_of_a_judge_on_a_pair_are_one_row() -> None:
    log = random_log(4, 3000, 3, weighted=False, queries=1)
    assert len(group_votes(log, "judge", *log.pairs()).slot) <= 14 * 3 * 3
    assert len(group_votes(log, "pair", *log.pairs()).slot) <= 3 * 3


@pytest.mark.parametrize("method", ["pagerank", "thurstone-mosteller"])
@pytest.mark.parametrize("seed", range(4))
def test_items_of_the_same_record_have_equal_scores_whatever_their_names(method: str, seed: int) -> None:
    """A few votes on many items: rounding sets apart what is equal, one way or the other by the order of the names."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 200, 250).astype(np.int32)
    second = ((first + rng.integers(1, 200, 250)) % 200).astype(np.int32)
    items, one = [f"{i:03d}" for i in range(200)], np.zeros(250, np.int32)
    found = []
    for names in (np.arange(200, dtype=np.int32), rng.permutation(200).astype(np.int32)):
        votes = Votes(items, names[first], names[second], one > 0, np.ones(250), None, one, None)
        grouped = group_votes(votes, "vote", *votes.pairs())
        cut = cut_groups(grouped.kind, (grouped.total, grouped.decisive), 1, 0)
        outcomes = Trial(grouped, cut, items, lambda known=votes: known).tested(manager.get(Aggregator, method))
        found.append((np.count_nonzero(outcomes.margins), margin_disagreement(outcomes)))
    assert found[0] == found[1]


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
    kept = frame if "length" in control else frame.drop("length_left", "length_right")
    return load_votes(scan(kept, columns=with_told("", "control", control) if control else ""))


def trial_of(votes: Votes) -> Trial:
    pairs, of_vote = votes.pairs()
    grouped = group_votes(votes, "judge", pairs, of_vote)
    cut = cut_groups(grouped.kind, (grouped.total, grouped.decisive), 1, 0)
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

    fitted = np.zeros(7)
    for _ in range(20):  # Newton's method, to where the likelihood less the penalty is level
        lost = expit(-training @ fitted)
        curvature = training.T @ ((lost * (1 - lost))[:, None] * training) + np.eye(7)
        fitted += np.linalg.solve(curvature, training.T @ lost - fitted)
    np.testing.assert_allclose(training.T @ expit(-training @ fitted), fitted, atol=1e-12)
    np.testing.assert_allclose(np.sort(found.margins), np.sort(z[part == trial.cut.tested] @ fitted), atol=1e-8)
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
    with pytest.raises(SpecError, match="name them with control="):
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


@pytest.mark.full
def test_a_run_compares_with_and_without(tmp_path: Path) -> None:
    sided(1200, 6, 0.6).write_csv(tmp_path / "votes.csv")
    arguments = ["run", "--log", str(tmp_path / "votes.csv"), "--control", CONTROL, "--reps", "2", "--workers", "1"]
    suite = tmp_path / "small.toml"
    suite.write_text(
        'name = "small"\ntitle = "Small"\nprotocol = "own-log"\n[[experiments]]\nname = "methods"\ntitle = "Methods"\n'
        'repetitions = 2\nlosses = ["log-loss"]\ncontenders = [{ use = "win-rate" }]\n'
        '[[experiments]]\nname = "items"\ntitle = "Items"\nprotocol = "items"\nlosses = ["score", "lower", "upper", '
        '"rank-low", "rank-high"]\ncontenders = [{ label = "BT", use = "bradley-terry:penalty=firth" }]\n'
    )
    done = CliRunner().invoke(main, [*arguments, "--suite", str(suite), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    board = pl.read_csv(tmp_path / "out" / "leaderboard.csv")
    means = dict(board.select("contender", "mean").iter_rows())
    assert set(means) == {"win-rate", "bradley-terry", "bradley-terry:control=true"}
    assert means["bradley-terry:control=true"] < means["bradley-terry"] - 0.03
    assert "By BT without covariates, **" in (tmp_path / "out" / "leaderboard.md").read_text()
