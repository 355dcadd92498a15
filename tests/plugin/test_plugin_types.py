"""What a type checker knows of a look-up: `LOOK_UPS` is checked, and then run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LOOK_UPS = """
from typing import Annotated, ClassVar, assert_type

import rankbench
from rankbench.interfaces.click_aggregator import ClickModel, SelectionAggregator
from rankbench.plugin.manager import component_class

assert_type(rankbench.get(rankbench.Aggregator, "borda"), rankbench.Aggregator)
assert_type(rankbench.get(rankbench.Surrogate, "regression"), rankbench.Surrogate)
assert_type(rankbench.get(rankbench.ScoreSurrogate, "regression"), rankbench.ScoreSurrogate)
assert_type(rankbench.get(rankbench.Loss, "ndcg"), rankbench.Loss)
assert_type(rankbench.get(rankbench.Optimizer, "exact"), rankbench.Optimizer)
assert_type(rankbench.get(rankbench.Solver, "exact"), rankbench.Solver)
assert_type(rankbench.get(rankbench.Model, "linear"), rankbench.Model)
assert_type(rankbench.get(rankbench.Method, "random-scores"), rankbench.Method)
assert_type(rankbench.get(rankbench.Protocol, "btl"), rankbench.Protocol)
assert_type(rankbench.get(rankbench.Reader, "csv"), rankbench.Reader)
assert_type(rankbench.get(rankbench.Dataset, "web10k-like"), rankbench.Dataset)
assert_type(rankbench.get(SelectionAggregator, "cascade"), SelectionAggregator)
assert_type(component_class(rankbench.Loss, "ndcg"), type[rankbench.Loss])


class Halved(rankbench.Method):
    name: ClassVar[str] = "halved"
    model: Annotated[rankbench.Model, rankbench.reference(rankbench.Model)]
"""

REFUSED = """
import rankbench

rankbench.get("aggregator", "borda")
rankbench.get(rankbench.Loss, "ndcg").gradient
rankbench.get(int, "borda")
"""


def checked(path: Path, text: str) -> list[str]:
    """Return what mypy says of a module, by our own settings."""
    path.write_text(text, encoding="utf-8")
    cache = ROOT / ".mypy_cache"
    command = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(cache),
        "--no-error-summary",
        str(path),
    ]
    shown = subprocess.run(
        [sys.executable, "-m", "mypy", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert shown.stderr == ""
    return [line for line in shown.stdout.splitlines() if ": error:" in line]


def test_a_look_up_has_the_type_of_the_class_that_is_asked_for(tmp_path: Path) -> None:
    assert checked(tmp_path / "look_ups.py", LOOK_UPS) == []
    exec(LOOK_UPS.partition("\n\nclass ")[0], {})


def test_what_is_no_such_look_up_is_an_error(tmp_path: Path) -> None:
    errors = checked(tmp_path / "refused.py", REFUSED)
    assert [int(line.partition(":")[2].partition(":")[0]) for line in errors] == [4, 5, 6]
