"""How much of a law is tried, by hypothesis's profile.

`make test` is ``quick``: a part of the examples and cases. `.ci/run` and `make long` are ``full``: all cases, and a
third of the examples. Once a week ``fresh`` tries all examples, other ones each time, and makes all trials of
simulations.
Long tests with numbered cases are tried in parts, too: ``--cases 100:200`` runs those from 100 to 199.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from hypothesis import settings

Case = TypeVar("Case")

_EXAMPLES = {"quick": 12, "full": 3}
"""Of so many examples one is tried."""

_TRIALS = 6
"""Of so many trials of a simulation one is made, but for the profile ``fresh``."""


def is_fresh() -> bool:
    """Return whether all examples are tried, and all trials made."""
    return settings.get_current_profile_name() == "fresh"


def is_full() -> bool:
    """Return whether all cases are tried."""
    return is_fresh() or settings.get_current_profile_name() == "full"


def examples(number: int) -> settings:
    """Return the settings of a law with so many examples: where every one of them is expensive."""
    return settings(max_examples=-(-number // _EXAMPLES.get(settings.get_current_profile_name(), 1)), deadline=None)


def trials(number: int, fewer: int = 0) -> int:
    """Return how many trials a simulation makes whose assertion follows from their number.

    Parameters
    ----------
    number : int
        In the profile ``fresh``.
    fewer : int
        Otherwise; 0 stands for a sixth.

    Returns
    -------
    int
    """
    return number if is_fresh() else fewer or -(-number // _TRIALS)


def part_of(cases: Iterable[Case], every: int = 4) -> list[Case]:
    """Return the cases that a test is parametrized by: where every one of them is expensive, a part of them.

    Parameters
    ----------
    cases : iterable
    every : int
        Of so many cases one is tried in the profile ``quick``, the first of them; and the last, where there are more.

    Returns
    -------
    list
        Always the same ones, in their order.
    """
    found = list(cases)
    if is_full() or not found:
        return found
    *others, last = found
    return [*others[::every], last] if len(found) > every else found[:1]


def numbered(text: str) -> slice:
    """Return which cases ``FIRST:END`` names, the last of them excluded.

    Raises
    ------
    ValueError
        It names none.
    """
    found = re.fullmatch(r"(\d+):(\d+)", text)
    if not found or int(found[1]) >= int(found[2]):
        raise ValueError(f"{text!r} is no FIRST:END with FIRST below END")
    return slice(int(found[1]), int(found[2]))
