"""Print how often probes of `rankbench audit` fire on planted and on clean boards. `make audit-levels` runs it.

    .venv/bin/python scripts/audit_levels.py [PROBE|CLEAN|pairs ..] [--planted 200] [--clean 1000]

Boards are those of `tests/audits/boards.py`, which `make long` runs fewer of. Words choose probes or kinds of clean
boards. Goals: a probe fires on 95% of its planted boards, the whole page on 5% of clean boards at most. The word
`pairs` replays votes on the pairs that `more-votes` names, beside random pairs, on simulated boards and on LLMFAO.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"


def main() -> None:
    """Simulate boards, and print a line for each kind of them."""
    sys.path[:0] = [str(TESTS), str(TESTS / "audits")]
    from boards import CLEAN, PLANTED, false_alarms, fired, share_text

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
        pages = [false_alarms(name, seed) for seed in range(asked.clean)]
        each = Counter(probe for page in pages for probe in page)
        said = ", ".join(f"{probe} {count}" for probe, count in sorted(each.items())) or "none"
        print(f"clean, {name}: the page fires on {share_text(sum(map(bool, pages)), asked.clean)}; {said}", flush=True)
    if "pairs" in asked.names or not asked.names:
        replay_pairs(asked.clean, asked.planted)


def replay_pairs(simulated: int, logged: int) -> None:
    """Print how often the first item is found, by the pairs that get votes."""
    import numpy as np
    from boards import share_text
    from replays import logged_pool, replayed, simulated_pool

    pools = {"simulated, 10 items, 200 + 500 votes": (simulated_pool, simulated, (200, 50, 10))}
    pools["LLMFAO, 59 items, 1,500 + 1,000 votes"] = (partial(logged_pool, "llmfao"), logged, (1500, 250, 4))
    for name, (pool, replays, (start, batch, batches)) in pools.items():
        for how in ("design", "random"):
            found = [replayed(pool(s), how, s, start=start, batch=batch, batches=batches) for s in range(replays)]
            error = np.array([one.error for one in found])
            said = f"{error.mean():.4f} (standard error {error.std() / len(error) ** 0.5:.4f})"
            right = share_text(sum(one.first for one in found), replays)
            print(f"{name}, {how}: first item found in {right}; squared error of its lead over the second {said}")


if __name__ == "__main__":
    main()
