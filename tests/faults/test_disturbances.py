"""Commands that are killed, and machines that fail: the same bytes in the end, and no process left behind."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from amounts import is_full
from disturbed import BLOCKS, Undisturbed, contents, killed_after, reported, undisturbed, written
from sessions import blocks_in, ended, left_by_kills, nothing_is_left, session_of, start, stopped, wait_until

from rankbench.store.journal import FILE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Return commands of a second: a worker of its own takes another one to start."""
    return undisturbed(tmp_path_factory.mktemp("quick"), 2000, 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(tmp_path_factory.mktemp("whole"), 20_000, 2)


def kills(whole: Undisturbed, folder: Path, name: str, cases: range, longest: float = 1.5) -> Counter[str]:
    """Kill a command one to three times in a place of its own, and let the next one end; return what came of it.

    Moments are random, from the start to the time that the whole command took last.
    """
    came = Counter[str]()
    for case in cases:
        rng, place = random.Random(f"{name} {case}"), folder / f"{name}-{case}"
        whole.prepare(name, place)
        left = 1 + case % 3
        while left:
            program, moment = start(place, *whole.command(name, place)), rng.uniform(0.05, longest)
            if killed_after(program, moment):
                left -= 1
            else:
                longest = moment
            wait_until(lambda session=program.pid: not session_of(session), 20)  # type: ignore[misc]
        came["places"] += 1
        came["kills"] += 1 + case % 3
        began = time.monotonic()
        if name == "run":
            kept = blocks_in(place / "out")
            came["blocks kept"] += kept
            goes_on(whole, place, kept)
        else:
            goes_well(whole, place, name)
        longest = time.monotonic() - began
        shutil.rmtree(place)
        print({"command": name} | came, flush=True)
    return came


BEFORE_CHANGING = """
import os, signal, sys
import polars as pl
left = int(os.environ["CHANGES"])
def dies(change):
    global left
    left -= 1
    if left < 0:
        print(change, file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
def changes(event, arguments):
    if event == "open":
        return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR)) and str(arguments[0]).startswith(os.environ["PLACE"])
    # What is removed by its name in an open folder is in ours.
    return event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir") and (
        str(arguments[0]).startswith(os.environ["PLACE"]) or not os.path.isabs(arguments[0])
    )
sys.addaudithook(lambda event, arguments: changes(event, arguments) and dies(event))
write = pl.LazyFrame.sink_parquet
def halved(frame, path, **options):
    write(frame, path, **options)
    if not left:  # Polars writes without a word to Python: half of the file is there
        os.truncate(path, os.path.getsize(path) // 2)
    dies("Parquet")
pl.LazyFrame.sink_parquet = halved
from rankbench.cli import main
main()
"""

CHANGES = {
    # The folder beside, in it those of what waits and of the whole; all of them go, and the old one.
    **{"os.mkdir": 3, "os.rmdir": 3},
    # What waits for its shard, the three shards, and the manifest.
    **{"Parquet": 4, "open": 1},
    # What waited, the two shards and the manifest of the old folder; which is moved away before the new one is moved.
    **{"os.remove": 4, "os.rename": 2},
}
"""How often a conversion that replaces two shards by three changes the disk."""


@pytest.mark.full
def test_a_conversion_that_is_killed_at_each_of_its_changes(tmp_path: Path, quick: Undisturbed) -> None:
    """Whatever is made, written, moved or removed: no folder is half there, and the next conversion ends the same."""
    old = tmp_path / "old"
    quick.prepare("convert", old)
    code, said = ended(start(old, *quick.command("convert", old), "--shards", "2"))
    assert code == 0, said
    whole, stood = {"old": written(old), "none": {}, "new": quick.made("convert")}, list[str]()
    disturbed = Counter[str]()
    for change in range(1000):
        place = tmp_path / str(change)
        shutil.copytree(old, place)
        more = {"CHANGES": str(change), "PLACE": str(place / "made")}
        program = start(place, *quick.command("convert", place), code=BEFORE_CHANGING, **more)
        code, said = ended(program)
        wait_until(lambda session=program.pid: not session_of(session))  # type: ignore[misc]
        shards = {name: of for name, of in contents(place / "made").items() if name.startswith("shards/")}
        (stands,) = (name for name, files in whole.items() if files == shards)
        stood.append(stands)
        if not code:
            break
        assert code == -signal.SIGKILL, said
        disturbed[said.strip().rpartition("\n")[2]] += 1
        if stands != "old" or change % 4 == 0 or is_full():
            goes_well(quick, place, "convert")
            assert not list(place.glob("made/.*.replaced"))
        shutil.rmtree(place)
    assert disturbed == CHANGES
    # The old folder is moved away, then the new one takes its place: killed before both moves, and not any more.
    assert list(dict.fromkeys(stood)) == ["old", "none", "new"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["run", "aggregate", "convert", "report"])
def test_a_hundred_kills(tmp_path: Path, whole: Undisturbed, name: str, cases: Callable[[int], range]) -> None:
    kills(whole, tmp_path, name, cases(51))


BEFORE_REPLACING = """
import os, signal
replace, left = os.replace, [int(os.environ["REPLACED"])]
def replaced(new, old):
    if os.path.basename(new).startswith("."):  # numba replaces its own files
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
    replace(new, old)
os.replace = replaced
from rankbench.cli import main
main()
"""


@pytest.mark.long
@pytest.mark.parametrize("name", ["run", "aggregate", "report"])
def test_kills_before_each_file_is_put_in_its_place(tmp_path: Path, whole: Undisturbed, name: str) -> None:
    """Where random moments hardly ever fall: the new file is whole, and not in its place yet."""
    for case in range(100):
        place = tmp_path / str(case)
        whole.prepare(name, place)
        code, said = ended(start(place, *whole.command(name, place), code=BEFORE_REPLACING, REPLACED=str(case)))
        if not code:
            break
        assert code == -signal.SIGKILL, said
        assert left_by_kills(place)
        if name == "run":
            goes_on(whole, place, blocks_in(place / "out"))
        else:
            goes_well(whole, place, name)
        print({"command": name, "kills before a file was put in its place": case + 1}, flush=True)
    assert 0 < case < 99


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler to build the faults of a machine with")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(source), "-ldl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode:
        pytest.skip(f"the faults of a machine cannot be built here: {built.stderr[:200]}")
    return str(library)


def goes_well(whole: Undisturbed, place: Path, name: str) -> None:
    """Assert that another command than a run ends in its files, and leaves nothing."""
    before = left_by_kills(place)
    program = start(place, *whole.command(name, place))
    code, said = ended(program)
    assert code == 0, said
    assert written(place) == whole.made(name)
    nothing_is_left(place, program.pid, before)


def goes_on(whole: Undisturbed, place: Path, before: int) -> None:
    """Assert that the next run computes what is missing, and that alone, and leaves nothing."""
    left = left_by_kills(place)
    program = start(place, *whole.command("run", place))
    code, said = ended(program)
    assert code == 0, said
    assert reported(place / "out") == whole.run
    facts = json.loads((place / "out" / "run.json").read_text())
    assert facts["blocks"] == {"computed": BLOCKS - before, "reused": before}
    nothing_is_left(place, program.pid, left)


def fault(
    whole: Undisturbed, place: Path, shim: str, name: str, kind: str, after: int, of: str = "", calls: str = ""
) -> str:
    """Let a command work on a machine that fails where its results go, or in a folder given; return what came of it.

    It is said whether any call failed: a command may have made fewer of them.
    """
    whole.prepare(name, place)
    under = str(place / (of or ("out" if name == "run" else "made")))
    environment = {"LD_PRELOAD": shim, "FAULT": kind, "FAULT_UNDER": under, "FAULT_AFTER": str(after)}
    environment |= {"FAULT_CALLS": calls, "FAULT_FIRED": str(place / "fired")}
    program = start(place, *whole.command(name, place), **environment)
    with stopped(program):
        code, said = ended(program)
    assert "Traceback" not in said, said
    assert code in (0, 1, 2, 3), said
    assert code == 0 or said.strip(), "a failure without a word"
    # What cannot be removed stays: in a folder for temporary files that fails, or in one that cannot be looked through.
    if of or (name == "convert" and calls in ("open", "unlink", "close")):
        wait_until(lambda: not session_of(program.pid), 20)
    else:
        nothing_is_left(place, program.pid)
    if kind == "clock":
        assert code == 0, said
    fired = (place / "fired").exists()
    assert fired or code == 0, said
    goes_on(whole, place, blocks_in(place / "out")) if name == "run" else goes_well(whole, place, name)
    return ("ended well" if code == 0 else "failed in words") if fired else "not reached"


@pytest.mark.full
def test_a_disk_that_gets_full(tmp_path: Path, quick: Undisturbed, shim: str) -> None:
    assert quick.run
    assert fault(quick, tmp_path, shim, "run", "full", 40) == "failed in words"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["full", "broken", "readonly"])
