"""Whole files of every kind that rankbench reads, and ways to damage them."""

from __future__ import annotations

import gzip
import random
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from synthetic import Contender, Plan, small, write

from rankbench.data.cards import cards_folder, load_card
from rankbench.data.convert import convert
from rankbench.data.readers.choose import choose_reader
from rankbench.descriptions.describe import describe
from rankbench.interfaces.dataset import Reader
from rankbench.logs.open import open_log
from rankbench.plugin import manager
from rankbench.plugin.manager import get
from rankbench.reports.results import report
from rankbench.store.journal import Journal
from rankbench.store.published import PublishedRows, published_rows, read_digests
from rankbench.suites.suite_files import read_suite
from rankbench.tracking.history import HistoryEntry, HistoryValue, add_entry, read_history
from rankbench.tracking.timings import TimedCell, TimingFacts, Timings, read_timings, write_timings

TOKENS = (
    b"\r", b"\n", b"\r\n", b'"', b'""', b",", b"\t", b" ", b"\0", b"\xff", b"\xef\xbb\xbf", b"1e999", b"nan", b"-1",
    b"{", b"}", b"[", b":", b"qid:", b"\xe2\x80\xae", b"9" * 40, b"null", b"#", b"=", b"\\u0000",
)  # fmt: skip

FLAGS = "|0" * 17
RATINGS = b"3\t7\t5\t881250949\n1\t2\t1\t881250950\n3\t1\t2\t881250951\n1\t1\t4\t881250952\n"
MOVIES = (
    f"1|Caf\xe9 (1995)|01-Jan-1995||http://a|1|0{FLAGS}\n"
    f"2|B (1990)|3-Feb-1990||http://b|0|1{FLAGS}\n7|unknown||||0|1{FLAGS}\n"
).encode("latin-1")

COMPRESSED = (".csv", ".ndjson", ".txt")
"""Endings of examples that are read compressed, too."""

SHARDS = "shards"
"""Folder of a converted log."""


def flipped(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def put(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(TOKENS)


def overwritten(data: bytearray, rng: random.Random) -> None:
    at, token = rng.randrange(len(data)), rng.choice(TOKENS)
    data[at : at + len(token)] = token


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def without(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.randrange(1, 20)]


def again(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at:at] = data[at : at + rng.randrange(1, 200)]


WAYS: tuple[Callable[[bytearray, random.Random], None], ...] = (flipped, put, put, overwritten, cut, without, again)


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """Return contents after one to four alterations."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if data:
            rng.choice(WAYS)(data, rng)
    return bytes(data)


def originals(kind: str) -> dict[str, bytes]:
    """Return whole files by their path in a folder, where they stand beside each other.

    Parameters
    ----------
    kind : str
        ``tables``: every reader's own example, some of them compressed too, MovieLens' two files, and a folder of
        shards; ``described``: those of Parquet among them; ``suites``: every built-in suite; ``cards``: every card;
        ``rows``: what a run publishes; ``written``: what else rankbench writes and reads again.
    """

    if kind == "suites":
        return {path.name: path.read_bytes() for name, path in sorted(manager.suites().items())}
    if kind == "cards":
        return {path.name: path.read_bytes() for path in sorted(cards_folder().glob("*.toml"))}
    if kind in ("rows", "written"):
        return rows() if kind == "rows" else written()
    found = tables()
    return {name: data for name, data in found.items() if "parquet" in name} if kind == "described" else found


def tables() -> dict[str, bytes]:
    found = {}
    for name in manager.names("reader"):
        reader = manager.component_class(Reader, name)
        ending = reader.extensions[0] if reader.extensions else ".data"
        if example := reader.example():
            found[f"example-{name}{ending}"] = example
        if example and ending in COMPRESSED:
            found[f"example-{name}{ending}.gz"] = gzip.compress(example, mtime=0)
    with tempfile.TemporaryDirectory() as folder:
        log, shards = Path(folder) / "log.csv", Path(folder) / SHARDS
        log.write_text("query_id,winner,loser\n" + "".join(f"{query},a,b\n" for query in "pqrstuvw"))
        convert(log, shards, shards=2)
        found |= {f"{SHARDS}/{path.name}": path.read_bytes() for path in sorted(shards.iterdir())}
    return found | {"u.data": RATINGS, "u.item": MOVIES}


def run(folder: Path) -> Path:
    """Write a small run's journal; return its folder."""
    return write(folder, [Plan("e", [Contender("one", {"k": 1}, curves=True)], n=(200,), repetitions=2)], {"design": 3})


def rows() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder, Journal(run(Path(folder))) as journal:
        return published_rows(journal)


def written() -> dict[str, bytes]:
    """Return a list of digests, entries of a history, and timings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (write(folder / "run", [small()]) / "run.json").write_text("{}")
        report(folder / "run", folder / "out")
        for day in range(1, 7):
            value = HistoryValue(name="a/b", value=day % 3 / 2)
            date = datetime(2026, 1, day, tzinfo=UTC)
            add_entry(folder / "history", HistoryEntry(commit=f"abcd{day}", date=date, machine="m", values=(value,)))
        cell, times = TimedCell("e", "a", 10), np.ones((2, 3))
        facts = TimingFacts(
            job="j", suite="s", version="0.1.0", machine="m", reference="r", declared=7, last=False, precision=0.02,
            seed=5,
        )  # fmt: skip
        write_timings(folder, Timings(facts, {cell: times}, times, {cell: np.ones(2)}, {cell: np.ones(2)}))
        kept = ("out/digests.json", "history/*", "timings/*")
        files = {path.relative_to(folder): path.read_bytes() for pattern in kept for path in folder.glob(pattern)}
    return {path.as_posix(): data for path, data in files.items()}


def read(kind: str, path: Path) -> None:
    """Read a file, and what belongs to it beside it, in the way that the program does."""
    if kind == "suites":
        read_suite(path)
    elif kind == "cards":
        load_card(path)
    elif kind == "rows":
        read_rows(path.parent)
    elif kind == "written":
        read_written(path)
    elif kind == "described":
        described(path.parent if path.parent.name == SHARDS else path)
    elif path.name in ("u.data", "u.item"):
        get(Reader, "movielens").scan(path.with_name("u.data")).collect()
    elif path.name.endswith(".data"):  # an ending of nobody's
        get(Reader, path.stem.removeprefix("example-")).scan(path).collect()
    else:
        place = path.parent if path.parent.name == SHARDS else path
        choose_reader(place).scan(place).collect()


def described(path: Path) -> None:
    """As ``data describe`` does."""
    source = open_log(str(path))
    source.counted(lambda frame: describe(frame, path=source.path))


def read_rows(folder: Path) -> None:
    found = PublishedRows(folder)
    found.record()
    found.progress()
    for member in found.members():
        found.curves(member.cell)


def read_written(path: Path) -> None:
    if path.parent.name in ("history", "timings"):
        read_history(path.parent) if path.parent.name == "history" else read_timings(path.parents[1])
    else:
        read_digests(path.parent)
