"""What the fault campaign takes among other tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

BUDGET = 30
"""Seconds that the quick form of the fault campaign, tests/faults without what is marked `long`, is meant to take on
two idle cores."""


def campaign_line(stats: Mapping[str, Iterable[Any]]) -> str | None:
    """Return how many tests of the fault campaign there were and how long they took together; None: there were none."""
    reports = [each for found in stats.values() for each in found if hasattr(each, "duration")]
    ours = [each for each in reports if each.nodeid.startswith("tests/faults/")]
    tests = len({each.nodeid for each in ours if each.when == "call"})
    if not tests:
        return None
    took = sum(each.duration for each in ours)
    return (
        f"fault campaign: {tests} tests, {took:.1f} s one after the other, {took / 2:.1f} s on two cores; "
        f"its quick form is meant to take {BUDGET} s there"
    )
