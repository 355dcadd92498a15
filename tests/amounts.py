"""How much of a law is tried: a part of its examples and cases in the profile ``quick``, all of them in ``full``.

Hypothesis's profile says which: `make test` is quick; `.ci/run` and `make long` ask for ``--hypothesis-profile=full``.
Examples are the same at every run; the profile ``fresh`` tries as many as ``full``, and others each time.
Long tests with numbered cases are tried in parts, too: ``--cases 100:200`` runs those from 100 to 199.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from hypothesis import settings

Case = TypeVar("Case")

_EXAMPLES, _TRIALS = 12, 6
"""Of so many examples, and of so many trials of a simulation, one is tried in the profile ``quick``."""


def is_full() -> bool:
    """Return whether all is tried."""
    return settings.get_current_profile_name() in ("full", "fresh")


def examples(number: int) -> settings:
    """Return the settings of a law with so many examples: where every one of them is expensive."""
    return settings(max_examples=number if is_full() else -(-number // _EXAMPLES), deadline=None)


def trials(number: int) -> int:
    """Return how many trials a simulation makes whose assertion follows from their number."""
    return number if is_full() else -(-number // _TRIALS)


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
