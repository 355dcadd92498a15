"""A judgment of weight 0 has no effect on any aggregator; nothing but such judgments is an error."""

import numpy as np
import pytest
from aggregator_samples import samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from order_samples import ballots, build

import rankbench
from rankbench.aggregators import rankbench_register
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import ComparisonAggregator, OrderAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, structure_of
from rankbench.interfaces.queries import Comparisons, implied_comparisons

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


@pytest.mark.parametrize("aggregator", [*OF_PAIRS, FromPlugin()], ids=str)
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
    return structure_of(aggregator, implied_comparisons(orders, m), m)


@pytest.mark.parametrize("aggregator", [cls() for cls in CLASSES], ids=str)
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
