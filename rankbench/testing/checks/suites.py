"""Suites: their file loads, and everything that it names is there."""

from __future__ import annotations

from rankbench.errors import RankbenchError
from rankbench.kinds.suite import Suite
from rankbench.runner.plan import check_suite
from rankbench.suites.suite_files import load_suite, read_suite
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject


def _suite(subject: Subject) -> Suite:
    try:
        return load_suite(str(subject.it))
    except RankbenchError as error:
        raise CheckFailed(str(error)) from error


@conformance_check("suite")
def loads(subject: Subject) -> None:
    """The file is a suite, and so is every one that it includes."""
    suite = _suite(subject)
    if suite.name != subject.it.stem:
        raise CheckFailed(f"the suite's name is {suite.name!r}, its file's is {subject.it.stem!r}")


@conformance_check("suite")
def names_what_is_there(subject: Subject) -> None:
    """All that it names exists and fits: components, data sets, and the labels, n and metrics of figures and claims."""
    suite = _suite(subject)
    try:
        check_suite(suite)
    except RankbenchError as error:
        raise CheckFailed(str(error)) from error


@conformance_check("suite")
def tells_what_it_is(subject: Subject) -> None:
    """The suite and each of its experiments have a title."""
    suite = read_suite(subject.it)
    if not suite.experiments and not suite.include:
        raise CheckSkipped("it has no experiments")
    for name, title in [(suite.name, suite.title), *((e.name, e.title) for e in suite.experiments)]:
        if not title.strip():
            raise CheckFailed(f"{name!r} has no title")
