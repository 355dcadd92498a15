"""The example does what it declares, and is what the README says."""

import numpy as np
from rankbench_example import SquaredHinge

import rankbench
from rankbench.testing import parametrize_with_checks


@parametrize_with_checks([SquaredHinge])
def test_it_does_what_it_declares(check):
    check()


def test_rankbench_knows_it():
    assert isinstance(rankbench.get(rankbench.Surrogate, "squared-hinge"), SquaredHinge)


def test_a_margin_of_one_costs_nothing():
    np.testing.assert_array_equal(SquaredHinge().phi(np.array([2.0, 1.0, 0.0, -1.0])), [0.0, 0.0, 0.5, 2.0])
