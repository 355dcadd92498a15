"""Whatever an aggregator of a plugin returns: scores that are what was returned, or an error in words."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rankbench.counts.log_source import open_source
from rankbench.errors import RankbenchError
from rankbench.kinds.aggregator import Aggregator
from rankbench.ranking.log_loading import load_log
from rankbench.ranking.rank import rank

LOG = pl.DataFrame({"query_id": ["q"] * 3, "winner": ["a", "a", "b"], "loser": ["b", "c", "c"]})

RETURNED: list[Any] = [None]


class Anything(Aggregator):
    """Returns what a test puts here."""

    name: ClassVar[str] = "anything"
    source: ClassVar[str] = "test"

    def aggregate(self, winners: Any, losers: Any, weights: Any, m: int) -> Any:
        return RETURNED[0]


class Converts:
    """Converts itself to something, or fails to."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __array__(self, *arguments: Any, **named: Any) -> Any:
        if self.value is None:
            raise RuntimeError("not today")
        return np.asarray(self.value)

    def __repr__(self) -> str:
        raise RuntimeError("no name either")


plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(), st.binary(),
    st.dates(), st.just(datetime.timedelta(1)), st.just(object()), st.just(np.ma.masked),
)  # fmt: skip
dtypes = st.one_of(
    arrays.floating_dtypes(), arrays.integer_dtypes(), arrays.boolean_dtypes(), arrays.complex_number_dtypes(),
    arrays.datetime64_dtypes(), arrays.timedelta64_dtypes(), arrays.unicode_string_dtypes(),
    arrays.byte_string_dtypes(),
)  # fmt: skip
shapes = st.sampled_from([(), (0,), (2,), (3,), (3,), (3,), (4,), (3, 1), (1, 3), (3, 3)])
made = st.one_of(
    plain,
    dtypes.flatmap(lambda dtype: arrays.arrays(dtype, shapes)),
    st.lists(st.one_of(st.floats(-1e3, 1e3), st.integers(-9, 9)), min_size=3, max_size=3),
    st.recursive(plain, lambda inner: st.one_of(st.lists(inner, max_size=4), st.tuples(inner, inner)), max_leaves=6),
    st.dictionaries(st.text(max_size=3), plain, max_size=3),
    arrays.arrays(np.float64, 3).map(lambda values: np.ma.array(values, mask=[True, False, False])),
    st.one_of(plain, st.lists(st.floats(-9, 9), min_size=3, max_size=3)).map(Converts),
    st.just(np.array([None, object(), 1], dtype=object)),
)


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
    @given(made)
    def cases(value: object) -> None:
        ranked(value)

    return cases


def test_what_is_returned() -> None:
    campaign(200)()


@pytest.mark.long
def test_what_is_returned_many_times() -> None:
    campaign(20_000)()
    print({"values returned": 20_000})
