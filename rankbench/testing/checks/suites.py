"""Suites: their file loads, and everything that it names is there."""

from __future__ import annotations

from rankbench.errors import RankbenchError, SpecError
from rankbench.kinds.suite import Experiment, Suite
from rankbench.runner.plan import fitting, judged_by
from rankbench.runner.prepare import dataset_of, protocol_of
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
    """Every protocol, data set, contender and loss that it names exists, with these parameters, and fits the others."""
    suite = _suite(subject)
    if suite.dataset:
        dataset_of(suite.dataset)
    for experiment in suite.experiments:
        where = f"experiment {experiment.name!r}: "
        try:
            _fits(experiment)
        except RankbenchError as error:
            raise CheckFailed(where + str(error).removeprefix(where)) from error


def _fits(experiment: Experiment) -> None:
    protocol = protocol_of(experiment.protocol)
    refusal = protocol.refusal(dataset_of(experiment.dataset)) if experiment.dataset and protocol.table else ""
    if refusal:
        raise SpecError(refusal)
    for entry in experiment.contenders:
        fitting(experiment, entry, protocol)
    judged_by(experiment, protocol)


@conformance_check("suite")
def tells_what_it_is(subject: Subject) -> None:
    """The suite and each of its experiments have a title."""
    suite = read_suite(subject.it)
    if not suite.experiments and not suite.include:
        raise CheckSkipped("it has no experiments")
    for name, title in [(suite.name, suite.title), *((e.name, e.title) for e in suite.experiments)]:
        if not title.strip():
            raise CheckFailed(f"{name!r} has no title")
