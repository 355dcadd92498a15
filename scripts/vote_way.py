"""Count a vote's way through `rankbench aggregate FILE --intervals`: files that are entered, and steps back up.

    .venv/bin/python scripts/vote_way.py [FILE] [--files]

A file of `rankbench/` is entered when one of its functions is called; what an import runs does not count. A step goes
up where the function that is called next, on the same thread, stands in a higher layer of CONTRIBUTING.md than the one
called before it. Threads of Polars count, which check rows. `core`, `errors` and `plugin` serve all layers: neither
their files nor steps to and from them count. Without FILE a small log is written and ranked. Installed plugins are
left out.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import random
import re
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import polars.io.plugins

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = str(ROOT / "rankbench") + os.sep
SERVANTS = ("core", "plugin", "errors")


def layers() -> dict[str, int]:
    """Return the layer of each package, as the table of CONTRIBUTING.md says."""
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {name.strip("/"): int(number) for number, cell in rows for name in re.findall(r"`(\w+)/?`", cell)}


def small_log(folder: Path) -> Path:
    """Write 600 votes of 17 judges on six items."""
    draw, items = random.Random(1), ["ash", "birch", "cedar", "dogwood", "elm", "fir"]
    rows = ["winner,loser,judge"]
    for number in range(600):
        one, two = sorted(draw.sample(items, 2))
        rows.append(f"{one},{two},j{number % 17}" if draw.random() < 0.7 else f"{two},{one},j{number % 17}")
    log = folder / "judged.csv"
    log.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return log


def way(log: Path) -> list[list[str]]:
    """Return the files of all function calls while a log is ranked, in order, a list for each thread."""
    calls, importing = defaultdict[int, list[str]](list), Counter[int]()

    def note(frame: FrameType, event: str, _: object) -> None:
        name, thread = frame.f_code.co_filename, threading.get_ident()
        if event not in ("call", "return") or not name.startswith(PACKAGE):
            return
        if frame.f_code.co_name == "<module>":
            importing[thread] += 1 if event == "call" else -1
        elif event == "call" and not importing[thread]:
            calls[thread].append(name[len(PACKAGE) :])

    def noted(source: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def started(*arguments: Any) -> Iterator[Any]:
            sys.setprofile(note)  # a thread of Polars is none that Python started
            yield from source(*arguments)

        return started

    found, register = metadata.entry_points, polars.io.plugins.register_io_source

    def own(group: str) -> list[metadata.EntryPoint]:
        return [entry for entry in found(group=group) if entry.dist is not None and entry.dist.name == "rankbench"]

    with (
        patch.object(metadata, "entry_points", own),
        patch.object(polars.io.plugins, "register_io_source", lambda source, **more: register(noted(source), **more)),
    ):
        from rankbench.cli import main

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main(["aggregate", str(log), "--intervals"])
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return list(calls.values())


def main() -> None:
    """Print both numbers, and with --files each file with the number of calls."""
    arguments = [word for word in sys.argv[1:] if word != "--files"]
    layer = layers()
    with tempfile.TemporaryDirectory() as folder:
        calls = way(Path(arguments[0]) if arguments else small_log(Path(folder)))
    ways = [[name for name in one if Path(name).parts[0].removesuffix(".py") not in SERVANTS] for one in calls]
    floors = [[layer.get(Path(name).parts[0].removesuffix(".py"), 12) for name in one] for one in ways]
    up = sum(after > before for one in floors for before, after in itertools.pairwise(one))
    files = Counter(itertools.chain.from_iterable(ways))
    print(f"{len(files)} files are entered; {up} steps go back up")
    if "--files" in sys.argv:
        print(*(f"{count:6} {name}" for name, count in files.items()), sep="\n")


if __name__ == "__main__":
    main()
