"""Foreign contenders run in processes of their own: what they do there is theirs, and what they change is found."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from forked import run_program

SPOILS = """
import os
import sys

import rankbench


class Leaves(rankbench.Method):
    \"\"\"Ends its process as if all were well.\"\"\"
    name = "leaves"
    source = "test"
    def fit(self, block):
        os._exit(0)


class Lies(Leaves):
    \"\"\"Says that it is built in.\"\"\"
    name = "lies"


Lies.__module__ = "rankbench.methods.lies"


class Rubbish(rankbench.Method):
    \"\"\"Writes a result of its own.\"\"\"
    name = "rubbish"
    source = "test"
    way: str = "text"
    def fit(self, block):
        descriptor = int(sys.argv[-1]) if sys.argv[-1].isdigit() else os.open(sys.argv[-1], os.O_CREAT | os.O_WRONLY)
        if self.way == "close":
            os.close(descriptor)
            return rankbench.Fitted(lambda queries: queries.x[:, 0])
        if self.way == "huge":
            os.ftruncate(descriptor, 50 * 10**9)
        if self.way == "text":
            os.write(descriptor, b"rubbish" * 100)
        if self.way in FORGED:
            import json
            from rankbench.runner import wire
            frame = sys._getframe()
            while frame.f_code.co_name != "main":
                frame = frame.f_back
            task = json.loads(wire.task_to_json(frame.f_locals["read"]))
            cells = [
                {"cell": cell, "status": "done", "reason": "", "trace": "", "facts": [], "numbers": [0, 1],
                 "curves": [],
                 "losses": [[loss, split, [0, 10]] for loss in task["metrics"] for split in ("design", "heldout")]}
                for cell in task["cells"]
            ]
            head = {"key": task["key"], "seconds": 0.0, "cells": cells}
            FORGED[self.way](head)
            os.write(descriptor, json.dumps(head).encode() + b"\\n" + bytes(80))
        os._exit(0)


FORGED = {
    "status": lambda head: head["cells"][0].update(status="splendid"),
    "reason": lambda head: head["cells"][0].update(status="error", reason=7),
    "short": lambda head: head["cells"][0]["losses"][0].__setitem__(2, [0, 3]),
    "lacking": lambda head: head["cells"][0]["losses"].pop(),
    "unhashable": lambda head: head["cells"][0].update(cell=[]),
    "twice": lambda head: head["cells"].append(head["cells"][0]),
    "seconds": lambda head: head.update(seconds=float("nan")),
    "list": lambda head: head.update(cells=3),
}


@rankbench.hookimpl
def rankbench_register():
    return [Leaves, Lies, Rubbish]
"""

ALTERS = """
import glob
import mmap
import os
import time
from pathlib import Path

import rankbench


class Alters(rankbench.Method):
    \"\"\"Changes the files that others read.\"\"\"
    name = "alters"
    source = "test"
    way: str = "memory"
    def fit(self, block):
        attempt(getattr(Attack, self.way))
        return rankbench.Fitted(lambda queries: queries.x[:, 0])


def attempt(attack):
    try:
        attack()
    except OSError:
        pass  # nothing to attack, or not allowed


def files(pattern):
    return [Path(path) for path in glob.glob(os.environ["TMPDIR"] + "/rankbench-*/" + pattern)]


