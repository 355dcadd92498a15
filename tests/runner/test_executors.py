"""Workers that die or hang: the guilty contender is named, the others' numbers stand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from forked import MAIN, run_program
from installed import hook, install_plugin
from sessions import LATE
from small_suites import suite_text

METHOD = """
class {0}(rankbench.Method):
    "What it is called."
    name = "{0}"
    source = "test"

    def fit(self, block):
        {1}
"""

DOES = {
    "deadly": "os._exit(3)",
    "lies": "os._exit(0)",
    "endless": 'Path("left").write_text("it hangs")\n        while True: time.sleep(1)',
    "endless_machine_code": 'Path("left").write_text("it hangs"); spin(1)',
    "patching": "np.ascontiguousarray = turned; raise ValueError('patched')",
    "interrupting": "raise KeyboardInterrupt",
    "closing": "os.closerange(0, 4096); raise ValueError('closed')",
}
"""What contenders do when they are fitted."""

PLUGIN = (
    """
import os, time
from pathlib import Path
import numba
import numpy as np
import rankbench

@numba.njit
def spin(x):  # holds the interpreter
    while x > 0:
        x += 1
        x -= 1
    return x

real = np.ascontiguousarray  # built-in scores go through it

def turned(a, *rest, **more):
    return real(-a if a.dtype == float else a, *rest, **more)
"""
    + "".join(METHOD.format(name, does) for name, does in DOES.items())
    + """
endless_machine_code.name = "endless-machine-code"
lies.__module__ = "rankbench.methods.lies"
"""
    + hook(", ".join(DOES))
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    site = tmp_path_factory.mktemp("site")
    install_plugin(site, "deadly", "deadly = deadly_plugin", deadly_plugin=PLUGIN)
    return os.environ | {"PYTHONPATH": str(site)}


def run(
    folder: Path, environment: dict[str, str], bad: list[str], *options: str, code: str = MAIN
) -> subprocess.CompletedProcess[str]:
    text = suite_text('label = "k=inf", use = "erm"', *(f'use = "{each}"' for each in bad))
    (folder / "tiny.toml").write_text(text)
    arguments = ["run", "--suite", str(folder / "tiny.toml"), "--workers", "2", "--out", str(folder / "out"), *options]
    return run_program(*arguments, environment=environment, folder=folder, code=code)


def values(folder: Path, contender: str) -> list[float]:
    rows = pl.read_parquet(folder / "out" / "results.parquet").filter(contender=contender)
    return rows.sort("n", "repetition", "metric", "split")["value"].to_list()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> list[float]:
    """Return the values of the built-in contender where no other one takes part."""
    folder = tmp_path_factory.mktemp("alone")
    done = run(folder, environment, [])
    assert done.returncode == 0, done.stderr
    return values(folder, "k=inf")


BAD = {
    "deadly": "exit code 3",
    "lies": "exit code 0, without a result",
    "patching": "ValueError: patched",
    "interrupting": "KeyboardInterrupt",
}
"""Contenders that end or spoil their process, or say that the user wants to end it; and what the reason then says."""


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """Return the folder of a run with all of them: the first one kills the process that they share at first."""
    folder = tmp_path_factory.mktemp("spoiled")
    done = run(folder, environment, list(BAD))
    assert done.returncode == 1, done.stderr
    return folder


@pytest.mark.full
@pytest.mark.parametrize("name", BAD)
def test_what_a_contender_does_to_its_process_is_its_own(spoiled: Path, name: str) -> None:
    rows = pl.read_parquet(spoiled / "out" / "results.parquet").filter(contender=name)
    assert set(rows["status"]) == {"error"}
    assert all(BAD[name] in reason for reason in rows["reason"])


def test_built_in_contenders_are_the_same_beside_them(spoiled: Path, alone: list[float]) -> None:
    assert set(pl.read_parquet(spoiled / "out" / "results.parquet").filter(contender="k=inf")["status"]) == {"done"}
    assert values(spoiled, "k=inf") == alone


def test_with_one_worker_a_contender_does_not_end_the_run_either(
    tmp_path: Path, environment: dict[str, str], alone: list[float]
) -> None:
    bad = part_of(["closing", "patching", "interrupting"])
    done = run(tmp_path, environment, bad, "--workers", "1")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet")
    status = dict(rows.select("contender", "status").unique().iter_rows())
    assert status == {"k=inf": "done"} | dict.fromkeys(bad, "error")
    assert values(tmp_path, "k=inf") == alone


HANGING = [
    pytest.param("endless"),
    pytest.param("endless-machine-code", marks=pytest.mark.long),
]


@pytest.mark.parametrize("name", HANGING)
def test_a_contender_that_hangs_is_a_row_and_the_others_are_the_same(
    tmp_path: Path, environment: dict[str, str], alone: list[float], name: str
) -> None:
    """That a call is ended when its time is up: `test_worker_pool`."""
    done = run(tmp_path, environment, [name], "--timeout", "3000", code=LATE)
    assert done.returncode == 1, done.stderr
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet")
    status = dict(rows.select("contender", "status").unique().iter_rows())
    assert status == {"k=inf": "done", name: "timeout"}
    assert set(rows.filter(contender=name)["reason"]) == {"no result within 3000 s"}
    assert values(tmp_path, "k=inf") == alone
