"""Logs counted by a real Dask scheduler and two worker processes on loopback."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from amounts import is_full, part_of
from click.testing import CliRunner
from counted_logs import count_log
from data_files import stored
from drawn_votes import two_items
from ranked_logs import bytes_of
from sessions import wait_until

import rankbench
from rankbench.cli import main
from rankbench.data.convert import convert
from rankbench.errors import ExecutorError, InputError, SpecError
from rankbench.logs.count import Tree
from rankbench.logs.thread_tables import ROWS

if TYPE_CHECKING:
    from dask_cluster import Cluster

pytest.importorskip("distributed")
pytestmark = pytest.mark.alone

PARTS = 9 if is_full() else 5


@pytest.fixture(autouse=True, scope="module")
def short_parts() -> Iterator[None]:
    """Parts of one chunk: half a million rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankbench.logs.count_log.PART", ROWS)
        yield


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of several parts whose later rows name other items than its first ones."""
    rng = np.random.default_rng(0)
    n, m = PARTS * ROWS - 1000, 300
    base = np.arange(n) * 3000 // n
    winners = base + rng.integers(0, m, n)
    losers = base + (winners - base + rng.integers(1, m, n)) % m
    names = pl.Series([f"item {i}" for i in range(4000)], dtype=pl.Categorical)
    log = pl.DataFrame(
        {
            "winner": names.gather(winners),
            "loser": names.gather(losers),
            "weight": rng.random(n) + 0.01,
            "tie": rng.random(n) < 0.1,
            "judge": pl.Series(rng.integers(0, 50, n)).cast(pl.String),
        }
    )
    path = tmp_path_factory.mktemp("long") / "log.parquet"
    log.write_parquet(path, row_group_size=100_000, compression="lz4")
    return path


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of shards of three parts together; none ends with a part."""
    rng = np.random.default_rng(1)
    n, m = 2 * ROWS + 5000, 12
    winners, losers = two_items(rng, n, m)
    names = pl.Series([f"i{k}" for k in range(m)])
    folder = tmp_path_factory.mktemp("shards")
    pl.DataFrame(
        {
            "query_id": pl.Series(rng.integers(0, 40, n)).cast(pl.String),
            "winner": names.gather(winners),
            "loser": names.gather(losers),
            "weight": rng.random(n) + 0.01,
            "judge": pl.Series(rng.integers(0, 40, n)).cast(pl.String),
        }
    ).write_parquet(folder / "log.parquet")
    convert(folder / "log.parquet", folder / "shards", shards=5)
    return folder / "shards"


