"""What a component might change about the process that it is a guest in."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

__all__ = ["State"]


@dataclass(frozen=True)
class State:
    """A snapshot of process-wide settings.

    Attributes
    ----------
    settings : dict
        By what they are called in messages.
    threads : frozenset of Thread
    processes : frozenset of Process
    """

    settings: dict[str, Any]
    threads: frozenset[threading.Thread]
    processes: frozenset[Any]

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
            frozenset(threading.enumerate()),
            frozenset(multiprocessing.active_children()),
        )

    def changes(self) -> list[str]:
        """Return what is different now, in words."""
        now = State.now()
        changed = [_where(what, value, now.settings[what]) for what, value in self.settings.items()]
        changed = [what for what in changed if what]
        return changed + [f"what runs: {left} is left behind" for left in self.left_behind()]

    def left_behind(self) -> list[str]:
        """Return the threads and processes that were not there before."""
        threads = [f"thread {t.name!r}" for t in threading.enumerate() if t not in self.threads]
        return threads + [f"process {p.name!r}" for p in multiprocessing.active_children() if p not in self.processes]


def _where(what: str, before: Any, now: Any) -> str:
    """Return what is different, with the keys of a dict that are; empty if nothing is."""
    if before == now:
        return ""
    if not isinstance(before, dict):
        return what
    keys = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k))
    return f"{what} ({', '.join(keys)})"


def _numpy_random() -> tuple[Any, ...]:
    name, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002 (the legacy state is what is guarded)
    return name, np.asarray(keys).tobytes(), position, has_gauss, cached


def _blas_threads() -> tuple[int, ...]:
    # By file, so that a library that is loaded meanwhile changes nothing.
    found = {info["filepath"]: int(info["num_threads"]) for info in threadpool_info()}
    return tuple(sorted(set(found.values())))
