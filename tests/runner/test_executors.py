"""Workers that die or hang: the guilty contender is named, the others' numbers stand."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

PLUGIN = """
import os, time
import rankbench
from rankbench.methods.base import Fitted

class Deadly(rankbench.Method):
    \"\"\"Ends its process.\"\"\"
    name = "deadly"
    source = "test"
    def fit(self, block):
        os._exit(3)

@rankbench.hookimpl
def rankbench_register_methods():
    return [Deadly]
"""

SUITE = """
name = "tiny"
title = "Tiny"
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"
[[experiments]]
name = "a"
title = "A"
n = [100, 200]
repetitions = 2
contenders = [{ label = "k=inf", use = "erm" }, { label = "deadly", use = "deadly" }]
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "deadly_plugin.py").write_text(textwrap.dedent(PLUGIN))
    info = tmp_path / "site" / "deadly-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rankbench]\ndeadly = deadly_plugin\n")
    (tmp_path / "tiny.toml").write_text(SUITE)
    return os.environ | {"PYTHONPATH": str(tmp_path / "site")}


def test_a_worker_that_dies_is_one_contenders_failure(tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from rankbench.cli import main; main()", "run", "--suite", str(tmp_path / "tiny.toml"),
         "--workers", "2", "--out", str(tmp_path / "out")],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet")
    status = dict(rows.select("contender", "status").unique().iter_rows())
    assert status == {"k=inf": "done", "deadly": "error"}
    assert "exit code 3" in rows.filter(contender="deadly")["reason"][0]
