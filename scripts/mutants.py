"""Plant bugs one at a time, and print what catches each: the tests of its rooms, `rankbench check`, the gate.

``python scripts/mutants.py [--only PATTERN]... [--by tests|check|gate]...``

A mutant is a small substitution of ``scripts/mutants.toml``, which fails loudly where it does not apply once. It is
made in a copy of the tracked files, with its own compiled code, so that the checkout stays as it is. The gate runs the
suite `gate` with the bug, and compares it with a run without. Exit code 1: a mutant that something must catch survives.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

CATCHERS = ("tests", "check", "gate")

NO_TESTS = 5
"""pytest's exit code where it ran none: a path of the table is wrong."""

LIMIT = 1200
"""Seconds until a command counts as one that hangs, which catches the bug."""


class Mutant(NamedTuple):
    """A substitution, and what must catch it.

    Attributes
    ----------
    name, file, old, new : str
        `file` within the package; `old` stands there once.
    tests : list of str
        Paths of tests that must fail.
    check : str
        Component that `rankbench check` must find faulty; empty: none declares what breaks.
    results : bool
        Results of a run change, so that the gate must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: list[str]
    check: str = ""
    results: bool = True

    def must(self, catcher: str) -> bool:
        """Return whether a catcher must catch it."""
        return {"tests": True, "check": bool(self.check), "gate": self.results}[catcher]

    def applied(self, text: str) -> str:
        """Return a file's text with the bug in it."""
        if text.count(self.old) != 1:
            raise SystemExit(
                f"{self.name}: {self.file} has its text {text.count(self.old)} times, not once: {self.old!r}"
            )
        return text.replace(self.old, self.new)


class Workshop:
    """A copy of the tracked files in which bugs are planted.

    Parameters
    ----------
    folder : Path
        Where to make it, with compiled code and runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.copy = folder, folder / "copy"
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        for name in filter(None, tracked.decode().split("\0")):
            target = self.copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        self.environment = os.environ | {"PYTHONPATH": str(self.copy), "RANKBENCH_CACHE": str(folder / "compiled")}

    def ran(self, name: str) -> Path | None:
        """Return the folder of that name in which the suite gate ran; None if it does not run."""
        found = self.folder / name
        shutil.rmtree(found, ignore_errors=True)
        return None if self.rankbench("run", "--suite", "gate", "--out", str(found)) else found

    def run(self, *command: str) -> int:
        """Return the exit code of a command in the copy; 1 if it hangs."""
        try:
            with (self.folder / "log").open("ab") as log:
                done = subprocess.run(
                    command, cwd=self.copy, env=self.environment, stdout=log, stderr=log, timeout=LIMIT, check=False
                )
        except subprocess.TimeoutExpired:
            return 1
        return done.returncode

    def rankbench(self, *arguments: str) -> int:
        """Return the exit code of rankbench."""
        return self.run(sys.executable, "-m", "rankbench", *arguments)

    def caught(self, mutant: Mutant, catcher: str) -> bool:
        """Return whether a catcher finds the bug that is planted now."""
        if catcher == "check":
            return self.rankbench("check", mutant.check) != 0
        if catcher == "tests":
            pytest = (sys.executable, "-m", "pytest", "--benchmark-skip", "-q", "-x", "-n", "2")
            found = self.run(*pytest, "-m", "not long and not alone", *mutant.tests)
            if found == NO_TESTS:
                raise SystemExit(f"{mutant.name}: no test in {' '.join(mutant.tests)}")
            return found != 0
        head = self.ran("head")
        return head is None or self.rankbench("compare", str(self.folder / "base"), str(head)) != 0

    def tried(self, mutant: Mutant, catchers: list[str]) -> dict[str, bool]:
        """Return what each catcher finds of a bug."""
        path = self.copy / "rankbench" / mutant.file
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(text), encoding="utf-8")
        try:
            return {one: self.caught(mutant, one) for one in catchers if one != "check" or mutant.check}
        finally:
            path.write_text(text, encoding="utf-8")


def mutants() -> list[Mutant]:
    """Return all mutants; each applies to the package as it is."""
    found = [
        Mutant(**one) for one in tomllib.loads((ROOT / "scripts/mutants.toml").read_text(encoding="utf-8"))["mutants"]
    ]
    for one in found:
        one.applied((ROOT / "rankbench" / one.file).read_text(encoding="utf-8"))
    return found


def main() -> int:
    """Print a row a mutant, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", action="append", default=[], help="names of mutants; * stands for anything")
    parser.add_argument("--by", action="append", default=[], choices=CATCHERS, help="catchers; default: all")
    asked = parser.parse_args()
    catchers = asked.by or [*CATCHERS]
    chosen = [one for one in mutants() if not asked.only or any(fnmatch.fnmatch(one.name, it) for it in asked.only)]
    survivors, counts = list[str](), {catcher: [0, 0] for catcher in catchers}
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        if "gate" in catchers and workshop.ran("base") is None:
            raise SystemExit("the suite gate does not run without a bug")
        print(f"| planted | {' | '.join(catchers)} | seconds |\n|---|{'---|' * len(catchers)}--:|", flush=True)
        for one in chosen:
            start = time.monotonic()
            found = workshop.tried(one, catchers)
            cells = []
            for catcher in catchers:
                counts[catcher][0] += found.get(catcher, False) and one.must(catcher)
                counts[catcher][1] += one.must(catcher)
                missed = one.must(catcher) and not found[catcher]
                survivors += [f"{one.name}: not caught by {catcher}"] if missed else []
                cells.append("caught" if found.get(catcher) else "**missed**" if missed else "")
            print(f"| {one.name} | {' | '.join(cells)} | {time.monotonic() - start:.0f} |", flush=True)
    print("\n" + "; ".join(f"{catcher}: {held} of {all_} caught" for catcher, (held, all_) in counts.items()))
    print("\n".join(survivors))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
