import numpy as np
import polars as pl
import pytest

from rankbench.data.tables.items import load_queries, usable
from rankbench.data.tables.schemas import items_schema
from rankbench.errors import InputError


def items(ids, labels, x=None):
    x = np.arange(2.0 * len(ids), dtype=np.float32).reshape(-1, 2) if x is None else x
    return pl.DataFrame(
        {"query_id": ids, "item": [0] * len(ids), "label": labels, "x": x}, schema_overrides=items_schema(x.shape[1])
    ).lazy()


def test_queries_keep_order_rows_and_types():
    queries = load_queries(items(["b", "b", "a", "a", "a"], [1, 2, 0, 0, 3]))
    assert queries.ids == ["b", "a"]
    assert queries.offsets.tolist() == [0, 2, 5]
    assert (queries.offsets.dtype, queries.x.dtype, queries.labels.dtype) == (np.int64, np.float32, np.float64)
    assert queries.labels.tolist() == [1, 2, 0, 0, 3]
    assert queries.x.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert queries.x.flags.c_contiguous


def test_unlabelled_items_are_nan():
    assert np.isnan(load_queries(items(["a", "a"], [None, 1])).labels).tolist() == [True, False]


def test_usable_queries_have_two_items_and_two_labels():
    table = items(["one", "same", "same", "good", "good", "hole", "hole", "hole"], [1, 2, 2, 0, 1, None, 0, 1])
    queries = load_queries(table)
    assert len(queries) == 4
    assert [queries.ids[q] for q in usable(queries)] == ["good"]


def test_split_queries_and_empty_tables_are_refused():
    with pytest.raises(InputError, match="'a' do not stand together"):
        load_queries(items(["a", "b", "a"], [0, 1, 2]))
    with pytest.raises(InputError, match="no rows"):
        load_queries(items(["a"], [0]).head(0))
