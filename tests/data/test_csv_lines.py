"""Which row of a CSV file is malformed: what the scanner accepts, the csv module reads, and the other way round."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankbench.data.readers.csv_lines import check_lines
from rankbench.errors import InputError


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"2\n3,4\n', 2),
        ('a,b\n1,2\n1,2"3\n', 3),
        ('a,b\n1,"2"3\n', 2),
        ("a,b\n1,2\n1,2,3\n", 3),
        ('a,b\n"1\n1",2\n"x\n', 4),
        ('a,b\r\n1,"\r\n",3\r\n', 3),
    ],
)
def test_the_line_is_said(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, newline="")
    with pytest.raises(InputError) as error:
        check_lines(path, ",")
    assert error.value.row == line


FIELD = st.text(st.sampled_from('a",;\n '), max_size=5)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=5))
def test_what_the_csv_module_writes_is_well_formed(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    path = tmp_path / "x.csv"
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    path.write_text(text.getvalue(), newline="")
    check_lines(path, ",")
    with path.open("a") as file:
        file.write('"')
    with pytest.raises(InputError, match="never closed"):
        check_lines(path, ",")
