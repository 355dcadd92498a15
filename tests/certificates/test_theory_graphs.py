"""The laws of [DMJ10] and [DMJ13] about difference graphs, on random ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from amounts import examples
from certify_laws import is_low_noise
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankbench.certificates import populations as known
from rankbench.certificates.laws import Law, why_not_in_class
from rankbench.certificates.populations import is_acyclic, mean_difference_graph
from rankbench.certificates.true_risk import orders_of, true_loss
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.surrogates.pairwise import Linear

LAW = examples(60)

# Eighths are exact in binary: no law fails for rounding.
eighths = st.integers(0, 24).map(lambda n: n / 8)


@st.composite
def means(draw, sizes=(2, 3, 4, 5)):
    m = draw(st.sampled_from(sizes))
    matrix = np.array(draw(arrays(np.float64, (m, m), elements=eighths)))
    np.fill_diagonal(matrix, 0)
    return matrix


@st.composite
def low_noise_means(draw, sizes=(2, 3, 4)):
    """Superadditive leads along a hidden order, noise alike in both directions, relabeled."""
    m = draw(st.sampled_from(sizes))
    lead = np.zeros((m, m))
    for distance in range(1, m):
        for i in range(m - distance):
            j = i + distance
            base = max((lead[i, k] + lead[k, j] for k in range(i + 1, j)), default=0)
            lead[i, j] = base + draw(eighths) + (1 / 8 if distance == 1 else 0)
    noise = np.array(draw(arrays(np.float64, (m, m), elements=eighths)))
    matrix = lead + np.triu(noise, 1) + np.triu(noise, 1).T
    order = draw(st.permutations(range(m)))
    return matrix[np.ix_(order, order)]


def net_weights(mean):
    return mean.sum(axis=1) - mean.sum(axis=0)


def in_class(noise, mean):
    """Whether a mean graph is in a class, in exact numbers."""
    graph = {(i, j): Fraction(mean[i, j]) for i, j in zip(*np.nonzero(mean), strict=True)}
    return not why_not_in_class(noise, Law(len(mean), ((Fraction(1), graph),)))


def consistent_in_theorem_13(mean):
    """Whether net weights order every pair as the difference graph does."""
    net = net_weights(mean)
    ahead = net[:, None] - net[None, :] > 1e-12 * mean.max(initial=0.0)
    return bool(ahead[mean_difference_graph(mean) > 0].all())


def cyclic_by_walks(difference):
    """Whether some item reaches itself: the trace of the powers of the adjacency matrix."""
    edge = (difference > 0).astype(int)
    reach = edge.copy()
    for _ in range(len(edge)):
        if np.trace(reach):
            return True
        reach = ((reach @ edge) > 0).astype(int)
    return False


@LAW
@given(means())
def test_acyclic_is_no_walk_back(mean):
    difference = mean_difference_graph(mean)
    assert is_acyclic(difference) == in_class("dag", mean) == (not cyclic_by_walks(difference))


@LAW
@given(means())
def test_definition_4_word_for_word(mean):
    m, lead = len(mean), mean - mean.T
    triples = [(i, j, k) for i in range(m) for j in range(m) for k in range(m) if lead[i, j] > 0 and lead[j, k] > 0]
    assert in_class("low", mean) == all(lead[i, k] >= lead[i, j] + lead[j, k] for i, j, k in triples)


@LAW
@given(low_noise_means())
def test_lemma_14(mean):
    assert in_class("low", mean)
    assert in_class("dag", mean)
    net, lead = net_weights(mean), mean - mean.T
    assert all(net[i] > net[k] for i, k in zip(*np.nonzero(lead > 0), strict=True))
    assert consistent_in_theorem_13(mean)


def minimizers(mean):
    """Return alphas of all weak orders that minimize (11), and of those that do not."""
    m, loss = len(mean), PairwiseDisagreement()
    alphas = [np.array(levels, float) for levels in np.ndindex(*(m,) * m)]
    values = np.array([loss.value(alpha, mean) for alpha in alphas])
    best = values <= values.min() + 1e-12
    return [a for a, b in zip(alphas, best, strict=True) if b], [a for a, b in zip(alphas, best, strict=True) if not b]


@LAW
@given(means(sizes=(2, 3)))
def test_lemma_16(mean):
    """The difference graph is a DAG if and only if A(p) is the set of alphas that obey its edges."""

    def obeys(alpha):
        edges = zip(*np.nonzero(mean_difference_graph(mean)), strict=True)
        return all(alpha[i] > alpha[j] if i < j else alpha[i] >= alpha[j] for i, j in edges)

    best, others = minimizers(mean)
    is_that_set = all(obeys(alpha) for alpha in best) and not any(obeys(alpha) for alpha in others)
    assert is_that_set == is_acyclic(mean_difference_graph(mean))


def test_settings_are_what_their_names_say():
    for setting in (*known.GRAPHS, *known.SCORES):
        assert sum(setting.probabilities) == pytest.approx(1)
        assert len({s.shape for s in setting.structures}) == 1
    for setting in known.GRAPHS:
        low, acyclic = is_low_noise(setting.mean), is_acyclic(mean_difference_graph(setting.mean))
        kind = "low noise" if low else "acyclic" if acyclic else "cycle"
        assert setting.name.endswith((f"({kind})", kind))


def test_edges_from_one_item_leave_the_others_in_any_order():
    """Section 3.1 of 2010: 1 over 2 and 1 over 3 alone. The value-regularized loss ties 2 and 3."""
    law = Law(3, ((Fraction(1), {(0, 1): Fraction(1), (0, 2): Fraction(1)}),))
    right, wrong = orders_of(true_loss(PairwiseDisagreement(), 3), law)
    assert right == [(0, 1, 2), (0, 2, 1)]
    assert len(wrong) == 4
    alpha = Linear().target(net_weights(np.array([[0.0, 1, 1], [0, 0, 0], [0, 0, 0]])))
    assert np.abs(Linear().value_and_gradient(alpha, alpha)[1]).max() < 1e-12
    assert alpha[0] > alpha[1] == alpha[2]
