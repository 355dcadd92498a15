"""What a winner's column says: one meaning of a word in a whole column, and no column ignored."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

import polars as pl
import pytest
from amounts import examples, part_of
from data_files import stored, written
from hypothesis import given
from hypothesis import strategies as st
from votes_as_they_come import votes

from rankbench.data.readers.csv import CsvReader
from rankbench.data.tables.checks import checked_table
from rankbench.errors import InputError
from rankbench.logs.open import open_log
from rankbench.ranking.aggregate import aggregate

Rows = list[tuple[str, ...]]


def outcomes(*said: str) -> Rows:
    """Return winner, loser and tie of ``x>y`` and ``x=y``."""
    return [vote[:3] for vote in votes(*said)]


def csv(folder: Path, rows: Rows, header: str = "model_a,model_b,winner") -> Path:
    return written(folder / "votes.csv", "".join(line + "\n" for line in (header, *(",".join(row) for row in rows))))


def read(path: Path, columns: str = "") -> Rows:
    frame = checked_table(CsvReader().raw(path), columns).frame.collect()
    return frame.select("winner", "loser", "tie").rows()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # `a` is a side in the first row, so it is one in the second, whoever is called so.
        ([("x", "y", "a"), ("b", "a", "a")], outcomes("x>y", "b>a")),
        # `c` is an item's name, so `a` is one too.
        ([("c", "a", "c"), ("b", "a", "a")], outcomes("c>a", "a>b")),
        # Both readings say the same.
        ([("a", "b", "a"), ("a", "b", "b")], outcomes("a>b", "b>a")),
        # Among sides a tie is a tie, though an item is called so.
        ([("x", "y", "left"), ("tie", "x", "tie")], outcomes("x>y", "tie=x")),
        ([("1", "2", "1"), ("3", "2", "1"), ("2", "1", "2")], outcomes("1>2", "3>2", "1>2")),
    ],
)
def test_a_word_has_one_meaning_in_a_column(tmp_path: Path, rows: Rows, expected: Rows) -> None:
    assert read(csv(tmp_path, rows)) == expected


@pytest.mark.parametrize(
    ("rows", "row", "as_sides", "as_items"),
    [
        ([("a", "b", "a"), ("b", "a", "a")], 3, outcomes("a>b", "b>a"), outcomes("a>b", "a>b")),
        ([("2", "1", "1")], 2, outcomes("2>1"), outcomes("1>2")),
        ([("tie", "x", "tie")], 2, outcomes("tie=x"), outcomes("tie>x")),
        ([("a", "x", "a"), ("same", "a", "same")], 3, outcomes("a>x", "same=a"), outcomes("a>x", "same>a")),
    ],
)
def test_what_may_be_both_is_refused_with_the_columns_that_decide(
    tmp_path: Path, rows: Rows, row: int, as_sides: Rows, as_items: Rows
) -> None:
    path = csv(tmp_path, rows)
    with pytest.raises(InputError, match="may be meant as") as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}:{row} [winner]: ")
    for columns, expected in (("side=winner", as_sides), ("item=winner", as_items)):
        assert f"--columns {columns}" in said
        assert read(path, columns) == expected


def test_an_item_called_like_a_tie_is_refused_among_names(tmp_path: Path) -> None:
    path = csv(tmp_path, [("x", "y", "x"), ("both", "y", "both")])
    with pytest.raises(InputError, match="'both' may be meant as"):
        read(path)
    assert read(path, "item=winner") == outcomes("x>y", "both>y")


def test_sides_and_names_in_one_column_are_refused(tmp_path: Path) -> None:
    path = csv(tmp_path, [("x", "y", "x"), ("x", "y", "right")])
    with pytest.raises(
        InputError, match=r"'right' is a side, but .* the name of an item in other rows \(first 'x'\)"
    ) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:3 [winner]")
    with pytest.raises(InputError, match="'x' is neither of the two sides"):
        read(path, "side=winner")
    with pytest.raises(InputError, match="'right' is neither of the two items"):
        read(path, "item=winner")


@pytest.mark.parametrize("columns", ["side=winner,item=winner", "side=winner,winner=model_a", "first=first"])
def test_columns_that_contradict_one_another(tmp_path: Path, columns: str) -> None:
    path = csv(tmp_path, [("x", "y", "x", "1")], "model_a,model_b,winner,first")
    with pytest.raises(InputError, match=r"one column says who won|leave first out"):
        read(path, columns)


HEADER = "left,right,winner,tie"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("x", "y", "left", "false"), ("x", "y", False)),
        (("x", "y", "tie", "true"), ("x", "y", True)),
        (("x", "y", "", "yes"), ("x", "y", True)),
        (("x", "y", "right", ""), ("y", "x", False)),
        (("x", "y", "tie", ""), ("x", "y", True)),
    ],
)
def test_a_column_of_ties_beside_sides_is_used(tmp_path: Path, row: tuple[str, ...], expected: tuple[object]) -> None:
    path = csv(tmp_path, [row], HEADER)
    assert read(path) == [expected]
    assert read(path, "tie=tie") == [expected]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("x", "y", "left", "true"), "the winner is 'left', but the column 'tie' says otherwise"),
        (("x", "y", "y", "1"), "the winner is 'y', but the column 'tie' says otherwise"),
        (("x", "y", "tie", "false"), "the winner is 'tie', but the column 'tie' says otherwise"),
        (("x", "y", "", "false"), "neither of the two"),
        (("x", "y", "left", "perhaps"), "'perhaps' is not a truth value"),
    ],
)
def test_a_column_of_ties_that_contradicts_is_refused(tmp_path: Path, row: tuple[str, ...], said: str) -> None:
    path = csv(tmp_path, [("x", "y", "tie", "true"), row], HEADER)
    with pytest.raises(InputError, match=said) as caught:
        read(path)
    assert f"{path}:3 [" in str(caught.value)
    # Without that column it is what the winner's column says.
    if row[2]:
        assert read(path, "tie=")[1][2] is (row[2] == "tie")


ITEMS = st.sampled_from(["a", "b", "1", "left", "tie", "x"])
WORDS = st.sampled_from(["a", "b", "left", "right", "tie", "x", "1", "2"])


@examples(60)
@given(st.lists(st.tuples(ITEMS, ITEMS, WORDS).filter(lambda row: row[0] != row[1]), min_size=1, max_size=5))
def test_parquet_without_checks_reads_what_csv_does(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> None:
    folder = tmp_path_factory.mktemp("sides")
    path = csv(folder, rows)
    frame = pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row")
    parquet = stored(frame, folder / "votes.parquet")
    try:
        expected = read(path)
    except InputError as error:
        refused = error
        with pytest.raises(InputError) as caught:
            open_log(parquet).frame.collect()
    else:
        source = open_log(parquet)
        assert source.parquet is not None
        for frame in (source.frame, source.parquet.frame()):
            assert frame.select("winner", "loser", "tie").collect().rows() == expected
        return
    # The header of a CSV file is a row.
    row = None if refused.row is None else refused.row - 1
    assert (caught.value.message, caught.value.row) == (refused.message, row)


def test_the_unchecked_path_sees_contradictions_too(tmp_path: Path) -> None:
    votes = pl.DataFrame({"left": ["x"] * 2, "right": ["y"] * 2, "winner": ["left", "right"], "tie": [False, True]})
    path = stored(votes, tmp_path / "votes.parquet")
    with pytest.raises(InputError, match=r"votes\.parquet:2 \[winner\]: the winner is 'right', but"):
        aggregate(path, "borda")
    # By the winner's column alone each won once.
    found = aggregate(path, "borda", columns="tie=").table
    assert found["score"][0] == found["score"][1]


@pytest.mark.parametrize(
    ("words", "header"),
    [
        (("[[A]]", "[[B]]", "[[C]]"), "model_a,model_b,verdict"),
        (("[[A>B]]", "[[B>>A]]", "[[A=B]]"), "model_a,model_b,verdict"),
        (("A>>B", "B>A", "tie (inconsistent)"), "model_a,model_b,verdict"),
        (("left", "RIGHT ", "tie (bothbad)"), "model_a,model_b,winner"),
        (("model_a", "model_b", "tie"), "model_a,model_b,winner"),
        (("1-0", "0-1", "½-½"), "White,Black,Result"),
        (("1\u20130", "0\u20131", "½\u2013½"), "White,Black,Result"),
        (("1\u20140", "0\u22121", "1/2\u20131/2"), "White,Black,Result"),
    ],
)
def test_words_of_judges_and_of_chess_are_known(tmp_path: Path, words: tuple[str, ...], header: str) -> None:
    path = csv(tmp_path, [("x", "y", word) for word in words], header)
    assert read(path) == outcomes("x>y", "y>x", "x=y")


DROPS = {
    "words beside items": (
        "team1,team2,winner",
        [("x", "y", "x"), ("y", "z", "NA"), ("z", "x", " na"), ("x", "z", "z")],
    ),
    "sides": ("model_a,model_b,winner", [("x", "y", "model_a"), ("y", "z", "NA"), ("x", "z", "model_b")]),
    "points": ("model_a,model_b,label", [("x", "y", "1"), ("y", "z", "NA"), ("x", "z", ".25"), ("x", "z", "0.5")]),
    "winner and loser": ("winner,loser,round", [("x", "y", "1"), ("NA", "z", "2"), ("z", "x", "3"), ("y", "NA", "4")]),
    "scores": (
        "home_team,away_team,home_score,away_score",
        [("x", "y", "3", "1"), ("y", "z", "NA", "NA"), ("z", "x", "2", "2")],
    ),
    "flags": ("model_a,model_b,winner_model_a,winner_model_b", [("x", "y", "1", "0"), ("y", "z", "NA", "NA")]),
}


@pytest.mark.parametrize(
    ("shape", "ending", "word"),
    part_of(
        [(shape, end, word) for shape in DROPS for end in ("csv", "parquet") for word in ("NA", "", "no result")], 5
    ),
)
def test_rows_that_say_nothing_are_left_out_where_it_is_said(
    tmp_path: Path, shape: str, ending: str, word: str
) -> None:
    header, rows = DROPS[shape]
    said = [tuple(word if cell.strip().upper() == "NA" else cell for cell in row) for row in rows]
    kept = [row for row in rows if not any(cell.strip().upper() == "NA" for cell in row)]

    def log(name: str, rows: Rows) -> Path:
        frame = pl.DataFrame(rows, schema=header.split(","), orient="row")
        return stored(frame, tmp_path / f"{name}.{ending}")

    path, whole = log("votes", said), log("kept", kept)
    found, expected = aggregate(path, columns=f"drop=other|{word}"), aggregate(whole)
    assert found.table.equals(expected.table)
    lines = open_log(path, columns=f"drop=other|{word}").frame.collect()
    assert lines.equals(open_log(whole).frame.collect())
    count = len(rows) - len(kept)
    said_of = "1 row" if count == 1 else f"{count} rows"
    assert any(note.startswith(f"rankbench leaves out {said_of} with 'other', ") for note in found.notes)


def test_rows_without_a_winner_are_left_out_by_a_column_that_says_so(tmp_path: Path) -> None:
    losers = csv(tmp_path, [("x", "y"), ("", "z")], "winner,loser")
    with pytest.raises(InputError, match=r":3 \[winner\]: the value is missing; --columns drop= leaves such rows out"):
        read(losers)
    assert open_log(losers, columns="drop=").frame.collect().height == 1


def test_errors_name_their_rows_beside_rows_that_are_left_out(tmp_path: Path) -> None:
    rows = [("x", "y", "NA"), ("y", "z", "NA"), ("x", "y", "x"), ("z", "z", "z")]
    with pytest.raises(InputError, match=r":5 \[winner\]: item 'z' is compared with itself"):
        read(csv(tmp_path, rows), "drop=NA")


LEAGUE = [("Ants", "2-1", "Bees"), ("Cats", "0\u20130", "Dogs"), ("Bees", "1:3", "Cats"), ("Dogs", " 0 - 2 ", "Ants")]


def test_scores_of_both_in_one_column_are_read_as_those_in_two(tmp_path: Path) -> None:
    path = csv(tmp_path, LEAGUE, "Team 1,FT,Team 2")
    source = open_log(path)
    votes = outcomes("Ants>Bees", "Cats=Dogs", "Cats>Bees", "Ants>Dogs")
    assert source.frame.select("winner", "loser", "tie").collect().rows() == votes
    assert source.notes[0] == "rankbench reads 'FT' as scores of 'Team 1' and 'Team 2'"
    with pytest.raises(InputError, match=r":6 \[FT\]: '2 to 1' are not the scores"):
        read(
            csv(tmp_path, [*LEAGUE, ("Ants", "2 to 1", "Cats")], "a,FT,b"),
            "left=a,right=b,left_score=FT,right_score=FT",
        )
    dates = csv(
        tmp_path, [("Ants", "02-Jan", "Bees"), ("Cats", "0-0", "Dogs"), ("Cats", "1-0", "Ants")], "Team 1,FT,Team 2"
    )
    with pytest.raises(
        InputError, match=r":2 \[FT\]: '02-Jan', or a row below, is a score that a spreadsheet took for"
    ):
        read(dates)


def test_scores_in_one_column_that_may_be_series_are_asked_about(tmp_path: Path) -> None:
    path = csv(tmp_path, [("a", "b", "2-1"), ("b", "c", "2-0"), ("c", "a", "1-2")], "player1,player2,result")
    with pytest.raises(InputError, match="may be scores, and the higher one won, or the games") as error:
        read(path)
    first, second = (shlex.split(part)[0] for part in str(error.value).split("--columns ")[1:])
    assert read(path, first) == outcomes("a>b", "b>c", "a>c")
    votes = sorted(read(path, second))
    assert votes == sorted(
        outcomes("a>b") * 2 + outcomes("b>a") + outcomes("b>c") * 2 + outcomes("a>c") * 2 + outcomes("c>a")
    )


def test_preferences_from_1_to_2_are_those_of_alpaca_eval(tmp_path: Path) -> None:
    rows = [("base", "mine", word) for word in ("2.0", "1.0", "2.0", "1.5", "2.0", "0.0")]
    path = csv(tmp_path, rows, "generator_1,generator_2,preference")
    won, tied = ("mine", "base", False), ("base", "mine", True)
    assert read(path) == [won, ("base", "mine", False), won, tied, won, tied]
    # Of one pair Firth's scores are those of counts with half a win more each.
    found = aggregate(path)
    scores = dict(found.table.select("item", "score").iter_rows())
    assert scores["mine"] - scores["base"] == pytest.approx(math.log(4.5 / 2.5), abs=1e-6)
    assert any("from 1, where 'generator_1' won, to 2, where 'generator_2' did" in note for note in found.notes)
    graded = csv(tmp_path, [("x", "y", "1.75"), ("x", "y", "1.0"), ("x", "y", "1.9")], "model_1,model_2,preference")
    wins = aggregate(graded, "borda").table
    assert dict(wins.select("item", "wins").iter_rows()) == pytest.approx({"x": 0.25 + 1 + 0.1, "y": 0.75 + 0.9})
    # Elsewhere 1 and 2 are no sides, and what they mean is asked.
    with pytest.raises(InputError, match="which do not tell whether"):
        read(csv(tmp_path, [("x", "y", "1.75")], "model_a,model_b,preference"))
    assert read(csv(tmp_path, [("x", "y", "2")], "q,r,s"), "left=q,right=r,preference=s") == outcomes("y>x")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_without_a_category_are_of_no_ranking_by_it(tmp_path: Path, ending: str) -> None:
    rows = [
        ("a", "b", "clay"),
        ("b", "a", "grass"),
        ("a", "b", None),
        ("a", "c", "clay"),
        ("c", "b", "grass"),
        ("b", "c", ""),
    ]
    frame = pl.DataFrame(rows, schema=["winner", "loser", "surface"], orient="row")
    kept = frame.filter(pl.col("surface").fill_null("") != "")
    paths = stored(frame, tmp_path / f"votes.{ending}"), stored(kept, tmp_path / f"kept.{ending}")
    found, expected = (aggregate(path, by="surface") for path in paths)
    assert found.table.equals(expected.table)
    assert found.notes[0] == "rankbench leaves out 2 rows with nothing in 'surface'"


def test_judges_that_are_lists_are_refused_with_the_columns_that_read_the_log(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.jsonl", '{"winner": "a", "loser": "b", "judge": ["gpt-4", "pair-v2"]}\n')
    with pytest.raises(InputError, match=r":1 \[judge\]: .*--columns judge= reads the log without it"):
        open_log(path).frame.collect()
    assert open_log(path, columns="judge=").frame.collect().height == 1
