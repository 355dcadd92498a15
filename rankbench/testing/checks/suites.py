"""Suites: their file loads, and everything that it names is there."""

from __future__ import annotations

from rankbench.errors import RankbenchError
from rankbench.plugin import manager
from rankbench.spec import expand, parse
from rankbench.suites.load import load_suite, read_suite
from rankbench.suites.schema import Suite
from rankbench.testing.catalog import check
from rankbench.testing.results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject


def _suite(subject: Subject) -> Suite:
    try:
        return load_suite(str(subject.it))
    except RankbenchError as error:
        raise CheckFailed(str(error)) from error


@check("suite")
def loads(subject: Subject) -> None:
    """The file is a suite, and so is every one that it includes."""
    suite = _suite(subject)
    if suite.name != subject.it.stem:
        raise CheckFailed(f"the suite's name is {suite.name!r}, its file's is {subject.it.stem!r}")


@check("suite")
def names_what_is_there(subject: Subject) -> None:
    """Every protocol, data set, contender and loss that it names exists, with these parameters."""
    suite = _suite(subject)
    if suite.dataset:
        manager.get("dataset", suite.dataset)
    for experiment in suite.experiments:
        where = f"experiment {experiment.name!r}"
        contender, metrics = "method", set[str]()
        text = getattr(experiment, "protocol", "")
        try:
            if text:
                protocol = manager.get("protocol", text)
                contender, metrics = getattr(protocol, "contender", contender), set(getattr(protocol, "metrics", ()))
            if getattr(experiment, "dataset", ""):
                manager.get("dataset", getattr(experiment, "dataset", ""))
            for entry in experiment.contenders:
                for point in expand(parse(entry.use)):
                    manager.get(contender, point)
            for loss in experiment.losses:
                if loss not in metrics:
                    manager.get("loss", loss)
        except RankbenchError as error:
            raise CheckFailed(f"{where}: {error}") from error


@check("suite")
def tells_what_it_is(subject: Subject) -> None:
    """The suite and each of its experiments have a title."""
    suite = read_suite(subject.it)
    if not suite.experiments and not suite.include:
        raise CheckSkipped("it has no experiments")
    for name, title in [(suite.name, suite.title), *((e.name, e.title) for e in suite.experiments)]:
        if not title.strip():
            raise CheckFailed(f"{name!r} has no title")
