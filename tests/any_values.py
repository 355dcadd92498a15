"""Whatever a component may return: values of all types, three numbers most often."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays


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


SPOILT = {
    "complex": (lambda a: a + 1j, "an array of complex"),
    "masked": (lambda a: np.ma.masked_array(a, np.arange(a.size).reshape(a.shape) == 0), "masked array"),
    "objects": (lambda a: a.astype(object), "an array of object"),
    "dates": (lambda a: a.astype("i8").astype("M8[s]"), "datetime64"),
    "durations": (lambda a: a.astype("i8").astype("m8[s]"), "timedelta64"),
    "booleans": (lambda a: a > 0, "an array of bool"),
    "texts": (lambda a: a.astype(str).tolist(), "an array of <U"),
    "nothing": (lambda a: None, "an array of object"),
}
"""How numbers are spoilt, and what the reason says."""

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
anything = st.one_of(
    plain,
    dtypes.flatmap(lambda dtype: arrays.arrays(dtype, shapes)),
    st.lists(st.one_of(st.floats(-1e3, 1e3), st.integers(-9, 9)), min_size=3, max_size=3),
    st.recursive(plain, lambda inner: st.one_of(st.lists(inner, max_size=4), st.tuples(inner, inner)), max_leaves=6),
    st.dictionaries(st.text(max_size=3), plain, max_size=3),
    arrays.arrays(np.float64, 3).map(lambda values: np.ma.array(values, mask=[True, False, False])),
    st.one_of(plain, st.lists(st.floats(-9, 9), min_size=3, max_size=3)).map(Converts),
    st.just(np.array([None, object(), 1], dtype=object)),
)
