"""Bayes risks against trying every order, and under the law that the simulators have."""

import itertools
import math

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.data.simulators.btl import limit_scores, preference_matrix
from rankbench.errors import InputError
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.surrogate import Loss
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.losses.positions import ERR, NDCG, Precision
from rankbench.methods.baselines import Oracle

SCORED = [
    NDCG(),
    NDCG(gain="exp", discount="reciprocal", cutoff=2),
    Precision(k=2),
    ERR(),
    ERR(gain="logistic", cutoff=3),
]
DISAGREEMENT = [PairwiseDisagreement(), PairwiseDisagreement(normalize=True)]


def tried(loss, structures, probabilities):
    """The least expected loss over all orders."""
    return min(
        sum(p * loss.value(np.array(order, float), s) for p, s in zip(probabilities, structures, strict=True))
        for order in itertools.permutations(range(structures.shape[1]))
    )


def law(seed, shape):
    rng = np.random.default_rng(seed)
    return rng, rng.dirichlet(np.ones(shape))


@pytest.mark.parametrize("loss", SCORED, ids=str)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
@examples(40)
def test_of_scores_it_is_the_best_of_all_orders(loss, m, count, seed, graded):
    rng, probabilities = law(seed, count)
    structures = rng.integers(0, 5, (count, m)).astype(float) if graded else rng.normal(size=(count, m))
    found = loss.bayes_risk(structures, probabilities)
    assert found.exact
    assert found.upper == pytest.approx(tried(loss, structures, probabilities), abs=1e-12)
    assert loss.expected(found.alpha, structures, probabilities) == found.upper


@pytest.mark.parametrize("loss", DISAGREEMENT, ids=str)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32 - 1), st.sampled_from([0.4, 1.0]))
@examples(40)
def test_of_graphs_it_is_the_best_of_all_orders(loss, m, count, seed, density):
    rng, probabilities = law(seed, count)
    structures = np.where(rng.random((count, m, m)) < density, rng.integers(0, 4, (count, m, m)), 0).astype(float)
    found = loss.bayes_risk(structures, probabilities)
    assert found.exact
    assert found.upper == pytest.approx(tried(loss, structures, probabilities), abs=1e-9)


def test_ties_can_do_no_better():
    """Weak orders, too: of scores with ties the loss is a mean over orders."""
    rng, probabilities = law(3, 3)
    structures = rng.integers(0, 5, (3, 4)).astype(float)
    graphs = rng.random((3, 4, 4))
    for loss, given_structures in [
        *((loss, structures) for loss in SCORED),
        *((loss, graphs) for loss in DISAGREEMENT),
    ]:
        least = loss.bayes_risk(given_structures, probabilities).lower
        for alpha in itertools.product(range(4), repeat=4):
            assert loss.expected(np.array(alpha, float), given_structures, probabilities) >= least - 1e-12


def cyclic(m, seed=0):
    """A random tournament: strongly connected, with many cycles."""
    rng = np.random.default_rng(seed)
    graph = np.triu(rng.normal(size=(m, m)), 1)
    return np.maximum(graph, 0) + np.maximum(-graph, 0).T


def test_large_cycles_are_bounded_and_small_ones_exact():
    loss = PairwiseDisagreement()
    large = loss.bayes_risk(cyclic(25)[None])
    assert 0 < large.lower < large.upper
    assert loss.value(large.alpha, cyclic(25)) == large.upper
    # Three cyclic groups one above another: exact, however many items there are.
    graph = np.zeros((21, 21))
    for g in range(3):
        part = slice(7 * g, 7 * g + 7)
        graph[part, part] = cyclic(7, g)
        graph[part, 7 * g + 7 :] = 1.0
    together = loss.bayes_risk(graph[None])
    assert together.exact
    assert together.upper == pytest.approx(sum(loss.bayes_risk(cyclic(7, g)[None]).upper for g in range(3)))


