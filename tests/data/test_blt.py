"""Ballots of BLT: what a file says, however it is called, and everything that is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_files import written

import rankbench
from rankbench.errors import InputError
from rankbench.ranking.open import open_source

WARD = (
    "4 2\n-3\n7 1 2 0\n5 2=4 1 0\n4 4 - 2 1 0\n2 3 1 0\n3 3 0\n1 0\n0\n"
    + '"Ada (Ind)"\n"Bo"\n"Cy"\n"Di ""Dee"" Ives"\n"Ward"\n'
)
ADA, BO, DI = "Ada (Ind)", "Bo", 'Di "Dee" Ives'


@pytest.mark.parametrize("name", ["ward.blt", "ward.txt", "ward.csv", "ward.dat", "ward"])
def test_a_file_is_read_as_it_is_meant(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, WARD)
    source = open_source(path)
    found = source.frame.collect()
    assert found["query_id"].unique().to_list() == ["ward"]
    assert dict(zip(map(str, found["ranking"].to_list()), found["weight"], strict=True)) == {
        str([[ADA], [BO]]): 7,
        str([[BO, DI], [ADA]]): 5,
        str([[DI], [BO], [ADA]]): 4,
        str([[ADA]]): 2,
    }
    assert found["candidates"].to_list() == [[ADA, BO, DI]] * 4
    assert list(source.remarks) == [
        "2 lines of ballots that rank nobody are left out",
        "candidates who have withdrawn are taken out of the ballots: 'Cy'",
    ]


def test_scottish_councils_write_no_quotes_and_spaces_at_ends(tmp_path: Path) -> None:
    path = written(
        tmp_path / "ward.csv",
        "2 1 \r\n155 1 0\r\n52 2 1 0\r\n0\r\nCandidate One (Ind)\r\nCandidate Two, or not\r\nA Ward\r\n",
    )
    found = rankbench.scan(path).collect()
    assert found["ranking"].to_list() == [
        [["Candidate One (Ind)"]],
        [["Candidate Two, or not"], ["Candidate One (Ind)"]],
    ]
    assert found["weight"].to_list() == [155, 52]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3\n1 1 0\n", ":1: '3' are not the numbers of candidates and of seats"),
        ("2 1\n1 1 2\n0\nx\ny\n", ":2: '1 1 2' is no ballot: a line is 'WEIGHT CANDIDATE ... 0'"),
        ("2 1\n1 1 x 0\n0\nx\ny\n", ":2: '1 1 x 0' is no ballot"),
        ("2 1\n1 1 1 0\n0\nx\ny\n", ":2: '1 1 1 0' names a candidate twice, or one beyond the 2"),
        ("2 1\n1 3 0\n0\nx\ny\n", ":2: '1 3 0' names a candidate twice, or one beyond the 2"),
        ("2 1\n0 1 0\n0\nx\ny\n", ":2: the ballot was cast by 0 voters"),
        ("2 1\n1 1 2 0\n", ": the ballots do not end: a line '0' follows them"),
        ("2 1\n0\nx\ny\n", ":2: there is no ballot"),
        ("2 1\n1 1 2 0\n0\nx\n", ": there are 2 candidates (line 1), and after the ballots the names 'x'"),
        ("2 1\n1 1 2 0\n0\nx\nx\n", ": there are 2 candidates (line 1), and after the ballots the names 'x', 'x'"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path / "ward.blt", text)
    with pytest.raises(InputError) as error:
        rankbench.scan(path).collect()
    assert said in str(error.value)
