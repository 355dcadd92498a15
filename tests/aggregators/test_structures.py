"""Structures by the compiled form: equal to the plain ones, with ties and on read-only arrays."""

import numpy as np
import pytest
from aggregator_samples import samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators import rankbench_register
from rankbench.interfaces.aggregator_calls import structure_of
from rankbench.interfaces.queries import Comparisons

ALL = [a() for a in rankbench_register() if a.judgments == "comparisons" and not a.needs_truth]


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(sample=samples(max_items=6), data=st.data())
@examples(15)
def test_equals_the_plain_form(aggregator, sample, data):
    winners, losers, weights, m = sample
    ties = np.array(data.draw(st.lists(st.booleans(), min_size=len(winners), max_size=len(winners))))
    for tied in (None, ties):
        comparisons = Comparisons(np.array([0, len(winners)]), winners, losers, weights, tied)
        for array in (winners, losers, weights):
            array.flags.writeable = False
        expected = aggregator.from_comparisons(comparisons, m)
        found = structure_of(aggregator, comparisons, m)
        assert found.shape == expected.shape
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-9)
