"""Checks of one component: the catalog, its subjects, and results."""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component
from rankbench.errors import ContenderDiverged, SpecError, nearest
from rankbench.interfaces.cell import reason, trace_of
from rankbench.plugin.registry import FILES, kind_of_file
from rankbench.testing.state import class_watched


@dataclass(frozen=True)
class Subject:
    """A component (or the file of a suite or of a known format) under test.

    Attributes
    ----------
    kind : str
        A kind of component, ``suite``, or ``format``.
    it : Component or Path
        Any, as each check knows the kinds it is for.
    """

    kind: str
    it: Any

    def declares(self, word: str) -> bool:
        """Return whether the component promises a property."""
        return word in self.it.properties

    @property
    def by_default(self) -> bool:
        """True if all parameters of the component are at their defaults."""
        return str(self.it) == str(self.it.name)

    def __str__(self) -> str:
        return f"{self.kind}/{kind_of_file(self.it)[1] if self.kind in FILES else self.it}"


def subject_of(obj: object) -> Subject:
    """Return `obj` as a subject of checks.

    Parameters
    ----------
    obj : Component, component class, or Path of a suite's TOML file, or of a format's
        A class stands for the component with all parameters at their defaults.

    Raises
    ------
    SpecError
        It is none of these, or a class whose parameters have no defaults.
    """
    if isinstance(obj, Path):
        return Subject(kind_of_file(obj)[0], obj)
    if isinstance(obj, type) and issubclass(obj, Component):
        required = [name for name, field in obj.parameters().items() if field.is_required()]
        if required:
            raise SpecError(f"{obj.__name__} needs {required[0]!r}; check an instance of it")
        obj = obj()
    if not isinstance(obj, Component) or not hasattr(obj, "kind"):
        raise SpecError(f"{obj!r} is neither a component nor the path of a suite or format")
    return Subject(obj.kind, obj)


CheckFunction: TypeAlias = Callable[[Subject], str | None]


@dataclass(frozen=True)
class Check:
    """One conformance check.

    Attributes
    ----------
    name : str
        Kebab-case.
    function : callable
        Raises `CheckFailed` or `CheckSkipped`; may return a note, which is shown though the check passes.
    kinds : tuple of str
        The kinds of components that it is for.
    declares : str
        The property that components promise which it is for; empty: it is for all.
    base : type
        The class that they derive from.
    of_values : bool
        Whether it is tried with other values of each parameter too, see `parameters-work-within-their-bounds`.
    """

    name: str
    function: CheckFunction
    kinds: tuple[str, ...]
    declares: str = ""
    base: type = object
    of_values: bool = False

    def run(self, subject: Subject) -> str:
        """Run the check, and return its note.

        Raises
        ------
        CheckFailed
            The component breaks its declarations.
        CheckSkipped
            It does not declare the checked property, or a package that it declares is not installed.
        """
        for package in sorted(subject.it.all_packages()) if subject.kind not in FILES else ():
            try:
                version(package)
            except PackageNotFoundError:
                raise CheckSkipped(f"the package {package!r} is not installed") from None
        if not isinstance(subject.it, self.base):
            raise CheckSkipped(f"it is no {self.base.__name__}")
        if self.declares and not subject.declares(self.declares):
            raise CheckSkipped(f"it does not declare {self.declares}")
        with class_watched(type(subject.it)):
            return self.function(subject) or ""


_checks: dict[str, Check] = {}


