"""Numbers of votes that separate items: closed forms for two items, power on simulated logs, a rank-one design."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from amounts import trials
from boards import votes
from replays import replayed, simulated_pool
from scipy.stats import binom, norm

import rankbench
from rankbench.aggregators.likelihood.covariance import information_of_one, inverse_information, lead_variances
from rankbench.audits.audit import vote_board
from rankbench.audits.more_votes import design_for
from rankbench.audits.probe import VoteBoard
from rankbench.interfaces.aggregator import Aggregator
from rankbench.plugin import manager
from rankbench.ranking.load import opened_log

Z = norm.ppf(0.975) + norm.ppf(0.8)


def board(log: pl.DataFrame, method: str = "bradley-terry:penalty=firth") -> VoteBoard:
    """Return a ranking whose variances are formulas; those of plain maximum likelihood are resampled."""
    source = opened_log(log, columns="", by=None, reader="").judged()
    return vote_board(source, manager.get(Aggregator, method), 1)[0]


def test_two_items_need_the_votes_of_the_textbook() -> None:
    n, won = 100, 55
    log = pl.DataFrame([("a", "b")] * won + [("b", "a")] * (n - won), schema=["winner", "loser"], orient="row")
    probe = next(one for one in rankbench.audit(log).probes if one.name == "more-votes")
    row, p = probe.table.row(0, named=True), (won + 0.5) / (n + 1)  # Firth adds half a win to each side
    variance = (n + 2) / (n + 1) / ((n + 1) * p * (1 - p))  # sandwich of n votes and of these two halves
    needed = n * variance / (np.log(p / (1 - p)) / Z) ** 2 - n
    assert row["lead"] == pytest.approx(np.log(p / (1 - p)), rel=1e-6)
    assert row["more votes as today"] == pytest.approx(needed, abs=2)
    assert row["on the best pairs"] == pytest.approx(needed, rel=0.02)


def test_new_votes_weigh_what_todays_votes_weigh() -> None:
    """Weights of 25 or .1 do not change what a vote says: Firth's penalty alone, which counts less or more."""
    log, found = votes(5, items=4, n=600), dict[float, float]()
    for weight in (1.0, 25.0, 0.1):
        design, ratios = design_for(board(log.with_columns(weight=weight)), 1, only=2)
        found[weight] = design.allocated().sum()
        assert found[weight] <= (ratios[0] - 1) * len(log)
    assert found[25.0] == pytest.approx(found[1.0], rel=0.05)


def test_a_design_reaches_its_goals_by_the_information_of_its_votes() -> None:
    found = board(votes(3, items=6, n=800, taste=0.3))
    design, ratios = design_for(found, 2)
    added = design.allocated()
    one = information_of_one(design.scores[:, None] - design.scores[None, :])
    more = (added + added.T) * one
    whole = np.linalg.pinv(design.inverse) + np.diag(more.sum(axis=0)) - more
    after = lead_variances(np.linalg.pinv(whole))[design.better, design.worse]
    assert (after <= design.goals * 1.001).all()
    assert after.max() > 0
    assert added.sum() < (ratios.max() - 1) * found.votes.count
    # Half as many votes do not reach all goals: no pair gets votes in vain.
    half = np.linalg.pinv(np.linalg.pinv(design.inverse) + (np.diag(more.sum(axis=0)) - more) / 2)
    assert (lead_variances(half)[design.better, design.worse] > design.goals).any()


def test_of_a_lead_of_two_items_their_own_pair_is_best() -> None:
    found = board(votes(4, items=5, n=400))
    design, _ = design_for(found, 1, only=2)
    added = design.allocated()
    i, j = sorted(found.compared[:2])
    lead = design.scores[i] - design.scores[j]
    today = lead_variances(design.inverse)[i, j]
    assert added.sum() == pytest.approx(added[i, j])
    assert added[i, j] == pytest.approx((1 / design.goals[0] - 1 / today) / information_of_one(lead), rel=1e-6)
    assert design.allocated(limit=5.0).sum() == pytest.approx(5.0)


