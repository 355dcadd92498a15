"""Ballots in lines, of ABIF and of the Condorcet Election Format: what they say, and what is refused with its line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from data_files import rejected, written
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.data.readers.ballot_lines import AbifReader
from rankbench.data.readers.choose import choose_reader
from rankbench.logs.open import open_log

Ballots = dict[str, int]


def ballots(frame: pl.DataFrame) -> Ballots:
    """Return how many voters cast each ballot, written as in ``a>b=c``."""
    counts: Counter[str] = Counter()
    for ranking, count in frame.select("ranking", "count").iter_rows():
        counts[">".join("=".join(sorted(place)) for place in ranking)] += count
    return dict(counts)


def read(path: Path, text: str) -> tuple[Ballots, list[str], list[str]]:
    """Return the ballots of a text, its candidates, and the notes on it."""
    log = open_log(written(path, text))
    frame = log.frame.collect()
    assert frame["query_id"].unique().to_list() == ["town"]
    return ballots(frame), frame["candidates"][0].to_list(), list(log.notes)


TOWN = """\
# a town # of four
{"title": "Capitol [of] Tennessee"}
42:Mem>Nash>Chat>Knox
 26 : Nash > Chat >Knox> Mem   # [by post
15:Chat>[Knox, TN]>Nash>Mem
17:Knox>Chat>Nash>"Mem phis"
5:Chat=Nash>Knox
=Mem:[Mem phis]
=Knox:[Knox, TN]
3:
"""


def test_abif_names_candidates_as_its_lines_say(tmp_path: Path) -> None:
    found, candidates, notes = read(tmp_path / "town.abif", TOWN)
    assert found == {
        "Mem phis>Nash>Chat>Knox, TN": 42,
        "Nash>Chat>Knox, TN>Mem phis": 26,
        "Chat>Knox, TN>Nash>Mem phis": 15,
        "Knox, TN>Chat>Nash>Mem phis": 17,
        "Chat=Nash>Knox, TN": 5,
    }
    assert candidates == ["Mem phis", "Knox, TN", "Nash", "Chat"]
    assert notes == [
        "rankbench leaves out 1 line of empty ballots",
        "no line gives the names of 'Nash', 'Chat', who are called as in the ballots",
    ]


@pytest.mark.parametrize(
    ("line", "ballot"),
    [
        ("1: A/5, B/0, C/5", "A=C>B"),
        ("1: A/045,B/200,[C, D]/400", "C, D>B>A"),
        ("1: A/5 > B/2 = C/2 > D/0", "A>B=C>D"),
        ("1: A/5>B/0>C/0", "A>B>C"),  # as abiftool's test data has it
        ("1: A=B/1>C/0", "A=B>C"),
        ("1: A/0.5", "A"),
        ("1 * 蘇業 > D-1.b'c", "蘇業>D-1.b'c"),
    ],
)
def test_ratings_order_candidates(tmp_path: Path, line: str, ballot: str) -> None:
    found, _, notes = read(tmp_path / "town.abif", line)
    assert found == {ballot: 1}
    assert notes == (["rankbench reads the order of ratings, not their sizes"] if "/" in line else [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1: A,B", "commas stand between candidates who are all rated"),
        ("1: A/5, B", "commas stand between candidates who are all rated"),
        ("1: A/5, B/3 > C/1", "commas stand between candidates who are all rated"),
        ("1: A/1 > B/5", "'B' is rated 5, and 1 stands before: ratings and signs contradict each other"),
        ("1: A/5 = B/3", "'B' is rated 3, and 5 stands before"),
        ("1: A/5 > B = C/6", "'C' is rated 6, and 5 stands before"),
        ("1: A > B > A", "'A' is ranked twice"),
        ("1: Z > A", "'A' is ranked twice"),
        ("1: A > undervote", "'undervote' names no candidate"),
        ("0: A > B", "the ballot was cast by 0 voters"),
        ("1: A > B >", "is no ballot such as"),
        ("1: A B > C", "is no ballot such as"),
        ("1: A*3, B*1", "is no ballot such as"),
        ("1.5: A > B", "is no ballot such as"),
        ("A > B", "is no ballot such as"),
        ("[Ann Ive]: A", "is no ballot such as"),
        ("=A: [x] y", "is no name such as"),
        ("=Z: B", "another line has the same, or no name"),
        ("=Y: A", "another line has the same, or no name"),
    ],
)
def test_abif_that_is_refused(tmp_path: Path, line: str, said: str) -> None:
    # Z is called A, too.
    path = written(tmp_path / "town.abif", f"=Z:[A]\n\n1: B > C\n{line}\n".replace("1: Z > A", "1: Z > [A]"))
    with rejected(said=said, path=path, row=4):
        rankbench.scan(path).collect()


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("town.abif", "2: B > C\n1: #A > B\n", 2),
        ("town.cvotes", "A > B\n#A > C\n", 2),
        ("town.cvotes", "A > B #and C\n", 1),
        ("town.blt", '2 1\n1 1 2 0\n0\n#A\n"B"\n"a town"\n', 4),
    ],
)
def test_what_may_be_a_comment_or_a_name_is_refused(tmp_path: Path, name: str, text: str, row: int) -> None:
    with rejected(said="may be a comment, or a name", path=written(tmp_path / name, text), row=row):
        rankbench.scan(tmp_path / name).collect()
    read = written(tmp_path / name, text.replace("#A", "[#A]" if "abif" in name else "# A").replace("#and", "# and"))
    if not name.endswith("blt"):
        rankbench.scan(read).collect()


@pytest.mark.parametrize("name", ["town.txt", "town.csv", "town.dat", "town"])
def test_ballots_are_known_by_their_first_line(tmp_path: Path, name: str) -> None:
    assert choose_reader(written(tmp_path / name, "# a town\n=A:[Ann]\n42:A>B\n")).name == "abif"
    assert choose_reader(written(tmp_path / name, "# a town\n#/Candidates: A ; B\nA > B * 2\n")).name == "cef"


@pytest.mark.parametrize("text", ["1 qid:1 1:0.5", "1: 2,3", "12:30 a > b", "3: 1,{2,3}", "ranking", "1: A", "a: b>c"])
def test_other_lines_are_no_ballots(text: str) -> None:
    assert not AbifReader.sniff(Path("town.txt"), f"{text}\n1: A > B\n".encode())


ELECTION = """\
# My election
#/Candidates: Candidate A ; Candidate B;Candidate C
#/Number of Seats: 42
#/Implicit Ranking: {implicit}
#/weight allowed: {weighed}
#/Voting Method: Schulze