@pytest.mark.parametrize("name", ["run", "aggregate", "convert", "report"])
def test_a_folder_for_temporary_files_that_fails(
    tmp_path: Path, whole: Undisturbed, shim: str, name: str, kind: str
) -> None:
    came = Counter(fault(whole, tmp_path / str(after), shim, name, kind, after, "tmp") for after in (0, 1, 3))
    print({"command": name, "fault": f"{kind}, of the temporary folder"} | came, flush=True)


AFTER = (0, 1, 2, 3, 5, 8, 13, 30, 60, 100, 200, 300)
"""Calls that go well before a machine fails."""


def faults(whole: Undisturbed, folder: Path, shim: str, name: str, kind: str, calls: str, cases: range) -> Counter[str]:
    """Let calls fail after more and more that go well, as long as a command makes more; return what came of it."""
    came = Counter[str]()
    for case in cases:
        place = folder / str(case)
        found = fault(whole, place, shim, name, kind, AFTER[case], calls=calls)
        came[found] += 1
        shutil.rmtree(place)
        print({"command": name, "fault": kind, "calls": calls or "all"} | came, flush=True)
        if found == "not reached":
            break
    return came


@pytest.mark.long
@pytest.mark.parametrize("kind", ["full", "broken", "readonly", "clock"])
@pytest.mark.parametrize("name", ["run", "aggregate", "convert", "report"])
def test_machines_that_fail(
    tmp_path: Path, whole: Undisturbed, shim: str, name: str, kind: str, cases: Callable[[int], range]
) -> None:
    wanted = cases(1 if kind == "readonly" else len(AFTER))
    came = faults(whole, tmp_path, shim, name, kind, "write,read,sync" if kind == "broken" else "", wanted)
    assert came["failed in words"] or kind == "clock" or wanted.start