def test_the_votes_that_it_names_have_the_power_that_it_names() -> None:
    skills = np.array([0.45, 0.2, 0.0, -0.2, -0.45])
    rng, m = np.random.default_rng(6), 5
    pair = np.array([(i, j) for i in range(m) for j in range(i + 1, m)])
    chance = 1 / (1 + np.exp(skills[pair[:, 1]] - skills[pair[:, 0]]))
    counts = {"winner": [], "loser": [], "count": []}
    for (i, j), p in zip(pair.tolist(), chance, strict=True):
        for one, other, share in ((i, j, p), (j, i, 1 - p)):
            for name, value in zip(counts, (f"i{one}", f"i{other}", round(60 * share)), strict=True):
                counts[name].append(value)
    log = pl.DataFrame(counts)
    log = log.select(pl.exclude("count").repeat_by("count").explode())
    found = board(log)
    scores, today = found.ranking.scores, found.votes.count
    design, ratios = design_for(found, 1, only=2)
    share = np.array([1 / len(pair)] * len(pair))
    plans = (ratios[0] * today * share, today * share + design.allocated()[pair[:, 0], pair[:, 1]])
    tried, method = trials(600), manager.get(Aggregator, "bradley-terry:penalty=none")
    p = 1 / (1 + np.exp(scores[pair[:, 1]] - scores[pair[:, 0]]))

    def counts_of(won: np.ndarray, lost: np.ndarray) -> rankbench.PairCounts:
        ends = np.r_[pair[:, 0], pair[:, 1]].astype(np.int32), np.r_[pair[:, 1], pair[:, 0]].astype(np.int32)
        cells = np.r_[won, lost].astype(float), np.zeros(2 * len(pair), bool)
        return rankbench.PairCounts.from_comparisons(
            rankbench.Comparisons(np.array([0, 2 * len(pair)]), *ends, *cells), m
        )

    for plan in plans:
        judged, rejected = np.round(plan).astype(int), 0
        for _ in range(tried):
            won = rng.binomial(judged, p)
            cells = counts_of(won, judged - won)
            fitted = method.from_counts(cells)
            variance = lead_variances(inverse_information(cells, fitted))[0, 1]
            rejected += abs(fitted[0] - fitted[1]) > norm.ppf(0.975) * np.sqrt(variance)
        assert 0.001 < binom.cdf(rejected, tried, 0.8) < 0.999


def test_the_audit_and_the_difference_of_a_pair_ask_for_one_number_of_votes() -> None:
    log = votes(4, items=5, n=400, taste=0.5)
    found = board(log, "bradley-terry:penalty=firth")
    first, second = (found.items[i] for i in found.compared[:2])
    between = rankbench.aggregate(log, "bradley-terry:penalty=firth", between=(first, second)).between
    own = lead_variances(found.loaded.covariance(found.method, found.ranking.scores)[0])
    _, ratios = design_for(found, 1, only=2)
    i, j = found.compared[:2]
    lead = found.ranking.scores[i] - found.ranking.scores[j]
    assert between["more_votes"][0] == np.ceil((ratios[0] - 1) * 400) > 0
    assert ratios[0] != pytest.approx(own[i, j] * (Z / lead) ** 2, rel=0.01)  # not moderated


def test_of_equal_items_no_number_of_votes_is_enough() -> None:
    log = pl.DataFrame([("a", "b"), ("b", "a")] * 20, schema=["winner", "loser"], orient="row")
    probe = next(one for one in rankbench.audit(log).probes if one.name == "more-votes")
    assert "too small for any number of votes" in probe.answer
    assert probe.table["on the best pairs"].to_list() == [None, None]
    assert probe.table["compare next"].to_list() == ["lead too small to show"] * 2


@pytest.mark.long
def test_votes_on_the_pairs_that_it_names_find_the_first_item_sooner_than_votes_on_random_pairs() -> None:
    count, right = 200, dict[str, int]()
    for how in ("design", "random"):
        replays = [replayed(simulated_pool(seed), how, seed, start=200, batch=50, batches=10) for seed in range(count)]
        right[how] = sum(one.first for one in replays)
    assert right["design"] > right["random"]


def test_more_tasks_follow_from_the_paired_differences() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"model": ["a", "b", "c"]} | {f"t{k}": rng.normal([0.3, 0.0, -0.5], 1) for k in range(12)})
    found = rankbench.audit(table, columns="system=model,scores=*")
    probe = next(probe for probe in found.probes if probe.name == "more-tasks")
    values = table.drop("model").to_numpy()
    order = np.argsort(-values.mean(axis=1))
    difference = values[order[0]] - values[order[1]]
    needed = Z**2 * difference.var(ddof=1) / difference.mean() ** 2 - 12
    assert probe.table["more tasks"][0] == max(0, np.ceil(needed))
    assert "ranks, which hold together, may overlap still" in probe.answer