@pytest.mark.long
def test_the_same_bytes_as_locally_though_a_worker_is_killed(
    cluster: Cluster, long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker that holds the first part, which is in no sum yet."""
    cluster.replace()
    expected = bytes_of(count_log(long))
    client, killed, add = cluster.client, list[int](), Tree.add
    places = {worker.pid: at for at, worker in enumerate(cluster.workers)}
    addresses = {address: places[pid] for address, pid in client.run(lambda: __import__("os").getpid()).items()}

    def add_and_kill(tree: Tree[Any], part: Any) -> None:
        add(tree, part)
        if not killed:
            wait_until(lambda: any(client.has_what().values()))
            killed.extend(addresses[address] for address, held in client.has_what().items() if held)
            cluster.kill(killed[0])

    monkeypatch.setattr(Tree, "add", add_and_kill)
    found = bytes_of(count_log(long, address=cluster.address))
    assert cluster.workers[killed[0]].wait(10) == -signal.SIGKILL
    assert found == expected
    cluster.replace()


def test_shards_with_and_without_weights(cluster: Cluster, shards: Path, tmp_path: Path) -> None:
    log = pl.read_parquet(shards / "*.parquet").drop("weight")
    log.write_parquet(tmp_path / "plain.parquet")
    for path in (shards, tmp_path / "plain.parquet"):
        assert bytes_of(count_log(path, address=cluster.address)) == bytes_of(count_log(path))
        judges = count_log(path, judge="judge", address=cluster.address)
        assert bytes_of(judges) == bytes_of(count_log(path, judge="judge"))


def test_integers_that_turn_out_to_be_large(cluster: Cluster, tmp_path: Path) -> None:
    n = ROWS + 10
    large = pl.DataFrame({"winner": np.arange(n) % 5, "loser": np.arange(n) % 5 + 1, "weight": np.full(n, 0.1)})
    large = large.with_columns(loser=pl.when(pl.int_range(n) == n - 1).then(10**12).otherwise("loser"))
    for log in (large, large.head(n - 1)):
        log.write_parquet(tmp_path / "log.parquet")
        found = count_log(tmp_path / "log.parquet", address=cluster.address)
        assert found.items[-1] == "5"
        assert bytes_of(found) == bytes_of(count_log(tmp_path / "log.parquet"))


@pytest.mark.parametrize("intervals", part_of([None, "judges", "sandwich"], 2))
def test_rankings_are_the_same(cluster: Cluster, shards: Path, tmp_path: Path, intervals: str | None) -> None:
    arguments = ["aggregate", str(shards), "--format", "json", "--replicates", "20"]
    arguments += ["--intervals", intervals] if intervals else []
    here = CliRunner().invoke(main, arguments, catch_exceptions=False)
    there = CliRunner().invoke(
        main, [*arguments, "--executor", "dask", "--address", cluster.address], catch_exceptions=False
    )
    assert here.exit_code == there.exit_code == 0
    assert there.output == here.output


def test_every_weighted_vote_is_a_unit_there_too(cluster: Cluster, tmp_path: Path) -> None:
    votes = pl.DataFrame({"left": ["a", "b", "c"] * 20, "right": ["b", "c", "a"] * 20, "winner": ["left", "tie"] * 30})
    votes.with_columns(weight=pl.int_range(60) + 0.5).write_parquet(tmp_path / "votes.parquet")
    found = [
        rankbench.aggregate(tmp_path / "votes.parquet", intervals="bootstrap", replicates=50, **where).table
        for where in ({}, {"executor": "dask", "address": cluster.address})
    ]
    assert found[0].equals(found[1])


def both_errors(path: Path, address: str, **how: str) -> tuple[str, str]:
    """Return what counting says here and there, then what ranking says here and there."""
    said = []
    for count in (
        lambda: count_log(path),
        lambda: count_log(path, address=address),
        lambda: rankbench.aggregate(path, **how),
        lambda: rankbench.aggregate(path, executor="dask", address=address, **how),
    ):
        with pytest.raises(InputError) as caught:
            count()
        said.append((str(caught.value), caught.value.row, str(caught.value.path)))
    assert said[0] == said[1]
    assert said[2] == said[3]
    return said[1][0], said[3][0]


def test_a_bad_row_is_named_as_locally(cluster: Cluster, shards: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    shutil.copytree(shards, folder)
    for shard, row in ((4, 70), (3, 90)):
        path = folder / f"shard-{shard:05}.parquet"
        rows = pl.read_parquet(path)
        bad = pl.int_range(pl.len()) == row - 1
        rows.with_columns(weight=pl.when(bad).then(-1.0).otherwise("weight")).write_parquet(path)
    expected = f"{folder / 'shard-00003.parquet'}:90 [weight]: weight -1.0 is not positive and finite"
    assert both_errors(folder, cluster.address) == (expected, expected)
    file = stored(pl.DataFrame({"winner": ["a", "b", "b"], "loser": ["b", "b", None]}), tmp_path / "log.parquet")
    said = both_errors(file, cluster.address)
    wrong = f"{file}:2 [winner]: item 'b' is compared with itself; columns=\"self=drop\" leaves such rows out"
    assert said == (wrong, wrong)
    pl.DataFrame({"winner": [], "loser": []}, schema={"winner": pl.String, "loser": pl.String}).write_parquet(file)
    both_errors(file, cluster.address)


def test_workers_that_do_not_see_the_log_are_named(
    cluster: Cluster, shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rankbench.logs.parquet_log import ParquetLog

    cut = ParquetLog.cut

    def elsewhere(self: ParquetLog, first: int, count: int) -> ParquetLog:
        rows = cut(self, first, count)
        return replace(rows, files=tuple(replace(file, path=Path(f"/nowhere{file.path}")) for file in rows.files))

    monkeypatch.setattr(ParquetLog, "cut", elsewhere)
    with pytest.raises(ExecutorError, match=r"does not see /nowhere.*file system that all workers share"):
        count_log(shards, address=cluster.address)


def test_what_a_cluster_cannot_do_is_said_before(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rankbench.core.system

    nobody = {"executor": "dask", "address": "tcp://127.0.0.1:9"}
    with pytest.raises(SpecError, match="address="):
        rankbench.aggregate(shards, executor="dask")
    with pytest.raises(SpecError, match="executor="):
        rankbench.aggregate(shards, address="tcp://127.0.0.1:9")
    (tmp_path / "log.csv").write_text("winner,loser\na,b\n")
    pl.DataFrame({"winner": [1], "loser": [2]}).write_parquet(tmp_path / "numbers.parquet")
    sides = {"left": ["a", "b"], "right": ["b", "a"], "winner": ["left", "right"]}
    pl.DataFrame(sides).write_parquet(tmp_path / "sides.parquet")
    ballots = pl.DataFrame({"query_id": ["q"], "ranking": [[["a"], ["b"]]]})
    ballots.write_parquet(tmp_path / "ballots.parquet")
    for log, method, how in (
        (shards, "", {"by": "query"}),
        (shards, "", {"by": "query", "pool": True}),
        (tmp_path / "sides.parquet", "", {"control": "side"}),
        (shards, "", {"intervals": "judges+queries"}),
        (shards, "elo", {}),
        (tmp_path / "log.csv", "", {}),
        (tmp_path / "numbers.parquet", "", {}),
        (tmp_path / "ballots.parquet", "plackett-luce", {}),
    ):
        with pytest.raises(SpecError, match=r"needs ungraded votes in Parquet.*Leave executor= and address= out"):
            rankbench.aggregate(log, method, **how, **nobody)
    monkeypatch.setattr(rankbench.core.system, "PATIENCE", 1)
    with pytest.raises(ExecutorError, match="no Dask scheduler answers"):
        rankbench.aggregate(shards, **nobody)
