"""Whatever an aggregator of a plugin returns: scores that are what was returned, or an error in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from any_values import anything
from hypothesis import HealthCheck, given, seed, settings

from rankbench.errors import RankbenchError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.ranking.load import load_log
from rankbench.ranking.open import open_source
from rankbench.ranking.rank import rank

LOG = pl.DataFrame({"query_id": ["q"] * 3, "winner": ["a", "a", "b"], "loser": ["b", "c", "c"]})

RETURNED: list[Any] = [None]


class Anything(Aggregator):
    """Returns what a test puts here."""

    name: ClassVar[str] = "anything"
    source: ClassVar[str] = "test"

    def aggregate(self, winners: Any, losers: Any, weights: Any, m: int) -> Any:
        return RETURNED[0]


@cache
def loaded() -> Any:
    """Return the log, loaded once for all values."""
    return load_log(open_source(LOG).judged(), Anything(), None, pooled=True)


def ranked(value: object) -> None:
    """Rank a log by an aggregator that returns a value."""
    RETURNED[0] = value
    log, chosen = loaded()
    try:
        ranking, _ = rank(log, Anything(), intervals=chosen, resamples=2, seed=0)
    except RankbenchError as error:
        assert str(error).strip()  # noqa: PT017
        return
    assert np.isfinite(ranking.scores).all()
    assert ranking.scores.tolist() == [float(number) for number in np.asarray(value)]


def campaign(examples: int) -> Callable[[], None]:
    @seed(20130501)
    @settings(max_examples=examples, deadline=20_000, database=None, suppress_health_check=list(HealthCheck))
    @given(anything)
    def cases(value: object) -> None:
        ranked(value)

    return cases


def test_what_is_returned() -> None:
    campaign(200)()


@pytest.mark.long
def test_what_is_returned_many_times() -> None:
    campaign(20_000)()
    print({"values returned": 20_000})
