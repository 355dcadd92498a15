"""Inputs are not mutated."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankbench.kinds.optimizer import StepOptimizer
from rankbench.testing.calls import CALLED, calls, deep_copy
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.close import same
from rankbench.testing.subjects import Subject


def arrays(value: Any, where: str = "argument") -> Iterator[tuple[str, np.ndarray]]:
    """Yield all arrays in an argument, with a path for messages."""
    if isinstance(value, np.ndarray):
        yield where, value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from arrays(getattr(value, field.name), f"{where}.{field.name}")


STATE = 5
"""Argument of `StepOptimizer.step` that is the contender's own memory, changed in place by contract."""


@conformance_check(*CALLED)
def inputs_not_mutated(subject: Subject) -> None:
    """Every array that was given is afterwards as it was."""
    for call in calls(subject):
        arguments = call.make()
        before = tuple(deep_copy(argument) for argument in arguments)
        call.run(*arguments)
        for number, (was, now) in enumerate(zip(before, arguments, strict=True), 1):
            for (where, old), (_, new) in zip(arrays(was, f"argument {number}"), arrays(now), strict=True):
                if not _own(subject, number) and not same((old,), (new,)):
                    raise CheckFailed(f"{call.label}: {where} was changed")


@conformance_check(*CALLED)
def works_on_read_only_arrays(subject: Subject) -> None:
    """Shared arrays are read-only: nothing may be written into them, not even for a moment."""
    for call in calls(subject):
        arguments = call.make()
        for number, argument in enumerate(arguments, 1):
            for _, array in arrays(argument):
                array.flags.writeable = _own(subject, number)
        try:
            call.run(*arguments)
        except ValueError as error:
            if "read-only" in str(error):
                raise CheckFailed(f"{call.label}: writes into what it was given: {error}") from error
            raise


def _own(subject: Subject, number: int) -> bool:
    return number == STATE and isinstance(subject.it, StepOptimizer)
