"""How long a run takes and how much memory, about, before it is started."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from amounts import part_of
from click.testing import CliRunner
from competing import task_of
from data_files import written
from small_suites import suite_text

from rankbench import api
from rankbench.cli import main
from rankbench.core.text import duration_text
from rankbench.interfaces.protocol import Protocol
from rankbench.plugin.manager import get
from rankbench.runner import estimate as estimates
from rankbench.runner.blocks import LostProcess, SentTask, run_block
from rankbench.runner.estimate import PATIENCE, Measured, estimate, measure
from rankbench.runner.prepare import dataset_of
from rankbench.runner.worker_pool import Worker


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((0.01, "1 s"), (1.24, "1.2 s"), (39.7, "40 s"), (60, "1 min"), (754, "13 min"), (3600, "1 h")),
        *((12600, "3.5 h"), (443_000, "120 h")),
    ],
)
def test_durations_are_rounded(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said


@pytest.fixture
def short(tmp_path: Path) -> str:
    """A log of 200 votes, five a year."""
    winners = [f"m{i % 4}" for i in range(200)]
    losers = [f"m{(i % 4 + 1 + i // 4 % 3) % 4}" for i in range(200)]
    times = [date(1980, 1, 1) + timedelta(days=73 * i) for i in range(200)]
    path = tmp_path / "short.csv"
    rows = {"winner": winners, "loser": losers, "time": times, "first": [i % 5 < 3 for i in range(200)]}
    pl.DataFrame(rows).write_csv(path)
    return str(path)


SMALL = suite_text('use = "erm:k=[1,10,inf],draws=2000"', 'use = "random-scores"', n="[2000, 32000]", repetitions=2)


@pytest.mark.full
def test_an_estimate_has_a_range_and_the_memory_of_all_processes(tmp_path: Path) -> None:
    """How near it comes is a benchmark: `tests/benchmarks/test_estimate_accuracy.py`."""
    made = api.planned(str(written(tmp_path / "small.toml", SMALL)))
    found = estimate(made)
    assert found.low < found.seconds < found.high
    assert found.unknown == 0
    assert found.data == sum(array.nbytes for array in made.sources[0].arrays.values())
    assert 5e7 < found.worker < 5e8
    assert found.all == found.program + found.data + found.workers * found.worker


def test_the_code_that_a_process_loads_to_receive_a_block_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = get(Protocol, "repair").prepare(None, 1)
    task, clock = task_of(made, ["erm"], n=64), [0.0]

    def takes(seconds: float, result: object) -> object:
        clock[0] += seconds
        return result

    monkeypatch.setattr(estimates, "received", lambda *_: takes(5.0, (made, task, [])))
    monkeypatch.setattr(estimates, "run_block", lambda *part: takes(0.5, run_block(*part)))
    monkeypatch.setattr(estimates.time, "process_time", lambda: clock[0])
    monkeypatch.setattr(type(made.protocol), "few", 8)
    found = measure(Path(), SentTask.from_task(task), 0.5, True)
    assert found is not None
    assert found.taken == (5.5, 0.5)


ITEMS, LOSSES = "web10k-like:queries=40,features=8", ["ndcg"]


@pytest.mark.parametrize(
    ("protocol", "dataset", "contender", "losses", "n", "share"),
    part_of(
        [
            ("btl:design=10,heldout=10", ITEMS, "erm", LOSSES, 400, 0.25),
            ("graded", ITEMS, "random-scores", LOSSES, 1, 0.2),
            (
                "table-1:validation=100,test=100",
                "movielens-like:users=80,movies=120,ratings=4000,seed=3",
                "pair-risk:loss=linear",
                [],
                400,
                0.25,
            ),
            ("aggregation", "", "borda", [], 400, 0.25),
            ("selection", "cascade-clicks:seed=1", "cascade", LOSSES, 400, 0.25),
            ("click-prediction:sessions=400", "cascade-clicks:seed=1", "cascade", [], 400, 0.25),
            ("repair", "", "erm", [], 400, 0.25),
            ("u-statistics", "", "u-statistic", ["deviation"], 400, 0.25),
            ("theory", "", "pairwise-hinge", [], 1, 1.0),
            ("own-log:folds=time", "LOG", "borda", [], 200, 1.0),
            ("items", "LOG", "elo", [], 200, 0.25),
            ("one-step-ahead:blocks=4", "LOG", "elo", [], 200, 0.4),
            ("period-leaders:years=4", "LOG", "bradley-terry:penalty=firth", [], 200, 0.2),
            ("left-advantage:years=10", "LOG", "bradley-terry:penalty=firth", [], 200, 1.0),
            ("anomaly", "known-density", "knn-distance", [], 400, 0.25),
            ("pair-risk:densities=2", "", "rank-ad:loss=hinge,sigma=0.5,landmarks=20", [], 400, 0.25),
        ],
        3,
    ),
)
def test_a_part_of_a_block_is_a_block_that_a_protocol_computes(
    short: str, protocol: str, dataset: str, contender: str, losses: list[str], n: int, share: float
) -> None:
    given = dataset_of(short if dataset == "LOG" else dataset) if dataset else None
    made = get(Protocol, protocol)
    prepared = made.prepare(given, 1)
    part = made.part(prepared, task_of(prepared, [contender], losses, n=n), 0.25)
    (cell,) = run_block(part.prepared, part.task).cells
    assert (cell.status, cell.reason) == ("done", "")
    assert part.share == pytest.approx(share)


def climbed(*costs: tuple[float, float], n: tuple[int, ...] = (1000,)) -> estimates._Ladder:
    """Return the ladder of blocks of one source, given the share and seconds of their parts."""
    made = get(Protocol, "repair").prepare(None, 1)
    ladder = estimates._Ladder((), [task_of(made, ["erm"], n=each) for each in n])
    for share, seconds in costs:
        ladder.parts = [estimates._Part(ladder.largest, share)]
        ladder.add(Measured(share, (seconds,), 1000))
    return ladder


def ranged(low: float, likely: float, high: float) -> object:
    """Return the ends of what measurements say, and of their noise."""
    return pytest.approx((low / estimates._NOISE, likely, high * estimates._NOISE))


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_time_grows_as_parts_say(power: float) -> None:
    low, seconds, high = climbed((1 / 64, 0.1), (1 / 16, 0.1 * 4**power)).ends
    assert seconds == pytest.approx(0.1 * 64**power)
    assert low < seconds < high


def test_one_part_alone_leaves_open_how_time_grows() -> None:
    assert climbed((1 / 64, 1.0)).ends == ranged(1, 8, 64**1.25)
    assert climbed((1.0, 1.0), n=(1000, 250)).ends == ranged(1 + 0.25**1.25, 1 + 0.5, 1 + 1)


def test_a_cost_that_does_not_grow_hides_no_other() -> None:
    assert climbed((1 / 64, 1 + 1 / 64), (1 / 16, 1 + 1 / 16)).ends[1] == pytest.approx(2.0)


def test_the_time_of_a_block_between_two_parts_is_between_theirs() -> None:
    ladder = climbed((0.25, 1.0), (1.0, 4.0), n=(1000, 500, 250))
    assert ladder.ends == ranged(7, 7, 7)


def test_each_process_loads_code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "available_cores", lambda: 2)
    for blocks, loads in ((1, 1), (2, 2), (3, 2)):
        ladder = climbed(n=(1000,) * blocks)
        ladder.add(Measured(1.0, (3.0, 1.0), 1000))
        assert ladder.ends[1] == pytest.approx(2 * loads + blocks)
        # The first part was too large to be computed twice, and the next one takes less.
        assert climbed((0.5, 3.0), (1.0, 1.0), n=(1000,) * blocks).ends[1] == pytest.approx(2 * loads + blocks)


class Lawful:
    """A worker that takes the seconds which a law tells, of a share of a block and of its contenders."""

    law: Callable[[float, int], float]
    waited = 0.0

    def __enter__(self) -> Lawful:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def end(self) -> None:
        """Be given up."""

    def call(self, function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
        """Return the cost of a part, or that it took too long."""
        if function is not measure:
            return 0.0
        _, sent, share, _ = arguments
        seconds = type(self).law(share, len(sent.cells))
        type(self).waited += min(seconds, timeout)
        return Measured(share, (seconds,), 1000) if seconds <= timeout else LostProcess("timeout", "too long")


LAWS = {
    "nothing grows": lambda share: 4.0,
    "all grows": lambda share: 16 * share,
    "a budget of steps, and judgments": lambda share: 3.3 + 3.2 * share,
    "small": lambda share: 0.02 + 0.5 * share,
    "sorting": lambda share: 10 * share * (1 + math.log1p(1e5 * share) / 11),
    "faster than judgments": lambda share: 0.03 + 0.8 * share**1.5,
    "hours": lambda share: 60 + 100 * share,
}
"""Seconds of all contenders of a block, by its share of the judgments."""


@pytest.mark.parametrize("name", part_of(LAWS))
def test_estimates_follow_the_law_of_blocks(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a factor of two, in a range of a factor of five, and in little time; of long blocks in a wider range."""
    law = LAWS[name]
    made = api.planned(str(written(tmp_path / "small.toml", SMALL)))
    every = len(made.plan.tasks[0].cells)
    monkeypatch.setattr(Lawful, "law", lambda share, cells: law(share) * (cells / every) ** 0.75, raising=False)
    monkeypatch.setattr(Lawful, "waited", 0.0)
    monkeypatch.setattr(estimates, "Worker", Lawful)
    taken = sum(law(task.key.n / 32000) for task in made.plan.tasks)
    found = estimate(made)
    assert found.low < taken < found.high
    assert found.low < found.seconds < found.high
    if name == "hours":
        assert Lawful.waited < 4 * PATIENCE
        return
    assert taken / 2 < found.seconds < 2 * taken
    assert found.high < 5 * found.low
    assert Lawful.waited < PATIENCE


