"""Laws that every aggregator of comparisons keeps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from aggregator_samples import ballots, btl_sample, build, compiled, matrix, naming, samples
from amounts import examples, part_of
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators import rankbench_register
from rankbench.aggregators.ballot_rules import BallotRule, InstantRunoff, Plurality
from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph, Identity
from rankbench.aggregators.eigenvector import Eigenvector, GeometricMean, PageRank, RankCentrality
from rankbench.aggregators.labels import GraphRelevance, OrderRelevance
from rankbench.aggregators.log_odds import MeanLogOdds, ThurstoneMosteller
from rankbench.aggregators.permuted_elo import PermutedElo
from rankbench.aggregators.plackett_luce import PlackettLuce
from rankbench.aggregators.rates import Borda, Budgeted, Coin, Kemeny, NetWeights, WinRate
from rankbench.aggregators.sequential import DynamicBradleyTerry, Elo, Glicko2
from rankbench.aggregators.social_choice import MajorityRule
from rankbench.aggregators.svm import SVMRankAggregation
from rankbench.errors import InputError
from rankbench.interfaces.aggregator_calls import structure_of
from rankbench.interfaces.queries import Comparisons, implied_comparisons

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
    DifferenceGraph(),
    Identity(),
    NetWeights(),
    Budgeted(),
    Davidson(),
    Eigenvector(),
    Eigenvector(scale="log"),
    Eigenvector(frequencies="joint", smoothing=0.01, scale="log"),
    GeometricMean(),
    GeometricMean(scale="log"),
    GeometricMean(frequencies="joint", smoothing=0.01, scale="log"),
    RankCentrality(),
    RankCentrality(scale="log"),
    RankCentrality(smoothing=0.01, scale="log"),
    PageRank(),
    PageRank(damping=0.99),
    PageRank(damping=0),
    Kemeny(),
    Kemeny(ties="first"),
    Elo(),
    Elo(factor=200),
    Glicko2(),
    DynamicBradleyTerry(),
]
# Each item moves by how uncertain it is.
UNEQUAL = ["win-rate", "glicko-2", "dynamic-bradley-terry"]
POSITIVE = [a for a in ALL if getattr(a, "scale", "ratio" if a.name == "pagerank" else "") == "ratio"]
CENTERED = [a for a in ALL if a.structure == "scores" and a.name not in UNEQUAL and a not in POSITIVE]
# Reversed judgments do not invert the vectors of matrices, and of tied orders the first stays first.
REVERSIBLE = [
    *(a for a in CENTERED if a.name not in ("eigenvector", "rank-centrality") and a != Kemeny(ties="first")),
    *(a for a in ALL if a.name in UNEQUAL),
]
SCALE_FREE = [
    MeanLogOdds(frequencies="joint"),
    GeometricMean(frequencies="joint"),
    Eigenvector(frequencies="joint"),
    Borda(),
    WinRate(),
    Budgeted(),
    PageRank(),
    Kemeny(),
    Kemeny(ties="first"),
]
# Kemeny's promise depends on the size of the query, so it is not declared.
EQUIVARIANT = [
    GraphRelevance(),
    SVMRankAggregation(),
    ThurstoneMosteller(matrix="probit"),
    *(a for a in ALL if "equivariant" in a.properties),
    Kemeny(),
]
# Which comparison of a ballot comes first depends on the numbers of tied items.
ON_BALLOTS = [
    InstantRunoff(),
    OrderRelevance(),
    PlackettLuce(),
    PlackettLuce(ridge=0.1),
    PlackettLuce(last="unordered"),
    Plurality(),
    *(a for a in EQUIVARIANT if "sequential" not in a.properties),
]


NAMES = """
average-adjacency borda borda-count bradley-terry budgeted cascade click-through-rate coec coin copeland davidson
difference-graph dynamic-bradley-terry eigenvector elo geometric-mean glicko-2 graph-relevance identity instant-runoff
kemeny label-pairs labels limit-scores maximal-lotteries mean-log-odds mean-rank mean-score minimax net-weights
order-relevance pagerank permuted-elo plackett-luce plurality position-debiased predictions rank-centrality
ranked-pairs schulze svm-rank-aggregation thurstone-mosteller win-rate
"""


def close(actual, expected):
    return actual == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(sample=samples())
@examples(60)
def test_kernel_equals_numpy_form(aggregator, sample):
    assert close(compiled(aggregator, *sample), aggregator.aggregate(*sample))


@pytest.mark.parametrize(("aggregator", "k"), part_of(itertools.product(ALL, [1, 3, 10, 100, 1000, 4000]), 5), ids=str)
def test_kernel_equals_numpy_form_on_a_query_of_the_paper(aggregator, k):
    labels = np.random.default_rng(k).choice(5, size=100, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float)
    sample = btl_sample(labels, k, k)
    assert close(compiled(aggregator, *sample), aggregator.aggregate(*sample))


def relabelled(before, after, new):
    """Return whether `after` is `before` with item i called new[i]."""
    return close(after[new] if before.ndim == 1 else after[np.ix_(new, new)], before)


@pytest.mark.parametrize("aggregator", ON_BALLOTS, ids=str)
@given(sample=ballots(max_items=6), data=st.data())
@examples(20)
def test_relabelling_the_items_of_ballots(aggregator, sample, data):
    found, weights, m = sample
    new = np.array(data.draw(st.permutations(range(m))), dtype=np.int32)
    if all(sum(map(len, places)) == 1 for places in found):
        return
    before = aggregator.from_orders(build(found, weights), m)
    renamed = build([naming(new, places) for places in found], weights)
    assert relabelled(before, aggregator.from_orders(renamed, m), new)


@pytest.mark.parametrize("aggregator", [a for a in CENTERED if "sequential" not in a.properties], ids=str)
def test_ties_alone_leave_all_items_equal(aggregator):
    tied = Comparisons(
        np.array([0, 3]),
        np.array([0, 1, 0], dtype=np.int32),
        np.array([1, 2, 1], dtype=np.int32),
        np.array([1.0, 2.0, 5.0]),
        np.ones(3, dtype=bool),
    )
    assert aggregator.from_comparisons(tied, 4) == pytest.approx(np.zeros(4), abs=1e-9)


@pytest.mark.parametrize("aggregator", [a for a in ON_BALLOTS if not isinstance(a, BallotRule)], ids=str)
def test_ballots_that_say_nothing_are_refused(aggregator):
    with pytest.raises(InputError, match="ballots say nothing"):
        aggregator.from_orders(build([[[2]], [[0]]]), 3)


@pytest.mark.parametrize("aggregator", CENTERED, ids=str)
@given(sample=samples())
@examples(25)
def test_scores_sum_to_zero(aggregator, sample):
    for scores in (compiled(aggregator, *sample), aggregator.aggregate(*sample)):
        assert abs(scores.sum()) <= 1e-8 * max(1.0, np.abs(scores).sum())


@pytest.mark.parametrize("aggregator", POSITIVE, ids=str)
@given(sample=samples())
@examples(25)
def test_ratio_scores_are_positive_with_mean_one(aggregator, sample):
    for scores in (compiled(aggregator, *sample), aggregator.aggregate(*sample)):
        assert np.all(scores >= 0)
        assert scores.mean() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("aggregator", REVERSIBLE, ids=str)
@given(sample=samples())
@examples(25)
def test_reversing_every_judgment_negates_the_scores(aggregator, sample):
    winners, losers, weights, m = sample
    played = np.isin(np.arange(m), np.concatenate([winners, losers]))
    scores = compiled(aggregator, *sample)
    assert close(compiled(aggregator, losers, winners, weights, m), -scores)
    assert np.all(scores[~played] == 0)


@pytest.mark.parametrize("aggregator", SCALE_FREE, ids=str)
@given(sample=samples(), scale=st.floats(0.01, 100))
@examples(25)
def test_weights_in_other_units_change_nothing(aggregator, sample, scale):
    winners, losers, weights, m = sample
    assert close(compiled(aggregator, winners, losers, scale * weights, m), compiled(aggregator, *sample))


@given(sample=samples(), scale=st.floats(0.1, 10))
@examples(25)
def test_scaling_weights_is_scaling_the_regularizer(sample, scale):
    winners, losers, weights, m = sample
    for larger, plain in [
        (MeanLogOdds(smoothing=0.5 * scale), MeanLogOdds(smoothing=0.5)),
        (ThurstoneMosteller(smoothing=0.5 * scale), ThurstoneMosteller(smoothing=0.5)),
        (BradleyTerry(ridge=0.5 * scale), BradleyTerry(ridge=0.5)),
        (Eigenvector(smoothing=0.5 * scale), Eigenvector(smoothing=0.5)),
        (GeometricMean(smoothing=0.5 * scale), GeometricMean(smoothing=0.5)),
        (RankCentrality(smoothing=0.5 * scale), RankCentrality(smoothing=0.5)),
    ]:
        assert close(compiled(larger, winners, losers, scale * weights, m), compiled(plain, *sample))


def rows_of(aggregator, said):
    """Return by what a structure is divided that counts rows, or takes the first alone; 1 for all others."""
    if aggregator.name == "net-weights":
        return len(said)
    if aggregator.name in ("average-adjacency", "difference-graph"):
        return len(said.without_ties())
    return 1 / said.weights[0] if aggregator.name == "identity" else 1


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(sample=samples(weighted=False), data=st.data())
@examples(40)
def test_a_weight_of_w_is_w_judgments(aggregator, sample, data):
    winners, losers, _, m = sample
    k = len(winners)
    weights = np.array(data.draw(st.lists(st.integers(1, 6), min_size=k, max_size=k)))
    ties = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    again = np.repeat(np.arange(k), weights)
    one = Comparisons(np.array([0, k]), winners, losers, weights.astype(float), ties)
    ones = np.ones(len(again))
    many = Comparisons(np.array([0, len(again)]), winners[again], losers[again], ones, ties[again])
    expected = rows_of(aggregator, many) * aggregator.from_comparisons(many, m)
    assert close(rows_of(aggregator, one) * aggregator.from_comparisons(one, m), expected)
    if not ties.any():
        found = compiled(aggregator, winners, losers, weights.astype(float), m)
        assert close(rows_of(aggregator, one) * found, expected)


@pytest.mark.parametrize("aggregator", part_of(ON_BALLOTS), ids=str)
@given(sample=ballots(max_items=5), data=st.data())
@examples(25)
def test_a_ballot_of_weight_w_is_w_ballots(aggregator, sample, data):
    found, _, m = sample
    if all(sum(map(len, places)) == 1 for places in found):
        return
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(found), max_size=len(found)))
    one = build(found, [float(weight) for weight in weights])
    many = build([places for places, weight in zip(found, weights, strict=True) for _ in range(weight)])
    scale = [rows_of(aggregator, implied_comparisons(orders)) for orders in (one, many)]
    assert close(scale[0] * aggregator.from_orders(one, m), scale[1] * aggregator.from_orders(many, m))


def test_registered_once_under_their_names():
    registered = rankbench_register()
    assert sorted(a.name for a in registered) == NAMES.split()
    for aggregator in registered:
        assert aggregator.summary().endswith(".")
        # The runner's samples are comparisons: only aggregators of these have a form for it.
        interpreted = aggregator.needs_truth or issubclass(
            aggregator, (Coin, GraphRelevance, MajorityRule, PermutedElo, SVMRankAggregation)
        )
        assert (aggregator().kernel() is None) == (aggregator.judgments != "comparisons" or interpreted)


REGISTERED = [a() for a in rankbench_register() if a.judgments == "comparisons" and not a.needs_truth]


@pytest.mark.parametrize("aggregator", part_of(REGISTERED), ids=str)
@given(sample=samples(max_items=6), data=st.data())
@examples(15)
def test_a_structure_is_that_of_the_plain_form(aggregator, sample, data):
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


@given(sample=samples())
@examples(40)
def test_average_adjacency_is_the_mean_of_the_judgments(sample):
    expected = matrix(*sample) / len(sample[0])
    assert AverageAdjacency().aggregate(*sample) == pytest.approx(expected, rel=1e-12)


@given(sample=samples())
@examples(25)
def test_identity_is_the_first_judgment(sample):
    winners, losers, weights, m = sample
    assert np.array_equal(Identity().aggregate(*sample), matrix(winners[:1], losers[:1], weights[:1], m))


@given(sample=samples())
@examples(40)
def test_difference_graph_is_the_positive_part_of_the_differences(sample):
    average = compiled(AverageAdjacency(), *sample)
    graph = compiled(DifferenceGraph(), *sample)
    assert graph == pytest.approx(np.maximum(average - average.T, 0), rel=1e-9, abs=1e-9)
    assert np.all(graph >= 0)
    assert not (graph * graph.T).any(), "an edge in either direction"


def test_difference_graph_of_judgments_that_cancel_is_empty():
    winners, losers = np.array([[2, 1, 1, 0], [1, 2, 0, 1]], dtype=np.int32)
    assert not compiled(DifferenceGraph(), winners, losers, np.ones(4), 3).any()
    assert not DifferenceGraph().aggregate(winners, losers, np.ones(4), 3).any()