Candidate A > Candidate B > Candidate C * 42
julien@condorcet.vote , signature:55073 || Candidate A>Candidate B > Candidate C # as above
Candidate C > Candidate A = Candidate B ^7 * 8
Candidate C
Candidate X > Candidate B = Candidate Y
{empty}
"""
"""After the example of the format's specification."""


@pytest.mark.parametrize("empty", ["/EMPTY_RANKING/", "/EMPTY/"])
def test_candidates_left_out_stand_behind(tmp_path: Path, empty: str) -> None:
    text = ELECTION.format(implicit="true", weighed="false", empty=empty)
    found, candidates, notes = read(tmp_path / "town.cvotes", text)
    a, b, c = candidates
    assert found == {f"{a}>{b}>{c}": 43, f"{c}>{a}={b}": 9, f"{b}>{a}={c}": 1, f"{a}={b}={c}": 1}
    assert notes == [
        "rankbench takes candidates out of ballots whom '#/Candidates' does not name: 'Candidate X', 'Candidate Y'",
        "rankbench does not read the parameters 'voting method'",
        "rankbench does not read tags",
        "rankbench does not read weights, as '#/Weight Allowed: true' is not said",
        "3 lines leave candidates out: they stand behind the others, tied, unless '#/Implicit Ranking: false' is said",
    ]


