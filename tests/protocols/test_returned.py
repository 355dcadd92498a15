"""What foreign components return instead of numbers is a failure with its reason, wherever it comes in."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

import numpy as np
import pytest
from any_values import SPOILT
from small_blocks import make_block

from rankbench.aggregators.rates import WinRate
from rankbench.core.text import returned_numbers, trouble_with
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


class Fickle:
    """Real numbers when it is asked for the first time, complex ones after that."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.asked = 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.asked += 1
        return self.real if self.asked == 1 else self.real + 1j


class Odd(np.ndarray[Any, Any]):
    """An array that shows other numbers than it has."""

    def __array_function__(self, *args: Any, **named: Any) -> Any:
        return np.zeros(1) + 1j


def test_the_numbers_that_were_checked_are_those_that_are_used() -> None:
    real = np.array([0.5, 0.25])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns where it drops an imaginary part
        found = returned_numbers(Fickle(real), "scores")
        assert type(found) is np.ndarray
        assert found.tolist() == [0.5, 0.25]
        assert returned_numbers((Fickle(np.array(2.0)), Fickle(real)), "both", "number and array")[0] == 2.0
        for given in (real.view(Odd), [0.5, 0.25]):
            assert type(returned_numbers(given, "scores")) is np.ndarray
            assert returned_numbers(given, "scores").tolist() == [0.5, 0.25]


@pytest.mark.parametrize("kind", [np.uint64, np.int64])
def test_integers_that_float64_would_make_ties_are_refused(kind: type[Any]) -> None:
    far = np.array([2**53, 2**53 + 1], kind)
    assert len(set(far.astype(float))) == 1, "a tie that was none"
    assert "beyond 2^53" in trouble_with(far)
    assert "beyond 2^53" in trouble_with([0, 2**53 + 1])
    assert not trouble_with(far[:1])
    assert not trouble_with(far[:0])
    if kind is np.int64:
        assert "beyond 2^53" in trouble_with(-far)
        assert "beyond 2^53" in trouble_with(np.array([-(2**63)]))
        assert not trouble_with(-far[:1])


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
        assert not trouble_with(fine)
    for fine in (1, 2.5, np.float32(1), np.int64(3), np.ones(()), math.nan):
        assert not trouble_with(fine, "number")
    for wrong in (True, np.True_, 1j, "1", None, np.timedelta64(1), np.ones(1), [1.0], object()):
        assert trouble_with(wrong, "number")
    assert not trouble_with((1.0, np.ones(2)), "number and array")
    assert not trouble_with((np.ones(1), np.ones(2)), "arrays")
    assert trouble_with(np.ones(2), "number and array") == "a value of type ndarray, not a tuple of two"
    assert trouble_with([[1.0], [1.0, 2.0]])