def numbers():
    \"\"\"Return every file with numbers that could be those that others read, and what to put there.\"\"\"
    opened = [Path(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if int(n) > 2]
    for path in [*files("*"), *(p for p in opened if p.exists() and p.is_file())]:
        data = path.read_bytes()
        if len(data) > 2000 and (path.suffix == ".npy" or b"NUMPY" in data):
            # The last KB of the numbers: no head of a file, no text after them.
            text = int.from_bytes(data[-8:], "little") + 8 if path.suffix != ".npy" else 0
            end = len(data) - text
            yield path, data[: end - 1024] + data[end - 1024 : end][::-1] + data[end:]


def others_map(path):
    \"\"\"Return whether another process has mapped a file.\"\"\"
    for maps in glob.glob("/proc/[0-9]*/maps"):
        try:
            lines = open(maps).read().splitlines()
        except OSError:
            continue
        if maps.split("/")[2] != str(os.getpid()) and any(
            str(path) in line and "deleted" not in line and int(line.split()[4]) == path.stat().st_ino for line in lines
        ):
            return True
    return False


class Attack:
    def memory():
        for path, data in numbers():
            os.chmod(path, 0o600)
            with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
                mapped[:] = data

    def written():
        for path, data in numbers():
            os.chmod(path, 0o600)
            path.write_bytes(data)

    def replaced():
        for path, data in numbers():
            path.with_suffix(".other").write_bytes(data)
            path.with_suffix(".other").replace(path)

    def gone():
        for path in files("*"):
            path.unlink()

    def folder():
        for path in files("*"):
            path.unlink()
            (path / "x").mkdir(parents=True)

    def link():
        for folder in {path.parent for path in files("*")}:
            folder.rename(f"{folder}-away")
            folder.symlink_to("/nowhere")

    def swap():
        \"\"\"Put other files in the place of what others read until another process has them, then put all back.\"\"\"
        before, until = set(glob.glob(os.environ["TMPDIR"] + "/*")), time.monotonic() + 4
        while set(glob.glob(os.environ["TMPDIR"] + "/*")) <= before and time.monotonic() < until:
            time.sleep(0.005)
        put = [(path, data) for path, data in numbers() if not str(path).startswith("/proc")]
        for path, data in put:
            os.rename(path, f"{path}.held")
            path.write_bytes(data)
        while put and not any(others_map(path) for path, _ in put) and time.monotonic() < until + 20:
            time.sleep(0.01)
        for path, _ in put:
            os.replace(f"{path}.held", path)

    def tasks():
        \"\"\"Give other processes other tasks, and put other results in the place of theirs.\"\"\"
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for path in files("*task*"):
                text = path.read_text()
                if "first-feature" in text:
                    path.write_text(text.replace("first-feature", "random-scores"))
            for path in files("result"):
                path.write_bytes(b"rubbish")
            time.sleep(0.001)


@rankbench.hookimpl
def rankbench_register():
    return [Alters]
"""

GOOD = """
import rankbench


class First(rankbench.Method):
    \"\"\"The first feature.\"\"\"
    name = "first-feature"
    source = "test"
    def fit(self, block):
        best = int(abs(block.design.x.astype(float).sum(axis=0)).argmax())
        return rankbench.Fitted(lambda queries: queries.x[:, best].astype(float))


@rankbench.hookimpl
def rankbench_register():
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
repetitions = 1
contenders = [{ use = "erm" }, { use = "first-feature" }BAD]
"""


def environment_in(folder: Path) -> dict[str, str]:
    site = folder / "site"
    site.mkdir()
    for name, code in (("spoiling", SPOILS), ("altering", ALTERS), ("harmless", GOOD)):
        (site / f"{name}_plugin.py").write_text(textwrap.dedent(code))
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rankbench]\n{name} = {name}_plugin\n")
    (folder / "temporary").mkdir()
    return os.environ | {"PYTHONPATH": str(site), "TMPDIR": str(folder / "temporary")}


def run(
    folder: Path, environment: dict[str, str], bad: list[str], workers: int
) -> tuple[subprocess.CompletedProcess[str], pl.DataFrame]:
    out = folder / f"out-{workers}-{len(bad)}"
    (folder / "tiny.toml").write_text(SUITE.replace("BAD", "".join(f', {{ use = "{each}" }}' for each in bad)))
    arguments = ["run", "--suite", str(folder / "tiny.toml"), "--workers", str(workers), "--out", str(out)]
    done = run_program(*arguments, environment=environment)
    return done, pl.read_parquet(out / "results.parquet")


WAYS = part_of(["memory", "written", "replaced", "gone", "folder", "link", "swap", "tasks"], 3)
"""How files are attacked."""

RUBBISH = {
    "text": "left a result that cannot be read",
    "huge": "left a result of 50,000,000,000 bytes, more than 2,147,483,648",
    "close": "died with exit code 1, without a result",
    "status": "its status is none of",
    "reason": "reason",
    "short": "has shape (3,) on the design units, of which the plan has 10",
    "lacking": "it is done but has no",
    "unhashable": "left the result of another block",
    "twice": "left the result of another block",
    "seconds": "left a result that cannot be read",
    "list": "left a result that cannot be read",
}
"""What a process writes as its result, and what the reason then says."""

WRITTEN = part_of(RUBBISH)


def spec(name: str, way: str, default: str) -> str:
    return name if way == default else f"{name}:way={way}"


@dataclass(frozen=True)
class Attacked:
    """A run with every attack, and one with none."""

    done: subprocess.CompletedProcess[str]
    rows: pl.DataFrame
    sound: pl.DataFrame
    left: list[Path]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    folder = tmp_path_factory.mktemp("attacked")
    environment = environment_in(folder)
    bad = (
        [spec("alters", way, "memory") for way in WAYS] + [spec("rubbish", way, "text") for way in WRITTEN] + ["leaves"]
    )
    done, rows = run(folder, environment, bad, 2)
    left = list((folder / "temporary").iterdir())
    return Attacked(done, rows, run(folder, environment, [], 1)[1], left)


def test_a_contender_that_leaves_is_an_error_row_at_once(tmp_path: Path) -> None:
    done, rows = run(tmp_path, environment_in(tmp_path), ["lies"], 1)
    assert done.returncode == 1, done.stderr
    status = dict(rows.select("contender", "status").unique().iter_rows())
    assert status == {"erm": "done", "first-feature": "done", "lies": "error"}
    assert "exit code 0, without a result" in rows.filter(contender="lies")["reason"][0]


def test_one_that_leaves_among_others_is_an_error_row_too(attacked: Attacked) -> None:
    own = attacked.rows.filter(contender="leaves")
    assert set(own["status"]) == {"error"}
    assert "exit code 0, without a result" in own["reason"][0]


def test_what_plugins_do_changes_nothing_for_others(attacked: Attacked) -> None:
    assert attacked.done.returncode == 1, attacked.done.stderr
    keys = ["contender", "repetition", "metric", "split"]
    values = [*keys, "status", "value"]
    theirs = attacked.rows.filter(pl.col("contender").is_in(["erm", "first-feature"])).select(values).sort(keys)
    assert theirs.equals(attacked.sound.select(values).sort(keys))
    assert set(theirs["status"]) == {"done"}
    if sys.platform == "linux":
        assert attacked.left == []


@pytest.mark.parametrize("way", WAYS)
def test_what_a_plugin_does_to_files_changes_nothing_of_its_own(attacked: Attacked, way: str) -> None:
    own = attacked.rows.filter(contender=spec("alters", way, "memory"))
    assert set(own["status"]) == {"done"}, own["reason"][0]
    assert own["value"].equals(attacked.rows.filter(contender="alters:way=gone")["value"], check_names=False)


@pytest.mark.parametrize("way", WRITTEN)
def test_a_process_that_writes_rubbish_is_an_error_row(attacked: Attacked, way: str) -> None:
    own = attacked.rows.filter(contender=spec("rubbish", way, "text"))
    assert set(own["status"]) == {"error"}
    assert RUBBISH[way] in own["reason"][0]
    assert "Traceback" not in attacked.done.stdout + attacked.done.stderr
