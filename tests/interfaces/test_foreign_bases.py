"""Classes of plugins that derive from a base of the plugin's own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from rankbench.aggregators.rates import WinRate
from rankbench.errors import PluginError
from rankbench.interfaces.aggregator import Aggregator, ComparisonAggregator, CountAggregator
from rankbench.logs.open import open_log
from rankbench.plugin.registry import Origin, Registry
from rankbench.ranking.load import load_log
from rankbench.ranking.rank import rank


class Wins(ComparisonAggregator):
    """Weight of the wins."""

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return np.bincount(winners, weights, m)


class TwiceTheWins(Wins):
    """Twice that, by a name of its own."""

    name: ClassVar[str] = "twice-the-wins"
    source: ClassVar[str] = "test"

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return 2 * super().aggregate(winners, losers, weights, m)


class Named(Wins):
    """The same, without a method of its own."""

    name: ClassVar[str] = "named"
    source: ClassVar[str] = "test"


def test_one_that_takes_votes_one_by_one_is_shown_them() -> None:
    """Neither the base nor what derives from it has `from_counts`, though both define or inherit `aggregate`."""
    log = pl.DataFrame(
        {"query_id": ["q"] * 3, "winner": ["a", "a", "b"], "loser": ["b", "c", "c"], "weight": [1.0, 2.0, 3.0]}
    )
    for aggregator, expected in ((Named(), [3.0, 3.0, 0.0]), (TwiceTheWins(), [6.0, 6.0, 0.0])):
        assert not isinstance(aggregator, CountAggregator)
        loaded, chosen = load_log(open_log(log).judged(), aggregator, None, pooled=True)
        ranking = rank(loaded, aggregator, intervals=chosen, resamples=2, seed=0)
        assert dict(zip(ranking.items, ranking.scores, strict=True)) == dict(zip("abc", expected, strict=True))


class Doubled(WinRate):
    """Two formulas: of counts by its base, of votes by itself."""

    name: ClassVar[str] = "doubled"

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return 2 * super().aggregate(winners, losers, weights, m)


class Rootless(Aggregator):
    """Of comparisons, but without their base."""

    name: ClassVar[str] = "rootless"
    source: ClassVar[str] = "test"

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return np.bincount(winners, weights, m)


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Doubled, "Doubled: it defines aggregate, but rankbench makes aggregate of a CountAggregator"),
        (Rootless, "Rootless: it defines aggregate, but does not derive from rankbench.ComparisonAggregator"),
    ],
)
def test_a_class_that_does_not_fit_its_base_is_rejected_in_words(cls: type[Aggregator], words: str) -> None:
    with pytest.raises(PluginError, match=words):
        Registry().add(cls, Origin("third", "1", "x"))
    with pytest.raises(PluginError, match=words):
        cls()
