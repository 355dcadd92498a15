"""Running the checks of one component, in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rankbench.component import Component
from rankbench.plugin.foreign import said
from rankbench.testing.catalog import Check, checks_for, named
from rankbench.testing.results import CheckFailed, CheckResult, CheckSkipped
from rankbench.testing.state import threads_before, watched
from rankbench.testing.subjects import Subject, subject_of

__all__ = ["check_component", "outcome", "run_check"]


def check_component(
    obj: Component | type[Component] | Path, expected_failed: Mapping[str, str] | None = None
) -> list[CheckResult]:
    """Check that a component does what it declares.

    Parameters
    ----------
    obj : Component, component class or Path
        A class stands for the component with all parameters at their defaults; a path is
        a suite's TOML file.
    expected_failed : mapping of str to str, optional
        Names of checks that are known to fail, each with the reason. If one passes, that
        is a failure: the mapping is out of date.

    Returns
    -------
    list of CheckResult
        One for each check of the kind, in this process: a component that hangs or kills
        its process is better checked by ``rankbench check``. If none was executed, one
        more that has failed.

    Raises
    ------
    SpecError
        `obj` cannot be checked, or `expected_failed` names a check that does not exist
        or is not for its kind.

    Examples
    --------
    >>> import rankbench
    >>> from rankbench.testing import check_component
    >>> results = check_component(rankbench.get("surrogate", "regression"))
    >>> all(result.ok for result in results)
    True
    """
    subject = subject_of(obj)
    expected = validated(subject, expected_failed)
    return executed_any(str(subject), [run_check(subject, c, expected.get(c.name)) for c in checks_for(subject.kind)])


def validated(subject: Subject, expected_failed: Mapping[str, str] | None) -> dict[str, str]:
    """Return expected failures, whose names must be of checks of the subject's kind.

    Raises
    ------
    SpecError
        A check that does not exist, or that is not for this kind.
    """
    from rankbench.errors import SpecError

    for name in expected_failed or {}:
        if not named(name).applies(subject.kind):
            raise SpecError(f"check {name!r} is not for a {subject.kind}")
    return dict(expected_failed or {})


def executed_any(component: str, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results, with a failure behind them if no check was executed."""
    if any(result.executed for result in results):
        return list(results)
    return [*results, CheckResult(component, "any-executed", "failed", "no check was executed")]


def run_check(subject: Subject, check: Check, expected: str | None = None) -> CheckResult:
    """Run one check; whatever the component raises is a failure with its type and message.

    Parameters
    ----------
    subject : Subject
    check : Check
    expected : str, optional
        Why it is expected to fail.
    """
    threads_before(type(subject.it))
    start = time.perf_counter()
    failure, skipped = "", ""
    try:
        with watched(type(subject.it)):
            check.function(subject)
    except CheckSkipped as skip:
        skipped = str(skip)
    except CheckFailed as failed:
        failure = str(failed)
    except KeyboardInterrupt:
        raise
    # Foreign code may raise anything, `SystemExit` too.
    except BaseException as error:
        failure = f"raised {said(error)}"
    seconds = time.perf_counter() - start
    return outcome(str(subject), check.name, failure, skipped, expected, seconds)


def outcome(
    component: str, check: str, failure: str, skipped: str, expected: str | None, seconds: float
) -> CheckResult:
    """Return the result of a check that failed, was skipped (both with a reason), or passed."""
    if skipped:
        return CheckResult(component, check, "skipped", skipped, seconds)
    if expected is None:
        return CheckResult(component, check, "failed" if failure else "passed", failure, seconds)
    if failure:
        return CheckResult(component, check, "expected", f"{expected} ({failure})", seconds)
    return CheckResult(component, check, "failed", f"it passes, but was expected to fail: {expected}", seconds)