@pytest.mark.long
@pytest.mark.parametrize("calls", ["open", "rename", "unlink", "mkdir", "close", "truncate", "map"])
@pytest.mark.parametrize("name", ["run", "aggregate", "convert", "report"])
def test_calls_that_fail(
    tmp_path: Path, whole: Undisturbed, shim: str, name: str, calls: str, cases: Callable[[int], range]
) -> None:
    """One kind of call, after some of them went well."""
    faults(whole, tmp_path, shim, name, "broken", calls, cases(4))


def removed_while_running(whole: Undisturbed, place: Path, kept: int) -> None:
    """Remove the folder of a run's results when so many blocks are kept there."""
    program = start(place, *whole.command("run", place))
    with stopped(program):
        wait_until(lambda: (place / "out" / FILE).exists() or program.poll() is not None)
        wait_until(lambda: blocks_in(place / "out") >= kept or program.poll() is not None)
        (place / "out").rename(place / "gone")
        shutil.rmtree(place / "gone")
        code, said = ended(program)
    assert "Traceback" not in said, said
    assert code in (1, 3), (code, said)
    assert str(place / "out") in said
    nothing_is_left(place, program.pid)
    shutil.rmtree(place / "out", ignore_errors=True)
    goes_on(whole, place, 0)


def two_at_once(whole: Undisturbed, place: Path) -> list[int]:
    """Start two runs on one folder: each block is computed by one of them, and who is late is told."""
    both = [start(place, *whole.command("run", place)) for _ in range(2)]
    answers = [ended(program) for program in both]
    codes = sorted(code for code, _ in answers)
    assert codes in ([0, 3], [0, 0]), answers
    assert all("Traceback" not in said for _, said in answers)
    assert reported(place / "out") == whole.run
    for program in both:
        nothing_is_left(place, program.pid)
    return codes


@pytest.mark.long
def test_many_folders_that_two_want_and_that_go(
    tmp_path: Path, whole: Undisturbed, cases: Callable[[int], range]
) -> None:
    came = Counter[str]()
    for case in cases(10):
        came[str(two_at_once(whole, tmp_path / f"two-{case}"))] += 1
        removed_while_running(whole, tmp_path / f"gone-{case}", case % (BLOCKS // 2))
        came["folders removed"] += 1
        print(dict(came), flush=True)


def on_a_cluster(whole: Undisturbed, place: Path, disturb: Callable[[object], None], kept: int) -> int:
    """Run on a cluster that is disturbed when so many blocks are kept, and go on here; return its exit code."""
    from dask_cluster import Cluster

    place.mkdir()
    found = Cluster(place, 2)
    try:
        command = whole.command("run", place)[:-2]
        # Dask looks for a scheduler that is gone for half a minute, if it is not told otherwise.
        patience = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
        program = start(place, *command, "--executor", "dask", "--address", found.address, **patience)
        with stopped(program):
            wait_until(lambda: blocks_in(place / "out") >= kept or program.poll() is not None, 120)
            disturb(found)
            code, said = ended(program)
        assert "Traceback" not in said, said
        nothing_is_left(place, program.pid)
    finally:
        found.close()
    goes_on(whole, place, blocks_in(place / "out"))
    return code


def scheduler_dies(cluster: object) -> None:
    os.killpg(cluster.scheduler.pid, signal.SIGKILL)  # type: ignore[attr-defined]


def worker_dies(cluster: object) -> None:
    cluster.kill(0)  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_cluster_that_is_killed(tmp_path: Path, whole: Undisturbed, cases: Callable[[int], range]) -> None:
    pytest.importorskip("distributed")
    came = Counter[str]()
    for case in cases(20):
        what = scheduler_dies if case % 2 else worker_dies
        code = on_a_cluster(whole, tmp_path / str(case), what, 1 + case % (BLOCKS // 2))
        assert code == 0 or what is scheduler_dies
        came[f"{what.__name__}, exit code {code}"] += 1
        print(dict(came), flush=True)
