"""What a reader of a table's answer must know of how its columns were read: said once, where the file is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["remark", "remarks_kept"]

_kept: ContextVar[list[str] | None] = ContextVar("kept", default=None)


@contextmanager
def remarks_kept() -> Iterator[list[str]]:
    """Keep what `remark` is told inside, a sentence each."""
    found: list[str] = []
    token = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(token)


def remark(text: str) -> None:
    """Tell whoever keeps remarks now; nobody else hears it."""
    found = _kept.get()
    if found is not None and text not in found:
        found.append(text)