def test_blocks_that_take_too_long_are_measured_with_fewer_contenders(monkeypatch: pytest.MonkeyPatch) -> None:
    made = get(Protocol, "repair").prepare(None, 1)
    ladder = estimates._Ladder((), [task_of(made, [f"erm:lambda={i + 1}" for i in range(16)], n=1000)])
    tried = []
    while len(ladder.parts) > 1:
        tried.append((len(ladder.parts[0].task.cells), ladder.parts[0].share))
        ladder.add(LostProcess("timeout", "too long"))
    assert tried == [(16, 1 / 16), (16, 1 / 64), (4, 1 / 64)]
    ladder.add(Measured(1.0, (3.0,), 1000))
    # Contenders share work or do not.
    assert ladder.ends == ranged(3 * 4, 3 * 8, 3 * 16)
    assert not ladder.parts


def test_the_middle_one_of_the_largest_blocks_is_measured() -> None:
    made = get(Protocol, "repair").prepare(None, 1)
    tasks = [task_of(made, ["erm"], n=n, repetition=each) for each in range(5) for n in (10, 1000)]
    key = estimates._Ladder((), tasks).largest.key
    assert (key.n, key.repetition) == (1000, 2)


def test_parts_grow_to_the_whole_block() -> None:
    ladder = climbed((1 / 16, 0.1))
    assert [part.share for part in ladder.parts] == [0.25]
    assert [part.share for part in climbed((0.4, 0.1)).parts] == [1.0]
    assert climbed((0.8, 0.1)).parts == []


