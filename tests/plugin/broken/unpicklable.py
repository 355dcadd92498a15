"""It keeps a lock, which no other process can get."""

import threading
from typing import Any

import numpy as np
from pydantic import PrivateAttr

import rankbench

CAUGHT = "check"
BY = "picklable"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def features(self, x):
        with self._lock:
            return np.array(x)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
