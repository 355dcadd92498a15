"""How long a run takes and how much memory, about, before it is started."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
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
from rankbench.runner.estimate import Measured, estimate, measure
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


def test_the_estimate_of_blocks_holds_their_time(tmp_path: Path) -> None:
    """Within the range that it says, and a factor of two and half a second for a machine that others use."""
    made = api.planned(str(written(tmp_path / "small.toml", SMALL)))
    found = estimate(made)
    begin = time.process_time()
    for task in made.plan.tasks:
        run_block(made.sources[task.source], task)
    taken = time.process_time() - begin
    assert found.low / 2 - 0.5 < taken < 2 * found.high + 0.5
    assert found.low < found.seconds < found.high
    assert found.unknown == 0
    assert found.data == sum(array.nbytes for array in made.sources[0].arrays.values())
    assert 5e7 < found.worker < 5e8
    assert found.all == found.program + found.data + found.workers * found.worker


ITEMS, LOSSES = "web10k-like:queries=40,features=8", ["ndcg"]


@pytest.mark.parametrize(
    ("protocol", "dataset", "contender", "losses", "n", "share"),
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


def climbed(*costs: tuple[int, float, float], contenders: int = 1, n: tuple[int, ...] = (1000,)) -> estimates._Ladder:
    """Return the ladder of blocks of one source, given the rung, share and seconds of their parts."""
    protocol = get(Protocol, "repair")
    use = [f"erm:lambda={i + 1}" for i in range(contenders)]
    ladder = estimates._Ladder((), [task_of(protocol.prepare(None, 1), use, n=each) for each in n])
    for rung, share, seconds in costs:
        ladder.add(estimates._Part(rung, share), Measured(share, (seconds,), 1000))
    return ladder


def ranged(low: float, likely: float, high: float) -> object:
    """Return the ends of what measurements say, and of their noise."""
    return pytest.approx((low / estimates._NOISE, likely, high * estimates._NOISE))


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_time_grows_as_parts_say(power: float) -> None:
    low, seconds, high = climbed((0, 1 / 64, 0.1), (0, 1 / 16, 0.1 * 4**power)).ends
    assert seconds == pytest.approx(0.1 * 64**power)
    assert low < seconds < high


def test_one_part_alone_leaves_open_how_time_grows() -> None:
    assert climbed((0, 1 / 64, 1.0)).ends == ranged(1, 8, 64)
    assert climbed((0, 1.0, 1.0), n=(1000, 250)).ends == ranged(1 + 0.25, 1 + 0.5, 1 + 1)


def test_a_cost_that_does_not_grow_hides_no_other() -> None:
    assert climbed((0, 1 / 64, 1 + 1 / 64), (0, 1 / 16, 1 + 1 / 16)).ends[1] == pytest.approx(2.0)


def test_the_time_of_a_block_between_two_parts_is_between_theirs() -> None:
    ladder = climbed((0, 0.25, 1.0), (0, 1.0, 4.0), n=(1000, 500, 250))
    assert ladder.ends == ranged(7, 7, 7)


def test_contenders_share_work_or_do_not() -> None:
    assert climbed((1, 1.0, 3.0), contenders=16).ends == ranged(3 * 2, 3 * 4**0.75, 3 * 4)


def test_more_contenders_take_longer_at_every_size() -> None:
    ladder = climbed((0, 0.25, 1.0), (0, 0.5, 1.5), (1, 0.5, 6.0), contenders=4, n=(1000, 250))
    assert ladder.taken == {0.25: 4.0, 0.5: 6.0}


def test_each_process_loads_code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "available_cores", lambda: 2)
    for blocks, loads in ((1, 1), (2, 2), (3, 2)):
        ladder = climbed(n=(1000,) * blocks)
        ladder.add(estimates._Part(0, 1.0), Measured(1.0, (3.0, 1.0), 1000))
        assert ladder.ends[1] == pytest.approx(2 * loads + blocks)


def test_parts_grow_from_one_contender_to_the_whole_block(tmp_path: Path) -> None:
    made = api.planned(str(written(tmp_path / "small.toml", SMALL)))
    ladder = estimates._Ladder((), made.plan.tasks)
    parts = []
    while part := ladder.next_part(1.0):
        parts.append((len(ladder.rungs[part.rung].cells), part.share))
        ladder.add(part, Measured(part.share, (0.1,), 1000))
    assert parts == [*((count, 1 / 64) for count in (1, 2, 4)), *((4, 4.0**power) for power in (-2, -1, 0))]
    assert ladder.rungs[-1] is ladder.largest


def test_a_part_that_time_is_left_for_comes_next() -> None:
    """All contenders are too dear, four times the judgments too; half of these are not."""
    ladder = climbed((0, 1 / 64, 1.0), contenders=16)
    assert ladder.next_part(4**0.75) == (1, 1 / 64)
    assert ladder.next_part(2.0) == (0, 1 / 32)
    assert ladder.next_part(1.4) is None


def test_a_part_is_computed_again_where_it_took_longer_than_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    made = get(Protocol, "repair").prepare(None, 1)
    task = task_of(made, ["erm"], n=64)
    monkeypatch.setattr(estimates, "received", lambda *_: (made, task, []))
    for expected, computed in ((0.0, 2), (1e6, 1)):
        found = measure(Path(), SentTask.from_task(task), 1.0, expected)
        assert found is not None
        assert len(found.taken) == computed


def test_plan_prints_what_it_estimates(short: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "_LIMIT", 0.1)
    done = CliRunner().invoke(main, ["plan", "--log", short, "--reps", "2", "--json"])
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
    done = CliRunner().invoke(main, ["plan", "--suite", path])
    assert done.exit_code == 0, done.output
    assert "rankbench does not know the time of 4 blocks: their contenders failed, or a small part" in done.output
    assert "memory about " in done.output
    assert "of one processor" not in done.output
