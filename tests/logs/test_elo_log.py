"""Elo ratings of a stream against the aggregator and a plain loop."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankbench.aggregators.elo import Elo
from rankbench.errors import InputError
from rankbench.logs.sequential import elo_log


def test_equals_the_aggregator() -> None:
    rng = np.random.default_rng(0)
    winners = rng.integers(0, 8, 1500).astype(np.int32)
    losers = ((winners + rng.integers(1, 8, 1500)) % 8).astype(np.int32)
    weights = rng.random(1500) + 0.1
    expected = Elo(factor=20.0).aggregate(winners, losers, weights, 8)
    names = np.array(list("abcdefgh"))
    log = pl.DataFrame({"winner": names[winners], "loser": names[losers], "weight": weights})
    items, scores = elo_log(log, factor=20.0)
    assert items == list("abcdefgh")
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    items, scores = elo_log(pl.DataFrame({"winner": winners + 5, "loser": losers + 5, "weight": weights}), factor=20.0)
    assert items == [str(i) for i in range(5, 13)]
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_a_tie_brings_the_two_together() -> None:
    log = pl.DataFrame({"winner": ["a", "a"], "loser": ["b", "b"], "tie": [False, True]})
    _, one = elo_log(log.head(1))
    _, two = elo_log(log)
    assert one[0] == pytest.approx(16 * np.log(10) / 400)
    assert 0 < two[0] < one[0]


def test_bad_rows_are_named() -> None:
    with pytest.raises(InputError, match="compared with itself") as caught:
        elo_log(pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "b"]}))
    assert caught.value.row == 2
    with pytest.raises(InputError, match="factor"):
        elo_log(pl.DataFrame({"winner": ["a"], "loser": ["b"]}), factor=0.0)