def test_candidates_left_out_are_not_ranked_where_the_file_says_so(tmp_path: Path) -> None:
    text = ELECTION.format(implicit="False", weighed="TRUE", empty="/EMPTY_RANKING/ * 2")
    found, (a, b, c), notes = read(tmp_path / "town.cvotes", text)
    assert found == {f"{a}>{b}>{c}": 43, f"{c}>{a}={b}": 8, c: 1, b: 1}
    assert notes[0] == "rankbench leaves out 1 line of empty ballots"
    frame = rankbench.scan(tmp_path / "town.cvotes").collect()
    assert dict(frame.group_by("count").agg(pl.col("weight").max()).iter_rows()) == {42: 1.0, 1: 1.0, 8: 7.0}


def test_candidates_are_of_the_votes_where_no_line_names_them(tmp_path: Path) -> None:
    found, candidates, _ = read(tmp_path / "town.cvotes", "A > B * 2\nC\n")
    assert candidates == ["A", "B", "C"]
    assert found == {"A>B>C": 2, "C>A=B": 1}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("A < B", "is no line of votes"),
        ("A > B ; B > A", "is no line of votes"),
        ("A, B", "is no line of votes"),
        ("A > > B", "is no line of votes"),
        ("A > B =", "is no line of votes"),
        ("A > B * 8 ^7", "is no line of votes"),
        ("A > B * 1.5", "is no line of votes"),
        ("A > B * x", "is no line of votes"),
        ("A > /EMPTY_RANKING/", "is no line of votes"),
        ("x || y || A > B", "is no line of votes"),
        ("42: A > B || C", "is no line of votes"),
        ("A > B > A", "'A' is ranked twice"),
        ("A > skipped", "'skipped' names no candidate"),
        ("A > B * 0", "cast by 0 voters"),
        ("A > B ^0", "cast by 0 voters"),
        ("#/Implicit Ranking: false", "the parameter 'implicit ranking' must stand before the votes"),
        ("#/Candidates: A ; B", "the parameter 'candidates' is given twice"),
        ("   #/Implicit Ranking: false", "is no parameter such as '#/Candidates: Ann ; Bob', at the beginning"),
        ("#/Implicit Ranking: no", "implicit ranking must be true or false, not 'no'"),
    ],
)
def test_cef_that_is_refused(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path / "town.cvotes", f"#/Candidates: A ; B\n\nA > B\n{line}\n")
    with rejected(said=said, path=path, row=4):
        rankbench.scan(path).collect()


@pytest.mark.parametrize("names", ["A ; A", "A ; ", "", "A ; B # and C", "A, B"])
def test_names_of_candidates_differ(tmp_path: Path, names: str) -> None:
    path = written(tmp_path / "town.cvotes", f"#/Candidates:{names}\nA > B\n")
    with rejected(said="are not names of different candidates", path=path, row=1):
        rankbench.scan(path).collect()


@pytest.mark.parametrize("text", ["", "2:\n", "# nothing\n"])
def test_ballots_that_rank_nobody(tmp_path: Path, text: str) -> None:
    for ending, said in ((".abif", text), (".cvotes", "#/Implicit Ranking: false\n/EMPTY/")):
        with rejected("the file has no ballot that ranks anybody|the file is empty"):
            rankbench.scan(written(tmp_path / f"town{ending}", said)).collect()


@given(
    st.lists(
        st.tuples(st.integers(1, 99), st.permutations("ABCD"), st.lists(st.sampled_from(">="), min_size=3, max_size=3)),
        min_size=1,
        max_size=8,
    )
)
def test_both_formats_say_the_same_of_whole_rankings(
    tmp_path_factory: pytest.TempPathFactory, votes: list[tuple[int, list[str], list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("both")
    texts = ["".join(x for pair in zip(names, [*signs, ""], strict=True) for x in pair) for _, names, signs in votes]
    counts = [count for count, _, _ in votes]
    abif = "\n".join(f"{count}: {text}" for count, text in zip(counts, texts, strict=True))
    cef = "\n".join(f"{text} * {count}" for count, text in zip(counts, texts, strict=True))
    expected: Counter[str] = Counter()
    for count, text in zip(counts, texts, strict=True):
        expected[">".join("=".join(sorted(place.split("="))) for place in text.split(">"))] += count
    for name, text in (("town.abif", abif), ("town.cvotes", cef)):
        assert read(folder / name, text)[0] == dict(expected)
