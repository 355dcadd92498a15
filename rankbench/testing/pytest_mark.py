"""The mark of pytest that calls a test with every check of components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rankbench.core.component import Component
from rankbench.errors import SpecError
from rankbench.interfaces.cell import own_frame
from rankbench.testing.check import Check, CheckFailed, Subject, checks_for, run_check, subject_of, validated


def parametrize_with_checks(
    components: Iterable[Component | type[Component] | Path], expected_failed: Mapping[str, str] | None = None
) -> Any:
    """Return a pytest mark that calls a test with every check of every component.

    The test gets one argument, ``check``, and calls it. It raises if the check fails, from what the component raised,
    so that ``pytest --pdb`` stops there. It is skipped, with the reason, if the component does not declare what the
    check is about.

    Parameters
    ----------
    components : iterable of Component, component class or Path
        As for `check_component`.
    expected_failed : mapping of str to str, optional
        Names of checks that are known to fail, each with the reason.

    Raises
    ------
    SpecError
        There is no component, one cannot be checked, or a check does not exist.

    Examples
    --------
    ::

        @parametrize_with_checks([Mine(), Mine(gamma=2)])
        def test_it_does_what_it_declares(check):
            check()
    """
    import pytest

    parameters = []
    for obj in components:
        subject = subject_of(obj)
        expected = validated(subject, expected_failed)
        name = str(subject).replace("/", "-")
        for check in checks_for(subject.kind):
            call = _call(subject, check, expected.get(check.name))
            parameters.append(pytest.param(call, id=f"{name}-{check.name}"))
    if not parameters:
        raise SpecError("there is no component to check: zero executed checks are a failure")
    return pytest.mark.parametrize("check", parameters)


def _call(subject: Subject, check: Check, expected: str | None) -> Callable[[], None]:
    def call() -> None:
        import pytest

        result, error = run_check(subject, check, expected)
        if isinstance(error, pytest.exit.Exception):
            raise error  # who quits a debugger means the session
        if result.status == "skipped":
            pytest.skip(result.reason)
        if result.status == "expected":
            pytest.xfail(result.reason)
        if result.status == "failed":
            said = f"{subject} {check.name}: {result.reason}"
            if error is None:
                pytest.fail(said, pytrace=False)
            # With the frame that raised: a debugger of Python 3.12 and before looks at no cause.
            raise CheckFailed(said).with_traceback(own_frame(error)) from error

    return call
