"""Experiments on several logs: what they are in a suite, their statistics over families, and claims about these."""

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankbench
from rankbench.core.spec import parse
from rankbench.data.cards import cards
from rankbench.errors import SpecError
from rankbench.interfaces.suite import Experiment, LogPlace
from rankbench.reports.analysis import analyze
from rankbench.reports.over_claims import answers_over
from rankbench.reports.over_logs import over_logs
from rankbench.reports.over_page import answer_over_logs, figures_over_logs, shares_at_ends, tables_over_logs
from rankbench.store.published import open_results
from rankbench.suites.suite_files import load_suite, on_each_log

SUITE = """
name = "few-logs"
title = "Few logs"
seed = 3
[[experiments]]
name = "votes"
title = "Held-out votes"
protocol = "own-log"
repetitions = 5
losses = ["log-loss", "disagreement"]
baseline = "win rate"
chance = "a coin"
margin = { log-loss = 0.005 }
contenders = [
  { label = "win rate", use = "win-rate" },
  { label = "a coin", use = "coin" },
  { label = "Bradley-Terry", use = "bradley-terry:ridge=[0.1,1]", tune = true },
  { label = "of few items", use = "svm-rank-aggregation" },
]
[experiments.datasets]
pandalm = { kind = "language models" }
premier-league = { kind = "sports", family = "football" }
light-fields = { kind = "images", family = "football" }
nfl = { kind = "sports" }
ufc = { kind = "sports" }
[[experiments.claims]]
id = "C1"
text = "A coin is worse"
kind = "less"
contrasts = [{ a = "win rate", b = "a coin" }]
[[experiments.claims]]
id = "C2"
text = "Bradley-Terry orders as a coin"
kind = "equivalent"
loss = "disagreement"
margin = 0.01
contrasts = [{ a = "Bradley-Terry", b = "a coin" }]
[[experiments.claims]]
id = "C3"
text = "A method that fails somewhere"
kind = "less"
contrasts = [{ a = "of few items", b = "a coin" }]
"""
LOGS = ["pandalm", "premier-league", "light-fields", "nfl"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the published results of a suite on four logs of three families, and one that is not here."""
    base = tmp_path_factory.mktemp("over")
    (base / "few-logs.toml").write_text(SUITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RANKBENCH_DATA", raising=False)
        rankbench.run(str(base / "few-logs.toml"), out=base / "run-1", workers=1)
    return base


@pytest.fixture(scope="module")
def over(folder):
    with open_results(folder / "run-1") as results:
        (found,) = over_logs(analyze(results).sections)
    return found


def test_an_experiment_on_several_logs_is_one_on_each(folder):
    experiments = load_suite(str(folder / "few-logs.toml")).experiments
    assert [one.name for one in experiments] == [f"votes-{log}" for log in [*LOGS, "ufc"]]
    assert all(one.optional and one.over == "votes" for one in experiments)
    place = {"kind": "k", "protocol": "held-out-ballots:folds=query"}
    one = Experiment(name="a", title="A", protocol="own-log", contenders=[{"use": "coin"}], datasets={"f1": place})
    assert [each.protocol for each in on_each_log(one)] == ["held-out-ballots:folds=query"]


def test_a_log_joins_by_its_card(folder, monkeypatch):
    place = LogPlace(kind="sports", family="chess")
    card = cards()["lichess"].model_copy(update={"joins": {"votes": place}})
    monkeypatch.setattr("rankbench.suites.suite_files.cards", lambda: {"lichess": card})
    experiments = load_suite(str(folder / "few-logs.toml")).experiments
    assert (experiments[-1].name, experiments[-1].datasets) == ("votes-lichess", {"lichess": place})


def test_a_claim_is_about_one_of_the_losses(tmp_path):
    (tmp_path / "a.toml").write_text(SUITE.replace('loss = "disagreement"', 'loss = "ndcg"'))
    with pytest.raises(SpecError, match="'ndcg' is not among the losses"):
        load_suite(str(tmp_path / "a.toml"))


def test_logs_that_are_not_here_are_named_and_others_are_in_their_order(folder, over):
    assert [place.log for place in over.places] == LOGS
    assert over.families == ["pandalm", "football", "nfl"]
    assert "leaves out votes-ufc" in (folder / "run-1" / "leaderboard.md").read_text()


def family_means(folder, loss, label):
    """Return the mean differences of a method from the win rate by family, from the published table alone."""
    table = pl.read_csv(folder / "run-1" / "leaderboard.csv").filter(metric=loss)
    means = {(row["dataset"], row["contender"]): row["mean"] for row in table.iter_rows(named=True)}
    gap = {log: means[log, label] - means[log, "win rate"] for log in LOGS}
    return np.array([gap["pandalm"], (gap["premier-league"] + gap["light-fields"]) / 2, gap["nfl"]])


@pytest.mark.parametrize("label", ["a coin", "Bradley-Terry"])
def test_logs_of_a_family_count_as_one_and_intervals_are_students(folder, over, label):
    labels, found = over.ranked("log-loss")
    gaps, at = family_means(folder, "log-loss", label), labels.index(label)
    half = stats.t.ppf(0.975, 2) * gaps.std(ddof=1) / math.sqrt(3)
    assert found.scores[at] == pytest.approx(gaps.mean(), abs=2e-6)
    # The standard error is of resamples, of which there are thousands.
    assert found.upper[at] - found.scores[at] == pytest.approx(half, rel=0.05)


def test_the_interval_of_the_best_is_students_for_all_methods_together(folder, over):
    gaps = family_means(folder, "log-loss", "Bradley-Terry")
    # Two methods differ from the baseline: Bonferroni.
    half = stats.t.ppf(1 - 0.025 / 2, 2) * gaps.std(ddof=1) / math.sqrt(3)
    low, high = over.interval_of_many("log-loss", "Bradley-Terry")
    assert (high - low) / 2 == pytest.approx(half, rel=0.05)
    assert (low + high) / 2 == pytest.approx(gaps.mean(), abs=2e-6)


def test_a_coin_is_shown_and_not_called_the_best(over):
    labels, found = over.ranked("log-loss")
    assert not found.first[labels.index("a coin")]
    assert "a coin" not in answer_over_logs([over])[0].partition("of the best of")[2].partition("be the best, too")[0]
    assert "Not called the best, as it guesses: a coin." in str(tables_over_logs([over]))


def test_an_unknown_label_of_chance_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text(SUITE.replace('chance = "a coin"', 'chance = "a dice"'))
    with pytest.raises(SpecError, match="no contender is labelled 'a dice'"):
        rankbench.run(str(tmp_path / "a.toml"), out=tmp_path / "out")


def test_ends_of_grids_are_told(over):
    """Both points of a grid of two are ends."""
    assert "The end of a grid was chosen in this share of runs: Bradley-Terry 100%." in str(tables_over_logs([over]))


def test_ends_of_a_grid_of_several_lists_are_those_of_each_list():
    """Points are (1, 4), (2, 3), (2, 4) and (2, 5) of nine: none is the first or the last."""
    grid = parse("elo:factor=[1,2,4],permutations=[3,4,5],seed=[1]")
    assert shares_at_ends(grid, [1, 3, 4, 5]) == {"factor": 0.25, "permutations": 0.5}


def test_ends_of_a_list_are_its_least_and_largest_number():
    """Factors of the points are 2, 2, 8 and 1; names have no ends."""
    grid = parse("elo:factor=[2,8,1],permutations=[3,5],scale=[a,b]")
    assert shares_at_ends(grid, [0, 0, 4, 8]) == {"factor": 0.5, "permutations": 1.0}


def test_mean_ranks_are_over_families(folder, over):
    table = np.stack([family_means(folder, "log-loss", label) for label in ("win rate", "a coin", "Bradley-Terry")])
    ranks = stats.rankdata(table, axis=0).mean(axis=1)
    assert list(over.mean_ranks("log-loss").values()) == pytest.approx(ranks)


def test_a_method_that_fails_on_a_log_is_shown_and_has_no_place(over):
    labels, _ = over.ranked("log-loss")
    assert labels == ["win rate", "a coin", "Bradley-Terry"]
    page = str(tables_over_logs([over]))
    assert "No place over logs: of few items, without a result on premier-league and nfl" in page
    assert "*skipped*" in page


def test_claims_are_judged_over_families(folder, over):
    first, second, third = answers_over(over)
    gaps = -family_means(folder, "log-loss", "a coin")
    assert first.findings[0].estimate == pytest.approx(gaps.mean(), abs=2e-6)
    half = stats.t.ppf(0.975, 2) * gaps.std(ddof=1) / math.sqrt(3)
    assert first.findings[0].own_upper == pytest.approx(gaps.mean() + half, rel=0.05, abs=1e-3)
    assert first.verdict == ("held" if first.findings[0].own_upper < 0 else "could not tell")
    assert second.findings[0].estimate < -0.01
    assert third.verdict != "held"
    assert any("nfl: left out, a method failed" in note for note in third.notes)


def test_claims_stand_once_whatever_the_number_of_logs(folder):
    with open_results(folder / "run-1") as results:
        sections = analyze(results).sections
    assert [len(section.answers) for section in sections] == [3, 0, 0, 0]


def test_the_answer_says_how_many_of_a_hundred_go_the_other_way(folder, over):
    (said,) = answer_over_logs([over])
    table = pl.read_csv(folder / "run-1" / "leaderboard.csv").filter(metric="disagreement", contender="Bradley-Terry")
    means = dict(zip(table["dataset"], table["mean"], strict=True))
    mean = 100 * (means["pandalm"] + (means["premier-league"] + means["light-fields"]) / 2 + means["nfl"]) / 3
    assert said.startswith("**Held-out votes** (4 logs of 3 families): **Bradley-Terry** has the best mean")
    assert f"On average over families it orders {mean:.1f} of 100 held-out votes the other way" in said
    assert "a coin 50.0" in said


def test_the_page_answers_before_it_counts_claims(folder):
    text = (folder / "run-1" / "leaderboard.md").read_text()
    assert 0 < text.index("**Bradley-Terry** has the best mean") < text.index("**Do the claims hold?**")


def test_a_figure_has_logs_down_and_a_panel_a_method(over):
    (drawn,) = figures_over_logs([over])
    (plots,) = drawn.drawing.plots
    assert [plot.title for plot in plots] == ["Bradley-Terry", "a coin"]
    assert [dot.row for dot in plots[0].dots] == LOGS
    assert drawn.figure.file == "votes"


def test_one_family_has_no_answer_over_logs(over):
    alone = SimpleNamespace(data=over.logs[0].data, rows=over.logs[0].rows)
    (one,) = over_logs([alone])
    assert one.ranked("log-loss")[1] is None
    assert "too few logs" in answer_over_logs([one])[0]
    assert tables_over_logs([one])


@pytest.mark.full
def test_two_workers_give_the_same_bytes(folder, monkeypatch):
    monkeypatch.delenv("RANKBENCH_DATA", raising=False)
    rankbench.run(str(folder / "few-logs.toml"), out=folder / "run-2", workers=2)
    for name in ("leaderboard.csv", "claims.csv", "leaderboard.md", "details.md", "figures/votes.csv"):
        assert (folder / "run-1" / name).read_bytes() == (folder / "run-2" / name).read_bytes()
