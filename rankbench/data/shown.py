"""What errors quote from files, cut so that a message stays readable."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["cut", "listed", "shown"]

_LONGEST = 40
_MOST = 20


def shown(value: object) -> str:
    """Return the `repr` of a value; of a text or a long value, the first 40 characters."""
    return repr(cut(value)) if isinstance(value, str) else cut(repr(value))


def cut(text: str) -> str:
    """Return the first 40 characters of a text, with dots if there are more."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def listed(names: Sequence[str]) -> str:
    """Return quoted names with commas, the first 20 and how many more there are."""
    text = ", ".join(map(shown, names[:_MOST]))
    return text if len(names) <= _MOST else f"{text} and {len(names) - _MOST} more"
