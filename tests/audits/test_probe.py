"""The p of simulated boards has the level that it states, whether or not the tenth extreme board ends the test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from rankbench.audits.probe import ENOUGH, SIMULATED, simulated_p


def test_fewer_extreme_boards_than_end_a_test_count_beside_the_log() -> None:
    assert simulated_p([False] * SIMULATED) == pytest.approx(1 / 1000)
    assert simulated_p([True] * 3 + [False] * 96) == pytest.approx(4 / 100)


def test_boards_after_the_tenth_extreme_one_change_nothing() -> None:
    until = [False, True] * ENOUGH
    assert simulated_p(until) == simulated_p([*until, True, False, False]) == pytest.approx(10 / 20)


def test_a_clean_board_has_a_p_below_a_level_as_often_as_the_level_says() -> None:
    rng, boards = np.random.default_rng(3), 3000
    extreme = rng.random((boards, SIMULATED)) < rng.random((boards, 1))
    found = np.array([simulated_p(row) for row in extreme])
    for level in (0.005, 0.05, 0.2, 0.5):
        count = int((found <= level + 1e-12).sum())
        assert binom.cdf(count, boards, level) > 0.0005
        assert binom.sf(count - 1, boards, level) > 0.0005
