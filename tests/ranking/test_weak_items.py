"""Scores of items with few wins or losses: how often their intervals cover, and where they come from."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from settings_of_logs import Setting, normal_skills

import rankbench
from rankbench.interfaces.aggregator import Aggregator
from rankbench.ranking.rank import ItemRanking, rank
from rankbench.ranking.rank_ranges import score_intervals
from rankbench.ranking.ranked_log import CountedVotes

WEAK = (
    Setting("two wins of 27 votes, ten items", np.append(np.zeros(9), -2.5), 135),
    Setting("one win of 27 votes, ten items", np.append(np.zeros(9), -3.5), 135),
    Setting("two losses of 40 votes, ten items", np.append(np.zeros(9), 3.0), 200),
    Setting("no win of 27 votes, 20 items far apart", np.sort(2 * normal_skills(20, 2))[::-1], 270),
    Setting("two wins of 100 votes, 8 items two apart", 2 * np.arange(8.0)[::-1], 400),
)
"""The last item wins or loses so few votes: about."""


def ranked(setting: Setting, seed: int) -> tuple[CountedVotes, Aggregator, ItemRanking, list[str]]:
    log, method = setting.log(seed), setting.method()
    return log, method, *rank(log, method, intervals="sandwich")


def measured(setting: Setting, logs: int) -> tuple[float, float]:
    """Return how often the last item's interval covers, and a symmetric one; of logs that give it an interval."""
    truth, covered = setting.truth()[-1], []
    for seed in range(logs):
        log, method, found, _ = ranked(setting, seed)
        se = np.sqrt(np.diag(log.covariance(method, found.scores)[0]))
        symmetric = score_intervals(found.scores, se, log.units)
        if np.isfinite(found.lower[-1]):
            covered.append([low[-1] <= truth <= high[-1] for low, high in ((found.lower, found.upper), symmetric)])
    return tuple(np.mean(covered, axis=0).tolist())


@pytest.mark.long
@pytest.mark.parametrize("setting", WEAK, ids=lambda one: one.says)
def test_weak_items_are_covered(setting: Setting) -> None:
    """Of 2,000 logs a share of 94% has a standard deviation of .5%."""
    covered, symmetric = measured(setting, 2000)
    print(f"\n| {setting.says} | {covered:.3f} | {symmetric:.3f} |")
    assert covered >= 0.93


def test_items_with_few_wins_have_likelihood_intervals() -> None:
    """Such an item's interval is longer toward the end; others, all places and all judges' logs stay as they were."""
    setting = Setting("", 2 * normal_skills(12, 5), 240)
    log, _, found, notes = ranked(setting, 1)
    tallies = log.tallies()
    weak = np.minimum(tallies.won, tallies.judged - tallies.won) < 5
    known = np.isfinite(found.lower)
    assert 0 < (weak & known).sum() < 12
    below, above = found.scores - found.lower, found.upper - found.scores
    even = np.isclose(below, above)
    np.testing.assert_array_equal(even[known], ~weak[known])
    seldom = weak & known & (tallies.won < 5)
    assert (below > above)[seldom].all()
    assert f"{(weak & known).sum()} of 12 items won or lost fewer than 5 votes" in notes[-1]
    assert "profile penalized likelihood" in notes[-1]


def test_intervals_of_logs_by_judge_and_of_davidson_stay_symmetric() -> None:
    for setting in (
        Setting("", 2 * normal_skills(12, 5), 240, judges=40),
        Setting("", 2 * normal_skills(12, 5), 240, ties=0.3),
    ):
        _, _, found, notes = ranked(setting, 1)
        np.testing.assert_allclose(found.scores - found.lower, found.upper - found.scores)
        assert not any("likelihood" in note for note in notes)


def test_too_many_weak_items_are_said_to_be_symmetric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankbench.ranking.rank._MOST_WORK", 1000.0)
    _, _, found, notes = ranked(Setting("", 2 * normal_skills(12, 5), 240), 1)
    np.testing.assert_allclose(found.scores - found.lower, found.upper - found.scores)
    assert "symmetric, and may cover less" in notes[-1]


def test_the_answer_names_them() -> None:
    pairs = [("a", "b")] * 11 + [("b", "c")] * 20 + [("c", "b")] * 20
    votes = pl.DataFrame(pairs, schema=["winner", "loser"], orient="row")
    found = rankbench.aggregate(votes, intervals="sandwich")
    assert any("1 of 3 items won or lost fewer than 5 votes" in note for note in found.notes)
    row = found.table.row(by_predicate=pl.col("item") == "a", named=True)
    assert row["upper"] - row["score"] > 1.5 * (row["score"] - row["lower"])


def test_facts_say_how_many_judges_intervals_rest_on() -> None:
    votes = pl.DataFrame({"winner": ["a", "b", "a", "b"], "loser": ["b", "a", "b", "a"], "judge": ["x", "y", "z", "x"]})
    found = rankbench.aggregate(votes, intervals="auto").facts
    assert (found["voters"], found["judges"]) == (None, 3)
    assert rankbench.aggregate(votes).facts["judges"] is None
