"""Foreign contenders run in processes of their own: what they do there is theirs, and what they change is found."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

PLUGIN = """
import os
from pathlib import Path

import numpy as np
import rankbench


class Leaves(rankbench.Method):
    \"\"\"Ends its process as if all were well.\"\"\"
    name = "leaves"
    source = "test"
    def fit(self, block):
        os._exit(0)


class Alters(rankbench.Method):
    \"\"\"Changes the files that others read.\"\"\"
    name = "alters"
    source = "test"
    way: str = "memory"
    def fit(self, block):
        x = block.design.x
        files = [Path(m.split()[-1]) for m in open("/proc/self/maps") if m.rstrip().endswith(".npy")]
        for file in {f for f in files if "rankbench-" in str(f)}:
            if self.way == "gone":
                file.unlink()
                continue
            file.chmod(0o600)
            data = np.load(file)
            if data.dtype.kind != "f":
                continue
            if self.way == "memory":
                mapped = np.lib.format.open_memmap(file, mode="r+")
                mapped[...] = mapped[::-1].copy()
                mapped.flush()
            elif self.way == "written":
                np.save(file, data[::-1].copy())
            elif self.way == "replaced":
                other = file.with_suffix(".other.npy")
                np.save(other, data[::-1].copy())
                other.replace(file)
        return rankbench.Fitted(lambda queries: queries.labels)


@rankbench.hookimpl
def rankbench_register_methods():
    return [Leaves, Alters]
"""

GOOD = """
import rankbench


class First(rankbench.Method):
    \"\"\"The first feature.\"\"\"
    name = "first-feature"
    source = "test"
    def fit(self, block):
        best = int(abs(block.design.x.T.astype(float) @ block.design.labels).argmax())
        return rankbench.Fitted(lambda queries: queries.x[:, best].astype(float))


@rankbench.hookimpl
def rankbench_register_methods():
    return [First]
"""

SUITE = """
name = "tiny"
title = "Tiny"
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"
[[experiments]]
name = "a"
title = "A"
n = [100]
repetitions = 2
contenders = [{ use = "erm" }, { use = "first-feature" }BAD]
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    site = tmp_path / "site"
    site.mkdir()
    for name, code in (("hostile", PLUGIN), ("harmless", GOOD)):
        (site / f"{name}_plugin.py").write_text(textwrap.dedent(code))
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rankbench]\n{name} = {name}_plugin\n")
    return os.environ | {"PYTHONPATH": str(site)}


def run(
    tmp_path: Path, environment: dict[str, str], bad: str, workers: int
) -> tuple[subprocess.CompletedProcess[str], pl.DataFrame]:
    out = tmp_path / f"out-{workers}-{bad.replace(':', '-')}"
    (tmp_path / "tiny.toml").write_text(SUITE.replace("BAD", f', {{ use = "{bad}" }}' if bad else ""))
    done = subprocess.run(
        [sys.executable, "-c", "from rankbench.cli import main; main()", "run", "--suite", str(tmp_path / "tiny.toml"),
         "--workers", str(workers), "--out", str(out)],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    return done, pl.read_parquet(out / "results.parquet")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_contender_that_leaves_is_an_error_row_at_once(
    tmp_path: Path, environment: dict[str, str], workers: int
) -> None:
    done, rows = run(tmp_path, environment, "leaves", workers)
    assert done.returncode == 1, done.stderr
    status = dict(rows.select("contender", "status").unique().iter_rows())
    assert status == {"erm": "done", "first-feature": "done", "leaves": "error"}
    assert "exit code 0, without a result" in rows.filter(contender="leaves")["reason"][0]


@pytest.mark.parametrize(
    ("way", "workers"), [("memory", 2), ("memory", 1), ("written", 2), ("replaced", 1), ("gone", 2)]
)
def test_what_a_plugin_changes_is_found_and_computed_again(
    tmp_path: Path, environment: dict[str, str], way: str, workers: int
) -> None:
    bad = "alters" if way == "memory" else f"alters:way={way}"
    done, rows = run(tmp_path, environment, bad, workers)
    assert done.returncode == 1, done.stderr
    _, sound = run(tmp_path, environment, "", 1)
    keys = ["contender", "repetition", "metric", "split"]
    values = [*keys, "status", "value"]
    theirs = rows.filter(pl.col("contender") != bad).select(values).sort(keys)
    assert theirs.equals(sound.select(values).sort(keys))
    assert set(theirs["status"]) == {"done"}
    own = rows.filter(contender=bad)
    assert set(own["status"]) == {"error"}
    assert "plugin hostile_plugin changed what all contenders are given (array-" in own["reason"][0]
