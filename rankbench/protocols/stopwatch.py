"""How long a part of a block takes, for `rankbench plan`."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["processor_seconds"]

_SHORT = 5.0
"""Seconds; loading compiled code takes less."""


def processor_seconds(call: Callable[[], object]) -> float:
    """Return the processor's seconds of a call; of the second one if the first was short: it may have loaded code."""
    taken = 0.0
    for _ in range(2):
        begin = time.process_time()
        call()
        taken = time.process_time() - begin
        if taken > _SHORT:
            break
    return taken
