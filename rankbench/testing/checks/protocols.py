"""Protocols: what they declare about an experiment hangs together."""

from __future__ import annotations

import math

from rankbench.plugin.kinds import KINDS
from rankbench.plugin.manager import names
from rankbench.testing.catalog import check
from rankbench.testing.results import CheckFailed
from rankbench.testing.subjects import Subject


@check("protocol")
def contenders_and_tables_exist(subject: Subject) -> None:
    """The kind that competes is one that there is, and so is the table that it takes."""
    it = subject.it
    if it.contender not in KINDS:
        raise CheckFailed(f"`contender` is {it.contender!r}, no kind of component")
    if it.table is not None and it.table not in names("table"):
        raise CheckFailed(f"`table` is {it.table!r}, not one of {', '.join(names('table'))}")


@check("protocol")
def judged_on_something(subject: Subject) -> None:
    """There is at least one split with a title; metrics and curves say which way is better, curves on which split."""
    it = subject.it
    if not it.splits or not all(isinstance(title, str) and title.strip() for title in it.splits.values()):
        raise CheckFailed("`splits` names no set of units to judge on, or leaves out its title")
    for metric, direction in it.metrics.items():
        if direction not in ("minimize", "maximize"):
            raise CheckFailed(f"metric {metric!r} has the direction {direction!r}, neither 'minimize' nor 'maximize'")
    for metric, level in it.chance.items():
        if metric not in it.metrics or not math.isfinite(level):
            raise CheckFailed(f"`chance` has {level} for {metric!r}: it needs a finite number for a metric of its own")
    for metric, (split, direction) in it.curves.items():
        if split not in it.splits or direction not in ("minimize", "maximize"):
            raise CheckFailed(
                f"the curve {metric!r} is of the split {split!r} and the direction {direction!r}; name one of "
                f"{', '.join(it.splits)}, and 'minimize' or 'maximize'"
            )
    if it.test_share is not None and not 0 < it.test_share < 1:
        raise CheckFailed(f"`test_share` is {it.test_share}, not a share")


@check("protocol")
def says_what_it_assumes(subject: Subject) -> None:
    """`assumptions` is a list of sentences."""
    found = subject.it.assumptions()
    if not isinstance(found, list) or not all(isinstance(text, str) and text.strip() for text in found):
        raise CheckFailed("assumptions() is no list of sentences")
