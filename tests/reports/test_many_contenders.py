"""Thousands of contenders: their pairs are millions, and are never held beside their replicates."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
from amounts import is_full

from rankbench.reports.results import report

PROGRAM = """
import re, sys
sys.path.insert(0, {tests!r})
import synthetic
from pathlib import Path
from rankbench.reports.results import report
contenders = [synthetic.Contender(f"c{{i}}", {{"k": i}}, 1e-4 * i) for i in range({contenders})]
plan = synthetic.Plan("e", contenders, n=(200_000,), repetitions=12, baseline="c0")
synthetic.write(Path({folder!r}), [plan], {{"design": 40}})
report({folder!r})
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def peak(folder: Path, contenders: int) -> int:
    """Return the most memory, in bytes, of a process that makes a leaderboard of so many contenders."""
    code = PROGRAM.format(tests=str(Path(__file__).parents[1]), folder=str(folder), contenders=contenders)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows = (folder / "leaderboard.csv").read_text().splitlines()
    assert len(rows) == 1 + contenders
    places = rows[0].split(",").index("rank_low")
    assert len({row.split(",")[places] for row in rows[1:]}) > 10  # far from all are told apart, some are
    return int(done.stdout) * 1024


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("contenders", "most"),
    [(400 if is_full() else 280, 400e6), pytest.param(2000, 1e9, marks=pytest.mark.long)],
)
def test_memory_does_not_hold_the_pairs(tmp_path: Path, contenders: int, most: float) -> None:
    """The replicates of 400 contenders' differences would take 1.3 GB, the matrix that makes them .4 GB.

    Those of 280, which a quick run tries, .6 GB, and the matrix .2 GB.
    """
    assert peak(tmp_path, contenders) < most


@pytest.mark.full
def test_a_page_names_experiments_whose_pairs_it_does_not_hold(tmp_path: Path) -> None:
    for most, contenders in ((True, 101), (False, 100)):
        plan = synthetic.Plan(
            "e", [synthetic.Contender(f"c{i}", {"k": i}, 1e-4 * i) for i in range(contenders)], repetitions=4
        )
        folder = tmp_path / str(contenders)
        synthetic.write(folder, [plan], {"design": 3})
        report(folder)
        page = (folder / "leaderboard.html").read_text()
        assert ("no pairs of experiments with more than 100 contenders: <code>e</code>" in page) == most
        assert ('<section id="pairs"' in page) != most
