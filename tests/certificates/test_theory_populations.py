"""Populations are what their class says, and votes follow their law."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import examples
from certify_laws import is_low_noise
from hypothesis import given
from hypothesis import strategies as st

from rankbench.certificates.kernels import draw_votes
from rankbench.certificates.populations import (
    GRAPHS,
    draw_populations,
    is_acyclic,
    mean_difference_graph,
    paper_populations,
)
from rankbench.kernels.random import seed_state


@examples(20)
@given(st.integers(0, 10**6), st.integers(3, 6))
def test_classes_of_noise(seed, m):
    for population in draw_populations("low-noise", 3, m, seed_state((seed,))):
        assert is_low_noise(population.votes)
    for population in draw_populations("acyclic", 3, m, seed_state((seed,))):
        assert is_acyclic(mean_difference_graph(population.votes))
    for population in draw_populations("cyclic", 3, m, seed_state((seed,))):
        assert not is_acyclic(mean_difference_graph(population.votes))


def test_votes_are_a_distribution():
    for population in (*draw_populations("cyclic", 5, 4, seed_state((1,))), *paper_populations()):
        assert population.votes.sum() == pytest.approx(1)
        assert (population.votes >= 0).all()
        assert not population.votes.diagonal().any()


def test_acyclic_populations_are_not_all_low_noise():
    drawn = draw_populations("acyclic", 20, 4, seed_state((2,)))
    assert not all(is_low_noise(population.votes) for population in drawn)


def test_items_are_in_no_particular_order():
    """The item that the others beat is any of them."""
    drawn = draw_populations("low-noise", 60, 3, seed_state((3,)))
    last = {int(np.argmin(p.votes.sum(axis=1) - p.votes.sum(axis=0))) for p in drawn}
    assert last == {0, 1, 2}


def test_those_of_the_paper():
    first, second = paper_populations()
    assert first.votes[0, 2] / first.votes[0, 1] == pytest.approx(3)
    assert second.votes == pytest.approx(GRAPHS[1].mean)
    assert is_low_noise(first.votes)
    assert is_low_noise(second.votes)


def test_draws_have_the_frequencies_of_the_law():
    votes = paper_populations()[0].votes
    n, m = 40_000, 3
    winners, losers = np.empty(n, np.int32), np.empty(n, np.int32)
    upto = np.cumsum(votes.ravel())
    upto[-2:] = 1.0
    draw_votes(upto, m, seed_state((4,)), winners, losers)
    found = np.zeros((m, m))
    np.add.at(found, (winners, losers), 1 / n)
    assert not found[votes == 0].any()
    assert found == pytest.approx(votes, abs=4 * np.sqrt(0.25 / n))
    half = np.empty(100, np.int32), np.empty(100, np.int32)
    draw_votes(upto, m, seed_state((4,)), *half)
    assert half[0].tolist() == winners[:100].tolist()
