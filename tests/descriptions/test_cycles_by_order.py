"""Cycles of majorities beside those that chance makes of one order."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import trials
from drawn_votes import named
from scipy.special import expit

from rankbench.descriptions.describe_votes import cycles_by_order, describe_votes, majority
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count import count_pairs


def drawn(seed: int, skills: np.ndarray, votes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return so many votes on each pair: both items, and whether the first won."""
    one, other = (np.repeat(side, votes) for side in np.triu_indices(len(skills), 1))
    return one, other, np.random.default_rng([seed, votes]).random(len(one)) < expit(skills[one] - skills[other])


def counted(one: np.ndarray, other: np.ndarray, won: np.ndarray) -> PairCounts:
    return count_pairs(np.where(won, one, other), np.where(won, other, one))


def test_a_quarter_of_triples_of_equal_items_are_cycles() -> None:
    """Of the eight results of three fair votes two are cycles."""
    found = cycles_by_order(counted(*drawn(1, np.zeros(30), 1)))
    assert found is not None
    assert found[0] < 0.25 < found[1] + 0.01
    assert found[1] - found[0] < 0.06


def test_items_far_apart_make_no_cycles() -> None:
    assert cycles_by_order(counted(*drawn(1, 5.0 * np.arange(8), 40))) == (0.0, 0.0)


@pytest.mark.parametrize(("skills", "votes"), [(np.zeros(12), 1), (np.linspace(-1, 1, 12), 2)])
def test_one_order_is_seldom_doubted(skills: np.ndarray, votes: int) -> None:
    """One to three votes a pair make cycles of 15 to 25% of triples."""
    beyond, logs = 0, trials(120)
    for seed in range(logs):
        counts = counted(*drawn(seed, skills, votes))
        found = cycles_by_order(counts)
        assert found is not None
        beyond += majority(counts).share() > found[1]
    assert beyond <= (0.05 + 2 * np.sqrt(0.05 * 0.95 / logs)) * logs


def test_a_circle_is_found() -> None:
    """Each of 21 items beats the next ten around a circle: 385 of 1,330 triples are cycles, which is the most."""
    one, other = (np.repeat(side, 10) for side in np.triu_indices(21, 1))
    first = np.tile(np.arange(10) < 8, 210)
    won = np.where(other - one > 10, ~first, first)
    line = dict(describe_votes(named(one, other, won).lazy()).lines)["majority"]
    assert "cycles in 385 of 1,330 triples (28.9%); chance makes" in line
    assert line.endswith("where one order is behind the votes  !")
    ordered = dict(describe_votes(named(one, other, first).lazy()).lines)["majority"]
    assert "cycles in 0 of 1,330 triples (0.0%); chance makes" in ordered
    assert not ordered.endswith("!")


def test_ties_change_nothing() -> None:
    """Majorities are of votes that someone won, on pairs that have some."""
    one, other, won = drawn(2, np.linspace(-1, 1, 9), 4)
    sides = np.where(won, one, other), np.where(won, other, one)
    both = count_pairs(*(np.tile(side, 2) for side in sides), ties=np.repeat([False, True], len(one)))
    assert cycles_by_order(both) == cycles_by_order(counted(one, other, won))


def test_weights_and_many_items_are_not_simulated() -> None:
    assert cycles_by_order(count_pairs([0, 1, 2], [1, 2, 0], weights=[1.0, 2.0, 0.5])) is None
    assert cycles_by_order(count_pairs(np.arange(299), np.arange(1, 300))) is None
    weighted = named([0, 1, 2], [1, 2, 0], weight=[1.0, 2.0, 3.0])
    assert (
        dict(describe_votes(weighted.lazy()).lines)["majority"] == "3 pairs decided; cycles in 1 of 1 triple (100.0%)"
    )
