import gzip

import pytest
from data_files import written

from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.yandex import YandexReader
from rankbench.errors import InputError

TEXT = "9_0\t13,70,377 : 70 , 70 , 13; 9_0\t13,70,377 :;\t\n\n ; 8_1\t5 : 6 ;  8_1\t5,7 : 6 , 5"
ROWS = [
    ("9_0", "1.1", ["13", "70", "377"], [2, 2, 1]),
    ("9_0", "1.2", ["13", "70", "377"], []),
    ("8_1", "3.1", ["5"], [2]),
    ("8_1", "3.2", ["5", "7"], [3, 1]),
]


def rows(path, **parameters):
    return list(YandexReader.model_validate(parameters).scan(path).collect().iter_rows())


@pytest.fixture
def path(tmp_path):
    return written(tmp_path / "sample", TEXT)


def test_records_become_rows(path):
    assert rows(path) == ROWS


def test_compressed_files_and_windows_line_ends(tmp_path):
    path = written(tmp_path / "sample.gz", gzip.compress(TEXT.replace("\n", "\r\n").encode()))
    assert rows(path) == ROWS


def test_the_file_is_recognized_by_its_content(path):
    assert choose_reader(path) == YandexReader()


@pytest.mark.parametrize(
    ("record", "column", "words"),
    [
        ("9_0 13,70 : 70", 9, "no tab after the query"),
        ("9_0\t13,70", 9, "no colon after the items"),
        ("9_0\t13,,70 : 70", 13, "position 2 is missing"),
        ("9_0\t : 70", 13, "position 1 is missing"),
        ("9_0\t13,70,13 : 70", 13, "'13' is shown twice"),
        ("9_0\t13,70 : 70 , , 13", 20, "click 2 is ''"),
        ("9_0\t13,70 : 70 : 13", 20, "click 1 is '70 : 13'"),
    ],
)
def test_malformed_records_are_named(tmp_path, record, column, words):
    path = written(tmp_path / "sample", f"1\t2,3 :\n1\t2 : 2;{record};1\t2 :\n")
    with pytest.raises(InputError, match=words) as caught:
        rows(path)
    assert (caught.value.path, caught.value.row, caught.value.column) == (path, 2, column)


@pytest.mark.parametrize(("text", "words"), [("", "empty"), (" ;\n;", "no sessions")])
def test_files_without_sessions(tmp_path, text, words):
    path = written(tmp_path / "sample", text)
    with pytest.raises(InputError, match=words):
        rows(path)
