"""What protocols declare about their metrics."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pytest

from rankbench.errors import PluginError
from rankbench.kinds.metric import Fact, Metric
from rankbench.kinds.protocol import Protocol
from rankbench.plugin import manager


@pytest.mark.parametrize("given", [{"regret": "minimize"}, ["regret"], (("regret", "minimize"),)])
def test_metrics_that_are_no_values_are_refused_with_what_to_write(given: Any) -> None:
    with pytest.raises(PluginError, match=r"write a tuple of rankbench\.kinds\.metric\.Metric"):

        class Old(Protocol):
            metrics: ClassVar[Any] = given


@pytest.mark.parametrize("name", manager.names("protocol"))
def test_a_chance_level_lies_in_the_range(name: str) -> None:
    for metric in manager.component_class(Protocol, name).metrics:
        low = -math.inf if metric.low is None else metric.low
        high = math.inf if metric.high is None else metric.high
        assert low < high
        assert metric.chance is None or low <= metric.chance <= high
        assert not metric.sentence or metric.sentence.endswith(".")


def test_units_of_one_title_are_explained_alike() -> None:
    """One page may have experiments of several protocols: its legend explains each title once."""
    explained: dict[str, set[str]] = {}
    for name in manager.names("protocol"):
        for title in manager.component_class(Protocol, name).splits.values():
            explained.setdefault(title.partition(" (")[0], set()).add(title)
    assert {title: found for title, found in explained.items() if len(found) > 1} == {}


def test_which_way_is_better_in_words() -> None:
    assert (Metric("a").better, Metric("a", "maximize").better) == ("less is better", "more is better")


@pytest.mark.parametrize(
    ("value", "told"), [(-1.0, False), (0.0, False), (0.5, True), (1.0, False), (math.nan, False), (2.0, False)]
)
def test_a_fact_is_told_between_its_bounds(value: float, told: bool) -> None:
    assert Fact("share", "A share", below=1.0).tells(value) is told
