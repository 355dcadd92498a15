"""The suite paper on real queries, cut down; `make long` runs it as the issue of it says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import polars as pl
import pytest
import synthetic
from amounts import part_of

import rankbench
from rankbench import api
from rankbench.plugin import manager
from rankbench.runner.question import RunQuestion

DATA = os.environ.get("RANKBENCH_DATA", "")
SETS = {"mslr-web10k-sample": (41, 41), "mq2008": (282, 282)}


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not DATA or not (Path(DATA) / name).is_dir(), reason=f"RANKBENCH_DATA has no {name}")


CASES = [pytest.param(name, marks=needs(name)) for name in SETS]


@pytest.mark.parametrize("name", CASES)
def test_queries_and_n_are_scaled_and_said(name: str, tmp_path: Path) -> None:
    # The figures on judged queries alone: what else the suite includes has data of its own, and takes long to prepare.
    text, includes = re.subn(r"^include = .*$", "", manager.suites()["paper"].read_text(encoding="utf-8"), flags=re.M)
    assert includes == 1
    (tmp_path / "figures.toml").write_text(text)
    made = api.planned(str(tmp_path / "figures.toml"), RunQuestion(dataset=name, reps=1))
    prepared, plan = made.sources[made.source_index["figure-3"]], made.plan
    assert (len(prepared.units["design"]), len(prepared.units["heldout"])) == SETS[name]
    assert {m.n for m in plan.members if m.n_declared == 200_000} == {round(200_000 * SETS[name][0] / 500)}
    notes = " ".join(prepared.notes)
    assert "left out" in notes
    assert "scaled" in notes


@pytest.mark.parametrize("name", part_of(CASES))
def test_a_small_run(name: str, tmp_path: Path) -> None:
    results = rankbench.run("demo", dataset=name, reps=2, out=tmp_path)
    assert set(results.rows["status"]) == {"done"}
    board = results.leaderboard.filter(metric="ndcg", split="design")
    for n in board["n"].unique():
        means = dict(board.filter(n=n).select("contender", "mean").iter_rows())
        random = 0.9 if name == "mq2008" else 0.65
        assert all(0.2 < mean < random for mean in means.values())
        if name == "mslr-web10k-sample":
            # Fitted to the truth of these very queries, with a linear model that fits them well.
            assert means["full"] < means["regression k=1"]
    text = synthetic.both_pages(tmp_path)
    assert "data are *simulated*" not in text
    assert "every judgment is simulated, a comparison of two items of a query drawn from their labels" in text
    assert "left out" in text


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_the_suite_paper(name: str, tmp_path: Path) -> None:
    results = rankbench.run("paper", dataset=name, reps=10, out=tmp_path, workers=2)
    assert results.failures == {}
    done = results.rows.filter(pl.col("status") == "done")
    assert done.height == results.rows.height
