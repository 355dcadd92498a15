import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler

from rankbench.data.tables.items import apply
from rankbench.errors import SpecError
from rankbench.interfaces.queries import Queries


def queries(x, sizes):
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Queries([str(q) for q in range(len(sizes))], offsets, np.asarray(x, np.float32), np.zeros(len(x)))


matrices = hnp.arrays(np.float32, (6, 3), elements=st.floats(-(2.0**60), 2.0**60, width=32))


@examples(80)
@given(matrices)
def test_signed_log1p(x):
    found = apply(["signed-log1p"], queries(x, [2, 4])).x
    expected = np.sign(x) * np.log1p(np.abs(x.astype(np.float64)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-38)
    mirrored = apply(["signed-log1p"], queries(-x, [2, 4])).x
    assert np.array_equal(mirrored, -found)


@examples(80)
@given(hnp.arrays(np.float32, (6, 3), elements=st.integers(-1000, 1000)))
def test_zscore_agrees_with_scikit_learn_query_by_query(x):
    found = apply(["zscore-within-query"], queries(x, [2, 4])).x
    expected = np.vstack([StandardScaler().fit_transform(part.astype(np.float64)) for part in (x[:2], x[2:])])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 1e30, -3e38, 1e-45])
def test_constant_features_become_zero(value):
    found = apply(["zscore-within-query"], queries(np.full((7, 2), value), [3, 4])).x
    assert not found.any()


def test_large_offsets_do_not_cancel():
    x = 1e7 + np.arange(5.0)[:, None]
    found = apply(["zscore-within-query"], queries(x, [5])).x[:, 0]
    np.testing.assert_allclose(found, np.arange(-2, 3) / np.sqrt(2), rtol=1e-6)


def test_in_the_order_they_are_written():
    given_ = queries([[0.0], [10.0], [1000.0]], [3])
    before = given_.x.copy()
    one = apply(["signed-log1p", "zscore-within-query"], given_)
    other = apply(["zscore-within-query", "signed-log1p"], given_)
    assert not np.allclose(one.x, other.x)
    assert np.array_equal(given_.x, before)
    assert one.labels is given_.labels
    assert apply([], given_) is given_


def test_an_unknown_transform():
    with pytest.raises(SpecError, match="did you mean 'signed-log1p'"):
        apply(["signed-log"], queries([[1.0], [2.0]], [2]))