def conformance_check(
    *kinds: str, declares: str = "", base: type = object, of_values: bool = False
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a function as a check, by its name with hyphens; see `Check` on the kinds of components."""

    def enter(function: CheckFunction) -> CheckFunction:
        name = function.__name__.replace("_", "-")
        _checks[name] = Check(name, function, kinds, declares, base, of_values)
        return function

    return enter


def all_checks() -> list[Check]:
    """Return every check, module by module."""
    from rankbench.testing import checks

    for module in pkgutil.iter_modules(checks.__path__):
        importlib.import_module(f"{checks.__name__}.{module.name}")
    return list(_checks.values())


def checks_for(kind: str) -> list[Check]:
    """Return the checks of one kind of component."""
    return [found for found in all_checks() if kind in found.kinds]


def registered_check(name: str) -> Check:
    """Return the check of that name.

    Raises
    ------
    SpecError
        There is none; the message has the nearest.
    """
    by_name = {found.name: found for found in all_checks()}
    if name not in by_name:
        raise SpecError(f"there is no check {name!r}{nearest(name, by_name)}")
    return by_name[name]


CheckStatus = Literal["passed", "failed", "expected", "skipped"]
"""``expected``: it failed, as `check_component` was told that it would."""


class CheckFailed(AssertionError):
    """A component does not do what it declares; the message has the numbers."""


class CheckSkipped(Exception):
    """A check does not apply to a component, for the reason in the message."""


def relative_difference(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the largest difference, relative to the largest value (or 1, if that is more); inf for other shapes."""
    if np.shape(first) != np.shape(second):
        return float("inf")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 0.0 if np.array_equal(a, b, equal_nan=True) else float("inf")
    scale = max(1.0, float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    return float(np.abs(a - b).max(initial=0.0)) / scale


def must_agree(found: object, expected: object, tolerance: float, trouble: str) -> None:
    """Raise if arrays differ by more than a tolerance; see `relative_difference`.

    Parameters
    ----------
    found, expected : array or float
    tolerance : float
    trouble : str
        The error, as in "the scores differ"; the size of the difference is added.

    Raises
    ------
    CheckFailed
    """
    if (difference := relative_difference(np.asarray(found), np.asarray(expected))) > tolerance:
        raise CheckFailed(f"{trouble} by {difference:.3g}")


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
        Why it failed or was skipped; of a check that passed, its note.
    seconds : float
    trace : str
        The traceback of the component's exception; empty without one.
    """

    component: str
    check: str
    status: CheckStatus
    reason: str = ""
    seconds: float = 0.0
    trace: str = ""

    @property
    def ok(self) -> bool:
        """True unless the check failed."""
        return self.status != "failed"

    @property
    def executed(self) -> bool:
        """True if the check was run."""
        return self.status != "skipped"

    def __str__(self) -> str:
        said = f": {self.reason}" if self.reason else ""
        return f"{self.component} {self.check} {self.status}{said}"


def summary(results: Iterable[CheckResult]) -> str:
    """Return a sentence with the numbers of executed and skipped checks.

    Examples
    --------
    >>> from rankbench.testing import CheckResult, summary
    >>> summary([CheckResult("model/mine", "documented", "passed")])
    '1 of 1 checks passed.'
    """
    counts = Counter(result.status for result in results)
    executed = sum(counts.values()) - counts["skipped"]
    texts = [
        f"{counts['passed']} of {executed} checks passed",
        *[f"{counts['failed']} failed"] * bool(counts["failed"]),
        *[f"{counts['expected']} failed as expected"] * bool(counts["expected"]),
    ]
    skipped = f"; {counts['skipped']} skipped" * bool(counts["skipped"])
    return f"{', '.join(texts)}{skipped}."


def check_component(
    obj: Component | type[Component] | Path, expected_failed: Mapping[str, str] | None = None
) -> list[CheckResult]:
    """Check a component against its declarations.

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
    results = [run_check(subject, c, expected.get(c.name))[0] for c in checks_for(subject.kind)]
    return [*results, *unexecuted(str(subject), results)]


def validated(subject: Subject, expected_failed: Mapping[str, str] | None) -> dict[str, str]:
    """Return expected failures, whose names must be of checks of the subject's kind.

    Raises
    ------
    SpecError
        A check that does not exist, or that is not for this kind.
    """
    for name in expected_failed or {}:
        if subject.kind not in registered_check(name).kinds:
            raise SpecError(f"check {name!r} is not for a {subject.kind}")
    return dict(expected_failed or {})


def unexecuted(label: str, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return a failure with the reason if no check was executed; else an empty list."""
    if any(result.executed for result in results):
        return []
    why = "; ".join(dict.fromkeys(result.reason for result in results))
    return [CheckResult(label, "any-executed", "failed", f"no check was executed: {why}")]


def run_check(subject: Subject, check: Check, expected: str | None = None) -> tuple[CheckResult, BaseException | None]:
    """Run one check; any exception of the component becomes a failure with its type, message and place.

    Where a package that the component declares is not installed, the check is skipped.

    Parameters
    ----------
    subject : Subject
    check : Check
    expected : str, optional
        Why it is expected to fail.

    Returns
    -------
    result : CheckResult
    error : BaseException or None
        Error that the component raised.
    """
    start = time.perf_counter()
    status: CheckStatus = "passed"
    why, raised = "", None
    try:
        why = check.run(subject)
    except CheckSkipped as skip:
        status, why = "skipped", str(skip)
    except CheckFailed as failed:
        status, why, raised = "failed", str(failed), failed.__cause__
    except KeyboardInterrupt:
        raise
    # Third-party code may raise anything, `SystemExit` too.
    except BaseException as error:
        status, why, raised = "failed", f"raised {reason(error)}", error
        # With a user's parameters, to diverge is an answer, as it is in a run.
        if isinstance(error, ContenderDiverged) and not subject.by_default:
            status, why, raised = "skipped", f"it diverges with these parameters: {error}", None
    if expected is not None and status == "failed":
        status, why = "expected", f"{expected} ({why})"
    elif expected is not None and status == "passed":
        status, why = "failed", f"it passes, but was expected to fail: {expected}"
    trace = trace_of(raised) if raised is not None else ""
    return CheckResult(str(subject), check.name, status, why, time.perf_counter() - start, trace), raised
