"""Scores made again of more judgments: from those that were made before, to the same ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from aggregator_samples import ballots, build, samples
from amounts import examples, part_of
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.aggregators import rankbench_register
from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.likelihood.bradley_terry import fast_rows, fit_bradley_terry, refitted
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator, ComparisonAggregator, OrderAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, structure_of
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons, implied_comparisons
from rankbench.interfaces.resamples import resamples_of
from rankbench.kernels.pairs import WORK, conjugate_gradients
from rankbench.logs.count import count_pairs

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
    from rankbench.aggregators.likelihood.davidson_firth import fit_davidson

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


@pytest.mark.parametrize("ties", [False, True])
def test_the_fit_and_its_resamples_do_not_depend_on_the_rows(monkeypatch: pytest.MonkeyPatch, ties: bool) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 12, 400)
    b = (a + rng.integers(1, 12, 400)) % 12
    counts = count_pairs(a, b, ties=rng.random(400) < 0.3 if ties else None, m=12)
    kept = np.arange(len(counts)) % 4 > 0
    some = counts.select(kept)
    assert fast_rows(some.starts, some.high).given is not None
    scores = []
    for share in (0.1, 2.0):
        monkeypatch.setattr("rankbench.aggregators.likelihood.bradley_terry._SHARE", share)
        fit = fit_bradley_terry(some)
        scores.append([fit.scores, refitted(fit, resamples_of(some, 20, 0))])
    np.testing.assert_allclose(scores[0][0], scores[1][0], atol=1e-10)
    np.testing.assert_allclose(scores[0][1], scores[1][1], atol=1e-8)


@pytest.mark.parametrize("edge", [0.0, np.inf, np.nan])
def test_a_system_that_is_flat_along_its_residual_is_not_called_solved(edge: float) -> None:
    """Items 2 and 3 have no weight between them: a step that leaves their residual as it is solves nothing."""
    starts, high = np.array([0, 1, 1, 2, 2]), np.array([1, 3], np.int32)
    rhs, x = np.array([1.0, -1.0, 1.0, -1.0]), np.empty(4)
    assert conjugate_gradients(starts, high, np.array([2.0, edge]), 0.0, rhs, 1e-9, 50, np.empty(WORK * 4), x) == -1
    whole = np.array([2.0, 4.0])
    assert conjugate_gradients(starts, high, whole, 0.0, rhs, 1e-9, 50, np.empty(WORK * 4), x) >= 0
    np.testing.assert_allclose([x[0] - x[1], x[2] - x[3]], [0.5, 0.25])


CLASSES = [cls for cls in rankbench_register() if issubclass(cls, ComparisonAggregator | OrderAggregator)]
OF_PAIRS = [cls() for cls in CLASSES if cls.judgments == "comparisons"]


class FromPlugin(rankbench.ComparisonAggregator):
    """The number of judgments that each item won: it counts rows, not weights."""

    name = "from-plugin"
    source = "tests"

    def aggregate(self, winners, losers, weights, m):
        return np.bincount(winners, minlength=m).astype(float)


@st.composite
def with_zeros(draw, rows):
    """Draw where rows of weight 0 come in between `rows` judgments, and whether each of all is tied."""
    keep = draw(st.lists(st.booleans(), min_size=rows, max_size=3 * rows).filter(lambda k: sum(k) >= 1))
    ties = draw(st.lists(st.booleans(), min_size=len(keep), max_size=len(keep)))
    return np.array(keep), np.array(ties)


@pytest.mark.parametrize("aggregator", part_of([*OF_PAIRS, FromPlugin()]), ids=str)
@given(sample=samples(max_items=6, max_judgments=12), data=st.data())
@examples(25)
def test_judgments_of_weight_zero_have_no_effect(aggregator, sample, data):
    winners, losers, weights, m = sample
    kept, ties = data.draw(with_zeros(len(winners)))
    at = np.arange(len(kept)) % len(winners)
    winners, losers, weights = winners[at], losers[at], np.where(kept, weights[at], 0.0)

    def said(rows, tied=None):
        return Comparisons(np.array([0, rows.sum()]), winners[rows], losers[rows], weights[rows], tied)

    def of(rows):
        return structure_of(aggregator, said(rows), m)

    def with_ties(rows):
        return structure_of(aggregator, said(rows, ties[rows]), m)

    def scores(rows):
        return call_aggregator(aggregator, said(rows, ties[rows]), m)

    everything = np.ones(len(kept), bool)
    np.testing.assert_array_equal(of(everything), of(kept))
    np.testing.assert_array_equal(with_ties(everything), with_ties(kept))
    calls = [of, with_ties]
    if aggregator.structure == "scores":
        calls.append(scores)
        np.testing.assert_array_equal(scores(everything), scores(kept))
    weights = np.zeros(len(kept))
    for call in calls:
        with pytest.raises(InputError, match="all weights are zero"):
            call(everything)


def of_ballots(aggregator, orders, m):
    if aggregator.structure == "scores":
        return call_aggregator(aggregator, orders, m)
    return structure_of(aggregator, implied_comparisons(orders), m)


@pytest.mark.parametrize("aggregator", part_of([cls() for cls in CLASSES]), ids=str)
@given(sample=ballots(max_items=5, max_ballots=5), data=st.data())
@examples(15)
def test_ballots_of_weight_zero_have_no_effect(aggregator, sample, data):
    found, weights, m = sample
    kept, _ = data.draw(with_zeros(len(found)))
    at = np.arange(len(kept)) % len(found)
    said = [found[b] for b in at]
    weight = np.where(kept, np.array(weights)[at], 0.0)
    alone = build([ballot for ballot, keep in zip(said, kept, strict=True) if keep], weight[kept])
    try:
        expected = of_ballots(aggregator, alone, m)
    except InputError:
        # These ballots rank one item each.
        with pytest.raises(InputError):
            of_ballots(aggregator, build(said, weight), m)
    else:
        np.testing.assert_array_equal(of_ballots(aggregator, build(said, weight), m), expected)
    with pytest.raises(InputError, match="say nothing"):
        of_ballots(aggregator, build(said, np.zeros(len(said))), m)
