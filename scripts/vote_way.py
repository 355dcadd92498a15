"""Count a vote's way through `rankbench aggregate FILE --intervals`: files that are entered, and steps back up.

    .venv/bin/python scripts/vote_way.py [FILE] [--files]

A file of `rankbench/` is entered when one of its functions is called; what an import runs does not count. A step goes
up where the function that is called next stands in a higher layer of CONTRIBUTING.md than the one called before it.
`core`, `errors` and `plugin` serve all layers: neither their files nor steps to and from them count. Without FILE a
small log is written and ranked. Installed plugins add files.
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
from pathlib import Path
from types import FrameType

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


def way(log: Path) -> list[str]:
    """Return the file of every function call while a log is ranked, in order; files next to one another differ."""
    calls, importing = list[str](), [0]

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event not in ("call", "return") or not name.startswith(PACKAGE):
            return
        if frame.f_code.co_name == "<module>":
            importing[0] += 1 if event == "call" else -1
        elif event == "call" and not importing[0] and (not calls or calls[-1] != name[len(PACKAGE) :]):
            calls.append(name[len(PACKAGE) :])

    from rankbench.cli import main

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main(["aggregate", str(log), "--intervals"])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def main() -> None:
    """Print both numbers, and with --files each file with the times it was entered."""
    arguments = [word for word in sys.argv[1:] if word != "--files"]
    layer = layers()
    with tempfile.TemporaryDirectory() as folder:
        calls = way(Path(arguments[0]) if arguments else small_log(Path(folder)))
    calls = [name for name in calls if Path(name).parts[0].removesuffix(".py") not in SERVANTS]
    files = dict.fromkeys(calls)
    floors = [layer.get(Path(name).parts[0].removesuffix(".py"), 12) for name in calls]
    up = sum(after > before for before, after in itertools.pairwise(floors))
    print(f"{len(files)} files are entered; {up} steps go back up")
    if "--files" in sys.argv:
        print(*(f"{calls.count(name):6} {name}" for name in files), sep="\n")


if __name__ == "__main__":
    main()
