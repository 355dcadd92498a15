"""How much of a law is tried: a part of its examples in the profile ``quick``, all of them in ``full``.

Hypothesis's profile says which: `make test` is quick; `.ci/run` and `make long` ask for ``--hypothesis-profile=full``.
"""

from __future__ import annotations

from hypothesis import settings

__all__ = ["PART", "examples", "is_full", "trials"]

PART = 4
"""Of so many examples one is tried in the profile ``quick``."""


def is_full() -> bool:
    """Return whether all is tried."""
    return settings.get_current_profile_name() == "full"


def examples(number: int) -> settings:
    """Return the settings of a law with so many examples: where every one of them is expensive."""
    return settings(max_examples=trials(number), deadline=None)


def trials(number: int) -> int:
    """Return how many trials a simulation makes whose assertion follows from their number."""
    return number if is_full() else -(-number // PART)
