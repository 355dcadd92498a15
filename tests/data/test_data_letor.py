import io
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import examples
from data_files import rejected, written
from data_paths import needs, real
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from rankbench.data.readers import kernels as kernel
from rankbench.data.readers import letor as letor_lines
from rankbench.data.readers import text_lines
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.letor import LetorReader
from rankbench.errors import InputError

GOOD = "2 qid:1 1:0.5 3:-2e-1 # doc a\n0 qid:1 2:7\n1 qid:2 1:1\n0 qid:2 3:4\n"


def read(tmp_path, content, name="log.txt", **params):
    path = written(tmp_path / name, content if isinstance(content, bytes) else content.encode())
    return LetorReader.model_validate(params).scan(path).collect()


def refused(tmp_path, content, **params):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, **params)
    error = caught.value
    assert error.path == tmp_path / "log.txt"
    return error.row, error.column, str(error)


def number(token):
    """Parse one feature value with the kernel, finishing hard cases as the reader does."""
    data = f"1 qid:1 1:{token}\n".encode()
    x, labels = np.zeros((1, 1), np.float32), np.zeros(1, np.float32)
    hard, state = np.zeros((8, 4), np.int64), np.zeros(4, np.int64)
    places = np.zeros((1, 4), np.int64)
    status = kernel.parse_lines(np.frombuffer(data, np.uint8), 0, 1, kernel.POWERS, x, labels, places, hard, state)
    if status:
        return status
    if state[kernel.STATE_HARD]:
        with np.errstate(over="ignore"):
            return np.float32(float(data[hard[0, 2] : hard[0, 3]]))
    return x[0, 0]


def same_float(token):
    with np.errstate(over="ignore"):
        expected = np.float32(float(token))
    found = number(token)
    if np.isinf(expected):
        return found == kernel.OVERFLOW or np.isinf(found)
    return found.tobytes() == expected.tobytes()


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
FORMS = st.sampled_from(["{!r}", "{:.6f}", "{:.17g}", "{:.3e}", "{:.25e}"])
DECIMALS = st.from_regex(r"\A[-+]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][-+]?[0-9]{1,3})?\Z")


@examples(800)
@given(DECIMALS | st.builds(str.format, FORMS, FLOATS))
def test_every_decimal_form_is_read_and_rounded_as_python_does(token):
    assert same_float(token)


@examples(300)
@given(st.integers(0, 2**32 - 1), st.integers(-2, 2))
def test_halfway_points_between_singles(bits, nudge):
    low = np.uint32(bits).view(np.float32)
    high = np.nextafter(low, np.float32(np.inf))
    if np.isfinite(low) and np.isfinite(high):
        middle = (float(low) + float(high)) / 2
        for _ in range(abs(nudge)):
            middle = np.nextafter(middle, np.inf * nudge)
        assert same_float(f"{middle:.60e}")
        assert same_float(repr(float(middle)))


@pytest.mark.parametrize(
    ("status", "tokens"),
    [
        (kernel.VALUE, ["1.5.2", "--1", "1e", "0x10", "1_0", "abc", "", "+", ".", "1,5", "e5"]),
        (kernel.NOT_FINITE, ["nan", "NaN", "-nan", "inf", "-Inf", "Infinity"]),
    ],
)
def test_what_is_not_a_finite_number_is_refused(status, tokens):
    assert [number(token) for token in tokens] == [status] * len(tokens)


def test_sparse_lines_become_rows_of_the_schema(tmp_path):
    frame = read(tmp_path, GOOD)
    assert frame.schema == pl.Schema(
        {"query_id": pl.String, "item": pl.UInt32, "label": pl.Float32, "x": pl.Array(pl.Float32, 3)}
    )
    assert frame["query_id"].to_list() == ["1", "1", "2", "2"]
    assert frame["item"].to_list() == [0, 1, 0, 1]
    assert frame["label"].to_list() == [2, 0, 1, 0]
    expected = np.array([[0.5, 0, -0.2], [0, 7, 0], [1, 0, 0], [0, 0, 4]], np.float32)
    assert np.array_equal(frame["x"].to_numpy(), expected)


@pytest.mark.parametrize(
    "content",
    [
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "# made by hand\n\n" + GOOD.replace("\n", "\n  # a comment with 9:9\n\n"),
        GOOD.removesuffix("\n"),
        GOOD.replace(" ", "\t").replace("\t#\tdoc\ta", "  \t# größer"),
    ],
    ids=["crlf", "byte-order mark", "comments and blank lines", "no last newline", "tabs and unicode comment"],
)
def test_harmless_forms_read_the_same(tmp_path, content):
    assert read(tmp_path, content).equals(read(tmp_path, GOOD))


@pytest.mark.parametrize("size", [16, 40, 64, 1000])
def test_chunks_do_not_show(tmp_path, monkeypatch, size):
    path = written(tmp_path / "log.txt", "".join(f"{i % 3} qid:q{i // 7} 1:{i} 2:{-i}\n" for i in range(70)))
    whole = LetorReader().scan(path).collect()
    monkeypatch.setattr(letor_lines, "chunks", lambda p: text_lines.chunks(p, size))
    assert LetorReader().scan(path).collect().equals(whole)
    assert whole["x"].to_numpy()[:, 0].tolist() == list(range(70))


