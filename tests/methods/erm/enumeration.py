"""Contenders that are fitted, and structures of all subsets of each query's judgments, as (19) defines its risk."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.methods.erm import ERM
from rankbench.methods.erm.fit import fit_composed
from rankbench.plugin.manager import get


def contender(spec: str) -> ERM:
    method = get(Method, spec)
    return method


def fitted(block: Block, method: ERM | str) -> Fitted:
    outcome = fit_composed(block, {"": contender(method) if isinstance(method, str) else method})[""]
    assert isinstance(outcome, Fitted), outcome
    assert outcome.theta is not None
    return outcome


def structures_of_subsets(
    block: Block, aggregator: Aggregator, k: float
) -> Iterator[tuple[slice, float, list[NDArray[np.float64]]]]:
    """Yield the rows of each judged query, its weight n_q / n, and the structures of min(k, n_q) judgments."""
    said = block.comparisons.without_ties()
    for q, count in enumerate(said.counts):
        low, high = block.design.offsets[q : q + 2]
        subsets = itertools.combinations(range(*said.offsets[q : q + 2]), int(min(k, count)))
        if count:
            made = [
                aggregator.aggregate(said.winners[s], said.losers[s], said.weights[s], high - low)
                for s in map(list, subsets)
            ]
            yield slice(low, high), count / len(said), made
