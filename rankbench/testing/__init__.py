"""Conformance checks for authors of plugins.

A component is checked against what it *declares* (its properties, range, parameters,
structure), never by its name. From Python or pytest: `check_component`,
`parametrize_with_checks`; from the shell, each check in a process that may hang or die:
``rankbench check NAME``.
"""

from __future__ import annotations

from rankbench.testing.check import (
    Check,
    CheckFailed,
    CheckResult,
    CheckSkipped,
    check_component,
    checks_for,
    summary,
)
from rankbench.testing.pytest_mark import parametrize_with_checks

__all__ = [
    "Check",
    "CheckFailed",
    "CheckResult",
    "CheckSkipped",
    "check_component",
    "checks_for",
    "parametrize_with_checks",
    "summary",
]
