"""A run's folder, damaged in every way that a seeded campaign finds: never a silently different result.

Bits are flipped, files cut off, pages swapped, blanked and copied over one another, in every file that
a finished run leaves. Then the report is made, or the suite is run, again: every file comes out as it was,
byte for byte, or the error names the journal and its table and says what to do. `test_journal_cells` changes values.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
from amounts import trials
from small_suites import suite_text

import rankbench
from rankbench.core.system import FACTS, write_facts
from rankbench.errors import StoreError
from rankbench.reports.results import report
from rankbench.store.journal import FILE
from rankbench.store.store import LOCK, Store

PAGE = 4096
ROLLBACK = f"{FILE}-journal"
PLACE = r"(?:table \w+|the file's header|outside of the tables' rows): "
NAMED = re.compile(rf"journal\.sqlite: (?:{PLACE}|attempt to write a readonly database).*run again")
FOREIGN = re.compile(r"journal\.sqlite: (?:this SQLite file is not a journal|the journal has version)")
SUITE = suite_text(
    'label = "random", use = "random-scores"', 'label = "feature", use = "feature:index=1"', n="[400]", repetitions=2,
    protocol="btl:design=4,heldout=4", dataset="web10k-like:queries=12,features=8",
    more='losses = ["ndcg"]\nbaseline = "random"',
)  # fmt: skip


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flip_in_the_header(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(min(100, len(data)))] ^= 1 << rng.randrange(8)


def truncate(data: bytearray, rng: random.Random) -> None:
    size = rng.randrange(len(data))
    del data[rng.choice((size, size // PAGE * PAGE)) :]


def pages(data: bytearray, rng: random.Random) -> tuple[slice, slice]:
    size = min(PAGE, max(1, len(data) // 2))
    a, b = (rng.randrange(len(data) // size) * size for _ in range(2))
    return slice(a, a + size), slice(b, b + size)


def swap(data: bytearray, rng: random.Random) -> None:
    a, b = pages(data, rng)
    data[a], data[b] = data[b], data[a]


def copy(data: bytearray, rng: random.Random) -> None:
    a, b = pages(data, rng)
    data[a] = data[b]


def blank(data: bytearray, rng: random.Random) -> None:
    a, _ = pages(data, rng)
    data[a] = bytes(a.stop - a.start)


KINDS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip, flip, flip, flip_in_the_header, truncate, swap, copy, blank,
)  # fmt: skip


def contents(folder: Path) -> dict[str, object]:
    """Return the files that a report makes."""
    files = (
        path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(("journal.", FACTS))
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Campaign:
    """One folder that is damaged again and again, and what came of it: ``equal``, or an ``error``."""

    def __init__(self, folder: Path, again: Callable[[Path], object], scratch: Path) -> None:
        self.folder, self.again, self.scratch = folder, again, scratch
        self.files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        self.expected = contents(folder)
        self.came: Counter[str] = Counter()

    def damage(self, name: Path, change: Callable[[bytearray], None]) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.copytree(self.folder, self.scratch)
        data = bytearray((self.scratch / name).read_bytes())
        change(data)
        (self.scratch / name).write_bytes(bytes(data))
        said = ""
        try:
            self.again(self.scratch)
        except StoreError as error:
            said = str(error)
        if said:
            assert name.name in (FILE, ROLLBACK)
            assert NAMED.search(said) or FOREIGN.search(said), said
        else:
            assert contents(self.scratch) == self.expected
        self.came["error" if said else "equal"] += 1

    def at_random(self, cases: range, seed: int) -> None:
        """Damage the journal most often, and the other files in turns."""
        others = [name for name in self.files if (self.folder / name).stat().st_size and name.name != FILE]
        for index in cases:
            rng = random.Random(f"{seed} {index}")
            name = Path(FILE) if index % 4 or not others else rng.choice(others)
            kind = rng.choice(KINDS)
            self.damage(name, lambda data, kind=kind, rng=rng: kind(data, rng))  # type: ignore[misc]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a report of several pages a table, with curves, failures and no figures."""
    folder = tmp_path_factory.mktemp("written")
    curved = synthetic.Contender("curved", {"k": 1}, 0.06, curves=True)
    failing = synthetic.Contender("failing", {"k": 3}, fails={1: ("diverged", "left the finite numbers")})
    plan = synthetic.Plan("e", [curved, failing, synthetic.Contender("logistic", {})], n=(200,), repetitions=3)
    synthetic.write(folder, [plan], {"design": 3, "heldout": 2})
    write_facts(folder, {"suite": "synthetic", "n": {"e": [200]}, "seed": 1, "seconds": {"total": 1.25}})
    report(folder)
    return folder


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a suite's file and the folder of its run."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "tiny.toml").write_text(SUITE)
    rankbench.run(str(folder / "tiny.toml"), out=folder / "out")
    return folder / "tiny.toml", folder / "out"


@pytest.fixture(scope="module")
def torn(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return `written` as it is found after a kill in the middle of a commit: half of it is in the file already."""
    open_still, folder = tmp_path_factory.mktemp("open"), tmp_path_factory.mktemp("torn")
    shutil.copytree(written, open_still, dirs_exist_ok=True)
    connection = sqlite3.connect(open_still / FILE, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE losses SET data = zeroblob(length(data))")
    connection.execute("UPDATE head SET blocks = blocks + 1")
    shutil.copytree(open_still, folder, dirs_exist_ok=True)
    connection.rollback()
    connection.close()
    assert (folder / ROLLBACK).stat().st_size
    assert (folder / FILE).read_bytes() != (written / FILE).read_bytes()
    return folder


@pytest.mark.full
def test_a_run_that_was_killed_in_a_commit_and_damaged_then(torn: Path, tmp_path: Path) -> None:
    campaign = Campaign(torn, report, tmp_path / "scratch")
    campaign.at_random(range(40), 4)
    for index in range(40):
        rng = random.Random(f"rollback {index}")
        kind = rng.choice(KINDS)
        campaign.damage(Path(ROLLBACK), lambda data, kind=kind, rng=rng: kind(data, rng))  # type: ignore[misc]
    assert campaign.came["error"] > 10
    assert campaign.came["equal"] > 10


def test_a_damaged_lock_locks_still(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    (tmp_path / LOCK).write_bytes(b"no database" * 100)
    with Store(tmp_path), pytest.raises(StoreError, match="another run is writing here"):
        Store(tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("times", [trials(240), pytest.param(9000, marks=pytest.mark.long)])
def test_a_report_of_a_damaged_folder(written: Path, tmp_path: Path, times: int, cases: Callable[[int], range]) -> None:
    campaign = Campaign(written, report, tmp_path / "scratch")
    campaign.at_random(cases(times), 1)
    print(dict(campaign.came))
    assert campaign.came["error"] > campaign.came.total() // 8


@pytest.mark.full
@pytest.mark.parametrize("times", [trials(120), pytest.param(1000, marks=pytest.mark.long)])
def test_a_run_in_a_damaged_folder(
    ran: tuple[Path, Path], tmp_path: Path, times: int, cases: Callable[[int], range]
) -> None:
    suite, folder = ran
    campaign = Campaign(folder, lambda out: rankbench.run(str(suite), out=out), tmp_path / "scratch")
    campaign.at_random(cases(times), 2)
    print(dict(campaign.came))
    assert campaign.came["error"] > campaign.came.total() // 8
