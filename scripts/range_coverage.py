"""Print how often intervals and rank ranges are right, and how narrow, on simulated logs. `make coverage` runs it.

    .venv/bin/python scripts/range_coverage.py [LOGS]

Settings and measures are those of `tests/ranking/test_power_of_ranges.py`, which `make long` runs on fewer logs.
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
LOGS = 2000


def main() -> None:
    """Measure each setting on so many logs, and print a row of a table for it."""
    sys.path[:0] = [str(TESTS), str(TESTS / "ranking")]
    from test_power_of_ranges import SETTINGS, measured

    logs = int(sys.argv[1]) if len(sys.argv) > 1 else LOGS
    print(f"{logs:,} logs a setting; goals: scores covered >= .93, ranges wrong <= .06, width / oracle <= 1.15\n")
    print("| setting | scores covered | ranges wrong | width | of the oracle | ratio |\n|---|--:|--:|--:|--:|--:|")
    for setting in SETTINGS:
        found = measured(setting, range(logs))
        cells = f"{found.covered:.3f} | {found.wrong:.3f} | {found.width:.2f} | {found.oracle:.2f}"
        print(f"| {setting.says} | {cells} | {found.width / found.oracle:.3f} |", flush=True)


if __name__ == "__main__":
    main()
