"""Agreement of structures with populations, by counting pairs one by one."""

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.protocols.aggregation import directions, misordered, regret, rmse

SMALL = st.integers(-3, 3).map(float)


@st.composite
def cases(draw):
    m = draw(st.integers(2, 6))
    scores = np.array(draw(st.lists(SMALL, min_size=m, max_size=m)))
    order = np.array(draw(st.permutations(range(m))))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    wins = np.triu(rng.random((m, m)), 1)
    return scores, order, wins + np.tril(1 - wins.T, -1)


@given(case=cases())
@examples(60)
def test_pairs_one_by_one(case):
    scores, order, wins = case
    m = len(order)
    wrong, lost = 0.0, 0.0
    for at, i in enumerate(order):
        for j in order[at + 1 :]:
            share = 0.5 if scores[i] == scores[j] else float(scores[i] < scores[j])
            wrong += share
            # Disagreement with a preference that is i over j with probability wins[i, j].
            lost += share * wins[i, j] + (1 - share) * wins[j, i] - wins[j, i]
    pairs = m * (m - 1) / 2
    assert misordered(scores, order) == pytest.approx(wrong / pairs)
    assert regret(scores, order, wins) == pytest.approx(lost / pairs)
    # A graph with these directions is judged alike.
    graph = np.maximum(scores[:, None] - scores[None, :], 0) + 0.25
    np.fill_diagonal(graph, 0)
    assert misordered(graph, order) == pytest.approx(wrong / pairs)
    assert regret(graph, order, wins) == pytest.approx(lost / pairs)


def test_levels():
    assert directions(np.array([0.1 + 0.2, 0.3, 1.0]))[0].tolist() == [0, 0, -1]
    assert not directions(np.zeros((3, 3))).any()
    assert directions(np.array([[0, 2.0], [1.0, 0]])).tolist() == [[0, 1], [-1, 0]]


def test_rmse_after_the_best_fit():
    rng = np.random.default_rng(2)
    truth, scores = rng.normal(size=9), rng.normal(size=9)
    design = np.stack([scores, np.ones(9)], axis=1)
    residual = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    assert rmse(scores, truth) == pytest.approx(np.sqrt(np.mean(residual**2)))
    assert rmse(3 - 2 * truth, truth) == pytest.approx(0, abs=1e-12)
    assert rmse(np.full(9, 4.0), truth) == pytest.approx(truth.std())
