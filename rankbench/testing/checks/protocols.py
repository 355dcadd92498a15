"""Protocols: what they declare about an experiment hangs together."""

from __future__ import annotations

import math

from rankbench.kinds.metric import Metric
from rankbench.plugin.kinds import KINDS
from rankbench.plugin.manager import names
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.subjects import Subject


@conformance_check("protocol")
def contenders_and_tables_exist(subject: Subject) -> None:
    """The kind that competes is one that there is, and so is the table that it takes."""
    it = subject.it
    if it.contender not in KINDS:
        raise CheckFailed(f"`contender` is {it.contender!r}, no kind of component")
    if it.table is not None and it.table not in names("table"):
        raise CheckFailed(f"`table` is {it.table!r}, not one of {', '.join(names('table'))}")


@conformance_check("protocol")
def judged_on_something(subject: Subject) -> None:
    """There is at least one split with a title; metrics and curves say which way is better, curves on which split."""
    it = subject.it
    if not it.splits or not all(isinstance(title, str) and title.strip() for title in it.splits.values()):
        raise CheckFailed("`splits` names no set of units to judge on, or leaves out its title")
    for metric in it.metrics:
        _check_metric(metric)
    for metric, (split, direction) in it.curves.items():
        if split not in it.splits or direction not in ("minimize", "maximize"):
            raise CheckFailed(
                f"the curve {metric!r} is of the split {split!r} and the direction {direction!r}; name one of "
                f"{', '.join(it.splits)}, and 'minimize' or 'maximize'"
            )
    if it.test_share is not None and not 0 < it.test_share < 1:
        raise CheckFailed(f"`test_share` is {it.test_share}, not a share")


def _check_metric(metric: Metric) -> None:
    if metric.direction not in ("minimize", "maximize"):
        raise CheckFailed(
            f"metric {metric.name!r} has the direction {metric.direction!r}, neither 'minimize' nor 'maximize'"
        )
    low = -math.inf if metric.low is None else metric.low
    high = math.inf if metric.high is None else metric.high
    level = metric.chance
    if not low < high or (level is not None and not (math.isfinite(level) and low <= level <= high)):
        raise CheckFailed(
            f"metric {metric.name!r} has the range [{low}, {high}] and the chance level {level}: the one must "
            "not be empty, and the other a number in it"
        )


@conformance_check("protocol")
def says_what_it_assumes(subject: Subject) -> None:
    """`assumptions` is a list of sentences."""
    found = subject.it.assumptions()
    if not isinstance(found, list) or not all(isinstance(text, str) and text.strip() for text in found):
        raise CheckFailed("assumptions() is no list of sentences")