def test_wide_rows_are_read_a_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(letor_lines, "_ROW_BYTES", 4 * 3 * 2)
    assert read(tmp_path, GOOD).equals(LetorReader().scan(tmp_path / "log.txt").collect())
    assert [f.height for f in LetorReader().batches(tmp_path / "log.txt")] == [2, 2]


@examples(40)
@given(st.data())
def test_agrees_with_scikit_learn(tmp_path_factory, data):
    sizes = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=5))
    d = data.draw(st.integers(1, 6))
    zero_based = data.draw(st.booleans())
    n = sum(sizes)
    cells = st.one_of(st.just(0.0), st.floats(-(2.0**100), 2.0**100, width=32))
    x = np.array(data.draw(st.lists(cells, min_size=n * d, max_size=n * d))).reshape(n, d)
    x[0, d - 1] = 1.0
    labels = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    out = io.BytesIO()
    dump_svmlight_file(x, labels, out, zero_based=zero_based, query_id=np.repeat(np.arange(len(sizes)), sizes))
    path = written(tmp_path_factory.mktemp("svm") / "a.svm", out.getvalue())
    frame = LetorReader(zero_based=zero_based).scan(path).collect()
    theirs, y, qid = load_svmlight_file(io.BytesIO(out.getvalue()), zero_based=zero_based, query_id=True)
    assert np.array_equal(frame["x"].to_numpy(), theirs.toarray().astype(np.float32))
    assert np.array_equal(frame["label"].to_numpy(), y)
    assert frame["query_id"].to_list() == [str(q) for q in qid]


@pytest.mark.parametrize(
    ("line", "column", "said"),
    [
        ("x qid:2 1:1", 1, "label 'x' is not a number"),
        ("nan qid:2 1:1", 1, "not a finite number"),
        ("1 qid: 1:1", 3, "empty"),
        ("1 qid:2 hello", 9, "expected index:value, found 'hello'"),
        ("1 qid:2 1", 9, "expected index:value"),
        ("1 qid:2 1:", 9, "is not a number"),
        ("1 qid:2 1:x", 9, "is not a number"),
        ("1 qid:2 2:1 1:1", 13, "out of order"),
        ("1 qid:2 2:1 2:1", 13, "twice"),
        ("1 qid:2 0:1", 9, "zero-based"),
        ("1 qid:2 -3:1", 9, "negative"),
        ("1 qid:2 1:nan", 9, "not a finite number"),
        ("1 qid:2 1:1 2:-inf", 13, "not a finite number"),
        ("1 qid:2 1:1e39", 9, "32-bit"),
        ("1 1:1", 1, "no qid"),
        ("1 1:1 qid:2", 7, "right after the label"),
        ("1 qid:2 qid:3 1:1", 9, "right after the label"),
        ("1 qid:ä 1:1 2:ü", 13, "is not a number"),
    ],
)
def test_malformed_lines_are_located(tmp_path, line, column, said):
    row, at, message = refused(tmp_path, f"# first\n0 qid:1 1:1 3:0\n1 qid:1 1:1\n{line}\n0 qid:2 1:1\n")
    assert (row, at) == (4, column)
    assert said in message


@pytest.mark.parametrize("blank", ["\x0b", "\x0c"])
@pytest.mark.parametrize(("before", "row", "column"), [("", 1, 1), ("1 qid:1 1:1\n", 2, 1), ("1 qid:1 1:", 1, 9)])
def test_blanks_of_other_programs_are_quoted(tmp_path, blank, before, row, column):
    """Vertical tabs and form feeds, and nothing after them."""
    assert refused(tmp_path, before + blank)[:2] == (row, column)
    assert repr(blank)[1:-1] in refused(tmp_path, before + blank + "\n")[2]


@pytest.mark.parametrize(
    ("content", "place", "said"),
    [
        ("1 qid:1 1:1\n1 qid:1 99999999:1\n", (None, None), "d=200000"),
        (f"1 qid:1 1:1\n0 qid:1 {'9' * 23}:1\n", (None, None), "1000000000000 or more"),
        ("1 qid:1\n2 qid:1\n", (None, None), "no line has a feature"),
        ("1 qid:1 2:2 1:1\n0 qid:1 1:1\n", (1, 13), "out of order"),
        ("1 qid:1 99999:2 1:1\n0 qid:1 1:1\n", (1, 17), "out of order"),
        (GOOD + "1 qid:1 1:1\n", (5, 7), "query '1' comes back"),
        (f"1 qid:{'q' * 100_000} 1:1\n", (1, None), "has one item"),
    ],
    ids=range(7),
)
def test_files_that_are_refused(tmp_path, content, place, said):
    row, column, message = refused(tmp_path, content)
    assert (row, column) == place
    assert said in message
    assert len(message) < 500


def test_features_that_are_declared(tmp_path):
    assert refused(tmp_path, GOOD, d=2)[:2] == (1, 15)
    with pytest.raises(ValueError, match="16777216"):
        LetorReader(d=10**12)


