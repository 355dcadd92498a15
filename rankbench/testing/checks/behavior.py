"""Checks look for hidden state, changed inputs and effects on the process."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.contender import sees_truth
from rankbench.interfaces.method import Block, StepOptimizer
from rankbench.testing import samples
from rankbench.testing.calls import CALLED, Call, Outputs, calls, fitted_scores, learns_from_labels, outputs, same
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, conformance_check
from rankbench.testing.state import State, changed_for_good, class_watched


@conformance_check(*CALLED)
def same_input_same_result(subject: Subject) -> None:
    """The same call gives the same bytes, whatever was called before and whatever the global random states are."""
    before = np.random.get_state()  # noqa: NPY002
    plain = random.getstate()
    try:
        ordered = calls(subject)
        first = [_seeded_outputs(call, 1) for call in ordered]
        for call, found in reversed([*zip(ordered, first, strict=True)]):  # each after another call than before
            if not same(found, _seeded_outputs(call, 2)):
                raise CheckFailed(
                    f"{call.label}: two calls give different numbers; draw from the block's generator, "
                    "and keep nothing from one call to the next"
                )
    finally:
        np.random.set_state(before)  # noqa: NPY002
        random.setstate(plain)


def _seeded_outputs(call: Call, seed: int) -> Outputs:
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    return outputs(call)


@conformance_check("method")
def labels_do_not_matter(subject: Subject) -> None:
    """Other labels of the queries give the same scores, unless ``needs_truth`` is declared."""
    if sees_truth(subject.it):
        raise CheckSkipped("it declares needs_truth: it is an oracle, and no competitor")
    if learns_from_labels(subject.it):
        raise CheckSkipped("it learns from labels, as protocol 'graded' shows them")
    design, held = samples.queries(9), samples.queries(10)
    said = samples.random_comparisons(design, 40, 9)

    def scores(change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Outputs:
        learned, judged = (dataclasses.replace(one, truth=change(one.labels)) for one in (design, held))
        fitted = subject.it.fit(Block(learned, deepcopy(said), len(said), 0, (1, 2, 3)))
        return fitted_scores(fitted, learned), fitted_scores(fitted, judged)

    of_queries, of_others = scores(np.copy), scores(lambda labels: 4.0 - labels[::-1])
    for where, found, other in zip(("the design", "held-out queries"), of_queries, of_others, strict=True):
        if not same((found,), (other,)):
            raise CheckFailed(
                f"other labels give other scores of {where}. A run hides the labels, as it judges contenders by them. "
                "Learn from `block.comparisons`. Where it is empty (protocol 'graded'), labels are there to learn "
                "from. For an oracle, which does not compete, declare `needs_truth = True`"
            )


@conformance_check("method")
def scores_are_of_each_query_alone(subject: Subject) -> None:
    """A fitted method orders the items of a query alike without the other queries, and listed in another order."""
    if subject.declares("stochastic"):
        raise CheckSkipped("it declares stochastic")
    block, held = calls(subject)[0].make()
    fitted, alone = subject.it.fit(block), held.take(np.arange(1))
    turned = np.arange(len(alone.x))[::-1]
    truth = None if alone.truth is None else alone.truth[turned]
    whole = fitted_scores(fitted, held)[: len(turned)]
    found = fitted_scores(fitted, dataclasses.replace(alone, x=alone.x[turned], truth=truth))[turned]
    leads, others = (scores[:, None] - scores for scores in (whole, found))
    slack = 1e-5 * max(1.0, float(np.abs(leads).max()))  # features are float32
    if ((leads > slack) & (others < -slack)).any():
        raise CheckFailed(
            f"items of one query have the scores {whole} among other queries, and alone, listed in reverse, {found}: "
            "their order depends on what else is scored"
        )


@conformance_check("method", declares="stochastic")
def stochastic_ones_vary(subject: Subject) -> None:
    """A method that declares ``stochastic`` gives other scores for another seed."""
    call = calls(subject)[0]
    block, held = call.make()
    first = call.run(block, held)
    other = call.run(dataclasses.replace(block, entropy=(99, 98, 97)), held)
    if same(first, other):
        raise CheckFailed("it declares stochastic, but two seeds give the same scores")


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
def works_on_read_only_arrays(subject: Subject) -> None:
    """Shared arrays are read-only: nothing may be written into them, and all are afterwards as they were."""
    for call in (*calls(subject), *_edge_calls(subject)):
        arguments = call.make()
        before = deepcopy(arguments)
        for number, argument in enumerate(arguments, 1):
            for _, array in arrays(argument):
                array.flags.writeable = _own(subject, number)
        try:
            call.run(*arguments)
        except (InputError, ContenderDiverged):
            continue  # at an edge it may refuse; where it may not, another check fails
        except ValueError as error:
            if "read-only" in str(error):
                raise CheckFailed(f"{call.label}: writes into what it was given: {error}") from error
            raise
        for number, (was, now) in enumerate(zip(before, arguments, strict=True), 1):
            for (where, old), (_, new) in zip(arrays(was, f"argument {number}"), arrays(now), strict=True):
                if not _own(subject, number) and not same((old,), (new,)):
                    raise CheckFailed(f"{call.label}: {where} was changed")


def _edge_calls(subject: Subject) -> list[Call]:
    try:
        return calls(subject, edges=True)
    except CheckSkipped:
        return []


def _own(subject: Subject, number: int) -> bool:
    return number == STATE and isinstance(subject.it, StepOptimizer)


@conformance_check(*CALLED)
def surroundings_not_touched(subject: Subject) -> None:
    """After a call the process is as it was: random state, warnings, threads, environment."""
    for call in calls(subject):
        with class_watched(type(subject.it)):
            call.run(*call.make())  # imports and compilation at the first call may set something up
        if lasts := changed_for_good(type(subject.it)):
            raise CheckFailed(f"{call.label}, or a call before it, leaves this changed: {lasts[0]}")
        if changed := _changes(call):
            raise CheckFailed(f"{call.label}: it changes {changed[0]}")


def _changes(call: Call) -> list[str]:
    """Return descriptions of a call's changes to the process, from a fresh random state."""
    given, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        np.random.seed(83)  # noqa: NPY002
        random.seed(83)
        arguments, before = call.make(), State.now()
        call.run(*arguments)
        return before.changes()
    finally:
        np.random.set_state(given)  # noqa: NPY002
        random.setstate(plain)
