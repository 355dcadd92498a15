"""The method in the docstring of ScoreAggregator, installed: checked, listed, and competing."""

from __future__ import annotations

import inspect
import json
import textwrap
from pathlib import Path

import pytest
from forked import installed
from installed import hook, install_plugin

from rankbench.interfaces.sequential_aggregator import ScoreAggregator

METHOD = textwrap.dedent(inspect.getdoc(ScoreAggregator).partition("code-block:: python\n")[2])
MODULE = f"""
from typing import ClassVar

import numpy as np

import rankbench

{METHOD}

class MedianOfTasks(rankbench.ScoreAggregator):
    \"\"\"The median over tasks and seeds.\"\"\"

    name: ClassVar[str] = "median-of-tasks"
    source: ClassVar[str] = "a test"

    def from_scores(self, values, weights):
        cells = values.reshape(-1, values.shape[-1])
        return np.median(np.repeat(cells, weights.ravel().astype(int), axis=0), axis=0)
"""


def test_it_is_checked_and_competes(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_plugin(site, "some-scores", "scores = some_scores", some_scores=MODULE + hook("ShareOfBest, MedianOfTasks"))
    table = tmp_path / "scores.csv"
    table.write_text("system,t,u,v\na,1,2,3\nb,2,4,4\n", encoding="utf-8")
    run = installed(site, tmp_path)
    checked = run("check", "some-scores")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    asked = ("rank", str(table), "--method", "share-of-best", "--method", "median-of-tasks", "--format", "json")
    found = run(*asked, "--columns", "scores=*", "--replicates", "50")
    assert found.returncode == 0, found.stderr
    said = json.loads(found.stdout)
    scores = {(row["method"], row["system"]): row["score"] for row in said["systems"]}
    assert scores["share-of-best", "a"] == pytest.approx((1 / 2 + 2 / 4 + 3 / 4) / 3)
    assert scores["share-of-best", "b"] == 1
    assert scores["median-of-tasks", "b"] == 4
    assert said["methods"]["share-of-best"]["unit"] == "share of the best score"
