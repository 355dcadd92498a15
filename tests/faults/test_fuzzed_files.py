"""Damaged files of every reader, and damaged suites and cards: read, or refused by an error that names the file.

Seeds are fixed, and what came of the cases is printed. Each few hundred cases run in a process of their own, as Polars
ends the process at some damaged Parquet files, where it asks for more memory than there can be: that is counted apart.
"""

from __future__ import annotations

import json
import random
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rankbench.errors import InputError, SpecError

TOKENS = (
    b"\r", b"\n", b"\r\n", b'"', b'""', b",", b"\t", b" ", b"\0", b"\xff", b"\xef\xbb\xbf", b"1e999", b"nan", b"-1",
    b"{", b"}", b"[", b":", b"qid:", b"\xe2\x80\xae", b"9" * 40, b"null", b"#", b"=", b"\\u0000",
)  # fmt: skip

CHUNK = 200
"""Cases of a process."""

SECONDS = 20
"""Longest that a case may take."""

MEMORY = 1 << 30
"""Bytes that a process may take for its cases."""


def peak_memory() -> int:
    """Return the bytes that this process took at most; `ru_maxrss` begins with what the process took that forked it."""
    status = Path("/proc/self/status")
    if found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text() if status.exists() else ""):
        return 1024 * int(found[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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
    """Return whole files by name: every reader's own example, every built-in suite, or every card."""
    from rankbench.data.cards import cards_folder
    from rankbench.kinds.reader import Reader
    from rankbench.plugin import manager

    if kind == "suites":
        return {path.name: path.read_bytes() for name, path in sorted(manager.suites().items())}
    if kind == "cards":
        return {path.name: path.read_bytes() for path in sorted(cards_folder().glob("*.toml"))}
    classes = [manager.component_class(Reader, name) for name in manager.names("reader")]
    return {f"example-{cls.name}{cls.extensions[0]}": cls.example() for cls in classes if cls.extensions}


def read(kind: str, path: Path) -> None:
    from rankbench.data.cards import load_card
    from rankbench.data.readers.choose import choose_reader
    from rankbench.suites.suite_files import read_suite

    if kind == "suites":
        read_suite(path)
    elif kind == "cards":
        load_card(path)
    else:
        choose_reader(path).scan(path).collect()


def chunk(kind: str, seed: int, cases: int, folder: Path) -> Counter[str]:
    """Read damaged files; return what came of them.

    Raises
    ------
    AssertionError
        Something else than an error of ours, or one that does not name the file; the file is left in the folder.
    """
    files, came = originals(kind), Counter[str]()
    for case in range(cases):
        rng = random.Random(f"{kind} {seed} {case}")
        name = rng.choice(sorted(files))
        path = folder / name
        path.write_bytes(damaged(files[name], rng))
        (folder / "case").write_text(name)
        signal.alarm(SECONDS)  # ends the process
        try:
            read(kind, path)
        except (InputError, SpecError) as error:
            if name not in str(error):
                raise AssertionError(f"{path} is not named: {error}") from error
            came["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"{path}: {type(error).__name__}: {error}") from error
        else:
            came["read"] += 1
    return came


def campaign(kind: str, cases: int, folder: Path) -> Counter[str]:
    """Run cases, a few hundred a process; print and return what came of them."""
    came: Counter[str] = Counter()
    for seed in range(-(-cases // CHUNK)):
        place = folder / str(seed)
        place.mkdir()
        number = min(CHUNK, cases - seed * CHUNK)
        arguments = [str(Path(__file__)), kind, str(seed), str(number), str(place)]
        ended = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=20 * number
        )
        assert ended.returncode != -signal.SIGALRM, f"{place} holds a file that takes more than {SECONDS} s"
        if ended.returncode < 0 and (place / "case").read_text().endswith((".parquet", ".pq")):
            came["ended within Polars"] += 1
            continue
        assert ended.returncode == 0, ended.stderr[-2000:]
        came.update(json.loads(ended.stdout.splitlines()[-1]))
    print(f"{kind}: {dict(came)}")
    return came


@pytest.mark.parametrize(("kind", "cases"), [("tables", 600), ("suites", 200), ("cards", 200)])
def test_damaged_files_are_read_or_refused(tmp_path: Path, kind: str, cases: int) -> None:
    came = campaign(kind, cases, tmp_path)
    assert came["refused"] > cases // 10
    assert came["refused"] + came["read"] + CHUNK * came["ended within Polars"] >= cases


@pytest.mark.long
@pytest.mark.parametrize(("kind", "cases"), [("tables", 100_000), ("suites", 20_000), ("cards", 20_000)])
def test_many_damaged_files_are_read_or_refused(tmp_path: Path, kind: str, cases: int) -> None:
    came = campaign(kind, cases, tmp_path)
    assert came["refused"] > cases // 10


if __name__ == "__main__":
    found = chunk(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    took = peak_memory()
    assert took < MEMORY, f"{took:,} bytes of memory"
    print(json.dumps(found))
