"""Print how often probes of `rankbench audit` fire on planted and on clean boards. `make audit-levels` runs it.

    .venv/bin/python scripts/audit_levels.py [PROBE|CLEAN ..] [--planted 200] [--clean 1000]

Boards are those of `tests/audit/boards.py`, which `make long` runs fewer of. Words choose probes or kinds of clean
boards. Goals: a probe fires on 95% of its planted boards, the whole page on 5% of clean boards at most.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"


def main() -> None:
    """Simulate boards, and print a line for each kind of them."""
    sys.path[:0] = [str(TESTS), str(TESTS / "audit")]
    from boards import CLEAN, PLANTED, fired, share_text

    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--planted", type=int, default=200)
    parser.add_argument("--clean", type=int, default=1000)
    asked = parser.parse_args()
    names = asked.names or [*PLANTED, *CLEAN]
    for name in (name for name in PLANTED if name in names):
        found = sum(name in fired(PLANTED[name](seed))[1] for seed in range(asked.planted))
        print(f"planted, {name}: fires on {share_text(found, asked.planted)}", flush=True)
    for name in (name for name in CLEAN if name in names):
        pages = [fired(CLEAN[name](seed))[1] for seed in range(asked.clean)]
        each = Counter(probe for page in pages for probe in page)
        said = ", ".join(f"{probe} {count}" for probe, count in sorted(each.items())) or "none"
        print(f"clean, {name}: the page fires on {share_text(sum(map(bool, pages)), asked.clean)}; {said}", flush=True)


if __name__ == "__main__":
    main()
