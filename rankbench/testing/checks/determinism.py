"""Same seed, same result; labels change nothing; what is declared stochastic varies with the seed."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.contender import sees_truth
from rankbench.kinds.method import Block
from rankbench.testing import samples
from rankbench.testing.calls import CALLED, Outputs, calls, deep_copy, fitted_scores, outputs
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.close import same
from rankbench.testing.state import State
from rankbench.testing.subjects import Subject


@conformance_check(*CALLED)
def same_input_same_result(subject: Subject) -> None:
    """The same call gives the same bytes, whatever the global random states are."""
    before = np.random.get_state()  # noqa: NPY002
    plain = random.getstate()
    try:
        for call in calls(subject):
            results = []
            for seed in (1, 2):
                np.random.seed(seed)  # noqa: NPY002
                random.seed(seed)
                results.append(outputs(call))
            if not same(*results):
                raise CheckFailed(f"{call.label}: two calls give different numbers; draw from the block's generator")
    finally:
        np.random.set_state(before)  # noqa: NPY002
        random.setstate(plain)


@conformance_check(*CALLED)
def draws_from_no_global_generator(subject: Subject) -> None:
    """numpy.random's and random's own generators are not drawn from."""
    for call in calls(subject):
        before = State.now()
        outputs(call)
        touched = [what for what in before.changes() if "random" in what]
        if touched:
            raise CheckFailed(f"{call.label}: {touched[0]} is another one afterwards")


@conformance_check("method")
def labels_do_not_matter(subject: Subject) -> None:
    """Other labels of the queries give the same scores, unless ``needs_truth`` is declared."""
    if sees_truth(subject.it):
        raise CheckSkipped("it declares needs_truth: it is an oracle, and no competitor")
    design, held = samples.queries(9), samples.queries(10)
    said = samples.random_comparisons(design, 40, 9)

    def scores(change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Outputs:
        learned, judged = (dataclasses.replace(one, truth=change(one.labels)) for one in (design, held))
        fitted = subject.it.fit(Block(learned, deep_copy(said), len(said), 0, (1, 2, 3)))
        return fitted_scores(fitted, learned), fitted_scores(fitted, judged)

    of_queries, of_others = scores(np.copy), scores(lambda labels: 4.0 - labels[::-1])
    for where, found, other in zip(("the design", "held-out queries"), of_queries, of_others, strict=True):
        if not same((found,), (other,)):
            raise CheckFailed(
                f"other labels give other scores of {where}: a run hides the labels, as contenders are judged by them; "
                "learn from `block.comparisons`, or declare `needs_truth = True`, for an oracle that does not compete"
            )


@conformance_check("method")
def stochastic_ones_vary(subject: Subject) -> None:
    """A method that declares ``stochastic`` gives other scores for another seed."""
    if not subject.declares("stochastic"):
        raise CheckSkipped("it does not declare stochastic")
    call = calls(subject)[0]
    block, held = call.make()
    first = call.run(block, held)
    other = call.run(dataclasses.replace(block, entropy=(99, 98, 97)), held)
    if same(first, other):
        raise CheckFailed("it declares stochastic, but two seeds give the same scores")
