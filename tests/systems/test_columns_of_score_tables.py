"""Columns of score tables: tasks, scores, standard errors, and columns that rankbench leaves out and names."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_files import written

import rankbench
from rankbench.errors import InputError, SpecError


@pytest.mark.parametrize(
    "name",
    [
        *("Unnamed: 0", "index", "Rank", "#", "average", "Avg", "Average \u2b06\ufe0f", "Mean score"),
        *("#Params (B)", "release_year", "x_std", "Y (stderr)", "higher_is_better"),
        *("id", "n_samples", "x_ci_low", "y upper"),
    ],
)
def test_columns_that_number_rows_or_sum_them_up_are_no_tasks(name: str) -> None:
    scores = {"x": [0.5, 0.25], "y": [0.75, 0.5]}
    found = rankbench.rank(pl.DataFrame({"model": ["a", "b"], name: [1, 9], **scores}), replicates=100)
    assert found.notes[0] == f"rankbench leaves out columns by their names: {name!r} (rename a column that is a task)"
    assert "2 systems are ranked on 2 tasks: 'x', 'y'" in " ".join(found.notes)
    means = dict(found.table.filter(method="mean-score").select("system", "score").iter_rows())
    assert means == {"a": 0.625, "b": 0.375}
    said = rankbench.rank(pl.DataFrame({"model": ["a", "b"], name: [1, 9], **scores}), without=[name], replicates=100)
    assert said.table.equals(found.table)


@pytest.mark.parametrize("name", ["value", "variable"])
def test_scores_are_read_under_any_name(name: str) -> None:
    """Two names that Polars gives to columns of its own."""
    cells = {"model": ["a", "a", "b", "b"], "task": ["x", "y"] * 2, name: [1.0, 2.0, 3.0, 5.0]}
    wide = {"model": ["a", "b"], name: ["1%", "3%"], "y": [2.0, 5.0]}
    for table in (rankbench.rank(cells, columns=f"score={name}").table, rankbench.rank(wide).table):
        found = dict(table.filter(method="mean-score").select("system", "score").iter_rows())
        assert found == {"a": 1.5, "b": 4.0}


def test_measures_of_which_less_is_better_are_named() -> None:
    table = {"model": ["a", "b"], "accuracy": [0.9, 0.8], "WER": [0.1, 0.4], "test loss": [1.0, 2.0]}
    noted = "rankbench takes more for better on 'WER', 'test loss': --lower NAME says that less is better"
    assert noted in rankbench.rank(table).notes
    assert not any("takes more for better" in note for note in rankbench.rank(table, lower=["WER", "test loss"]).notes)
    noted = "rankbench takes more for better on 'test loss': --lower NAME says that less is better"
    assert noted in rankbench.rank(table, lower=["WER"]).notes
    arrows = {"model": ["a", "b"], "depth \u2193": [0.9, 0.8], "reach \u2191": [0.1, 0.4]}
    noted = "rankbench takes more for better on 'depth \u2193': --lower NAME says that less is better"
    assert noted in rankbench.rank(arrows).notes


def test_a_column_of_errors_is_named_and_turned_for_all_tasks() -> None:
    table = {"task": ["t", "t", "u", "u"], "system": ["a", "b"] * 2, "rmse": [0.5, 0.375, 0.75, 0.25]}
    noted = "rankbench takes more for better on 'rmse': --lower NAME says that less is better"
    assert noted in rankbench.rank(table).notes
    found = rankbench.rank(table, ["mean-score"], lower=["rmse"])
    assert not any("takes more for better" in note for note in found.notes)
    assert dict(found.table.select("system", "score").iter_rows()) == {"a": 0.625, "b": 0.3125}
    assert rankbench.audit(table, lower=["rmse"]).first == "b"


def test_rows_called_like_averages_are_named() -> None:
    table = {"task": ["arc", "mmlu", "Average"], "m1": [0.5, 0.75, 0.625], "m2": [0.25, 1.0, 0.625]}
    noted = "tasks called like averages count as tasks: 'Average' (--without leaves a task out)"
    assert noted in rankbench.rank(table).notes
    assert noted not in rankbench.rank(table, without=["Average"]).notes
    turned = {"model": ["a", "b", "Average"], "arc": [0.5, 0.25, 0.375], "mmlu": [0.75, 1.0, 0.875]}
    noted = "systems called like averages count as systems: 'Average' (--without leaves a system out)"
    assert noted in rankbench.rank(turned).notes
    assert noted not in rankbench.rank(turned, without=["Average"]).notes


def test_an_unread_column_of_scores_cannot_be_lower_and_the_error_says_how_it_is_read() -> None:
    table = {
        "model": list("aabb"),
        "dataset": list("xyxy"),
        "accuracy": [0.5, 0.75, 0.25, 1.0],
        "latency": [9, 8, 7, 6],
    }
    with pytest.raises(SpecError, match=r"scores are read from 'accuracy': --columns score=NAME"):
        rankbench.rank(table, lower=["latency"])
    found = rankbench.rank(table, ["mean-score"], columns="score=latency", lower=["latency"])
    assert dict(found.table.select("system", "score").iter_rows()) == {"a": 8.5, "b": 6.5}


def test_all_tasks_are_named_where_flags_may_be_among_them() -> None:
    tasks = {f"t{at}": [0.5 + at / 100, 0.25, 0.125] for at in range(6)}
    flags = {"Flagged": [True, False, False], "MoE": [False, False, True]}
    notes = " ".join(rankbench.rank({"model": ["a", "b", "c"], **tasks, **flags}, replicates=100).notes)
    assert "ranked on 8 tasks: 't0', 't1', 't2', 't3', 't4', 't5', 'Flagged', 'MoE'" in notes
    assert "all scores on 'Flagged', 'MoE' are 0 or 1, unlike on other tasks" in notes
    solved = {f"t{at}": [at % 2 == 0, True, False] for at in range(8)}
    assert "0 and 1 alone" not in " ".join(rankbench.rank({"model": ["a", "b", "c"], **solved}, replicates=100).notes)


SCORES = {"ash": (0.7818, 0.641, 0.102), "birch": (0.791, 0.662, 0.152), "cedar": (0.762, 0.683, 0.121)}
FORMS = ["{}", "{} ± 0.0084", "{}±.01", "{} +/- 1e-2", "{} (0.008)", "{}(8)", "{} (± 0.01)", " {}  ( +- 0.01 ) "]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", ["mixed", "all", "long", "tasks"])
def test_standard_errors_behind_scores_are_read_and_named(tmp_path: Path, form: str, layout: str) -> None:
    tasks = ("piqa", "boolq", "gsm8k")
    cells = {
        (system, task): (form if layout != "mixed" or task == "boolq" else "{}").format(score)
        for system, scores in SCORES.items()
        for task, score in zip(tasks, scores, strict=True)
    }
    if layout == "long":
        lines = ["model,task,score", *(f"{system},{task},{cell}" for (system, task), cell in cells.items())]
    elif layout == "tasks":
        lines = [f"task,{','.join(SCORES)}", *(f"{t},{','.join(cells[s, t] for s in SCORES)}" for t in tasks)]
    else:
        lines = [f"model,{','.join(tasks)}", *(f"{s},{','.join(cells[s, t] for t in tasks)}" for s in SCORES)]
    path = written(tmp_path / "scores.csv", "\n".join(lines) + "\n")
    found = rankbench.rank(path, ["mean-score"], replicates=100)
    means = dict(found.table.select("system", "score").iter_rows())
    assert means == pytest.approx({system: statistics.fmean(scores) for system, scores in SCORES.items()}, abs=1e-12)
    assert (form == "{}") == ("numbers in brackets" not in found.notes[0])


def test_a_task_that_decides_means_by_its_scale_is_named() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"system": ["a", "b", "c", "d"]} | {f"t{i}": rng.random(4) for i in range(6)})
    slow = table.with_columns(latency_ms=pl.Series([300.0, 150.0, 200.0, 400.0]))
    spread = [slow[name].std() for name in slow.columns[1:]]
    (note,) = [note for note in rankbench.rank(slow).notes if "times as wide" in note]
    assert note.startswith(f"scores on 'latency_ms' spread up to {max(spread) / np.median(spread):,.0f} times as wide")
    for found in (rankbench.rank(table), rankbench.rank(slow, without=["latency_ms"])):
        assert not any("times as wide" in note for note in found.notes)


def test_one_task_alone_is_told_with_the_columns_that_are_none() -> None:
    table = {"model": ["a", "b"], "x": [0.5, 0.25], "y": ["90*", "80*"]}
    with pytest.raises(InputError, match=r"one task alone, 'x'.* leaves out columns .*'y' \('90\*'\)"):
        rankbench.rank(table)
