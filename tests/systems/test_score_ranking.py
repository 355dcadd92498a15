"""Score tables: ranks, tiers and shares against formulas; what is left out is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from amounts import trials
from data_files import stored, written
from scipy import stats

import rankbench
from rankbench.aggregators.score_tables import BordaCount, MeanRank, MeanScore
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.sequential_aggregator import ScoreAggregator
from rankbench.ranking.rank import Ranking
from rankbench.stats.contender_ranks import rank_ranges_of_signs, significance_tiers, top_shares
from rankbench.systems.system_ranking import rank_systems

MTEB = """\
Model,AmazonCounterfactual,ArXivClustering,STS12,Banking77
aurora-base,75.1,42.0,70.5,81.2
borealis-large,78.3,44.9,72.0,84.0
comet-small,70.0,40.5,68.1,77.3
"""

SWE_BENCH = "model,instance_id,resolved\n" + "".join(
    f"{model},org__repo-{i},{int(i % modulus != 0)}\n"
    for model, modulus in (("agent-a", 9), ("agent-b", 3), ("agent-c", 2))
    for i in range(40)
)

EUROEVAL = "model,dataset,iteration,score\n" + "".join(
    f"{model},{dataset},{i},{skill + task + task * task * at / 100 + ((7 * i + 3 * task + 5 * at) % 11) / 10}\n"
    for at, (model, skill) in enumerate((("viking", 0), ("saga", 2), ("edda", 2)))
    for task, dataset in enumerate(("angry-tweets", "scala-da", "dansk", "nordjylland", "hellaswag-da"))
    for i in range(10)
)


def by_method(found: rankbench.ScoreRanking, method: str) -> dict[str, dict[str, float]]:
    rows = found.table.filter(pl.col("method") == method).iter_rows(named=True)
    return {row["system"]: row for row in rows}


def drawn(systems: int, tasks: int, *, gap: float = 0.0, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(tasks, systems)) + gap * np.arange(systems)
    rows = [(f"t{t}", f"s{s}", float(score)) for (t, s), score in np.ndenumerate(values)]
    return pl.DataFrame(rows, schema=["task", "system", "score"], orient="row")


def test_a_table_as_mteb_has_it(tmp_path: Path) -> None:
    found = rankbench.rank(written(tmp_path / "scores.csv", MTEB), columns="system=Model,scores=*", replicates=300)
    mean, ranks, borda = (by_method(found, name) for name in ("mean-score", "mean-rank", "borda-count"))
    assert mean["aurora-base"]["score"] == pytest.approx((75.1 + 42.0 + 70.5 + 81.2) / 4)
    for place, name in enumerate(("borealis-large", "aurora-base", "comet-small")):
        assert (ranks[name]["score"], borda[name]["score"]) == (1 + place, 2 - place)
    assert mean["borealis-large"]["p_first"] == 1
    assert sum(row["p_top_k"] for row in mean.values()) == pytest.approx(3)
    assert found.facts["n"] == {"systems": 3, "tasks": 4, "seeds": 1}


def test_a_table_as_swe_bench_has_it(tmp_path: Path) -> None:
    told = "system=model,task=instance_id,score=resolved"
    found = rankbench.rank(written(tmp_path / "scores.csv", SWE_BENCH), ["mean-score"], columns=told, replicates=1000)
    rows = by_method(found, "mean-score")
    resolved = {name: np.arange(40) % modulus != 0 for name, modulus in (("agent-a", 9), ("agent-b", 3))}
    assert rows["agent-a"]["score"] == pytest.approx(resolved["agent-a"].mean())
    assert rows["agent-b"]["score"] == pytest.approx(resolved["agent-b"].mean())
    assert rows["agent-a"]["tier"] == 1
    assert (rows["agent-a"]["rank_low"], rows["agent-c"]["rank_high"]) == (1, 3)
    # A mean's own interval is that of Student's t, but for the bootstrap's error.
    t = stats.ttest_1samp(resolved["agent-b"].astype(float), 0).confidence_interval()
    assert (rows["agent-b"]["lower"], rows["agent-b"]["upper"]) == pytest.approx((t.low, t.high), abs=0.02)


def test_a_table_as_euroeval_has_it_is_resampled_by_seed_too(tmp_path: Path) -> None:
    told = "system=model,task=dataset,seed=iteration"
    found = rankbench.rank(written(tmp_path / "scores.csv", EUROEVAL), ["mean-score"], columns=told, replicates=300)
    assert found.facts["n"] == {"systems": 3, "tasks": 5, "seeds": 10}
    assert found.facts["intervals"]["resampled"] == "tasks and seeds, crossed and paired"
    rows = by_method(found, "mean-score")
    assert rows["viking"]["rank_low"] == 3
    assert rows["saga"]["tier"] == rows["edda"]["tier"] == 1
    assert rows["viking"]["tier"] == 2


def test_ranks_of_clearly_different_systems_are_single() -> None:
    found = rankbench.rank(drawn(4, 60, gap=5), replicates=400)
    for method in ("mean-score", "mean-rank", "borda-count"):
        table = found.table.filter(pl.col("method") == method)
        assert table["system"].to_list() == ["s3", "s2", "s1", "s0"]
        assert table["rank_low"].to_list() == table["rank_high"].to_list() == table["tier"].to_list() == [1, 2, 3, 4]
        assert table["p_first"].to_list() == [1, 0, 0, 0]


def test_less_is_better_where_it_is_said() -> None:
    table = drawn(3, 40, gap=3)
    same = rankbench.rank(table, replicates=200)
    turned = pl.when(pl.col("task") == "t0").then(-pl.col("score")).otherwise(pl.col("score"))
    wide = table.with_columns(score=turned).pivot("task", index="system", values="score")
    scores = "|".join(wide.columns[2:])
    said = rankbench.rank(wide, columns=f"system=system,losses=t0,scores={scores}", replicates=200)
    long = table.with_columns(
        score=turned, metric=pl.when(pl.col("task") == "t0").then(pl.lit("wer")).otherwise(pl.lit("f1"))
    )
    of_metric = rankbench.rank(long, words="more=f1,less=wer", replicates=200)
    for found in (said, of_metric):
        assert found.table.equals(same.table)
        assert "less is better of 't0': the sign is turned in means" in found.notes
        assert found.facts["lower_is_better"] == ["t0"]
    assert not any("less is better" in note for note in same.notes)


def test_losses_are_ranked_as_they_stand() -> None:
    """A table of losses has the scores of its negative with the sign turned back, and the same places."""
    table = drawn(3, 12, gap=1.5)
    options: dict[str, Any] = {"replicates": 300, "between": ("s0", "s2")}
    losses = rankbench.rank(table, columns="loss=score,score=", **options)
    turned = rankbench.rank(table.with_columns(-pl.col("score")), **options)
    of_means = pl.col("method") == "mean-score"
    back = turned.table.with_columns(score=-pl.col("score"), lower=-pl.col("upper"), upper=-pl.col("lower"))
    assert losses.table.filter(of_means).equals(back.filter(of_means))
    assert losses.table.filter(~of_means).equals(turned.table.filter(~of_means))
    means = table.group_by("system").agg(pl.col("score").mean()).sort("score")
    assert losses.table.filter(of_means)["system"].to_list() == means["system"].to_list()
    assert losses.table.filter(of_means)["score"].to_list() == pytest.approx(means["score"].to_list())
    directions = {name: fact["direction"] for name, fact in losses.facts["methods"].items()}
    assert directions == {"mean-score": "minimize", "mean-rank": "minimize", "borda-count": "maximize"}
    assert losses.facts["lower_is_better"] == losses.facts["tasks"]
    assert losses.by_task["score"].to_list() == turned.by_task.with_columns(-pl.col("score"))["score"].to_list()
    assert losses.between is not None
    assert turned.between is not None
    assert losses.between["difference"].to_list()[0] == -turned.between["difference"].to_list()[0]
    assert losses.between["difference"].to_list()[1:] == turned.between["difference"].to_list()[1:]


def test_missing_cells_are_left_out_and_said() -> None:
    table = drawn(4, 40).filter(~((pl.col("system") == "s1") & pl.col("task").is_in(["t3", "t7"])))
    tasks = rankbench.rank(table, ["mean-score"], replicates=100)
    assert tasks.facts["n"]["tasks"] == 38
    assert tasks.facts["missing"] == {
        "cells": 2,
        "of_cells": 160,
        "left_out": "tasks",
        "tasks_left_out": 2,
        "systems_left_out": 0,
    }
    assert "rankbench leaves out 2 of 40 tasks" in " ".join(tasks.notes)
    assert "'s1' (2)" in " ".join(tasks.notes)
    whole = drawn(4, 40).filter(~pl.col("task").is_in(["t3", "t7"]))
    assert tasks.table.equals(rankbench.rank(whole, ["mean-score"], replicates=100).table)
    systems = rankbench.rank(table, ["mean-score"], replicates=100, missing="systems")
    assert systems.facts["n"] == {"systems": 3, "tasks": 40, "seeds": 1}
    assert "rankbench leaves out 1 of 4 systems" in " ".join(systems.notes)


@pytest.mark.parametrize(
    ("missing", "names", "said"),
    [
        ("tasks", ["a", "b", "c d"], "rankbench leaves out 3 of 5 tasks.*; without=.c d. keeps 4 of 5 tasks"),
        ("systems", ["a", "b", "c d"], "rankbench leaves out 2 of 3 systems.*; without=.t4. keeps 2 of 3 systems"),
    ],
)
def test_a_note_names_the_system_or_task_without_which_most_stays(missing: Any, names: list[str], said: str) -> None:
    rows = [("t1", 1, 2, 3), ("t2", 2, 1, None), ("t3", 3, 1, None), ("t4", 1, None, 2), ("t5", 4, 2, 3)]
    table = pl.DataFrame(rows, ["task", *names], orient="row", strict=False)
    options: dict[str, Any] = {"columns": "task=task,scores=*", "replicates": 100, "missing": missing}
    if missing == "systems":
        with pytest.raises(InputError, match=said):
            rankbench.rank(table, ["mean-score"], **options)
    else:
        notes = rankbench.rank(table, ["mean-score"], **options).notes
        assert any(re.search(said, note) for note in notes)


def test_missing_everywhere_is_refused_with_those_that_lack_most() -> None:
    table = pl.DataFrame({"task": ["t", "u", "t", "v"], "system": ["a", "a", "b", "b"], "score": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(InputError, match=r"rankbench leaves out 2 of 3 tasks.*'a' \(1\), 'b' \(1\).*leave systems and"):
        rankbench.rank(table)
    with pytest.raises(InputError, match=r"fewer than two systems are left: leave systems and tasks out"):
        rankbench.rank(table, missing="systems")


@pytest.mark.parametrize(("missing", "other"), [("tasks", "systems"), ("systems", "tasks")])
def test_advice_on_missing_scores_works(missing: Any, other: Any) -> None:
    """Two tasks, or systems, are whole, and the others have one score each: what is proposed is followed."""
    whole = [("a", "t", 1.0), ("a", "u", 2.0), ("b", "t", 3.0), ("b", "u", 1.0)]
    names = ["system", "task"] if missing == "tasks" else ["task", "system"]
    rows = [*whole, ("c", "t", 1.0), ("d", "u", 1.0)]
    table = pl.DataFrame(rows, [*names, "score"], orient="row")
    with pytest.raises(InputError, match=f'missing="{other}" keeps 2 {other}'):
        rankbench.rank(table, missing=missing)
    assert rankbench.rank(table, ["mean-score"], missing=other, replicates=100).table.height > 0


@pytest.mark.parametrize("alone", ["task", "system"])
def test_one_task_or_system_alone_is_not_ranked(alone: str) -> None:
    table = drawn(3, 4).filter(pl.col(alone) == pl.col(alone).first())
    with pytest.raises(InputError, match=f"one {alone} alone, '{alone[0]}0'"):
        rankbench.rank(table)


def test_seeds_of_unequal_number_are_averaged() -> None:
    uneven = (0.0, 1.3, 3.1, 2.4, 5.7)
    rows = [
        (f"t{t}", s, r, float(uneven[t] + uneven[r] + len(s))) for t in range(5) for s in ("a", "bb") for r in range(5)
    ]
    table = pl.DataFrame(rows, schema=["task", "system", "seed", "score"], orient="row")
    found = rankbench.rank(table.filter(~((pl.col("seed") == 4) & (pl.col("system") == "a"))), replicates=100)
    assert any("from 4 to 5 seeds" in note for note in found.notes)
    assert by_method(found, "mean-score")["a"]["score"] == pytest.approx(2.5 + 1.7 + 1)
    assert by_method(found, "mean-score")["bb"]["score"] == pytest.approx(2.5 + 2.5 + 2)
    few = rankbench.rank(table.filter(pl.col("seed") < 3), replicates=100)
    assert any("3 seeds are too few" in note for note in few.notes)


def test_a_constant_task_is_allowed_and_said() -> None:
    table = drawn(3, 30).with_columns(score=pl.when(pl.col("task") == "t4").then(1.0).otherwise(pl.col("score")))
    assert any("same score on 't4'" in note for note in rankbench.rank(table, replicates=100).notes)


def test_systems_that_are_the_same_share_everything() -> None:
    table = drawn(2, 40)
    twin = table.filter(pl.col("system") == "s0").with_columns(system=pl.lit("twin"))
    rows = by_method(rankbench.rank(pl.concat([table, twin]), ["mean-score"], replicates=500, top=2), "mean-score")
    for name in ("p_first", "p_top_k", "rank_low", "rank_high", "tier", "lower", "upper"):
        assert rows["s0"][name] == pytest.approx(rows["twin"][name]), name
    assert sum(row["p_first"] for row in rows.values()) == pytest.approx(1)
    assert sum(row["p_top_k"] for row in rows.values()) == pytest.approx(2)


def test_the_other_methods_are_refused_with_those_that_fit() -> None:
    with pytest.raises(SpecError, match="borda-count, mean-rank, mean-score"):
        rankbench.rank(drawn(2, 3), ["borda"])


def test_shares_are_those_of_a_naive_count() -> None:
    rng = np.random.default_rng(5)
    replicates = rng.integers(0, 4, (50, 5)).astype(float)
    for k in (1, 2, 4, 5):
        naive = np.zeros(5)
        for row in replicates:
            left = k
            for value in sorted(set(row), reverse=True):
                tied = row == value
                naive[tied] += min(1.0, left / tied.sum())
                left = max(0, left - int(tied.sum()))
        assert top_shares(replicates, k) == pytest.approx(naive / 50)


def test_tiers_are_layers_of_those_that_nobody_is_better_than() -> None:
    # 0 > 1, 0 > 3, 2 > 3; of the pairs (01, 02, 03, 12, 13, 23).
    signs = np.array([1, 0, 1, 0, 0, 1], np.int8)
    assert significance_tiers(signs, 4).tolist() == [1, 2, 1, 2]
    assert rank_ranges_of_signs(signs, 4).tolist() == [[1, 2], [2, 4], [1, 3], [3, 4]]


def test_cells_are_ranks_of_scipy_with_ties() -> None:
    values = np.array([[[3.0, 1.0, 3.0, 0.0]]])
    assert MeanRank().cells(values).tolist() == [[[1.5, 3.0, 1.5, 4.0]]]
    assert BordaCount().cells(values).tolist() == [[[2.5, 1.0, 2.5, 0.0]]]
    assert MeanScore().from_scores(values, np.ones((1, 1))).tolist() == [3.0, 1.0, 3.0, 0.0]


class MedianScore(ScoreAggregator):
    """The median over tasks, of means over seeds."""

    name: ClassVar[str] = "median-score"
    source: ClassVar[str] = "a test"

    def from_scores(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        times = weights.sum(axis=0).astype(int)
        return np.median(np.repeat(values.mean(axis=0), times, axis=0), axis=0)


class OtherCells(MedianScore):
    """A mean again: what it inherits would be another formula."""

    name: ClassVar[str] = "other-cells"

    def cells(self, values: np.ndarray) -> np.ndarray:
        return 2 * values


def test_a_method_that_is_no_mean_is_asked_for_each_resample() -> None:
    values = np.random.default_rng(3).normal(size=(1, 50, 3)) + np.array([0.0, 0.1, 4.0])
    found = rank_systems(values, MedianScore(), k=1, replicates=400, seed=1)
    assert found.scores == pytest.approx(np.median(values[0], axis=0))
    assert (found.low.tolist(), found.high.tolist()) == ([2, 2, 1], [3, 3, 1])
    # An asymptotic interval of the median of 50 normal values: 1.2533 / sqrt(50) is its standard error.
    assert (found.upper - found.lower) / 2 == pytest.approx(np.full(3, 2 * 1.2533 / np.sqrt(50)), rel=0.5)


def test_a_mean_by_cells_and_by_resamples_is_one() -> None:
    class Asked(ScoreAggregator):
        """The mean, asked for each resample."""

        name: ClassVar[str] = "asked"
        source: ClassVar[str] = "a test"

        def from_scores(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
            return np.einsum("rt,rts->s", weights / weights.sum(), values)

    values = np.random.default_rng(3).normal(size=(5, 40, 3)) + np.array([0.0, 0.3, 4.0])
    one, other = (rank_systems(values, method, k=1, replicates=600, seed=1) for method in (MeanScore(), Asked()))
    assert one.scores == pytest.approx(other.scores)
    assert one.more["p_first"] == pytest.approx(other.more["p_first"])
    assert (one.low == other.low).all()
    assert (one.high == other.high).all()


def test_methods_whose_cells_differ_by_a_constant_share_their_resamples() -> None:
    values = np.random.default_rng(5).normal(size=(2, 40, 4)).round(1)
    known: dict[bytes, Ranking] = {}
    options = {"k": 2, "replicates": 300, "seed": 1}
    ranks, borda, mean = (rank_systems(values, m(), known=known, **options) for m in (MeanRank, BordaCount, MeanScore))
    assert len(known) == 2
    for found, method in ((ranks, MeanRank()), (borda, BordaCount()), (mean, MeanScore())):
        alone = rank_systems(values, method, **options)
        for name, column in (alone.columns() | alone.more).items():
            np.testing.assert_array_equal((found.columns() | found.more)[name], column, err_msg=name)
        assert found.scores == pytest.approx(method.checked_cells(values).mean(axis=(0, 1)))
        assert (found.lower < found.scores).all()
        assert (found.scores < found.upper).all()
    assert borda.scores == pytest.approx(4 - ranks.scores)


def test_a_class_of_two_formulas_is_rejected() -> None:
    assert OtherCells.defect() == "it has cells and from_scores, two formulas"
    assert not MedianScore.has_cells()
    assert MedianScore.defect() == ""


def test_the_same_table_in_another_order_or_layout_ranks_alike(tmp_path: Path) -> None:
    long = drawn(4, 35, gap=0.3)
    wide = long.pivot("task", index="system", values="score")
    tasks = long.pivot("system", index="task", values="score")
    first = rankbench.rank(long, replicates=200).table
    assert first.equals(rankbench.rank(wide, columns="system=system,scores=*", replicates=200).table)
    assert first.equals(rankbench.rank(tasks, columns="task=task,scores=*", replicates=200).table)
    path = stored(wide, tmp_path / "scores.parquet")
    assert first.equals(rankbench.rank(path, columns="system=system,scores=*", replicates=200).table)


@pytest.mark.parametrize("systems", [2, 5])
@pytest.mark.parametrize("tasks", [2, 3, 4, 5])
def test_few_tasks_on_which_all_agree_by_chance_tell_nothing(systems: int, tasks: int) -> None:
    """Ranks of equal systems on two tasks agree half of the time, and then have no spread at all."""
    told = 0
    for seed in range(trials(40)):
        values = np.random.default_rng([seed, systems, tasks]).integers(0, 2, size=(1, tasks, systems)) + 0.0
        for name in ("mean-score", "mean-rank", "borda-count"):
            method = rankbench.get(ScoreAggregator, name)
            found = rank_systems(values, method, k=1, replicates=200, seed=seed)
            told += bool((found.low != 1).any() or (found.high != systems).any())
            assert ((found.lower < found.upper) | np.isnan(found.lower)).all()
    assert told == 0


def test_six_tasks_can_tell_two_systems_apart() -> None:
    values = np.random.default_rng(0).normal(size=(1, 6, 2)) * 0.01 + np.array([1.0, 0.0])
    found = rank_systems(values, rankbench.get(ScoreAggregator, "mean-rank"), k=1, replicates=200, seed=0)
    assert found.low.tolist() == found.high.tolist() == [1, 2]
