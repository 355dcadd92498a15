"""What a reader of a table's answer must know of how its columns were read: said once, where the file is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Remarks", "remark", "remark_columns", "remarks_kept"]


class Remarks(list[str]):
    """Sentences, and which columns of the file were read.

    Attributes
    ----------
    columns : dict of str to str
        What columns are called in the file, by what they mean.
    left : list of str
        Columns of the file that were not read; where every other column is a task or a system there is none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.columns: dict[str, str] = {}
        self.left: list[str] = []


_kept: ContextVar[Remarks | None] = ContextVar("kept", default=None)


@contextmanager
def remarks_kept() -> Iterator[Remarks]:
    """Keep what `remark` is told and `remark_columns` are told inside."""
    found = Remarks()
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


def remark_columns(columns: Mapping[str, str], left: Sequence[str]) -> None:
    """Tell whoever keeps remarks which columns of the file are read as what, and which are not read."""
    found = _kept.get()
    if found is not None:
        found.columns, found.left = dict(columns), list(left)
