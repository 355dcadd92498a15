"""Standings against SciPy and against what is known of the synthetic runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import synthetic
from scipy import stats
from synthetic import Contender, Plan

from rankbench.errors import StoreError
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.figures import SampledResults
from rankbench.reports.standings import Standing, best_first, standings


def read(folder: Path, plan: Plan, **more) -> Analysis:
    return synthetic.analysis(synthetic.write(folder, [plan], {"design": 60, "heldout": 50}, **more))


def pick(analysis: Analysis, label: str, n: int = 200_000, split: str = "heldout", metric: str = "ndcg") -> Standing:
    (row,) = (
        row
        for section in analysis.sections
        for row in section.rows
        if (row.contender, row.n, row.split, row.metric) == (label, n, split, metric)
    )
    return row


def test_means_and_both_intervals(tmp_path: Path) -> None:
    plan = synthetic.small()
    analysis = read(tmp_path, plan)
    _, blocks = synthetic.blocks_of(plan, {"design": 60, "heldout": 50})
    losses = np.stack([b.cells[1].losses["ndcg", "heldout"] for b in blocks if b.key.n == 200_000])
    base = np.stack([b.cells[3].losses["ndcg", "heldout"] for b in blocks if b.key.n == 200_000])
    row, draws = pick(analysis, "regression k=10"), losses.mean(axis=1)
    expected = stats.ttest_1samp(draws, 0).confidence_interval(0.95)
    assert (row.mean, row.sd, row.se) == pytest.approx((losses.mean(), draws.std(ddof=1), stats.sem(draws)))
    assert (row.lower, row.upper) == pytest.approx((expected.low, expected.high))
    paired = stats.ttest_rel(draws, base.mean(axis=1)).confidence_interval(0.95)
    assert row.difference == pytest.approx(losses.mean() - base.mean())
    assert (row.difference_lower_draws, row.difference_upper_draws) == pytest.approx((paired.low, paired.high))
    over_queries = losses.mean(axis=0).std(ddof=1) / math.sqrt(50)
    assert row.se_queries == pytest.approx(math.hypot(over_queries, row.se), rel=0.1)
    assert row.lower_queries < row.lower < row.upper < row.upper_queries
    assert row.difference_lower < row.difference < row.difference_upper
    assert row.upper_queries - row.lower_queries > 3 * (row.difference_upper - row.difference_lower)
    assert (row.repetitions, row.planned, row.queries, row.status, row.reason) == (6, 6, 50, "done", "")
    assert row.optimality == pytest.approx(6e-9)
    assert row.facts["mc_error"] == pytest.approx(0.00175)


def test_ranks_follow_the_effects(tmp_path: Path) -> None:
    analysis = read(tmp_path, synthetic.small())
    labels = ["regression k=inf", "regression k=10", "logistic", "regression k=1"]
    ranges = [(pick(analysis, label).rank_low, pick(analysis, label).rank_high) for label in labels]
    assert ranges[0] == (1, 1)
    assert ranges[3] == (4, 4)
    section = analysis.sections[0]
    rows = [row for row in section.rows if (row.n, row.split) == (200_000, "heldout")]
    assert [row.contender for row in best_first(rows)] == labels
    assert pick(analysis, "regression k=1").p_holm < 0.01
    assert math.isnan(pick(analysis, "logistic").p_holm)


def test_maximized_metrics_rank_the_other_way(tmp_path: Path) -> None:
    metrics = [{"name": "ndcg", "direction": "maximize"}]
    analysis = read(tmp_path, synthetic.small(), metrics=metrics)
    row = pick(analysis, "regression k=1")
    assert (row.rank_low, row.rank_high, row.direction) == (1, 1, "maximize")
    rows = [row for row in analysis.sections[0].rows if (row.n, row.split) == (200_000, "heldout")]
    assert best_first(rows)[0].contender == "regression k=1"


@pytest.mark.parametrize("oracles", [[], ["inf"]])
def test_a_cell_equal_to_infinity_counts_once(tmp_path: Path, oracles: list[str]) -> None:
    """A contender that has the cell of an oracle is ranked by itself."""
    contenders = [
        Contender("k100", {"k": 100, "x": 1}, share_complete=1.0, cell_of="inf"),
        Contender("inf", {"k": "inf", "x": 1}, share_complete=1.0),
        Contender("k1", {"k": 1, "x": 1}, 0.1, share_complete=0.25),
        Contender("other", {"k": 100, "x": 2}, 0.2, share_complete=1.0),
    ]
    analysis = read(tmp_path, Plan("e", contenders, baseline="inf", extra={"oracles": oracles}))
    same, owner, worse, other = (pick(analysis, c.label) for c in contenders)
    assert (same.equals, owner.equals, worse.equals, other.equals) == ("inf", "", "", "")
    assert (same.rank_low, same.rank_high) == (1, 1)
    assert (owner.rank_low, owner.rank_high) == ((None, None) if oracles else (1, 1))
    assert (worse.rank_low, worse.rank_high) == (2, 2)
    assert same.difference == pytest.approx(0, abs=1e-12)
    assert (same.difference_lower, same.difference_upper) == pytest.approx((0, 0), abs=1e-12)
    assert worse.facts["share_complete"] == 0.25


@pytest.mark.parametrize("status", ["diverged", "skipped", "error", "timeout"])
def test_what_went_wrong_is_not_ranked_and_the_others_keep_their_bytes(tmp_path: Path, status: str) -> None:
    plan = synthetic.small()
    whole = read(tmp_path / "whole", plan)
    plan.contenders.append(Contender("broken", {}, -0.3, fails={2: (status, "step 5: nan"), 4: (status, "x")}))
    analysis = read(tmp_path / "broken", plan)
    row = pick(analysis, "broken")
    assert (row.status, row.reason) == (status, "2 of 6 repetitions: step 5: nan")
    assert row.rank_low is None
    assert math.isnan(row.lower_queries)
    assert row.mean < 0.3
    assert row.repetitions == 4
    for contender in plan.contenders[:-1]:
        assert repr(pick(analysis, contender.label)) == repr(pick(whole, contender.label))


@pytest.mark.parametrize("late", [(1, 4), ()])
def test_comparisons_are_on_shared_repetitions(tmp_path: Path, late: tuple[int, ...]) -> None:
    """A contender that was added later has run twice so far, or never."""
    plan, queries = synthetic.small(), {"design": 20, "heldout": 20}
    members, blocks = synthetic.blocks_of(plan, queries)
    with synthetic.Store(tmp_path) as store:
        store.begin(synthetic.record([plan], queries), members)
        for block in blocks:
            keep = block.cells if block.key.repetition in late else block.cells[:3]
            store.commit(synthetic.BlockResult(block.key, list(keep), 1.0))
        analysis = analyze(store)
    assert {row.repetitions for row in analysis.sections[0].rows if row.status == "done"} == {len(late) or 6}
    compared = [b.cells[0].losses["ndcg", "design"] for b in blocks[:6] if not late or b.key.repetition in late]
    assert pick(analysis, "regression k=1", split="design").mean == pytest.approx(np.mean(compared))
    row = pick(analysis, "logistic")
    assert (row.status, row.repetitions) == (("done", 2) if late else ("pending", 0))
    assert pick(analysis, "regression k=inf", split="design").rank_low == 1


def test_a_missing_metric_is_an_error(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [synthetic.small()])
    with synthetic.Store(tmp_path) as store:
        plan = synthetic.small()
        plan.losses = ("ndcg", "err")
        store.begin(synthetic.record([plan], {"design": 40, "heldout": 30}), store.members())
        with pytest.raises(StoreError, match="its losses are others"):
            analyze(store)


def test_few_overlapping_splits_that_agree_are_no_certainty(tmp_path: Path) -> None:
    """Of fewer than ten, only contenders that are the same cells have a difference of [0, 0]."""

    def compared(repetitions: int, folder: str) -> tuple[Standing, Standing, Standing]:
        plan = synthetic.small()
        flat = {"sd_draws": 0.0, "noise": 0.0}
        plan.contenders = [
            Contender("logistic", {}, **flat),
            Contender("other", {}, effect=0.05, **flat),
            Contender("twin", {}, cell_of="logistic", **flat),
        ]
        plan.repetitions = repetitions
        analysis = read(tmp_path / folder, plan, test_share=0.2)
        return tuple(pick(analysis, label) for label in ("logistic", "other", "twin"))  # type: ignore[return-value]

    _, other, same_as = compared(5, "few")
    assert (other.rank_low, other.rank_high, same_as.rank_low, same_as.rank_high) == (1, 3, 1, 3)
    assert all(map(math.isnan, (other.difference_lower, other.difference_upper, other.p_holm)))
    assert (same_as.difference_lower, same_as.difference_upper, same_as.p_holm) == (0, 0, 1)
    base, other, same_as = compared(10, "many")
    assert (other.difference_lower, other.difference_upper) == pytest.approx((0.05, 0.05), abs=1e-9)
    assert (base.rank_low, base.rank_high) != (other.rank_low, other.rank_high)


@pytest.mark.parametrize("splits", [None, 0.2])
def test_intervals_of_a_share_are_shares(tmp_path: Path, splits: float | None) -> None:
    """Four draws of an error rate on few units: Student's interval of .375 would go from below 0."""
    plan = Plan("e", [Contender("logistic", {}), Contender("other", {})], (100,), 4)
    members, blocks = synthetic.blocks_of(plan, {"design": 2})
    for block, errors in zip(blocks, ([1, 0], [0, 0], [1, 0], [1, 0]), strict=True):
        for cell in block.cells:
            cell.losses["ndcg", "design"] = np.array(errors, np.float64)
    metric = {"name": "ndcg", "direction": "minimize", "low": 0, "high": 1}
    record = synthetic.record([plan], {"design": 2}, metrics=[metric], test_share=splits)
    with synthetic.Store(tmp_path) as store:
        store.begin(record, members)
        for block in blocks:
            store.commit(block)
        (data,) = synthetic.experiments(tmp_path)
        row = next(row for row in standings(data) if row.contender == "other")
        drawn = SampledResults(data).intervals(100, ["other"], "ndcg", "design", 0.95)
    draws = np.array([0.5, 0, 0.5, 0.5])
    factor = 1 if splits is None else math.sqrt(1 + 4 * 0.2 / 0.8)  # Nadeau and Bengio
    half = stats.t(3).ppf(0.975) * draws.std(ddof=1) / 2 * factor
    assert draws.mean() - half < 0
    # Wilson's interval of n votes with variance p (1 - p) / n, and Student's quantile in place of z.
    p, z = draws.mean(), stats.t(3).ppf(0.975)
    n = p * (1 - p) / (half / z) ** 2
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    width = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    assert (row.lower, row.upper) == pytest.approx((middle - width, middle + width))
    assert (drawn.lower[0], drawn.upper[0]) == (row.lower, row.upper)
    assert 0 <= row.lower_queries < p < row.upper_queries <= 1
