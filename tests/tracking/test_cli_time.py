"""``rankbench time``, end to end: processes, table, comparison, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from command_line import called
from data_files import written
from small_suites import suite_text

from rankbench.cli import main
from rankbench.plugin import manager
from rankbench.suites.suite_files import load_suite
from rankbench.tracking.timed_versions import SCRIPT
from rankbench.tracking.timing_worker import _Log
from rankbench.tracking.timings import TIMINGS, read_timings, write_timings

FIT = "erm:aggregator=mean-log-odds,surrogate=regression,draws=100"
SUITE = suite_text(
    f'label = "k={{k}}", use = "{FIT},k=[1,inf],optimizer=exact,lambda=1e-3"',
    f'label = "diverges", use = "{FIT},k=1,optimizer=composite(c=1e300)"',
    name="tiny",
    protocol="btl:design=20,heldout=20",
    dataset="web10k-like:queries=60",
    n="[200, 400]",
    repetitions=3,
    more='losses = ["ndcg"]',
)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("suite") / "tiny.toml", SUITE)


@pytest.fixture(scope="module")
def timed(suite: Path) -> tuple[Path, str]:
    """Two versions, which are one, in four launches; on a busy machine they may seem to differ by more than 1%."""
    out = suite.parent / "both"
    arguments = ["time", str(suite), "--against", sys.executable, "--rounds", "4", "--seed", "1", "--out", str(out)]
    arguments += ["--worse-by", "100000%"]
    shown = CliRunner().invoke(main, arguments, prog_name="rankbench")
    assert shown.exit_code == 0, shown.output
    return out, shown.stdout


@pytest.mark.long
def test_both_versions_are_in_the_table(timed: tuple[Path, str]) -> None:
    out, shown = timed
    base, head = (read_timings(out / side) for side in ("base", "head"))
    assert base.facts.job == head.facts.job
    assert (base.facts.side, head.facts.side) == ("base", "head")
    assert base.facts.reference == head.facts.reference
    assert base.facts.versions["rankbench"] == head.facts.versions["rankbench"]
    assert [cell.contender for cell in base.seconds] == [cell.contender for cell in head.seconds] == ["k=1", "k=inf"]
    assert {cell.n for cell in base.seconds} == {200}
    assert base.launches == 4
    assert base.facts.last
    assert next(iter(base.facts.failed.values())).startswith("diverged")
    for cell in base.seconds:
        assert (base.seconds[cell] > 0).all()
        assert (base.first[cell] > 0).all()
    if sys.platform == "linux":
        assert all(np.isfinite(taken).all() for taken in base.memory.values())
    assert "not timed: a, n = 200, diverges: diverged" in shown
    assert "4 launches of 1 round" in shown


@pytest.mark.long
def test_compare_reads_them(timed: tuple[Path, str], rankbench, tmp_path: Path) -> None:
    """With times that this test makes: what this machine measured depends on what else it was doing."""
    base, head, slower = (str(tmp_path / side) for side in ("base", "head", "slow"))
    slow, same = read_timings(timed[0] / "head").seconds
    for side in ("base", "head", "slow"):
        made = read_timings(timed[0] / side.replace("slow", "head"))
        # Of four launches of head two are a thousandth slower than those of base, two a thousandth faster.
        launches = np.ones(4) if side == "base" else np.array([1.001, 1.001, 0.999, 0.999])
        seconds = {
            cell: np.broadcast_to(launches[:, None, None], values.shape) for cell, values in made.seconds.items()
        }
        if side == "slow":
            seconds[slow] = 3 * seconds[slow]
        write_timings(tmp_path / side, replace(made, seconds=seconds))
    assert rankbench("compare", base, head).exit_code == 0
    shown = rankbench("compare", base, slower, "--format", "json")
    assert shown.exit_code == 1
    found = json.loads(shown.stdout)
    assert [one["what"] for one in found["changes"] if one["verdict"] == "worse"] == [slow.contender]
    assert found["margin"] == "1% for speed, 10% and 16 MiB for memory"
    assert rankbench("compare", base, slower, "--gate", f"a/{same.contender}").exit_code == 0
    assert rankbench("compare", base, slower, "--worse-by", "400%").exit_code == 0


@pytest.mark.long
def test_two_jobs_are_compared_by_their_reference(timed: tuple[Path, str], rankbench, tmp_path: Path) -> None:
    out, _ = timed
    head = read_timings(out / "head")
    write_timings(tmp_path, replace(head, facts=head.facts.model_copy(update={"job": "another"})))
    shown = rankbench("compare", str(out / "base"), str(tmp_path), "--format", "json")
    found = json.loads(shown.stdout)
    assert found["margin"] == "5% for speed, 10% and 16 MiB for memory"
    assert all("reference" in one["where"] for one in found["changes"] if one["about"] == "speed")


@pytest.mark.long
def test_damaged_timings_cannot_be_used(timed: tuple[Path, str], rankbench, tmp_path: Path) -> None:
    out, _ = timed
    write_timings(tmp_path, read_timings(out / "head"))
    (tmp_path / "timings" / "timings.parquet").write_bytes(b"")
    assert rankbench("compare", str(out / "base"), str(tmp_path)).exit_code == 2


MINE = "erm:aggregator=mean-log-odds,k=7,surrogate=regression,optimizer=exact,lambda=1e-3,draws=100"


@pytest.fixture(scope="module")
def once(suite: Path) -> tuple[Path, str]:
    """One version, in one launch, with a contender that is added."""
    out = suite.parent / "once"
    arguments = ["time", str(suite), "--rounds", "1", "--only", "a/k=1", "--n", "400", "--out", str(out)]
    shown = called(*arguments, "--with", MINE, "--only", "a/erm*", "--json")
    assert shown.exit_code == 0, shown.output
    return out, shown.stdout


@pytest.mark.full
def test_one_version_is_shown_beside_the_reference(once: tuple[Path, str]) -> None:
    out, shown = once
    found = json.loads(shown)
    # Of the contender that is added the name has what is not default.
    assert [row["contender"] for row in found["times"]] == ["k=1", "erm:k=7,draws=100"]
    row = found["times"][0]
    assert row["where"] == "a, n = 400"
    timings = read_timings(out)
    cell, added = timings.seconds
    assert cell.n == added.n == 400
    assert row["seconds"] == np.median(timings.seconds[cell].min(axis=-1)) > 0
    assert row["first"] == timings.first[cell] > 0
    assert row["ratio"] > 0
    assert row["lower"] is None  # one launch shows no interval
    assert found["asked"]["only"] == ["a/k=1", "a/erm*"]
    assert (found["asked"]["rounds"], found["asked"]["margin"]) == (1, None)


def test_the_gate_times_each_loss_on_many_lists() -> None:
    alone = {e.losses[0].partition("@")[0]: e for e in load_suite("gate").experiments if e.name.startswith("lists-")}
    assert set(alone) == {
        one for one in manager.names("loss") if manager.origin("loss", one).distribution == "rankbench"
    }
    for loss, experiment in alone.items():
        assert experiment.name == f"lists-{loss}"
        assert len(experiment.losses) == len(experiment.contenders) == 1
        assert "heldout=1000" in experiment.protocol


def test_the_log_that_the_gate_times_is_counted_and_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    log, ranked = _Log(4000), []
    aggregate = log.aggregate
    monkeypatch.setattr(log, "aggregate", lambda frame: ranked.append(aggregate(frame)))
    assert log() == ("done", "")
    (found,) = ranked
    assert found.table["votes"].sum() == 2 * 4000
    # By hand: a tie is half a win.
    points = pl.concat(
        log.frame.select(item=side, won=pl.col("winner").replace_strict({side: 1.0, "tie": 0.5}, default=0.0))
        for side in ("left", "right")
    )
    wins = dict(points.group_by("item").agg(pl.col("won").sum()).iter_rows())
    assert dict(found.table.select("item", "wins").iter_rows()) == wins
    assert (log.frame["left"] != log.frame["right"]).all()
    monkeypatch.setattr(log, "aggregate", lambda frame: 1 / 0)
    assert log() == ("error", "ZeroDivisionError: division by zero")


@pytest.mark.full
def test_a_suite_says_how_many_votes_of_a_log_are_timed(rankbench, tmp_path: Path) -> None:
    assert (load_suite("gate").timed_votes, load_suite("demo").timed_votes) == (1_000_000, 0)
    suite = written(tmp_path / "own.toml", f"timed_votes = 3000\n{SUITE}")
    only = ("--only", "log/*", "--rounds", "1", "--out", str(tmp_path / "out"))
    shown = rankbench("time", str(suite), *only, "--format", "json")
    assert shown.exit_code == 0, shown.stderr
    (row,) = json.loads(shown.stdout)["times"]
    assert (row["where"], row["contender"]) == ("log, n = 3,000", "counting and ranking")
    assert row["seconds"] > 0


def test_what_is_added_must_be_there(suite: Path, rankbench) -> None:
    shown = rankbench("time", str(suite), "--with", "no-such-method", "--rounds", "1")
    assert shown.exit_code == 2
    assert "no-such-method" in shown.stderr


@pytest.mark.full
def test_nothing_timed_is_3(suite: Path, rankbench, tmp_path: Path) -> None:
    shown = rankbench("time", str(suite), "--only", "a/diverges", "--rounds", "1", "--out", str(tmp_path / "a"))
    assert shown.exit_code == 3
    assert "diverged" in shown.stderr
    shown = rankbench("time", str(suite), "--budget", "0.001s", "--out", str(tmp_path / "b"), "--format", "md")
    assert shown.exit_code == 3
    assert "budget is too small" in shown.stdout
    against = ("--against", sys.executable, "--budget", "0.001s", "--out", str(tmp_path / "c"))
    found = json.loads(rankbench("time", str(suite), *against, "--worse-by", "5%", "--json").stdout)
    assert (found["asked"]["against"], found["asked"]["margin"]) == (sys.executable, "5%")
    shown = rankbench("time", str(suite), *against, "--format", "github")
    assert shown.exit_code == 3
    warning = "::warning title=rankbench compare - not tested::"
    assert shown.stdout.startswith(warning)
    assert "nothing was timed: the budget is too small" in shown.stdout
    assert shown.stderr.splitlines()[-1] == f"timing {suite}"  # not what was built before


def test_a_folder_with_another_jobs_timings_is_refused(suite: Path, rankbench, tmp_path: Path) -> None:
    out = tmp_path / "once"
    (out / TIMINGS).mkdir(parents=True)
    written(out / TIMINGS / f"{TIMINGS}.json", "{}")
    shown = rankbench("time", str(suite), "--rounds", "1", "--against", sys.executable, "--out", str(out))
    assert shown.exit_code == 2
    assert "has the timings of another job" in shown.stderr
    assert not (out / "base").exists()


@pytest.mark.full
def test_what_shares_a_cell_is_there_under_each_of_its_names(tmp_path: Path) -> None:
    """With ten judgments a query k=1000 is k=inf, and the second experiment has the cells of the first."""
    again = SUITE.replace("k=[1,inf]", "k=[1000,inf]")
    again += again[again.index("[[experiments]]") :].replace('name = "a"', 'name = "f"')
    path = written(tmp_path / "again.toml", again)
    request = json.dumps({"suite": str(path), "dataset": [], "extra": [], "path": sys.path})
    answer = subprocess.run([sys.executable, "-I", SCRIPT], input=request, capture_output=True, text=True, check=True)
    members = json.loads(answer.stdout.splitlines()[0])["members"]
    assert {(experiment, label, n) for experiment, label, n, _ in members} == {
        (experiment, label, n) for experiment in "af" for label in ("k=1000", "k=inf", "diverges") for n in (200, 400)
    }
