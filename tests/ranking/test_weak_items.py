"""Scores of items with few wins or losses: how often their intervals cover, and where they come from."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from amounts import is_fresh, trials
from scipy import stats
from scipy.optimize import minimize
from settings_of_logs import Setting, normal_skills

import rankbench
from rankbench.aggregators.likelihood.profile import profile_ends
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.pair_counts import ClusterCounts
from rankbench.logs.count import count_clusters, count_pairs
from rankbench.plugin import manager
from rankbench.ranking.over_time import scores_over_time
from rankbench.ranking.question import OverTimeQuestion
from rankbench.ranking.rank import Ranking, rank
from rankbench.ranking.rank_ranges import reference_items, score_intervals
from rankbench.ranking.ranked_log import CountedVotes

WEAK = (
    Setting("two wins of 27 votes, ten items", np.append(np.zeros(9), -2.5), 135),
    Setting("one win of 27 votes, ten items", np.append(np.zeros(9), -3.5), 135),
    Setting("two losses of 40 votes, ten items", np.append(np.zeros(9), 3.0), 200),
    Setting("no win of 27 votes, 20 items far apart", np.sort(2 * normal_skills(20, 2))[::-1], 270),
    Setting("two wins of 100 votes, 8 items two apart", 2 * np.arange(8.0)[::-1], 400),
)
"""The last item wins or loses so few votes: about."""


BESIDE = (
    (Setting("ten items, 6,000 votes", normal_skills(10, 2), 6000), 1),
    (Setting("ten items, 300 votes", normal_skills(10, 2), 300), 1),
    (Setting("6 items, 40 judges with tastes, 2,000 votes", np.linspace(-0.7, 0.7, 6), 2000, 40, 0.7), 1),
    (Setting("3 items, 600 votes", np.linspace(-0.5, 0.5, 3), 600), 10),
    (Setting("4 items, 600 votes", np.linspace(-0.5, 0.5, 4), 600), 10),
    (Setting("4 items, 80 votes", np.linspace(-0.5, 0.5, 4), 80), 10),
    (Setting("ten items, 6,000 votes", normal_skills(10, 2), 6000), 12),
    (Setting("4 items, 40 judges with tastes, 2,000 votes", np.linspace(-0.7, 0.7, 4), 2000, 40, 0.7), 12),
)
"""Logs, and the number of votes on an item of its own that are added, as by a misspelled name."""


def with_a_stranger(log: CountedVotes, votes: int) -> CountedVotes:
    """Return the log with more votes, which its items win in turn over an item that nobody else judged."""
    data, counts = log.data, log.counts
    cells = np.stack([counts.forward, counts.backward], axis=1).ravel().astype(np.int64)
    pair, lost = np.divmod(np.repeat(np.arange(len(cells)), cells), 2)
    judges = np.zeros(len(pair), np.int64)
    if isinstance(data, ClusterCounts):
        cell = np.repeat(data.cells, data.weights.astype(np.int64))
        pair, lost = cell // 3, cell % 3
        judges = np.repeat(
            np.repeat(np.arange(len(data.clusters)), np.diff(data.starts)), data.weights.astype(np.int64)
        )
    ends = counts.low[pair], counts.high[pair]
    winners, losers = np.where(lost, ends[1], ends[0]), np.where(lost, ends[0], ends[1])
    won, lost_all = (3 + np.arange(votes)) % counts.m, np.full(votes, counts.m)
    said = np.append(winners, won), np.append(losers, lost_all)
    if not isinstance(data, ClusterCounts):
        return CountedVotes(count_pairs(*said, m=counts.m + 1))
    judged = np.append(judges, np.arange(votes) % len(data.clusters))
    return CountedVotes(count_clusters(*said, judged, m=counts.m + 1), by_judge=True)


def measured_beside(setting: Setting, votes: int, logs: int) -> tuple[float, float, float]:
    """Return how often intervals of other items cover, their widening in 99% of logs, and if told from all items."""
    truth, method = setting.truth(), setting.method()
    covered, wider, about_all = [], [], []
    for seed in range(logs):
        plain, log = setting.log(seed), with_a_stranger(setting.log(seed), votes)
        found, before = (rank(one, method, intervals="sandwich") for one in (log, plain))
        lower, upper = found.lower[:-1], found.upper[:-1]
        told = truth - truth[found.reference[:-1]].mean()
        covered.append((lower <= told) & (told <= upper))
        wider.append(np.max((upper - lower) / (before.upper - before.lower)))
        se = np.sqrt(np.diag(log.covariance(method, log.scores(method))[0]))
        all_low, all_high = score_intervals(found.scores, se, log.units)
        about_all.append(np.median((all_high - all_low)[:-1] / (before.upper - before.lower)))
    return float(np.mean(covered)), float(np.quantile(wider, 0.99)), float(np.median(about_all))


def ranked(setting: Setting, seed: int) -> tuple[CountedVotes, Aggregator, Ranking]:
    log, method = setting.log(seed), setting.method()
    return log, method, rank(log, method, intervals="sandwich")


def measured(setting: Setting, logs: int) -> tuple[float, float]:
    """Return how often the last item's interval covers, and a symmetric one; of logs that give it an interval."""
    truth, covered = setting.truth()[-1], []
    for seed in range(logs):
        log, method, found = ranked(setting, seed)
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


