"""Laws that every aggregator of comparisons keeps."""

import subprocess
import sys

import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.aggregators import (
    AverageAdjacency,
    Borda,
    BradleyTerry,
    Identity,
    LimitScores,
    MeanLogOdds,
    ThurstoneMosteller,
    WinRate,
    rankbench_register_aggregators,
)
from rankbench.errors import SpecError
from rankbench.spec import parse

ALL = [
    MeanLogOdds(),
    MeanLogOdds(smoothing=0.01),
    MeanLogOdds(frequencies="joint", smoothing=0.01),
    Borda(),
    WinRate(),
    BradleyTerry(),
    BradleyTerry(ridge=0.05),
    ThurstoneMosteller(),
    AverageAdjacency(),
    Identity(),
]
CENTERED = [a for a in ALL if a.structure == "scores" and a.name != "win-rate"]
SCALE_FREE = [MeanLogOdds(frequencies="joint"), Borda(), WinRate()]


def close(actual, expected):
    return actual == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(sample=samples())
@settings(max_examples=60, deadline=None)
def test_kernel_equals_numpy_form(aggregator, sample):
    assert close(compiled(aggregator, *sample), aggregator.aggregate(*sample))


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@pytest.mark.parametrize("k", [1, 3, 10, 100, 1000, 4000])
def test_kernel_equals_numpy_form_on_a_query_of_the_paper(aggregator, k):
    labels = np.random.default_rng(k).choice(5, size=100, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float)
    sample = btl_sample(labels, k, k)
    assert close(compiled(aggregator, *sample), aggregator.aggregate(*sample))


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(sample=samples(), data=st.data())
@settings(max_examples=25, deadline=None)
def test_relabelling_the_items_relabels_the_structure(aggregator, sample, data):
    winners, losers, weights, m = sample
    new = np.array(data.draw(st.permutations(range(m))), dtype=np.int32)
    before = compiled(aggregator, *sample)
    after = compiled(aggregator, new[winners], new[losers], weights, m)
    if aggregator.structure == "scores":
        assert close(after[new], before)
    else:
        assert np.array_equal(after[np.ix_(new, new)], before)


@pytest.mark.parametrize("aggregator", [a for a in ALL if a.name != "identity"], ids=str)
@given(sample=samples(), data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_judgments_does_not_matter(aggregator, sample, data):
    winners, losers, weights, m = sample
    order = np.array(data.draw(st.permutations(range(len(winners)))))
    shuffled = compiled(aggregator, winners[order], losers[order], weights[order], m)
    assert close(shuffled, compiled(aggregator, *sample))


@pytest.mark.parametrize("aggregator", CENTERED, ids=str)
@given(sample=samples())
@settings(max_examples=25, deadline=None)
def test_scores_sum_to_zero(aggregator, sample):
    for scores in (compiled(aggregator, *sample), aggregator.aggregate(*sample)):
        assert abs(scores.sum()) <= 1e-8 * max(1.0, np.abs(scores).sum())


@pytest.mark.parametrize("aggregator", [*CENTERED, WinRate()], ids=str)
@given(sample=samples())
@settings(max_examples=25, deadline=None)
def test_reversing_every_judgment_negates_the_scores(aggregator, sample):
    winners, losers, weights, m = sample
    played = np.isin(np.arange(m), np.concatenate([winners, losers]))
    scores = compiled(aggregator, *sample)
    assert close(compiled(aggregator, losers, winners, weights, m), -scores)
    assert np.all(scores[~played] == 0)


@pytest.mark.parametrize("aggregator", SCALE_FREE, ids=str)
@given(sample=samples(), scale=st.floats(0.01, 100))
@settings(max_examples=25, deadline=None)
def test_weights_in_other_units_change_nothing(aggregator, sample, scale):
    winners, losers, weights, m = sample
    assert close(compiled(aggregator, winners, losers, scale * weights, m), compiled(aggregator, *sample))


@pytest.mark.parametrize("aggregator", [AverageAdjacency(), Identity()], ids=str)
@given(sample=samples(), scale=st.floats(0.01, 100))
@settings(max_examples=25, deadline=None)
def test_matrices_scale_with_the_weights(aggregator, sample, scale):
    winners, losers, weights, m = sample
    assert close(compiled(aggregator, winners, losers, scale * weights, m), scale * compiled(aggregator, *sample))


@given(sample=samples(), scale=st.floats(0.1, 10))
@settings(max_examples=25, deadline=None)
def test_scaling_weights_is_scaling_the_regularizer(sample, scale):
    winners, losers, weights, m = sample
    for larger, plain in [
        (MeanLogOdds(smoothing=0.5 * scale), MeanLogOdds(smoothing=0.5)),
        (ThurstoneMosteller(smoothing=0.5 * scale), ThurstoneMosteller(smoothing=0.5)),
        (BradleyTerry(ridge=0.5 * scale), BradleyTerry(ridge=0.5)),
    ]:
        assert close(compiled(larger, winners, losers, scale * weights, m), compiled(plain, *sample))


def test_registered_once_under_their_names():
    registered = rankbench_register_aggregators()
    assert sorted(a.name for a in registered) == [
        "average-adjacency",
        "borda",
        "bradley-terry",
        "identity",
        "limit-scores",
        "mean-log-odds",
        "thurstone-mosteller",
        "win-rate",
    ]
    for aggregator in registered:
        assert aggregator.summary().endswith(".")
        assert (aggregator().kernel() is None) == (aggregator is LimitScores)


@pytest.mark.parametrize(
    "text",
    [
        "mean-log-odds:smoothing=0",
        "mean-log-odds:smoothing=inf",
        "mean-log-odds:frequencies=marginal",
        "bradley-terry:ridge=0",
        "bradley-terry:ridge=-1",
        "thurstone-mosteller:smoothing=0",
        "borda:smoothing=1",
    ],
)
def test_parameters_are_validated(text):
    spec = parse(text)
    cls = {a.name: a for a in rankbench_register_aggregators()}[spec.name]
    with pytest.raises(SpecError):
        cls.from_spec(spec)


def test_components_import_neither_numba_nor_scipy():
    code = "import sys, rankbench.aggregators, rankbench.data.btl; print({'numba', 'scipy'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
