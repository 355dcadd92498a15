"""What the quick form of the campaign takes is summed and said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
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


def test_the_line_is_printed(pytestconfig: pytest.Config) -> None:
    """By what pytest calls at the end of this very run: the hook that is registered from our `conftest.py`."""
    lines: list[str] = []
    stats = {"passed": [report("tests/faults/test_a.py::test_a", "call", 3.0)]}
    reporter = SimpleNamespace(stats=stats, write_line=lines.append)
    conftest = str(Path(__file__).parents[1] / "conftest.py")
    hooks = pytestconfig.hook.pytest_terminal_summary.get_hookimpls()
    (ours,) = (hook.function for hook in hooks if hook.plugin_name == conftest)
    ours(reporter)
    assert lines == [campaign_line(stats)]
