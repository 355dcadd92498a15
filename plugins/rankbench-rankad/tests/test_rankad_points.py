import io
import zipfile

import numpy as np
import polars as pl
import pytest

from rankbench.errors import InputError
from rankbench_rankad.items import from_items, to_items
from rankbench_rankad.points import read_points
from rankbench_rankad.readers import CsvPoints, NpzPoints, ParquetPoints

X = np.array([[1.5, -2.0], [0.25, 1e-3], [7.0, 8.0]])
Y = np.array([0, 1, 0])


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


@pytest.fixture(params=["csv", "tsv", "parquet", "npz"])
def table(request, tmp_path):
    path = tmp_path / f"table.{request.param}"
    frame = pl.DataFrame({"x_0": X[:, 0], "x_1": X[:, 1], "y": Y})
    if request.param == "parquet":
        frame.write_parquet(path)
    elif request.param == "npz":
        np.savez_compressed(path, X=X, y=Y)
    else:
        frame.write_csv(path, separator="," if request.param == "csv" else "\t")
    return path


def test_every_format_reads_the_same_points(table):
    points = read_points(table)
    np.testing.assert_array_equal(points.x, X)
    np.testing.assert_array_equal(points.labels, Y)
    assert points.features == ("x_0", "x_1")


def test_columns_can_be_left_out(table):
    points = read_points(table, ignore=["x_0"])
    np.testing.assert_array_equal(points.x, X[:, 1:])
    with pytest.raises(InputError, match="no column 'x_9' to ignore; did you mean"):
        read_points(table, ignore=["x_9"])


def test_numbers_of_any_kind_will_do(tmp_path):
    np.savez(tmp_path / "a.npz", X=X.astype(np.int16))
    points = read_points(tmp_path / "a.npz")
    assert points.labels is None
    np.testing.assert_array_equal(points.x, np.trunc(X))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,x\n", r"t\.csv:3 \[b\]: 'x' is not a number"),
        ("a,b\n1,2\n3,\n", r"t\.csv:3 \[b\]: the value is missing"),
        ("a,b\n1,nan\n", r"t\.csv:2 \[b\]: not a finite number"),
        ("a,b\n1,inf\n", r"t\.csv:2 \[b\]: not a finite number"),
        ("a,a\n1,2\n", "names 'a' twice"),
        ("a,y\n1,2\n", r"t\.csv:2 \[y\]: a label must be 0"),
        ("y\n1\n", "no features"),
        ("a,b\n", "no rows"),
        ("", "."),
        ("a,b\n1,2,3\n", "."),
    ],
)
def test_a_csv_that_cannot_be_used_says_where(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_points(tmp_path / "t.csv")


def test_a_byte_order_mark_and_spaces_are_no_part_of_the_table(tmp_path):
    (tmp_path / "t.csv").write_bytes("\ufeffa,b\n 1, 2\n".encode())
    points = read_points(tmp_path / "t.csv")
    assert points.features == ("a", "b")
    np.testing.assert_array_equal(points.x, [[1, 2]])


def test_columns_of_other_things_than_numbers_are_refused(tmp_path):
    pl.DataFrame({"a": [1.0], "when": [pl.Series([1]).cast(pl.Date)[0]]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"\[when\]: it holds Date, not numbers"):
        read_points(tmp_path / "t.parquet")


class Trap:
    """Would leave a file behind if anybody unpickled it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_pickle_is_never_loaded(tmp_path):
    trap = np.array([[Trap(tmp_path / "sprung")]], dtype=object)
    hostile = archive(tmp_path / "t.npz", X=npy(trap, allow_pickle=True))
    with pytest.raises(InputError, match=r"\[X\]: it must hold numbers, not object"):
        read_points(hostile)
    assert not (tmp_path / "sprung").exists()


def header(shape, dtype="<f8"):
    return (
        npy(np.zeros(0, dtype))[:10]
        + (f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n").encode()
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an array"),
        (b"PK", "not an array"),
        (header((10**9, 10**6)), "bytes; 4,294,967,296 are the most"),
        (header((100, 2)) + b"12345678", "damaged"),
        (npy(np.zeros((2, 2), dtype=complex)), "must hold numbers"),
        (npy(np.array([["a"]])), "must hold numbers"),
        (npy(np.zeros(3)), "two dimensions"),
        (npy(np.zeros((0, 3))), "no rows"),
    ],
)
def test_an_array_that_is_not_what_it_says_is_refused(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_points(archive(tmp_path / "t.npz", X=content))


def test_an_npz_without_points_or_no_npz_at_all(tmp_path):
    with pytest.raises(InputError, match="no array 'X' in it \\(arrays here: Z\\)"):
        read_points(archive(tmp_path / "a.npz", Z=npy(X)))
    (tmp_path / "b.npz").write_bytes(b"no zip")
    with pytest.raises(InputError, match="not an npz file"):
        read_points(tmp_path / "b.npz")
    with pytest.raises(InputError, match="it has shape"):
        read_points(archive(tmp_path / "c.npz", X=npy(X), y=npy(np.zeros((2, 2)))))


def test_files_that_are_not_there_or_of_another_kind(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_points(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"end in \.csv"):
        read_points(tmp_path / "t.xlsx")


def test_points_survive_becoming_items():
    x, labels = from_items(to_items(X, Y.astype(float)))
    np.testing.assert_array_equal(x, X.astype(np.float32))
    np.testing.assert_array_equal(labels, Y)
    with pytest.raises(InputError, match=r"row 1 \[label\]: anomalies must be labeled 1"):
        from_items(to_items(X, None))
    with pytest.raises(InputError, match=r"row 1 \[feature 2\]: 1e\+300 is beyond the range of float32"):
        to_items(np.array([[1.0, 1e300]]), None)


def test_a_feature_beyond_float32_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,2e40\n")
    with pytest.raises(InputError, match=r"t\.csv:2 \[feature 2\]: 2e\+40 is beyond the range of float32"):
        CsvPoints().scan(path)


@pytest.mark.parametrize(("reader", "ending"), [(NpzPoints, "npz"), (CsvPoints, "csv"), (ParquetPoints, "parquet")])
def test_readers_give_items_in_rankbenchs_schema(tmp_path, reader, ending):
    path = tmp_path / f"t.{ending}"
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "bad": Y})
    if ending == "npz":
        np.savez(path, X=X, bad=Y)
    else:
        (frame.write_csv if ending == "csv" else frame.write_parquet)(path)
    items = reader(label="bad").scan(path)
    assert items.collect_schema() == pl.Schema(
        {"query_id": pl.String, "item": pl.UInt32, "label": pl.Float32, "x": pl.Array(pl.Float32, 2)}
    )
    assert items.collect()["label"].to_list() == Y.tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_what_is_no_file_is_said(tmp_path, ending):
    (tmp_path / f"table.{ending}").write_bytes(b"")
    (tmp_path / f"folder.{ending}").mkdir()
    with pytest.raises(InputError, match=f"no such file; did you mean 'table.{ending}'"):
        read_points(tmp_path / f"tabel.{ending}")
    with pytest.raises(InputError, match="the file is empty"):
        read_points(tmp_path / f"table.{ending}")
    with pytest.raises(InputError, match="it is a folder"):
        read_points(tmp_path / f"folder.{ending}")
