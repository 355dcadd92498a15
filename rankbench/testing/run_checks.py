"""Running the checks of one component, in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rankbench.component import Component
from rankbench.errors import ContenderDiverged
from rankbench.kinds.guard import reason, trace_of
from rankbench.plugin.kinds import SUITE
from rankbench.testing.catalog import Check, checks_for, registered_check
from rankbench.testing.check_results import CheckFailed, CheckResult, CheckSkipped
from rankbench.testing.state import class_watched, threads_before
from rankbench.testing.subjects import Subject, subject_of

__all__ = ["check_and_error", "check_component", "outcome", "run_check", "unexecuted", "validated"]


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
    >>> results = check_component(rankbench.get(rankbench.Surrogate, "regression"))
    >>> all(result.ok for result in results)
    True
    """
    subject = subject_of(obj)
    expected = validated(subject, expected_failed)
    results = [run_check(subject, c, expected.get(c.name)) for c in checks_for(subject.kind)]
    return [*results, *unexecuted(str(subject), results)]


def validated(subject: Subject, expected_failed: Mapping[str, str] | None) -> dict[str, str]:
    """Return expected failures, whose names must be of checks of the subject's kind.

    Raises
    ------
    SpecError
        A check that does not exist, or that is not for this kind.
    """
    from rankbench.errors import SpecError

    for name in expected_failed or {}:
        if not registered_check(name).applies(subject.kind):
            raise SpecError(f"check {name!r} is not for a {subject.kind}")
    return dict(expected_failed or {})


def unexecuted(label: str, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return a failure that says why, if no check was executed; else nothing."""
    if any(result.executed for result in results):
        return []
    why = "; ".join(dict.fromkeys(result.reason for result in results))
    return [CheckResult(label, "any-executed", "failed", f"no check was executed: {why}")]


def run_check(subject: Subject, check: Check, expected: str | None = None) -> CheckResult:
    """Run one check; whatever the component raises is a failure with its type, message and place.

    Where a package that the component declares is not installed, the check is skipped.

    Parameters
    ----------
    subject : Subject
    check : Check
    expected : str, optional
        Why it is expected to fail.
    """
    return check_and_error(subject, check, expected)[0]


def check_and_error(
    subject: Subject, check: Check, expected: str | None = None
) -> tuple[CheckResult, BaseException | None]:
    """Run one check as `run_check` does; return what the component raised, too."""
    threads_before(type(subject.it))
    start = time.perf_counter()
    failure, skipped, remark = "", "", ""
    raised: BaseException | None = None
    try:
        _need_packages(subject)
        with class_watched(type(subject.it)):
            remark = check.function(subject) or ""
    except CheckSkipped as skip:
        skipped = str(skip)
    except ContenderDiverged as error:
        # With parameters of somebody's choice that is an answer, as it is in a run.
        if str(subject.it) != subject.it.name:
            skipped = f"it diverges with these parameters: {error}"
        else:
            failure, raised = f"raised {reason(error)}", error
    except CheckFailed as failed:
        failure, raised = str(failed), failed.__cause__
    except KeyboardInterrupt:
        raise
    # Foreign code may raise anything, `SystemExit` too.
    except BaseException as error:
        failure, raised = f"raised {reason(error)}", error
    seconds = time.perf_counter() - start
    trace = trace_of(raised) if raised is not None else ""
    return outcome(str(subject), check.name, failure, skipped, expected, seconds, remark, trace), raised


def _need_packages(subject: Subject) -> None:
    """Raise unless all packages are installed that a component declares.

    Raises
    ------
    CheckSkipped
        With the name of one that is missing.
    """
    for package in sorted(subject.it.all_packages()) if subject.kind != SUITE else ():
        try:
            version(package)
        except PackageNotFoundError:
            raise CheckSkipped(f"the package {package!r} is not installed") from None


def outcome(
    component: str,
    check: str,
    failure: str,
    skipped: str,
    expected: str | None,
    seconds: float,
    remark: str = "",
    trace: str = "",
) -> CheckResult:
    """Return the result of a check that failed, was skipped (both with a reason), or passed."""
    if skipped:
        return CheckResult(component, check, "skipped", skipped, seconds)
    if expected is None:
        return CheckResult(component, check, "failed" if failure else "passed", failure or remark, seconds, trace)
    if failure:
        return CheckResult(component, check, "expected", f"{expected} ({failure})", seconds, trace)
    return CheckResult(component, check, "failed", f"it passes, but was expected to fail: {expected}", seconds)