@pytest.mark.parametrize(("setting", "votes"), BESIDE, ids=str)
def test_few_votes_on_a_stranger_leave_the_intervals_of_others(setting: Setting, votes: int) -> None:
    covered, wider, about_all = measured_beside(setting, votes, trials(1000, 12))
    print(f"\n| {setting.says}, {votes} more | {covered:.3f} | {wider:.3f} | {about_all:.2f} |")
    assert wider <= 1.05
    assert wider < about_all
    assert covered >= (0.93 if is_fresh() else 0.8)


@pytest.mark.parametrize(
    ("variances", "left_out"),
    [
        ([1, 1, 1, 1, 9], 1),  # sum q / n^2 is 13 / 25; 5 / 25 for equals, and .082 more is 5% of a width
        ([1, 1, 1, 1, 7], 0),  # ordinary
        ([1] * 29 + [9], 0),  # many times the median, and a hundredth more of a variance
        ([1] * 29 + [200], 1),
        ([1] * 25 + [60] * 5, 4),  # one of them adds 59 / 26^2 = .087, two add 118 / 27^2 = .16; .099 is 5% of a width
        ([1, 1, 1, 90, 90], 2),
        ([0.1, 100, 100], 0),
        ([1, 9], 0),
    ],
)
def test_scores_are_told_from_items_whose_mean_is_known(variances: list[float], left_out: int) -> None:
    """Of independent scores the quasi-variances are the variances, whatever all scores have in common."""
    n = len(variances)
    covariance = np.diag(np.array([*variances, 1e4, 5.0, 5.0])) + 3.0
    known, scales = np.array([*[True] * n, False, True, True]), np.array([0] * (n + 1) + [1, 1])
    found = reference_items(covariance, scales, known)
    expected = known.copy()
    expected[n - left_out : n] = False
    np.testing.assert_array_equal(found, expected)
    assert not reference_items(covariance, scales, np.zeros(n + 3, np.bool_)).any()


def test_an_item_that_lost_ten_votes_is_said_not_to_count_in_the_mean() -> None:
    rng = np.random.default_rng(4)
    pairs = np.array([rng.choice(4, 2, replace=False) for _ in range(400)])
    rows = [(f"i{a}", f"i{b}") for a, b in pairs]
    table = pl.DataFrame([*rows, *[("i0", "i9")] * 10], schema=["winner", "loser"], orient="row")
    found = rankbench.aggregate(table, columns="time=", intervals="sandwich")
    assert any("leaves out 1 of 5 items, whose errors would widen" in note for note in found.notes)
    assert found.table["lower"].null_count() == 0
    rest = found.table.filter(pl.col("item") != "i9")
    assert rest["score"].mean() == pytest.approx(0, abs=1e-9)


