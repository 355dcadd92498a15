"""Probes fire on boards with the fault that they look for, and the whole page seldom on clean boards.

`make audit-levels` prints the counts of 200 planted and 1,000 clean boards; here are fewer, with bounds that follow.
"""

from __future__ import annotations

import pytest
from boards import CLEAN, PLANTED, false_alarms, fired
from scipy.stats import binom


@pytest.mark.full
@pytest.mark.parametrize("name", CLEAN)
def test_every_probe_that_tests_has_a_planted_board(name: str) -> None:
    tests, _ = fired(CLEAN[name](1))
    assert {*tests} <= {*PLANTED}


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_planted_boards_fire(name: str) -> None:
    count, found = 20, sum(name in fired(PLANTED[name](seed))[1] for seed in range(20))
    assert binom.cdf(found, count, 0.95) > 0.001


@pytest.mark.long
@pytest.mark.parametrize("name", CLEAN)
def test_clean_boards_seldom_fire(name: str) -> None:
    count, found = 50, sum(bool(false_alarms(name, seed)) for seed in range(50))
    assert binom.sf(found - 1, count, 0.05) > 0.001
