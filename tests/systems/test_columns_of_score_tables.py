"""Columns of score tables: names of scores, standard errors, and tasks that notes name."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from data_files import written

import rankbench

WIDE = "system=model,scores=*"


@pytest.mark.parametrize("name", ["value", "variable"])
def test_scores_are_read_under_any_name(name: str) -> None:
    """Two names that Polars gives to columns of its own."""
    cells = {"model": ["a", "a", "b", "b"], "task": ["x", "y"] * 2, name: [1.0, 2.0, 3.0, 5.0]}
    wide = {"model": ["a", "b"], name: ["1%", "3%"], "y": [2.0, 5.0]}
    for table in (
        rankbench.rank(cells, columns=f"system=model,score={name}").table,
        rankbench.rank(wide, columns=WIDE).table,
    ):
        found = dict(table.filter(method="mean-score").select("system", "score").iter_rows())
        assert found == {"a": 1.5, "b": 4.0}


def test_all_tasks_are_named_where_flags_may_be_among_them() -> None:
    tasks = {f"t{at}": [0.5 + at / 100, 0.25, 0.125] for at in range(6)}
    flags = {"Flagged": [True, False, False], "MoE": [False, False, True]}
    told, table = f"{WIDE},keep=Flagged|MoE", {"model": ["a", "b", "c"], **tasks, **flags}
    notes = " ".join(rankbench.rank(table, columns=told, replicates=100).notes)
    assert "ranked on 8 tasks: 't0', 't1', 't2', 't3', 't4', 't5', 'Flagged', 'MoE'" in notes
    assert "all scores on 'Flagged', 'MoE' are 0 or 1, unlike on other tasks" in notes
    solved = {f"t{at}": [at % 2 == 0, True, False] for at in range(8)}
    table = {"model": ["a", "b", "c"], **solved}
    assert "are 0 or 1" not in " ".join(rankbench.rank(table, columns=WIDE, replicates=100).notes)


SCORES = {"ash": (0.7818, 0.641, 0.102), "birch": (0.791, 0.662, 0.152), "cedar": (0.762, 0.683, 0.121)}
FORMS = ["{}", "{} ± 0.0084", "{}±.01", "{} +/- 1e-2", "{} (0.008)", "{}(8)", "{} (± 0.01)", " {}  ( +- 0.01 ) "]


@pytest.mark.parametrize("form", part_of(FORMS))
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
    told = {"long": "system=model", "tasks": "task=task,scores=*"}.get(layout, WIDE)
    found = rankbench.rank(path, ["mean-score"], columns=told, replicates=100)
    means = dict(found.table.select("system", "score").iter_rows())
    assert means == pytest.approx({system: statistics.fmean(scores) for system, scores in SCORES.items()}, abs=1e-12)
    assert (form == "{}") == ("numbers in brackets" not in " ".join(found.notes))


def test_a_task_that_decides_means_by_its_scale_is_named() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"system": ["a", "b", "c", "d"]} | {f"t{i}": rng.random(4) for i in range(6)})
    slow = table.with_columns(latency_ms=pl.Series([300.0, 150.0, 200.0, 400.0]))
    spread = [slow[name].std() for name in slow.columns[1:]]
    told = "system=system,scores=*,keep=latency_ms"
    (note,) = [note for note in rankbench.rank(slow, columns=told).notes if "times as wide" in note]
    assert note.startswith(f"scores on 'latency_ms' spread up to {max(spread) / np.median(spread):,.0f} times as wide")
    for found in (rankbench.rank(table, columns=told), rankbench.rank(slow, columns=told, without=["latency_ms"])):
        assert not any("times as wide" in note for note in found.notes)
