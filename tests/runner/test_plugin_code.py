"""Each cell is of one code: of rankbench's and of the plugins that have a part in it, as every row says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
import synthetic
from forked import run_program
from installed import hook, install_plugin
from small_suites import suite_text

from rankbench.store.journal import Journal

PLUGIN = """
from pathlib import Path
from typing import ClassVar

import numpy as np
import rankbench

STEP = 1.0

class Wins(rankbench.ComparisonAggregator):
    "Wins, and what a test wants to happen meanwhile."
    name: ClassVar[str] = "{name}"
    source: ClassVar[str] = "a test"
    edit: bool = False

    def aggregate(self, winners, losers, weights, m):
        if self.edit:
            path = Path(__file__)
            path.write_text(path.read_text() + "# edited\\n")
        return STEP * np.bincount(winners, weights, m)

class Doubled(rankbench.Model):
    "Twice the features."
    name: ClassVar[str] = "{name}-doubled"
    source: ClassVar[str] = "a test"

    def features(self, x):
        return 2 * x
"""

VOTES = suite_text(
    'label = "built in", use = "win-rate"', 'label = "first", use = "aaa"', 'label = "second", use = "bbb"',
    name="small", protocol="own-log", dataset="", n="[1]", repetitions=2,
    more='losses = ["disagreement"]\nbaseline = "built in"',
)  # fmt: skip

FEATURES = suite_text(
    'label = "built in", use = "erm"', 'label = "nested", use = "erm:model=aaa-doubled"', name="small", repetitions=2
)


class World:
    """A folder with two installed plugins, a suite and a log."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"

    def fill(self) -> None:
        self.site.mkdir()
        for name in ("aaa", "bbb"):
            self.install(name)
        (self.folder / "votes.suite.toml").write_text(VOTES)
        (self.folder / "features.suite.toml").write_text(FEATURES)
        rows = (f"i{a},i{b}" for k in range(60) for a, b in [(k % 5, (k + 1 + k % 3) % 5)])
        (self.folder / "votes.csv").write_text("\n".join(["winner,loser", *rows]) + "\n")

    def install(self, name: str, version: str = "1.0") -> None:
        """Install a plugin, another version in the place of the first."""
        for former in self.site.glob(f"{name}-*.dist-info"):
            shutil.rmtree(former)
        source = PLUGIN.replace("{name}", name) + hook("Wins, Doubled")
        install_plugin(self.site, name, f"{name} = {name}_plugin", version=version, **{f"{name}_plugin": source})

    def module(self, name: str) -> Path:
        return self.site / f"{name}_plugin.py"

    def run(self, *options: str, suite: str = "votes") -> subprocess.CompletedProcess[str]:
        log = ["--log", str(self.folder / "votes.csv")] if suite == "votes" else []
        words = ["run", "--suite", str(self.folder / f"{suite}.suite.toml"), *log, "--workers", "1"]
        words += ["--out", str(self.out), *options]
        return run_program(*words, environment=os.environ | {"PYTHONPATH": str(self.site)})

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def cells(self) -> dict[str, set[str]]:
        """Return the stored cells by label."""
        rows = pl.read_parquet(self.out / "results.parquet")
        return {label: set(rows.filter(pl.col("contender") == label)["cell"]) for label in set(rows["contender"])}

    def facts(self) -> dict[str, object]:
        found = json.loads((self.out / "run.json").read_text())
        return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return one in which the suite of votes has run."""
    world = World(tmp_path_factory.mktemp("ran"))
    world.fill()
    done = world.run()
    assert done.returncode == 0, done.stderr
    return world


@pytest.fixture
def world(ran: World, tmp_path: Path) -> World:
    """Return a copy of it."""
    shutil.copytree(ran.folder, tmp_path, dirs_exist_ok=True)
    return World(tmp_path)


def says_who_made_each_row(world: World) -> None:
    rows = pl.read_parquet(world.out / "results.parquet")
    made = dict(rows.select("contender", "made_by").unique().rows())
    facts = world.facts()
    own = f"rankbench {facts['versions']['rankbench']}"  # type: ignore[index]
    assert made == {"built in": own, "first": "aaa 1.0", "second": "bbb 1.0"}
    assert facts["made_by"] == {"a": {"built in": [own], "first": ["aaa 1.0"], "second": ["bbb 1.0"]}}
    codes = dict(rows.select("contender", "code_digest").unique().rows())
    expected = [facts["code_digest"], *(f"{facts['code_digest']} {facts['plugins'][name]}" for name in ("aaa", "bbb"))]  # type: ignore[index]
    assert [codes[label] for label in ("built in", "first", "second")] == expected
    assert {name: facts["versions"][name] for name in ("aaa", "bbb")} == {"aaa": "1.0", "bbb": "1.0"}  # type: ignore[index]
    assert list(facts["plugins"]) == ["aaa", "bbb"]  # type: ignore[call-overload]
    page = synthetic.both_pages(world.out).partition("## Verify and cite")[2]
    assert "- aaa `1.0`" in page
    for name, label in (("aaa", "first"), ("bbb", "second")):
        assert f"- plugin {name}, with a part in `{label}`; code digest `{facts['plugins'][name]}`" in page  # type: ignore[index]


@pytest.mark.full
def test_an_edited_plugin_voids_its_own_cells_and_no_others(world: World) -> None:
    says_who_made_each_row(world)
    before, codes = world.cells(), world.facts()["plugins"]
    path = world.module("aaa")
    path.write_text(path.read_text().replace("STEP = 1.0", "STEP = -1.0"))
    done = world.run()
    assert done.returncode == 0, done.stderr
    assert "some of other code (aaa was edited)" in " ".join(done.stderr.split())
    after = world.cells()
    says_who_made_each_row(world)
    edited = world.facts()["plugins"]
    assert (codes["aaa"] != edited["aaa"], codes["bbb"] == edited["bbb"]) == (True, True)  # type: ignore[index]
    assert not before["first"] & after["first"]
    assert (before["second"], before["built in"]) == (after["second"], after["built in"])
    world.install("bbb", "2.0")
    done = world.run()
    assert "bbb was 1.0, is 2.0" in " ".join(done.stderr.split())
    last = world.cells()
    assert (last["first"], last["built in"]) == (after["first"], before["built in"])
    assert not last["second"] & before["second"]


@pytest.mark.full
def test_a_plugin_inside_of_a_built_in_method_is_part_of_its_cells(world: World) -> None:
    shutil.rmtree(world.out)
    assert world.run(suite="features").returncode == 0
    before, made_by = world.cells(), world.facts()["made_by"]
    assert [name.partition(" ")[0] for name in made_by["a"]["nested"]] == ["aaa", "rankbench"]  # type: ignore[index]
    world.module("aaa").write_text(world.module("aaa").read_text() + "\n# edited\n")
    assert world.run(suite="features").returncode == 0
    after = world.cells()
    assert before["built in"] == after["built in"]
    assert not before["nested"] & after["nested"]


@pytest.mark.long
def test_code_that_changes_while_it_runs_is_not_stored(world: World, ran: World) -> None:
    """The plugin edits itself while its block runs: the block is of either code."""
    shutil.rmtree(world.out)
    before = world.module("aaa").read_text()
    done = world.run("--with", "aaa:edit=true", "--workers", "2")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert f"the code of aaa changed after this process had loaded it ({world.module('aaa')})" in said
    with Journal(world.out) as journal:
        labels = {member.cell: member.label for member in journal.members()}
        stored = {labels[cell] for cell in journal.cells()}
    assert "aaa:edit=true" not in stored
    assert "built in" in stored
    world.module("aaa").write_text(before)
    assert world.run().returncode == 0
    assert (world.out / "leaderboard.csv").read_bytes() == (ran.out / "leaderboard.csv").read_bytes()
