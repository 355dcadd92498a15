"""What kills and interrupts leave behind: nothing, and the same bytes as undisturbed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from amounts import is_full, part_of
from forked import MAIN
from installed import hook, install_plugin
from sessions import LATE, Program, blocks_in, left_by_kills, nothing_is_left, session_of, start, wait_until, workers
from small_suites import suite_text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

PLUGIN = """
import os
import time
import rankbench


class Forks(rankbench.Method):
    \"\"\"Leaves a child.\"\"\"
    name = "forks"
    source = "test"
    hangs: bool = False
    def fit(self, block):
        child = os.fork()
        if child == 0:
            time.sleep(300)
            os._exit(0)
        with open(os.environ["LEFT"], "w") as file:
            file.write(str(child))
        while self.hangs:
            time.sleep(0.01)
        return rankbench.Fitted(lambda queries: queries.x[:, 0])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    install_plugin(site, "forks", "forks = forks_plugin", forks_plugin=PLUGIN + hook("Forks"))
    return site


def run(folder: Path, suite: str, *options: str, code: str = MAIN, **more: str) -> Program:
    """Start a run of a suite."""
    (folder / "left").touch()
    (folder / "tiny.toml").write_text(suite)
    arguments = ["run", "--suite", str(folder / "tiny.toml"), "--out", str(folder / "out"), *options]
    return start(folder, *arguments, code=code, LEFT=str(folder / "left"), **more)


def leaderboard(folder: Path) -> dict[str, bytes]:
    names = ("leaderboard.md", "leaderboard.csv", "results.parquet")
    return {name: (folder / "out" / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed")
    program = run(folder, LONG, "--workers", "1")
    _, said = program.communicate(timeout=200)
    assert program.returncode == 0, said
    return leaderboard(folder)


LONG = suite_text('use = "erm"', n="[20_000]", repetitions=40)


def wait_for(program: Program, folder: Path, blocks: int) -> None:
    """Wait until workers are there and so many blocks are kept, or the program has ended."""
    wait_until(lambda: program.poll() is not None or (workers(program.pid) and blocks_in(folder / "out") >= blocks))


@pytest.mark.full
@pytest.mark.parametrize(
    "blocks", [*part_of([0, 3]), *(pytest.param(blocks, marks=pytest.mark.long) for blocks in range(4, 40))]
)
def test_killed_workers_cost_time_and_no_row(tmp_path: Path, undisturbed: dict[str, bytes], blocks: int) -> None:
    """While they start, and while they compute; one or two: built-in contenders are tried once more."""
    program = run(tmp_path, LONG, "--workers", "2")
    wait_for(program, tmp_path, blocks)
    # It sees them die together: one may have sent its result, and is given no other block to lose.
    os.kill(program.pid, signal.SIGSTOP)
    for pid in workers(program.pid)[: 1 + blocks % 2]:
        os.kill(pid, signal.SIGKILL)
    os.kill(program.pid, signal.SIGCONT)
    _, said = program.communicate(timeout=200)
    assert program.returncode == 0, said
    assert leaderboard(tmp_path) == undisturbed
    nothing_is_left(tmp_path, program.pid)


@pytest.mark.full
@pytest.mark.parametrize("blocks", part_of([0, 3]))
def test_an_interrupt_while_workers_start_and_run(tmp_path: Path, undisturbed: dict[str, bytes], blocks: int) -> None:
    program = run(tmp_path, LONG, "--workers", "2")
    wait_for(program, tmp_path, blocks)
    os.killpg(program.pid, signal.SIGINT)
    _, said = program.communicate(timeout=60)
    assert "Traceback" not in said
    assert (program.returncode, said) in ((130, "interrupted\n"), (0, ""))
    nothing_is_left(tmp_path, program.pid)
    again = run(tmp_path, LONG, "--workers", "1")
    _, said = again.communicate(timeout=200)
    assert again.returncode == 0, said
    assert leaderboard(tmp_path) == undisturbed


@pytest.mark.full
@pytest.mark.parametrize("sent", part_of([signal.SIGKILL, signal.SIGTERM]))
def test_what_a_killed_run_leaves_disturbs_no_other(
    tmp_path: Path, undisturbed: dict[str, bytes], sent: signal.Signals
) -> None:
    program = run(tmp_path, LONG, "--workers", "2")
    wait_until(lambda: workers(program.pid))
    program.send_signal(sent)
    program.communicate(timeout=60)
    assert program.returncode == (143 if sent == signal.SIGTERM else -sent)
    wait_until(lambda: not session_of(program.pid), 20)
    before = left_by_kills(tmp_path)
    assert bool(before) == (sent == signal.SIGKILL)
    again = run(tmp_path, LONG, "--workers", "2" if is_full() else "1")
    _, said = again.communicate(timeout=200)
    assert again.returncode == 0, said
    assert leaderboard(tmp_path) == undisturbed
    nothing_is_left(tmp_path, again.pid, before)


@pytest.mark.full
@pytest.mark.parametrize("hangs", part_of([False, True]))
def test_children_of_a_contender_end_with_it(tmp_path: Path, site: Path, hangs: bool) -> None:
    suite = suite_text('use = "erm"', f'use = "forks:hangs={str(hangs).lower()}"')
    options, code = (["--timeout", "3000"], LATE) if hangs else (["--workers", "1"], MAIN)
    program = run(tmp_path, suite, *options, code=code, PYTHONPATH=str(site))
    _, said = program.communicate(timeout=200)
    assert program.returncode == (1 if hangs else 0), said
    left = (tmp_path / "left").read_text()
    wait_until(lambda: not os.path.exists(f"/proc/{left}"), 5)
    nothing_is_left(tmp_path, program.pid)