def test_an_item_of_twelve_lost_votes_leaves_the_bands_of_others() -> None:
    """One grid point: a grid would weigh its points by the item's votes too."""
    rng = np.random.default_rng(6)
    rows = [(*(f"m{i}" for i in rng.choice(4, 2, replace=False)), t // 40) for t in range(400)]
    more = [(f"m{i % 4}", "m9", i % 10) for i in range(12)]
    point = "dynamic-bradley-terry:drift=0.01,variance=0.5"
    plain, found = (
        scores_over_time(
            pl.DataFrame(votes, schema=["winner", "loser", "time"], orient="row"), OverTimeQuestion(method=point)
        ).table
        for votes in (rows, rows + more)
    )
    both = found.join(plain, on=["time", "item"], suffix="_plain")
    wider = (both["upper"] - both["lower"]) / (both["upper_plain"] - both["lower_plain"])
    assert len(both) == len(plain)
    assert wider.max() <= 1.05
    np.testing.assert_allclose(both.group_by("time").agg(pl.col("score").mean())["score"], 0, atol=1e-9)


@pytest.mark.parametrize("method", ["bradley-terry:penalty=firth", "bradley-terry:ridge=1", "davidson", "elo"])
def test_scores_of_others_do_not_move_with_a_stranger(method: str) -> None:
    """With intervals scores are told from the mean of the items that have one; without, of all of a scale."""
    rng = np.random.default_rng(4)
    pairs = np.array([rng.choice(6, 2, replace=False) for _ in range(400)])
    rows = [(f"i{a}", f"i{b}") for a, b in pairs]
    table = pl.DataFrame([*rows, ("i0", "I-0")], schema=["winner", "loser"], orient="row")
    found = rankbench.aggregate(table, method, columns="time=", intervals="bootstrap", replicates=20).table
    known = found.filter(pl.col("lower").is_not_null())
    assert set(known["item"]) == {f"i{i}" for i in range(6)}
    assert known["score"].mean() == pytest.approx(0, abs=1e-9)
    assert rankbench.aggregate(table, method, columns="time=").table["score"].mean() == pytest.approx(0, abs=1e-9)


def test_a_likelihood_interval_is_of_the_score_less_the_mean_of_known_items() -> None:
    """Where the reference is another one, each end has the same penalized likelihood ratio: found by brute force."""
    votes = [(0, 1)] * 12 + [(1, 0)] * 2 + [(1, 2)] * 9 + [(2, 1)] * 7 + [(0, 2)] * 3 + [(3, 2)]
    counts = count_pairs(*np.array(votes).T, m=4)
    method = manager.get(Aggregator, "bradley-terry:penalty=firth")
    scores, known = method.from_counts(counts), np.array([True, True, True, False])
    ends = profile_ends(counts, scores, [0], 0.95, known)[0]

    def falls_short(first: float, free: np.ndarray) -> float:
        """Return minus the penalized log-likelihood of scores (first, free 1, free 2, 0)."""
        at = np.array([first, *free, 0.0])
        p = 1 / (1 + np.exp(at[counts.high] - at[counts.low]))
        edge = (counts.forward + counts.backward) * p * (1 - p)
        laplacian = np.zeros((4, 4))
        laplacian[counts.low, counts.high] = laplacian[counts.high, counts.low] = -edge
        laplacian -= np.diag(laplacian.sum(axis=1))
        determinant = np.log(np.linalg.det(laplacian[1:, 1:]))
        return -float(counts.forward @ np.log(p) + counts.backward @ np.log(1 - p)) - determinant / 2

    best, start = falls_short(scores[0] - scores[3], scores[1:3] - scores[3]), scores[1:3] - scores[3]
    for end in ends:
        value = end - scores[known].mean()
        # The first score is `value` above the mean of the first three.
        held = minimize(lambda free, v=value: falls_short((3 * v + free.sum()) / 2, free), start, method="BFGS").fun
        assert 2 * (held - best) == pytest.approx(stats.chi2(1).ppf(0.95), rel=1e-3)


def test_items_with_few_wins_have_likelihood_intervals() -> None:
    """Such an item's interval is longer toward the end; others, all places and all judges' logs stay as they were."""
    setting = Setting("", 2 * normal_skills(12, 5), 240)
    log, _, found = ranked(setting, 1)
    tallies = log.tallies
    weak = np.minimum(tallies.won, tallies.judged - tallies.won) < 5
    known = np.isfinite(found.lower)
    assert 0 < (weak & known).sum() < 12
    below, above = found.scores - found.lower, found.upper - found.scores
    even = np.isclose(below, above)
    np.testing.assert_array_equal(even[known], ~weak[known])
    seldom = weak & known & (tallies.won < 5)
    assert (below > above)[seldom].all()
    assert f"{(weak & known).sum()} of 12 items won or lost fewer than 5 votes" in found.notes[-1]
    assert "profile penalized likelihood" in found.notes[-1]


def test_intervals_of_logs_by_judge_and_of_davidson_stay_symmetric() -> None:
    for setting in (
        Setting("", 2 * normal_skills(12, 5), 240, judges=40),
        Setting("", 2 * normal_skills(12, 5), 240, ties=0.3),
    ):
        _, _, found = ranked(setting, 1)
        np.testing.assert_allclose(found.scores - found.lower, found.upper - found.scores)
        assert not any("likelihood" in note for note in found.notes)


def test_too_many_weak_items_are_said_to_be_symmetric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankbench.ranking.rank._MOST_WORK", 1000.0)
    _, _, found = ranked(Setting("", 2 * normal_skills(12, 5), 240), 1)
    np.testing.assert_allclose(found.scores - found.lower, found.upper - found.scores)
    assert "symmetric, and may cover less" in found.notes[-1]


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
