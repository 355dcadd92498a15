"""What errors quote from files, cut so that a message stays readable."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["listed", "shown"]

_LONGEST = 40
_MOST = 20


def shown(value: object) -> str:
    """Return the `repr` of a value; of a text or a long value, the first 40 characters."""
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else value[:_LONGEST] + "...")
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def listed(names: Sequence[str]) -> str:
    """Return quoted names with commas, the first 20 and how many more there are."""
    text = ", ".join(map(shown, names[:_MOST]))
    return text if len(names) <= _MOST else f"{text} and {len(names) - _MOST} more"
