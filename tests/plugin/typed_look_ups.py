"""Types of look-ups: `make lint` checks this file, and rejects an ignored error that mypy does not find.

A look-up has the type of the class that is asked for.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, assert_type

import rankbench
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.plugin.manager import component_class


class Halved(rankbench.Method):
    """A method with a reference to a model."""

    name: ClassVar[str] = "halved"
    model: Annotated[rankbench.Model, rankbench.reference(rankbench.Model)]


def look_ups() -> None:
    """Look up what there is."""
    assert_type(rankbench.get(rankbench.Aggregator, "borda"), rankbench.Aggregator)
    assert_type(rankbench.get(SelectionAggregator, "cascade"), SelectionAggregator)
    assert_type(component_class(rankbench.Loss, "ndcg"), type[rankbench.Loss])


def no_look_ups() -> None:
    """Ask for what is no class of components, or has no such attribute."""
    rankbench.get("aggregator", "borda")  # type: ignore[arg-type]
    _ = rankbench.get(rankbench.Loss, "ndcg").gradient  # type: ignore[attr-defined]
    rankbench.get(int, "borda")  # type: ignore[type-var]