@given(st.integers(0, 2**32 - 1))
@examples(20)
def test_the_lower_bound_of_large_cycles_is_one(seed):
    """Where the exact value is at hand, the bound by cycles of three is below it."""
    from rankbench.kernels import best_order as kemeny_risk

    graph = cyclic(7, seed)
    exact = PairwiseDisagreement().bayes_risk(graph[None])
    limit, kemeny_risk.EXACT = kemeny_risk.EXACT, 2
    try:
        bounded = PairwiseDisagreement().bayes_risk(graph[None])
    finally:
        kemeny_risk.EXACT = limit
    assert bounded.lower <= exact.lower + 1e-12
    assert bounded.upper >= exact.upper - 1e-12


def graded(seed, sizes=(3, 40, 17)):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels = rng.integers(0, 5, int(offsets[-1])).astype(float)
    labels[offsets[:-1]], labels[offsets[:-1] + 1] = 0.0, 3.0
    return Queries([str(q) for q in range(len(sizes))], offsets, np.zeros((len(labels), 1), np.float32), labels)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", [*SCORED, ERR(discount="log2"), *DISAGREEMENT], ids=str)
def test_the_oracle_attains_it_under_btl(loss, seed):
    queries = graded(seed)
    block = Block(queries, None, 0, 0, (0,))  # type: ignore[arg-type]
    scores, limits = Oracle().fit(block).score(queries), limit_scores(queries)
    for q in range(len(queries)):
        part = slice(queries.offsets[q], queries.offsets[q + 1])
        truth = limits[part] if loss.structure == "scores" else preference_matrix(queries.labels[part])
        risk = loss.bayes_risk(truth[None])
        assert risk.exact
        assert loss.value(scores[part], truth) == pytest.approx(risk.upper, abs=1e-10)
        if loss.structure == "edges" and not loss.normalize:
            assert risk.upper == pytest.approx(np.minimum(truth, truth.T).sum() / 2)
        if isinstance(loss, NDCG | Precision):
            assert risk.upper == pytest.approx(0, abs=1e-12)


class Footrule(Loss):
    """A loss that knows nothing about its Bayes risk: the distance of positions from the scores."""

    name = "footrule"
    source = "test"
    range = (0.0, math.inf)

    def value(self, alpha, structure):
        return float(np.abs(np.argsort(np.argsort(-alpha)) - structure).sum())


class Agreement(Footrule):
    """The same, to be maximized."""

    name = "agreement"
    direction = "maximize"
    range = (-math.inf, 0.0)

    def value(self, alpha, structure):
        return -super().value(alpha, structure)


def test_other_losses_try_all_orders_of_few_items():
    structures = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    risk = Footrule().bayes_risk(structures, np.array([0.9, 0.1]))
    assert risk.exact
    assert risk.upper == pytest.approx(0.1 * 4)
    np.testing.assert_array_equal(np.argsort(-risk.alpha), [1, 2, 0])
    assert Agreement().bayes_risk(structures, np.array([0.9, 0.1])).upper == pytest.approx(-0.4)
    with pytest.raises(InputError, match="at most 8 items, not of 9"):
        Footrule().bayes_risk(np.zeros((1, 9)))


@pytest.mark.parametrize(
    ("loss", "structures", "probabilities", "said"),
    [
        (NDCG(), np.zeros(3), None, r"\(S, m\)"),
        (NDCG(), np.zeros((0, 3)), None, r"\(S, m\)"),
        (NDCG(), np.array([[0.0, np.nan]]), None, "finite"),
        (NDCG(), np.zeros((2, 3)), np.array([0.5, 0.6]), "sum 1"),
        (NDCG(), np.zeros((2, 3)), np.array([1.5, -0.5]), "sum 1"),
        (NDCG(), np.zeros((2, 3)), np.ones(1), "as many"),
        (PairwiseDisagreement(), np.zeros((1, 2, 3)), None, "m, m"),
        (PairwiseDisagreement(), -np.ones((1, 2, 2)), None, "at least 0"),
    ],
)
def test_bad_input_is_named(loss, structures, probabilities, said):
    with pytest.raises(InputError, match=said):
        loss.bayes_risk(structures, probabilities)
