"""Print how often intervals and rank ranges are right, and how narrow, on simulated logs. `make coverage` runs it.

    .venv/bin/python scripts/range_coverage.py [LOGS]

Settings and measures are those of `tests/ranking/test_power_of_ranges.py`, which `make long` runs on fewer logs, and of
`test_may_be_first.py`, `test_weak_items.py` and `test_skewed_tables.py` beside it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parent.parent / "tests"
LOGS = 1000
SCORE_TABLES = (
    ("10 equal systems, 20 tasks", 20, 0.0),
    ("10 equal systems, 100 tasks", 100, 0.0),
    ("one best of 10 by one standard deviation, 20 tasks", 20, 1.0),
)


def main() -> None:
    """Measure each setting on so many logs, and print a row of a table for it."""
    sys.path[:0] = [str(TESTS), str(TESTS / "ranking"), str(TESTS / "systems")]
    from test_may_be_first import NEARLY_EQUAL, nearly_equal, systems
    from test_null_score_tables import measured_rates
    from test_power_of_ranges import SETTINGS, measured
    from test_skewed_tables import TASKS
    from test_skewed_tables import measured as measured_skewed
    from test_weak_items import BESIDE, WEAK, measured_beside
    from test_weak_items import measured as measured_weak

    from rankbench.systems.score_sample import BY_SCORES

    logs = int(sys.argv[1]) if len(sys.argv) > 1 else LOGS
    print(f"{logs:,} logs a setting; goals: scores covered >= .93, ranges wrong <= .06, width / oracle <= 1.15\n")
    print("| setting | scores covered | ranges wrong | width | of the oracle | ratio |\n|---|--:|--:|--:|--:|--:|")
    for setting in SETTINGS:
        found = measured(setting, range(logs))
        cells = f"{found.covered:.3f} | {found.wrong:.3f} | {found.width:.2f} | {found.oracle:.2f}"
        print(f"| {setting.says} | {cells} | {found.width / found.oracle:.3f} |", flush=True)
    print("\n| last item | covered | by a symmetric interval |\n|---|--:|--:|")
    for setting in WEAK:
        covered, symmetric = measured_weak(setting, logs)
        print(f"| {setting.says} | {covered:.3f} | {symmetric:.3f} |", flush=True)
    print("\n| few votes on a stranger | covered | wider by (99% of logs) | if told from all |\n|---|--:|--:|--:|")
    for setting, votes in BESIDE:
        others, wider, about_all = measured_beside(setting, votes, logs)
        print(f"| {setting.says}, {votes} | {others:.3f} | {wider:.3f} | {about_all:.2f} |", flush=True)
    print("\n| score table | ranges wrong | best missing | best alone | alone by ranges |\n|---|--:|--:|--:|--:|")
    for says, tasks, lead in SCORE_TABLES:
        tables = [systems(seed, tasks, lead) for seed in range(logs)]
        first, low, high = (np.array([getattr(one, name) for one in tables]) for name in ("first", "low", "high"))
        truth = np.array([[1, 1], *[[2, 10]] * 9]) if lead else np.array([[1, 10]] * 10)
        wrong = ((low > truth[:, 0]) | (high < truth[:, 1])).any(axis=1)
        alone = first[:, 0] & (first.sum(axis=1) == 1)
        cells = [wrong.mean(), 1 - first[:, 0].mean(), alone.mean(), (high[:, 0] == 1).mean()]
        print(f"| {says} | {' | '.join(f'{cell:.3f}' for cell in cells)} |", flush=True)
    print("\n| nearly equal | ranges wrong | cut by what may be first |\n|---|--:|--:|")
    for name in ("systems", *(setting.says for setting in NEARLY_EQUAL)):
        before, after = np.mean([nearly_equal(name, seed) for seed in range(logs)], axis=0)
        print(f"| {name} | {before:.3f} | {after:.3f} |", flush=True)
    print("\n| tasks | wrong by mean scores, skewed | by mean ranks, equal systems |\n|---|--:|--:|")
    for tasks in BY_SCORES:
        by_scores, by_ranks = measured_rates(tasks, logs)
        print(f"| {tasks} | {by_scores:.3f} | {by_ranks:.3f} |", flush=True)
    print("\n| tasks of two systems, skewed differences | ranges wrong | Student's t wrong |\n|---|--:|--:|")
    for tasks in TASKS:
        wrong_skewed, student = measured_skewed(tasks, logs)
        print(f"| {tasks} | {wrong_skewed:.3f} | {student:.3f} |", flush=True)


if __name__ == "__main__":
    main()