@pytest.mark.parametrize(
    ("few", "quick", "first", "sizes"),
    [(20, 1e6, True, [20, 32]), (20, 1e6, False, [32]), (0, 1e6, True, [32, 32]), (0, 0.0, True, [32])],
)
def test_the_first_part_follows_a_small_block_or_is_computed_again(
    few: int, quick: float, first: bool, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = get(Protocol, "repair").prepare(None, 1)
    task, computed = task_of(made, ["erm"], n=64), list[int]()
    monkeypatch.setattr(estimates, "received", lambda *_: (made, task, []))
    monkeypatch.setattr(estimates, "_QUICK", quick)
    monkeypatch.setattr(type(made.protocol), "few", few)
    monkeypatch.setattr(estimates, "run_block", lambda of, part: computed.append(part.key.n) or run_block(of, part))
    found = measure(Path(), SentTask.from_task(task), 0.5, first)
    assert computed == sizes
    assert found is not None
    assert len(found.taken) == len(sizes)


@pytest.mark.full
def test_plan_prints_what_it_estimates(short: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "_LIMIT", 0.1)
    done = CliRunner().invoke(main, ["run", "--dry-run", "--log", short, "--reps", "2", "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.output)
    seconds, memory = facts["seconds"], facts["memory"]
    assert 0 < seconds["low"] < seconds["seconds"] < seconds["high"]
    assert memory["all"] == memory["program"] + memory["data"] + memory["workers"] * memory["worker"]
    assert facts["unknown"] == 0


class Choosy(Worker):
    """A worker whose contenders take no small block."""

    def call(self, function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
        found = super().call(function, *arguments, timeout=timeout)
        return None if function is estimates.measure and arguments[2] < 0.2 else found


@pytest.mark.full
def test_small_blocks_that_fail_are_followed_by_larger_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "Worker", Choosy)
    found = estimate(api.planned(str(written(tmp_path / "small.toml", SMALL))))
    assert found.unknown == 0
    assert found.seconds > 0


class Silent(Worker):
    """A worker that sends no result."""

    def call(self, *_: object, timeout: float) -> LostProcess:
        return LostProcess("timeout", f"no result within {timeout:g} s")


def test_blocks_without_a_measurement_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(written(tmp_path / "small.toml", SMALL))
    monkeypatch.setattr(estimates, "Worker", Silent)
    done = CliRunner().invoke(main, ["run", "--dry-run", "--suite", path])
    assert done.exit_code == 0, done.output
    assert "rankbench does not know the time of 4 blocks: their contenders failed, or a small part" in done.output
    assert "memory about " in done.output
    assert "of one processor" not in done.output


def test_memory_is_for_the_workers_that_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(written(tmp_path / "small.toml", SMALL))
    monkeypatch.setattr(estimates, "Worker", Silent)
    for workers in (1, 3):
        done = CliRunner().invoke(main, ["run", "--dry-run", "--suite", path, "--workers", str(workers)])
        assert f"GB with {workers} worker{'s' * (workers > 1)}:" in done.output
