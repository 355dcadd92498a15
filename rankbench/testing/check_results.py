"""What a conformance check says: passed, failed, failed as expected, or skipped, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["CheckFailed", "CheckResult", "CheckSkipped", "CheckStatus", "summary"]

CheckStatus = Literal["passed", "failed", "expected", "skipped"]
"""``expected``: it failed, as `check_component` was told that it would."""


class CheckFailed(AssertionError):
    """A component does not do what it declares; the message says what, with numbers."""


class CheckSkipped(Exception):
    """A check does not apply to a component; the message says why."""


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check of one component.

    Attributes
    ----------
    component : str
        As in ``surrogate/mine:gamma=2``.
    check : str
        Name of the check, kebab-case.
    status : Status
    reason : str
        Why it failed or was skipped; if it passed, what it reports, mostly nothing.
    seconds : float
    trace : str
        The traceback of what the component raised; empty if it raised nothing.
    """

    component: str
    check: str
    status: CheckStatus
    reason: str = ""
    seconds: float = 0.0
    trace: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is nothing to mend."""
        return self.status != "failed"

    @property
    def executed(self) -> bool:
        """Whether the check was run at all."""
        return self.status != "skipped"

    def __str__(self) -> str:
        said = f": {self.reason}" if self.reason else ""
        return f"{self.component} {self.check} {self.status}{said}"


def summary(results: Iterable[CheckResult]) -> str:
    """Return one line that counts what was executed and what was not.

    Examples
    --------
    >>> from rankbench.testing import CheckResult, summary
    >>> summary([CheckResult("model/mine", "documented", "passed")])
    '1 executed (1 passed, 0 failed), 0 skipped'
    """
    counts = Counter(result.status for result in results)
    executed = sum(counts.values()) - counts["skipped"]
    expected = f", {counts['expected']} failed as expected" if counts["expected"] else ""
    return (
        f"{executed} executed ({counts['passed']} passed, {counts['failed']} failed{expected}), "
        f"{counts['skipped']} skipped"
    )
