"""Workers that die or hang: the guilty contender is named, the others' numbers stand."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

pytestmark = pytest.mark.alone

PLUGIN = """
import os
import rankbench

class Deadly(rankbench.Method):
    \"\"\"Ends its process.\"\"\"
    name = "deadly"
    source = "test"
    def fit(self, block):
        os._exit(3)

class Endless(rankbench.Method):
    \"\"\"Never comes back.\"\"\"
    name = "endless"
    source = "test"
    def fit(self, block):
        while True:
            pass

class EndlessMachineCode(rankbench.Method):
    \"\"\"Never comes back, and holds the interpreter all the while.\"\"\"
    name = "endless-machine-code"
    source = "test"
    def fit(self, block):
        import numba

        @numba.njit
        def spin(x):
            while x > 0:
                x += 1
                x -= 1
            return x

        spin(1)

class Patching(rankbench.Method):
    \"\"\"Changes NumPy for everybody in its process.\"\"\"
    name = "patching"
    source = "test"
    def fit(self, block):
        import numpy as np

        real = np.ascontiguousarray  # built-in scores go through it
        np.ascontiguousarray = lambda a, *rest, **more: real(-a if a.dtype == float else a, *rest, **more)
        raise ValueError("patched")

class Interrupting(rankbench.Method):
    \"\"\"Says that the user pressed Ctrl-C, who did not.\"\"\"
    name = "interrupting"
    source = "test"
    def fit(self, block):
        raise KeyboardInterrupt

@rankbench.hookimpl
def rankbench_register_methods():
    return [Deadly, Endless, EndlessMachineCode, Patching, Interrupting]
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


def run(tmp_path: Path, environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from rankbench.cli import main; main()", "run", "--suite", str(tmp_path / "tiny.toml"),
         "--workers", "2", "--out", str(tmp_path / "out"), *options],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def values(folder: Path, contender: str) -> list[float]:
    rows = pl.read_parquet(folder / "results.parquet").filter(contender=contender)
    return rows.sort("n", "repetition", "metric", "split")["value"].to_list()


def test_a_worker_that_dies_is_one_contenders_failure(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(tmp_path, environment)
    assert done.returncode == 1, done.stderr
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet")
    status = dict(rows.select("contender", "status").unique().iter_rows())
    assert status == {"k=inf": "done", "deadly": "error"}
    assert "exit code 3" in rows.filter(contender="deadly")["reason"][0]


HANGING = [
    pytest.param("endless"),
    pytest.param("endless-machine-code", marks=pytest.mark.long),
]


@pytest.mark.parametrize("name", HANGING)
def test_a_contender_that_hangs_is_a_row_and_the_others_are_the_same(
    tmp_path: Path, environment: dict[str, str], name: str
) -> None:
    path = tmp_path / "tiny.toml"
    suite = SUITE.replace("deadly", name).replace("n = [100, 200]", "n = [100]").replace("= 2\n", "= 1\n")
    # Alone first: then built-in code is compiled, and the limit is long for what is left, on a busy machine too.
    path.write_text(suite.replace(f', {{ label = "{name}", use = "{name}" }}', ""))
    alone = run(tmp_path, environment, "--out", str(tmp_path / "alone"))
    assert alone.returncode == 0, alone.stderr
    path.write_text(suite)
    done = run(tmp_path, environment, "--timeout", "20")
    assert done.returncode == 1, done.stderr
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet")
    status = dict(rows.select("contender", "status").unique().iter_rows())
    assert status == {"k=inf": "done", name: "timeout"}
    assert rows.filter(contender=name)["reason"][0] == "no result within 20 s"
    assert values(tmp_path / "alone", "k=inf") == values(tmp_path / "out", "k=inf")


@pytest.mark.parametrize(
    ("name", "words"), [("patching", "ValueError: patched"), ("interrupting", "KeyboardInterrupt")]
)
def test_what_a_contender_does_to_its_process_is_its_own(
    tmp_path: Path, environment: dict[str, str], name: str, words: str
) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE.replace("deadly", name))
    done = run(tmp_path, environment)
    assert done.returncode == 1, done.stderr
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert dict(rows.select("contender", "status").unique().iter_rows()) == {"k=inf": "done", name: "error"}
    assert words in rows.filter(contender=name)["reason"][0]
    path.write_text(path.read_text().replace(f', {{ label = "{name}", use = "{name}" }}', ""))
    alone = run(tmp_path, environment, "--out", str(tmp_path / "alone"))
    assert alone.returncode == 0, alone.stderr
    assert values(tmp_path / "alone", "k=inf") == values(tmp_path / "out", "k=inf")


def test_built_in_contenders_share_no_process_with_foreign_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankbench.protocols.base import BlockTask
    from rankbench.protocols.btl import BTL
    from rankbench.results.schema import BlockKey
    from rankbench.runner import deaths

    inside = {"erm": set(), "one": {"a"}, "two": {"b"}, "both": {"a"}, "ndcg": set(), "own": {"c"}}
    monkeypatch.setattr(deaths, "points", lambda kind, text: [text])
    monkeypatch.setattr(deaths, "strangers", lambda it: inside.get(it, set()))
    cells = {"1": "one", "2": "erm", "3": "two", "4": "both", "5": "erm"}
    task = BlockTask(BlockKey("btl", "", 1, 0, 0), 0, ("ndcg",), cells)
    ours, foreign = deaths.grouped([task], [BTL()])
    assert [list(part.cells) for part in ours] == [["2", "5"]]
    assert [list(part.cells) for part in foreign] == [["1", "4"], ["3"]]
    ours, foreign = deaths.grouped([replace(task, losses=("ndcg", "own"))], [BTL()])
    assert ours == []
    assert [list(part.cells) for part in foreign] == [["1", "4"], ["2", "5"], ["3"]]
