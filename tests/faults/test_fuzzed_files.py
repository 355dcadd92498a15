"""Damaged files of every kind: read, or refused by an error that names the file.

Seeds are fixed, and what came of the cases is printed. Thousands of cases run in a process of their own. Polars ends
the process at some damaged Parquet files, where it asks for more memory than there can be: that is counted apart, and
another process goes on with the next case.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from amounts import trials
from damaged import SHARDS, damaged, originals, read
from forked import run_program

from rankbench.errors import InputError, SpecError, StoreError

CHUNK = 2_500
"""Cases of a process."""

SECONDS = 20
"""Longest that a case may take."""

MEMORY = 1 << 30
"""Bytes that a process may take for its cases."""

PARQUET = (".parquet", ".pq")

HERE = str(Path(__file__).parent)

CHUNKS = """
import json, sys
from pathlib import Path
from test_fuzzed_files import chunk
for kind, first, number, place in json.loads(sys.argv[1]):
    chunk(kind, first, number, Path(place))
"""
"""What a process does that reads damaged files."""


def peak_memory() -> int:
    """Return the bytes that this process took at most; `ru_maxrss` begins with what the process took that forked it."""
    status = Path("/proc/self/status")
    if found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text() if status.exists() else ""):
        return 1024 * int(found[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def names_it(said: str, kind: str, path: Path) -> bool:
    """Return whether an error names the file, or the folder of shards, rows or timings that it is one of."""
    folder = kind == "rows" or path.parent.name in (SHARDS, "timings")
    return path.name in said or (folder and str(path.parent) in said)


def chunk(kind: str, first: int, cases: int, folder: Path) -> None:
    """Read damaged files; note after every case what came of all so far.

    Raises
    ------
    AssertionError
        Something else than an error of ours, or one that does not name the file; the file is left in the folder.
    """
    files, came = originals(kind), Counter[str]()
    for name, whole in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(whole)
    note = os.open(folder / "note", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    for case in range(first, first + cases):
        rng = random.Random(f"{kind} {case}")
        name = rng.choice(sorted(files))
        path = folder / name
        path.write_bytes(damaged(files[name], rng))
        os.pwrite(note, (json.dumps({"case": case, "name": name, "came": came}) + "\n").encode(), 0)
        signal.alarm(SECONDS)  # ends the process
        try:
            read(kind, path)
        except (InputError, SpecError, StoreError) as error:
            if not names_it(str(error), kind, path):
                raise AssertionError(f"{path} is not named: {error}") from error
            came["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"{path}, case {case}: {type(error).__name__}: {error}") from error
        else:
            came["read"] += 1
        path.write_bytes(files[name])
    signal.alarm(0)
    took = peak_memory()
    assert took < MEMORY, f"{took:,} bytes of memory"
    print(json.dumps({kind: came}), flush=True)


def read_apart(parts: list[tuple[str, int, int, Path]]) -> tuple[int, dict[str, dict[str, int]], str]:
    """Have a process read damaged files, kind after kind; return how it ended, what came of them, and what it said."""
    paths = [HERE, str(Path(HERE).parent), *filter(None, [os.getenv("PYTHONPATH")])]
    for *_, place in parts:
        place.mkdir()
    ended = run_program(
        json.dumps(parts, default=str),
        environment=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        code=CHUNKS,
        timeout=SECONDS * sum(number for _, _, number, _ in parts),
    )
    places = [str(place) for *_, place in parts]
    assert ended.returncode != -signal.SIGALRM, f"one of {places} holds a file that takes more than {SECONDS} s"
    assert ended.returncode <= 0, ended.stderr[-2000:]
    told = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    return ended.returncode, {kind: came for line in told for kind, came in json.loads(line).items()}, ended.stderr


def campaign(kind: str, cases: range, folder: Path) -> Counter[str]:
    """Run cases, some thousands a process; print and return what came of them."""
    came, done = Counter[str](), cases.start
    while done < cases.stop:
        place, number = folder / str(done), min(CHUNK, cases.stop - done)
        code, found, said = read_apart([(kind, done, number, place)])
        if code:
            last = json.loads((place / "note").read_text().splitlines()[0])
            assert last["name"].endswith(PARQUET), (last, said[-2000:])
            came.update(last["came"])
            came["ended within Polars"] += 1
            done = last["case"] + 1
        else:
            came.update(found[kind])
            done += number
        print(f"{kind}, of {len(cases):,}: {dict(came)}", flush=True)
    assert came.total() == len(cases)
    return came


def together(kinds: dict[str, int], folder: Path) -> dict[str, Counter[str]]:
    """Run cases of several kinds in one process, whose start takes longer than a hundred cases."""
    code, found, _ = read_apart([(kind, 0, number, folder / kind) for kind, number in kinds.items()])
    came = {kind: Counter(each) for kind, each in found.items()}
    (folder / "again").mkdir()
    for kind in (kinds.keys() - found.keys()) if code else ():
        came[kind] = campaign(kind, range(kinds[kind]), folder / "again")
    print({kind: dict(each) for kind, each in came.items()})
    assert {kind: each.total() for kind, each in came.items()} == kinds
    return came


OTHERS = ("suites", "cards", "rows", "written")

KINDS = {"tables": 100_000, "described": 10_000} | dict.fromkeys(OTHERS, 20_000)
"""Cases of each kind in the long form."""


@pytest.mark.parametrize(
    "kinds", [{"tables": trials(800), "described": trials(200)}, dict.fromkeys(OTHERS, trials(200))], ids=" ".join
)
def test_damaged_files_are_read_or_refused(tmp_path: Path, kinds: dict[str, int]) -> None:
    for kind, came in together(kinds, tmp_path).items():
        assert came["refused"] > kinds[kind] // 10


@pytest.mark.long
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_many_damaged_files_are_read_or_refused(tmp_path: Path, kind: str, cases: Callable[[int], range]) -> None:
    wanted = cases(KINDS[kind])
    assert campaign(kind, wanted, tmp_path)["refused"] > len(wanted) // 10
