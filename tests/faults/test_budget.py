"""What the quick form of the campaign takes is summed and said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from campaign_time import BUDGET, campaign_line


def report(name: str, when: str, duration: float) -> SimpleNamespace:
    return SimpleNamespace(nodeid=name, when=when, duration=duration)


def test_what_tests_of_the_campaign_took_is_summed() -> None:
    """Preparation and end count too, and failures; other tests do not."""
    a, b, other = "tests/faults/test_a.py::test_a", "tests/faults/test_b.py::test_b[1]", "tests/test_spec.py::test_c"
    stats = {
        "": [report(a, "setup", 1.5), report(a, "teardown", 0.25), report(other, "setup", 100.0)],
        "passed": [report(a, "call", 2.0), report(other, "call", 100.0)],
        "failed": [report(b, "call", 4.0)],
        "deselected": [SimpleNamespace(nodeid=a)],
    }
    assert campaign_line(stats) == (
        "fault campaign: 2 tests, 7.8 s one after the other, 3.9 s on two cores; "
        f"its quick form is meant to take {BUDGET} s there"
    )
    assert campaign_line({"passed": [report(other, "call", 1.0)]}) is None


def test_the_line_is_printed() -> None:
    here = "tests/faults/test_budget.py::test_what_tests_of_the_campaign_took_is_summed"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-q", here]
    root = Path(__file__).parents[2]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert "fault campaign: 1 tests, 0.0 s one after the other" in ended.stdout, ended.stdout + ended.stderr
