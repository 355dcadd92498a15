"""Scores made again of more judgments: from those that were made before, to the same ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons

SPECS = (
    "bradley-terry",
    "bradley-terry:ridge=0.01",
    "bradley-terry:ridge=0",
    "bradley-terry:penalty=firth",
    "davidson",
    "davidson:ridge=0.1",
    "davidson:penalty=firth",
    "win-rate",
    "thurstone-mosteller",
)


def counts(seed: int, *, ties: bool, m: int = 7, n: int = 150, first: int | None = None) -> PairCounts:
    rng = np.random.default_rng(seed)
    one = rng.integers(m, size=n)
    two = (one + rng.integers(1, m, size=n)) % m
    scores = rng.normal(size=m)
    won = rng.random(n) < 1 / (1 + np.exp(scores[two] - scores[one]))
    one, two = np.where(won, one, two), np.where(won, two, one)
    tied = rng.random(n) < 0.2 if ties else None
    k = first or n
    said = Comparisons(
        np.array([0, k]),
        one[:k].astype(np.int32),
        two[:k].astype(np.int32),
        np.ones(k),
        None if tied is None else tied[:k],
    )
    return PairCounts.from_comparisons(said, m)


@pytest.mark.parametrize("text", SPECS)
@examples(40)
@given(seed=st.integers(0, 10_000), ties=st.booleans(), far=st.sampled_from([0.0, 0.01, 1.0, 20.0]))
def test_the_start_means_nothing_to_the_scores(text: str, seed: int, ties: bool, far: float) -> None:
    """From near scores, from far ones, and from ones that are not centered: what `from_counts` makes."""
    aggregator, known = rankbench.get(Aggregator, text), counts(seed, ties=ties)
    cold = aggregator.from_counts(known)
    start = cold + far * np.random.default_rng(seed).normal(size=known.m)
    assert call_aggregator(aggregator, known, known.m, start) == pytest.approx(cold, abs=2e-6)


def test_newton_takes_fewer_steps_from_a_near_start() -> None:
    from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
    from rankbench.aggregators.likelihood.davidson import fit_davidson

    whole, more = (counts(1, ties=True, m=30, n=3030, first=first) for first in (3000, 3030))
    for fit in (fit_bradley_terry, fit_davidson):
        before = fit(whole, ridge=1.0)
        steps = [fit(more, ridge=1.0, start=start).iterations for start in (before.scores, None)]
        assert steps[0] < steps[1]


class Louder(BradleyTerry):
    """Another formula than its base's, of which it inherits other forms."""

    name: ClassVar[str] = "louder"
    source: ClassVar[str] = "test"

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return 2 * BradleyTerry().from_counts(counts)


def test_a_class_with_another_formula_must_define_its_other_forms() -> None:
    assert BradleyTerry.defect() == ""
    assert Louder.defect().startswith("it defines from_counts anew, and inherits kernel of BradleyTerry")
    with_kernel = type("WithKernel", (Louder,), {"__module__": __name__, "kernel": lambda self: None})
    assert "inherits from_counts_near of PenalizedAggregator" in with_kernel.defect()
