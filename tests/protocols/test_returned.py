"""What foreign components return instead of numbers is a failure with its reason, wherever it comes in."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from any_values import SPOILT
from small_blocks import make_block

from rankbench.aggregators.rates import WinRate
from rankbench.core.text import returned_numbers
from rankbench.errors import PluginError
from rankbench.interfaces.aggregator import ComparisonAggregator, CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, sample_structure, structure_of
from rankbench.interfaces.method import Fitted, Model
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons
from rankbench.methods.erm import ERM
from rankbench.protocols.judging import fit


@pytest.fixture(params=SPOILT)
def bad(request: pytest.FixtureRequest) -> tuple[Any, str]:
    return SPOILT[request.param]


def failure(outcome: object, words: str) -> None:
    assert isinstance(outcome, Exception), outcome
    assert not isinstance(outcome, TypeError), "NumPy's own words, by luck"
    assert words in str(outcome), str(outcome)


class Borda(ComparisonAggregator):
    """Wins less losses, returned as a test asks."""

    name: ClassVar[str] = "spoilt-borda"
    source: ClassVar[str] = "A test"
    spoilt: ClassVar[Any] = staticmethod(lambda a: a)

    def aggregate(self, winners: Any, losers: Any, weights: Any, m: int) -> Any:
        return type(self).spoilt(np.bincount(winners, weights, m) - np.bincount(losers, weights, m))


def test_aggregators_in_fits_protocols_and_rankings(bad: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt, words = bad
    block = make_block([4, 5], 30)
    good = fit(block, {"a": ERM(aggregator=Borda(), draws=20)})["a"]
    assert isinstance(good, Fitted)
    monkeypatch.setattr(Borda, "spoilt", staticmethod(spoilt))
    for k in (math.inf, 3):
        failure(fit(block, {"a": ERM(aggregator=Borda(), k=k, draws=20)})["a"], words)
    one, two = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    said = Comparisons(np.array([0, 2]), one, two, np.ones(2))
    with pytest.raises(PluginError, match=words):
        structure_of(Borda(), said, 3)

    class FromCounts(CountAggregator):
        name = "from-counts"
        source = "a test"
        __module__ = "foreign"

        def from_counts(self, counts: PairCounts) -> Any:
            return spoilt(np.ones(counts.m))

    counts = PairCounts(["a", "b", "c"], np.array([0, 1, 2, 2]), two, np.ones(2), np.zeros(2), np.zeros(2), 2)
    with pytest.raises(PluginError, match=words):
        call_aggregator(FromCounts(), counts, 3)


def test_what_a_mixin_brings_is_foreign_too(bad: tuple[Any, str]) -> None:
    spoilt, words = bad

    class Mixin:
        def kernel(self) -> None:
            return None

        def from_counts(self, counts: PairCounts) -> Any:
            return spoilt(np.ones(counts.m))

    class Mixed(Mixin, WinRate):
        name: ClassVar[str] = "mixed"

    with pytest.raises(PluginError, match=words):
        sample_structure(Mixed(), np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1), 3)


def test_features_of_models(bad: tuple[Any, str]) -> None:
    spoilt, words = bad

    class Features(Model):
        name: ClassVar[str] = "features-one"
        source: ClassVar[str] = "A test"

        def features(self, x: Any) -> Any:
            return spoilt(x)

    failure(fit(make_block([4, 5], 30), {"a": ERM(model=Features(), draws=20)})["a"], words)


def test_what_numbers_are() -> None:
    for fine in (np.ones(3), np.ones(3, np.float32), np.arange(3), [1, 2.5], (1.0,), np.float64(2), 3, np.ones((2, 2))):
        assert type(returned_numbers(fine, "scores")) is np.ndarray
        assert np.array_equal(returned_numbers(fine, "scores"), fine)
    for wrong in (True, np.True_, 1j, "1", None, np.timedelta64(1), object(), np.ma.masked):
        with pytest.raises(PluginError, match="scores: returned"):
            returned_numbers(wrong, "scores")
