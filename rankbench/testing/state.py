"""Snapshots tell what a component changed in the process that it runs in."""

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


@dataclass(frozen=True)
class State:
    """A snapshot of process-wide settings.

    Attributes
    ----------
    settings : dict
        By what they are called in messages.
    running : frozenset
        Threads and processes.
    """

    settings: dict[str, Any]
    running: frozenset[Any]

    @classmethod
    def now(cls) -> State:
        """Take a snapshot."""
        return cls(
            {
                "numpy.random's global state": _numpy_random(),
                "the global state of random": random.getstate(),
                "the warning filters": list(warnings.filters),
                "NumPy's floating-point error settings": np.geterr(),
                "NumPy's print options": {k: str(v) for k, v in np.get_printoptions().items()},
                "the environment": dict(os.environ),
                "the working directory": os.getcwd(),
                "the number of BLAS threads": _blas_threads(),
            },
            _running(),
        )

    def changes(self) -> list[str]:
        """Return what is different now, in words."""
        now = State.now()
        changed = [_where(what, value, now.settings[what]) for what, value in self.settings.items()]
        changed = [what for what in changed if what]
        return changed + [f"what runs: {left} is left behind" for left in left_behind(self.running)]


def _running() -> frozenset[Any]:
    return frozenset([*threading.enumerate(), *multiprocessing.active_children()])


def left_behind(before: frozenset[Any]) -> list[str]:
    """Return, in words, the threads and processes that run now and did not before."""
    kinds = {True: "thread", False: "process"}
    return [f"{kinds[isinstance(one, threading.Thread)]} {one.name!r}" for one in _running() - before]


def _numpy_random() -> tuple[Any, ...]:
    name, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002 (the legacy state is guarded)
    return name, np.asarray(keys).tobytes(), position, has_gauss, cached


def _blas_threads() -> tuple[int, ...]:
    # By file, so that a library that is loaded meanwhile changes nothing.
    found = {info["filepath"]: int(info["num_threads"]) for info in threadpool_info()}
    return tuple(sorted(set(found.values())))


_known: dict[type, frozenset[Any]] = {}


def threads_before(cls: type) -> frozenset[Any]:
    """Return the threads and processes that ran when a class was first asked about: before any call of it.

    A pool that a class keeps may be there since the first check of another family.
    """
    return _known.setdefault(cls, _running())


def lasting() -> dict[str, Any]:
    """Return the settings that stay as they are even when a library is imported for the first time.

    Libraries add warning filters for their own modules and categories, and variables for
    OpenMP (``KMP_...``); pytest has variables of the test that runs. None of that is there.
    """
    own = [f for f in warnings.filters if f[3] is None and f[2].__module__ == "builtins"]
    names = [name for name in os.environ if not name.startswith(("KMP_", "PYTEST_"))]
    return {
        "the warning filters": own,
        "NumPy's floating-point error settings": np.geterr(),
        "NumPy's print options": {k: str(v) for k, v in np.get_printoptions().items()},
        "the environment": {name: os.environ[name] for name in names},
        "the working directory": os.getcwd(),
    }


_changed: dict[type, list[str]] = {}


@contextmanager
def class_watched(cls: type) -> Iterator[None]:
    """Remember for `changed_for_good` what a check of a class leaves changed, from its first call on."""
    # What these set up is not the component's doing.
    from rankbench.core.runtime import settle_runtime

    settle_runtime()
    import numba
    import polars
    import scipy.optimize

    del numba, polars, scipy
    before = lasting()
    try:
        yield
    finally:
        now = lasting()
        found = [_where(what, value, now[what]) for what, value in before.items()]
        _changed.setdefault(cls, []).extend(what for what in found if what)


def changed_for_good(cls: type) -> list[str]:
    """Return, in words, the settings that some check of a class has left changed so far."""
    return list(_changed.get(cls, []))


def _where(what: str, before: Any, now: Any) -> str:
    """Return what is different, with the keys of a dict that are; empty if nothing is."""
    if before == now:
        return ""
    if not isinstance(before, dict):
        return what
    keys = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k))
    return f"{what} ({', '.join(keys)})"
