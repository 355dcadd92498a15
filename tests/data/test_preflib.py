"""Ballots of PrefLib and of BLT: real files, and what can be wrong with one, with the line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from data_files import rejected, written
from data_paths import needs, real

import rankbench
from rankbench.data.readers.ballots import PreflibReader
from rankbench.data.readers.choose import choose_reader
from rankbench.data.tables.order_log import load_orders
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Dataset
from rankbench.logs.open import open_log
from rankbench.plugin.manager import get

HEADER = """\
# FILE NAME: votes.toi
# DATA TYPE: {type}
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: {voters}
# NUMBER UNIQUE ORDERS: {unique}
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bob: the second
# ALTERNATIVE NAME 3: Cy
# ALTERNATIVE NAME 4: Dée
"""


def write(tmp_path, ballots, kind="toi", voters=None, unique=None, header=HEADER, name=None):
    lines = ballots.strip("\n").split("\n")
    voters = sum(int(line.split(":")[0]) for line in lines) if voters is None else voters
    text = header.format(type=kind, voters=voters, unique=len(lines) if unique is None else unique) + ballots
    return written(tmp_path / (name or f"votes.{kind}"), text)


def test_ballots_with_ties(tmp_path):
    frame = PreflibReader().scan(write(tmp_path, "3: 4,{1,2},3\n2: 2\n1: { 1 , 3 } , 4\n")).collect()
    assert frame["query_id"].to_list() == ["votes"] * 3
    assert frame["ranking"].to_list() == [
        [["Dée"], ["Ann", "Bob: the second"], ["Cy"]],
        [["Bob: the second"]],
        [["Ann", "Cy"], ["Dée"]],
    ]
    assert frame["count"].to_list() == [3, 2, 1]
    assert frame["candidates"].to_list() == [["Ann", "Bob: the second", "Cy", "Dée"]] * 3


def test_items_by_number(tmp_path):
    path = write(tmp_path, "1: 3,1\n", header=HEADER.replace("Cy", "Ann"))
    with rejected("each must have a name of its own; preflib:names=false", row=3):
        PreflibReader().scan(path).collect()
    frame = PreflibReader(names=False).scan(path).collect()
    assert frame["ranking"].to_list() == [[["3"], ["1"]]]
    assert frame["candidates"].to_list() == [["1", "2", "3", "4"]]


@pytest.mark.parametrize(
    ("kind", "ballots", "rankings"),
    [
        ("toc", "2: {1,2},3,4\n1: 4,3,2,1\n1: {2,1},3,4\n", [[["Ann", "Bob: the second"], ["Cy"], ["Dée"]], None]),
        ("soc", "2: 1,2,3,4\n1: 4,3,2,1\n1: 1,2,3,4\n", [[["Ann"], ["Bob: the second"], ["Cy"], ["Dée"]], None]),
        ("soi", "2: 1\n1: 4,3,2,1\n1: 1\n", [[["Ann"]], None]),
        ("toi", "2: {1,2}\n1: 4,3,2,1\n1: {2,1}\n", [[["Ann", "Bob: the second"]], None]),
    ],
)
@pytest.mark.parametrize("unique", [2, 3])
def test_counts_of_one_ballot_are_added(tmp_path, kind, ballots, rankings, unique):
    path = write(tmp_path, ballots, kind, unique=unique)
    raw = PreflibReader().raw(path)
    frame = raw.frame.collect()
    assert frame["ranking"].to_list() == [rankings[0], [["Dée"], ["Cy"], ["Bob: the second"], ["Ann"]]]
    assert frame["count"].to_list() == [3, 1]
    assert any("adds up the counts of equal ballots: 1 line more" in text for text in raw.notes)


ZERO = """\
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 3
# NUMBER UNIQUE ORDERS: 2
{names}2: 0,1,2
1: {{2,0}},1
"""


@pytest.mark.parametrize("named", [True, False])
def test_alternatives_are_numbered_from_0(tmp_path, named):
    """As pref_voting writes them."""
    names = "".join(f"# ALTERNATIVE NAME {number}: {name}\n" for number, name in enumerate(("Ann", "Bob", "Cy")))
    path = written(tmp_path / "votes.toc", ZERO.format(names=names if named else ""))
    expected = ["Ann", "Bob", "Cy"] if named else ["0", "1", "2"]
    frame = PreflibReader(names=named).scan(path).collect()
    assert frame["candidates"].to_list() == [expected] * 2
    assert frame["ranking"][0].to_list() == [[name] for name in expected]
    by_number = PreflibReader(names=False).scan(path).collect()
    assert by_number["ranking"].to_list() == [[["0"], ["1"], ["2"]], [["2", "0"], ["1"]]]
    beyond = written(tmp_path / "beyond.toc", path.read_text().replace("2: 0,1,2", "2: 0,1,3"))
    with rejected("alternative 3 is unknown: there are 3, from 0 to 2", path=beyond):
        PreflibReader(names=named).scan(beyond).collect()


def test_gzip_windows_and_comments(tmp_path):
    text = HEADER.format(type="soi", voters=2, unique=1) + "# made by hand\n\n2: 1,2\n"
    path = written(tmp_path / "some.soi.gz", gzip.compress(("\ufeff" + text.replace("\n", "\r\n")).encode()))
    reader = choose_reader(path)
    assert reader.name == "preflib"
    frame = reader.scan(path).collect()
    assert frame["query_id"].to_list() == ["some"]
    assert frame["ranking"].to_list() == [[["Ann"], ["Bob: the second"]]]


def test_by_content(tmp_path):
    path = write(tmp_path, "1: 1,2\n", name="election.data")
    assert choose_reader(path).name == "preflib"


MALFORMED = (
    *("1,{2,3", "1,2,3}", "1,{2,{3}}", "1,{}", "1{2,3}", "{2,3}1", "1,,2", "1,2,", "", "1,two", "1 2", "Ann, Bob"),
)


@pytest.mark.parametrize(
    ("ballots", "kind", "row", "said"),
    [
        ("1: 1,2\n1: 3,5\n", "toi", 11, "alternative 5 is unknown: there are 4"),
        ("1: 0,2\n", "toi", 10, "alternative 0 is unknown"),
        ("1: 1,2,1\n", "toi", 10, "'Ann' is ranked twice"),
        ("1: {1,2},{3,2}\n", "toi", 10, "'Bob: the second' is ranked twice"),
        *((f"1:{text}\n", "toi", 10, "is not a ballot such as") for text in MALFORMED),
        ("0: 1,2\n", "toi", 10, "cast by 0 voters"),
        ("1: {1,2},3\n", "soi", 10, "has ties, but files of type soi have none"),
        ("1: 1,2,3\n", "soc", 10, "ranks 3 of 4 alternatives, but files of type soc rank all"),
        ("1: 1,{2,3}\n", "toc", 10, "ranks 3 of 4"),
    ],
)
def test_bad_ballots(tmp_path, ballots, kind, row, said):
    path = write(tmp_path, ballots, kind)
    with rejected(said.replace("{", r"\{").replace("}", r"\}"), path=path, row=row):
        PreflibReader().scan(path).collect()


@pytest.mark.parametrize(
    ("change", "row", "said"),
    [
        ({"voters": 7}, 4, "NUMBER VOTERS is 7, but the ballots make 3"),
        ({"unique": 3}, 5, "NUMBER UNIQUE ORDERS is 3, but the ballots make 2"),
    ],
)
def test_counts_that_do_not_add_up(tmp_path, change, row, said):
    path = write(tmp_path, "1: 1,2\n2: 2,1\n", **change)
    with rejected(said, row=row):
        PreflibReader().scan(path).collect()
    assert PreflibReader(counts=False).scan(path).collect().height == 2


@pytest.mark.parametrize(
    ("old", "new", "row", "said"),
    [
        ("# NUMBER ALTERNATIVES: 4\n", "", 9, "no header line '# NUMBER ALTERNATIVES"),
        ("ALTERNATIVES: 4", "ALTERNATIVES: four", 3, "must be a whole number, not 'four'"),
        ("ALTERNATIVES: 4", "ALTERNATIVES: 0", 3, "each must have a name of its own"),
        ("ALTERNATIVES: 4", "ALTERNATIVES: 5", 3, "each must have a name of its own"),
        ("ALTERNATIVES: 4", "ALTERNATIVES: 3", 3, "each must have a name of its own"),
        ("NAME 3: Cy", "NAME 2: Cy", 3, "each must have a name of its own"),
        ("NAME 3: Cy", "NAME 3:", 3, "each must have a name of its own"),
        ("1: 1,2\n", "", 9, "no ballots"),
    ],
)
def test_bad_headers(tmp_path, old, new, row, said):
    filled = HEADER.format(type="toi", voters=1, unique=1) + "1: 1,2\n"
    assert old in filled
    path = written(tmp_path / "votes.toi", filled.replace(old, new))
    with rejected(said=said, row=row):
        PreflibReader().scan(path).collect()


@needs("preflib/netflix.soc")
def test_the_netflix_election():
    frame = PreflibReader().scan(real("preflib/netflix.soc")).collect()
    assert (frame.height, frame["count"].sum()) == (24, 588)
    assert frame["ranking"][0].to_list() == [
        ["Beverly Hills Cop"],
        ["Mean Girls"],
        ["Mission: Impossible II"],
        ["The Mummy Returns"],
    ]


@needs("preflib/education_courses.soi")
def test_a_real_file_whose_header_is_wrong():
    path = real("preflib/education_courses.soi")
    with rejected("NUMBER VOTERS is 14, but the ballots make 12", row=12):
        PreflibReader().scan(path).collect()
    assert PreflibReader(counts=False).scan(path).collect().height == 11


@needs("preflib/netflix.soc", "preflib/education_courses.soi", "preflib/skaters.toc", "preflib/education_qualities.toi")
def test_the_card():
    log = load_orders(get(Dataset, "preflib").scan())
    assert log.ids == ["soc/netflix", "soi/education_courses", "toc/skaters", "toi/education_qualities"]
    assert log.item_offsets.tolist() == [0, 4, 17, 47, 67]
    assert log.orders.counts.tolist() == [24, 11, 9, 15]


WARD = (
    "4 2\n-3\n7 1 2 0\n5 2=4 1 0\n4 4 - 2 1 0\n2 3 1 0\n3 3 0\n1 0\n0\n"
    + '"Ada (Ind)"\n"Bo"\n"Cy"\n"Di ""Dee"" Ives"\n"Ward"\n'
)
ADA, BO, DI = "Ada (Ind)", "Bo", 'Di "Dee" Ives'


@pytest.mark.parametrize("name", ["ward.blt", "ward.txt", "ward.csv", "ward.dat", "ward"])
def test_a_file_is_read_as_it_is_meant(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, WARD)
    source = open_log(path)
    found = source.frame.collect()
    assert found["query_id"].unique().to_list() == ["ward"]
    assert dict(zip(map(str, found["ranking"].to_list()), found["count"], strict=True)) == {
        str([[ADA], [BO]]): 7,
        str([[BO, DI], [ADA]]): 5,
        str([[DI], [BO], [ADA]]): 4,
        str([[ADA]]): 2,
    }
    assert found["candidates"].to_list() == [[ADA, BO, DI]] * 4
    assert list(source.notes) == [
        "rankbench leaves out 2 lines of empty ballots",
        "rankbench takes withdrawn candidates out of the ballots: 'Cy'",
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
    assert found["count"].to_list() == [155, 52]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3\n1 1 0\n", ":1: '3' are not the numbers of candidates and of seats"),
        ("2 1\n1 1 2\n0\nx\ny\n", ":2: '1 1 2' is no ballot: it is 'WEIGHT CANDIDATE ... 0'"),
        ("2 1\n1 1 x 0\n0\nx\ny\n", ":2: '1 1 x 0' is no ballot"),
        ("2 1\n1 1 1 0\n0\nx\ny\n", ":2: 'x' is ranked twice"),
        ("2 1\n1 3 0\n0\nx\ny\n", ":2: '1 3 0' names a candidate beyond the 2"),
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