@pytest.mark.parametrize(("content", "row"), [("1 qid:a 1:1\n" + GOOD, 1), (GOOD + "# end\n1 qid:z 1:1\n", 6)])
def test_a_query_with_one_item(tmp_path, content, row):
    assert refused(tmp_path, content)[0] == row
    assert read(tmp_path, content, **{"allow-single": True}).height == 5


class TestGroups:
    LINES = "1 1:1\n0 1:2\n2 1:3\n0 1:4\n1 2:5\n"

    def read(self, tmp_path, sizes, lines=LINES, name="a.train"):
        (tmp_path / f"{name.removesuffix('.gz')}.group").write_text(sizes)
        return read(tmp_path, lines, name)

    def test_sizes_name_the_queries(self, tmp_path):
        frame = self.read(tmp_path, "2\n3\n")
        assert frame["query_id"].to_list() == ["1", "1", "2", "2", "2"]
        assert frame["item"].to_list() == [0, 1, 0, 1, 2]

    @pytest.mark.parametrize(
        ("sizes", "said"),
        [
            ("2\n2\n", "add up to 4 lines, but a.train has others"),
            ("2\n4\n", "add up to 6 lines, but a.train has others"),
            ("2\n1\n3\n", "query 2 has one item"),
            *((f"2\n{bad}\n3\n", "is not the size") for bad in ("x", "-2", "0", "2.5", "²", "9" * 13, "9" * 5000)),
        ],
        ids=range(10),
    )
    def test_sizes_that_do_not_fit(self, tmp_path, sizes, said):
        with pytest.raises(InputError) as caught:
            self.read(tmp_path, sizes)
        assert (caught.value.path, caught.value.row) == (tmp_path / "a.train.group", 2)
        assert said in caught.value.message
        assert len(caught.value.message) < 200

    def test_no_group_file(self, tmp_path):
        with pytest.raises(InputError, match=r"no file a\.train\.group"):
            read(tmp_path, self.LINES, "a.train")

    def test_a_qid_in_the_middle(self, tmp_path):
        with rejected("has a qid", row=3):
            self.read(tmp_path, "2\n3\n", self.LINES.replace("2 1:3", "2 qid:9 1:3"))


@pytest.mark.parametrize(
    ("file", "queries", "rows", "d"),
    [
        pytest.param(f, *counts, marks=needs(f))
        for f, counts in {
            "mslr-web10k-sample/train.txt": (42, 4955, 136),
            "mslr-web10k-sample/test.txt": (42, 4974, 136),
            "mq2008/mq2008.train": (471, 9630, 46),
            "mq2008/mq2008.vali": (157, 2707, 46),
            "mq2008/mq2008.test": (156, 2874, 46),
        }.items()
    ],
)
def test_real_files(file, queries, rows, d):
    frame = LetorReader().scan(real(file)).collect()
    assert (frame["query_id"].n_unique(), frame.height) == (queries, rows)
    theirs, y = load_svmlight_file(str(real(file)), n_features=d)
    assert np.array_equal(frame["x"].to_numpy(), theirs.toarray().astype(np.float32))
    assert np.array_equal(frame["label"].to_numpy(), y)


def test_queries_that_do_not_stand_together_are_brought_together_by_the_command_that_is_said(tmp_path: Path) -> None:
    lines = ["2 qid:10 1:0.5", "0 qid:11 1:0.2", "0 qid:10 1:0.1", "1 qid:11 1:0.7"]
    path = written(tmp_path / "scattered.txt", "\n".join(lines) + "\n")
    with pytest.raises(InputError) as error:
        LetorReader().scan(path).collect()
    said, _, command = str(error.value).rpartition(": ")
    assert said.startswith(f"{path}:3:7: query '10' comes back after another one")
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    found = LetorReader().scan(tmp_path / "sorted-scattered.txt").collect()
    assert list(zip(found["query_id"], found["label"], strict=True)) == [("10", 2), ("10", 0), ("11", 0), ("11", 1)]


def test_a_label_below_0_is_a_grade_only_where_it_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "semi.txt", "0 qid:1 1:.5\n-1 qid:1 1:.25\n2 qid:1 1:1\n")
    with pytest.raises(InputError) as error:
        LetorReader().scan(path).collect()
    assert str(error.value).startswith(
        f"{path}:2:1: the label is -1: LETOR 4.0 writes -1 of a document that nobody judged"
    )
    command = str(error.value).partition("(")[2].partition(")")[0]
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    assert LetorReader().scan(tmp_path / "judged-semi.txt").collect()["label"].to_list() == [0, 2]
    assert LetorReader(negative=True).scan(path).collect()["label"].to_list() == [0, -1, 2]


@pytest.mark.parametrize("text", ['"winner" "loser"\n"1" "a" "b"\n', "who won\na b\n", "4 2\n7 1 2\n"])
def test_what_is_no_letor_file_gets_none_of_its_errors(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "votes.txt", text)
    with pytest.raises(InputError, match=r"no reader knows this format; .*\. reader=.csv. reads a table with commas"):
        choose_reader(path)
