"""What was made of a data set last: protocols that are prepared one after the other ask for the same."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from rankbench.kinds.dataset import Dataset

__all__ = ["forget", "remembered"]

T = TypeVar("T")

_latest: list[tuple[weakref.ref[Dataset], str, Any]] = []


def remembered(dataset: Dataset, fingerprint: str, load: Callable[[], T]) -> T:
    """Return what `load` returns: what it did last, if that was asked for this very data set with this content.

    It is kept as long as the data set lives, and until `forget`.

    Parameters
    ----------
    dataset : Dataset
    fingerprint : str
        `Dataset.fingerprint`, as it is now.
    load : callable
        The same for whoever asks for this data set.
    """
    for known, of, loaded in _latest:
        if known() is dataset and of == fingerprint:
            return loaded  # type: ignore[no-any-return]
    # Two of them at a time would be twice the memory.
    forget()
    made = load()
    _latest[:] = [(weakref.ref(dataset, lambda _: forget()), fingerprint, made)]
    return made


def forget() -> None:
    """Keep nothing any more: what blocks are drawn from is prepared."""
    _latest.clear()
