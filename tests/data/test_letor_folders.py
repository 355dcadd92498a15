"""Query logs in folders, items in memory, and transforms of their features."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import examples
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from polars.io.plugins import register_io_source
from sklearn.preprocessing import StandardScaler

from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.parquet import Manifest
from rankbench.data.tables.items import apply, load_dataset, load_queries, load_some, usable
from rankbench.data.tables.schemas import items_schema
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.queries import Queries
from rankbench.logs.open import named


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


PARTS = ("train", "vali", "test")


def lines(query: int, count: int, features: int = 3) -> str:
    return "".join(
        f"{(query + item) % 3} qid:{query} {' '.join(f'{at}:{query + item / at:g}' for at in range(1, features + 1))}\n"
        for item in range(count)
    )


def fold(folder: Path, first: int) -> Path:
    """As MQ2008/Fold1: three files, of which each has queries of its own."""
    folder.mkdir(parents=True)
    for at, part in enumerate(PARTS):
        (folder / f"{part}.txt").write_text("".join(lines(10 * at + query, 4) for query in range(first, first + 3)))
    return folder


def queries_of(path: Path) -> list[str]:
    return choose_reader(path).scan(path).collect()["query_id"].unique(maintain_order=True).to_list()


def test_a_fold_is_its_parts(tmp_path: Path) -> None:
    path = fold(tmp_path / "Fold1", 1)
    assert queries_of(path) == [f"{part}/{10 * at + query}" for at, part in ((2, "test"), (0, "train"), (1, "vali"))
                             for query in (1, 2, 3)]  # fmt: skip


def test_paths_with_spaces_colons_and_other_letters_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fold(tmp_path / "Fold: 1 é", 1)
    for text in ("Fold: 1 é", "Fold: 1 é/t*.txt", "Fold: 1 é/train.txt:reader=letor(d=5)"):
        log = named(text)
        assert log is not None, text
        assert load_dataset(log).x.shape[1] == (5 if "d=5" in text else 3)
    # What is not there is a file that is not there, not a spec that cannot be read.
    with pytest.raises(InputError, match=r"Fold: 2: there is no such file or data set; did you mean 'Fold: 1 é'"):
        named("Fold: 2")


def test_folds_side_by_side_are_refused_with_what_to_say(tmp_path: Path) -> None:
    root = tmp_path / "my MQ2008"
    for number in (1, 2):
        fold(root / f"Fold{number}", number)
    said = f"{root}/Fold1/test.txt and {root}/Fold2/test.txt are of two folds"
    with pytest.raises(InputError) as caught:
        queries_of(root)
    assert said in str(caught.value)
    command = str(caught.value).rpartition("give one fold: ")[2]
    (chosen,) = shlex.split(command)
    assert len(queries_of(Path(chosen))) == 9
    found = CliRunner().invoke(main, ["run", "--suite", "paper", "--dataset", str(root), "--out", str(tmp_path / "o")])
    assert found.exit_code == 2
    assert said in found.stderr
    assert not (tmp_path / "o").exists()
    # One file of each fold is as wrong.
    with pytest.raises(InputError, match=r"Fold1/train.txt and .*Fold2/train.txt are of two folds"):
        queries_of(root / "Fold*" / "train.txt")


def test_parts_that_differ_by_their_ending_are_told_apart(tmp_path: Path) -> None:
    """As ``mq2008.train`` with ``mq2008.train.group`` beside it: queries without names, 1, 2, ... in each file."""
    for at, part in enumerate(PARTS):
        text = lines(at, 4).replace(f" qid:{at}", "") + lines(at + 1, 3).replace(f" qid:{at + 1}", "")
        (tmp_path / f"mq2008.{part}").write_text(text)
        (tmp_path / f"mq2008.{part}.group").write_text("4\n3\n")
    assert queries_of(tmp_path) == [f"mq2008.{part}/{query}" for part in ("test", "train", "vali") for query in "12"]


def test_parts_of_the_same_name_are_called_by_their_folder(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / str(year)).mkdir()
        (tmp_path / str(year) / "log.txt").write_text(lines(7, 3))
    assert queries_of(tmp_path) == ["2023/log/7", "2024/log/7"]


def test_what_one_part_never_mentions_is_zero_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines(1, 3, features=2))
    (tmp_path / "b.txt").write_text(lines(2, 3, features=5))
    log = named(str(tmp_path))
    assert log is not None
    found = load_dataset(log)
    assert found.x.shape == (6, 5)
    assert not found.x[:3, 2:].any()
    assert found.x[3:].all()


def test_a_folder_of_parts_is_converted(tmp_path: Path) -> None:
    path = fold(tmp_path / "Fold1", 1)
    found = CliRunner().invoke(main, ["data", "convert", str(path), str(tmp_path / "shards"), "--shards", "2"])
    assert found.exit_code == 0, found.output
    source = Manifest.load(tmp_path / "shards").source
    whole = b"".join((path / f"{part}.txt").read_bytes() for part in sorted(PARTS))
    assert (source.bytes, source.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
    rows = choose_reader(tmp_path / "shards").scan(tmp_path / "shards").collect()
    assert rows.sort("query_id", "item").equals(choose_reader(path).scan(path).collect().sort("query_id", "item"))
    assert rows.schema["x"] == pl.Array(pl.Float32, 3)


def test_queries_are_chosen_without_features_and_others_are_never_held() -> None:
    frame = items(["a", "a", "b", "b", "b", "c", "c"], [1, 0, 2, 2, 0, 1, 1])
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    asked: list[tuple[set[str] | None, int]] = []

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        found = frame if predicate is None else frame.filter(predicate)
        asked.append((None if with_columns is None else {*with_columns}, found.height))
        yield found if with_columns is None else found.select(with_columns)

    table = register_io_source(source, schema=frame.schema)
    labels = load_queries(table, features=False)
    whole = load_queries(frame.lazy())
    assert (labels.ids, labels.x.shape) == (whole.ids, (7, 0))
    assert labels.labels.tolist() == whole.labels.tolist()
    some = load_some(table, ["c", "a"])
    assert asked == [({"query_id", "label"}, 7), ({"query_id", "label", "x"}, 4)]
    expected = whole.take(np.array([2, 0]))
    assert (some.ids, some.offsets.tolist()) == (["c", "a"], [0, 2, 4])
    np.testing.assert_array_equal(some.x, expected.x)
    np.testing.assert_array_equal(some.labels, expected.labels)
