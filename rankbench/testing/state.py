"""Snapshots reveal a component's changes to the process that it runs in."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from rankbench.core.runtime import settle_runtime


@dataclass(frozen=True)
class State:
    """A snapshot of process-wide settings.

    Attributes
    ----------
    settings : dict
        By their names in messages.
    running : frozenset
        Threads and processes.
    """

    settings: dict[str, Any]
    running: frozenset[Any]

    @classmethod
    def now(cls) -> State:
        """Take a snapshot."""
        found = cls.lasting()
        name, keys, *rest = np.random.get_state()  # noqa: NPY002 (the legacy state is guarded)
        now = {
            "numpy.random's global state": (name, np.asarray(keys).tobytes(), *rest),
            "the global state of random": random.getstate(),
            "the warning filters": list(warnings.filters),
            "the environment": dict(os.environ),
            "the number of BLAS threads": _blas_threads(),
        }
        found.settings.update(now)
        return found

    @classmethod
    def lasting(cls) -> State:
        """Snapshot the state that imports do not change.

        Libraries add warning filters for their own modules and categories, and variables for
        OpenMP (``KMP_...``); pytest has variables of the test that runs. None of that is in it.
        """
        own = [f for f in warnings.filters if f[3] is None and f[2].__module__ == "builtins"]
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("KMP_", "PYTEST_"))}
        return cls(
            {
                "the warning filters": own,
                "NumPy's floating-point error settings": np.geterr(),
                "NumPy's print options": {k: str(v) for k, v in np.get_printoptions().items()},
                "the environment": variables,
                "the working directory": os.getcwd(),
            },
            frozenset([*threading.enumerate(), *multiprocessing.active_children()]),
        )

    def changes(self, now: State | None = None) -> list[str]:
        """Return descriptions of the changes since the snapshot."""
        after = now or State.now()
        changed = [_where(what, value, after.settings[what]) for what, value in self.settings.items()]
        kinds = {True: "thread", False: "process"}
        left = [f"{kinds[isinstance(one, threading.Thread)]} {one.name!r}" for one in after.running - self.running]
        return [what for what in changed if what] + [f"what runs: {one} is left behind" for one in left]


def _blas_threads() -> tuple[int, ...]:
    # By file, so that a library that is loaded meanwhile changes nothing.
    found = {info["filepath"]: int(info["num_threads"]) for info in threadpool_info()}
    return tuple(sorted(set(found.values())))


def import_libraries() -> None:
    """Import the libraries of components, whose own effects and time are not a component's."""
    import numba
    import scipy.optimize

    del numba, scipy


_changed: dict[type, list[str]] = {}


@contextmanager
def class_watched(cls: type) -> Iterator[None]:
    """Record the lasting changes by a check of a class, from its first call on, for `changed_for_good`."""
    settle_runtime()
    import_libraries()
    before = State.lasting()
    try:
        yield
    finally:
        _changed.setdefault(cls, []).extend(before.changes(State.lasting()))


def changed_for_good(cls: type) -> list[str]:
    """Return descriptions of lasting changes by checks of a class so far."""
    return list(_changed.get(cls, []))


def _where(what: str, before: Any, now: Any) -> str:
    """Return a description of a change, with the changed keys of a dict; empty without a change."""
    if before == now:
        return ""
    if not isinstance(before, dict):
        return what
    keys = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k))
    return f"{what} ({', '.join(keys)})"
