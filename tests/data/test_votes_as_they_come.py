"""Votes as people have them are read as they are meant, or it is said how they may be read."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from amounts import examples, part_of
from data_files import rejected, written
from hypothesis import given
from hypothesis import strategies as st
from votes_as_they_come import GUESSED, PROPOSED, WON, Vote, votes

import rankbench
from rankbench.errors import InputError
from rankbench.interfaces.table import columns_text, said_columns
from rankbench.logs.open import open_log


def read(path: Path, columns: str = "") -> list[Vote]:
    frame = open_log(path, columns=columns).frame.collect()
    ties = frame["tie"].to_list() if "tie" in frame.columns else [False] * frame.height
    weights = frame["weight"].to_list() if "weight" in frame.columns else [1.0] * frame.height
    return list(zip(frame["winner"], frame["loser"], ties, weights, strict=True))


@pytest.mark.parametrize("case", part_of(GUESSED))
def test_they_are_read_without_a_word(tmp_path: Path, case: str) -> None:
    name, content, votes = GUESSED[case]
    path = written(tmp_path / name, content)
    assert read(path) == votes
    ranked = rankbench.aggregate(path).table["item"].to_list()
    assert sorted(ranked) == sorted({item for vote in votes for item in vote[:2]})


@pytest.mark.parametrize("case", PROPOSED)
def test_of_several_readings_each_is_said_and_works(tmp_path: Path, case: str) -> None:
    header, rows, readings = PROPOSED[case]
    path = written(tmp_path / "votes.csv", header.encode() + b"\n" + rows)
    with pytest.raises(InputError) as caught:
        read(path)
    said = str(caught.value)
    assert len(said) < 700
    lines = [
        part.partition(" reads ") for part in re.split(r" \| |(?=--columns)", said) if part.startswith("--columns")
    ]
    assert {shlex.split(line)[1]: shown.split("; ")[0] for line, _, shown in lines} == {
        columns: f"{winner!r} beats {loser!r}" for columns, (winner, loser) in readings.items()
    }
    for columns, (winner, loser) in readings.items():
        assert read(path, columns)[0][:2] == (winner, loser)


@pytest.mark.parametrize("columns", ["mirrored=halve", "time=", "judge=", "weight="])
def test_what_is_said_beside_who_won_leaves_the_reading_of_the_rest(tmp_path: Path, columns: str) -> None:
    path = written(tmp_path / "games.csv", "date,team,opponent,result\n1,a,b,W\n1,b,a,L\n2,c,a,L\n2,a,c,W\n")
    won = [("a", "b"), ("a", "c")] if columns == "mirrored=halve" else [("a", "b"), ("a", "b"), ("a", "c"), ("a", "c")]
    assert [vote[:2] for vote in read(path, columns)] == won
    assert set(rankbench.aggregate(path, by="date").table["query"]) == {"1", "2"}


def test_a_column_that_says_in_most_rows_who_won_is_not_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path / "judged.csv", "m1,m2,first game,second game\na,b,b,a\nb,c,b,b\na,c,error,c\nc,a,c,a\n")
    with pytest.raises(InputError) as caught:
        read(path, "time=")
    assert "'winner=first game,time=' reads" in str(caught.value).replace("left=m1,right=m2,", "")
    assert "'error' of 'a' and 'c'; whatever 'second game' may say" in str(caught.value)
    said = "left=m1,right=m2,winner=first game,time=,drop=error"
    assert [vote[:2] for vote in read(path, said)] == [("b", "a"), ("b", "c"), ("c", "a")]


def test_words_of_the_winners_column_are_said(tmp_path: Path) -> None:
    path = written(tmp_path / "fights.csv", "left,right,who\na,b,Red\nc,a,Blue\nb,c,NC\nb,a,red\n")
    found = votes("a>b", "a>c", "b=c", "b>a")
    assert read(path, "winner=who,left_word=Red,right_word=Blue,tie_word=NC") == found
    assert read(path, "winner=who,left_word=Red,tie_word=NC") == found  # one word is left
    for columns, said in (
        ("winner=who,left_word=Red", "'Blue', 'NC' are other words of the column: say which one is the right_word"),
        ("winner=who,left_word=Rad,right_word=Blue", "no row says 'Rad', the left_word; did you mean 'Red'?"),
        ("winner=who,left_word=Red,right_word=Blue", ":4 [who]: 'NC' is none of the words that were said"),
        ("winner=left,loser=right,left_word=Red", "'left_word': these roles need two columns of items"),
        ("item=who,left_word=Red", "'left_word': these roles need two columns of items"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            read(path, columns)


def test_how_columns_were_read_is_noted(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.json", GUESSED["an arena's JSON"][1])
    assert "1 votes call both items bad: they count as ties" in rankbench.aggregate(path).notes
    path = written(tmp_path / "results.csv", GUESSED["scores"][1])
    assert "rankbench leaves out 1 row without both scores" in rankbench.aggregate(path).notes
    path.write_bytes(GUESSED["names that nobody knows"][1])
    assert "rankbench reads columns as left=m1,right=m2,winner=verdict" in rankbench.aggregate(path).notes


def test_a_second_column_that_says_who_won_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    path = written(tmp_path / "results.csv", "team1,team2,score1,score2,winner\nAnn,Bob,30,0,Bob\nBob,Eve,11,21,Bob\n")
    said = "rankbench reads the winner from 'winner', not from 'score1', 'score2' (--columns winner= reads the latter)"
    assert said in rankbench.aggregate(path, "win-rate").notes
    for columns, score in (("winner=winner", -0.5), ("winner=", 0.5)):
        found = rankbench.aggregate(path, "win-rate", columns=columns)
        assert not any("reads the winner from" in note for note in found.notes)
        assert found.table.filter(item="Ann")["score"].to_list() == [score]


def test_an_outcome_beside_winner_and_loser_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    path = written(tmp_path / "results.csv", "winner,loser,outcome\na,b,win\nb,a,draw\n")
    how = "left=winner,right=loser,winner=outcome"
    said = f"rankbench reads the winner from 'winner', 'loser', not from 'outcome' (--columns {how} reads the latter)"
    assert said in rankbench.aggregate(path).notes
    assert read(path, how) == votes("a>b", "b=a")
    path.write_text("left,right,winner,label\na,b,a,b\n")
    assert "not from 'label' (--columns winner=label reads the latter)" in rankbench.aggregate(path).notes[0]
    assert read(path, "winner=label") == votes("b>a")


@pytest.mark.parametrize(
    ("header", "rows", "names"),
    [
        ("winner,loser,winner_score,loser_score", ["a,b,3,1", "b,a,2,2"], "'winner_score', 'loser_score'"),
        (
            "Winner,Loser,W points,winner_points,loser_points",
            ["a,b,1,3,1", "b,a,1,2,2"],
            "'winner_points', 'loser_points'",
        ),
        ("winner,loser,score", ["a,b,3-1", "b,a,2:2"], "'score'"),
    ],
)
def test_equal_scores_of_winner_and_loser_are_not_passed_over_in_silence(
    tmp_path: Path, header: str, rows: list[str], names: str
) -> None:
    path = written(tmp_path / "results.csv", "\n".join([header, *rows, ""]))
    (said,) = (note for note in rankbench.aggregate(path).notes if "equal scores" in note)
    assert said.startswith(f"1 row with equal scores in {names} counts as a win (--columns ")
    assert read(path, said.split("--columns ")[1].removesuffix(" reads ties)")) == votes("a>b", "b=a")
    path.write_text("\n".join([header, rows[0], ""]))
    assert not any("equal scores" in note for note in rankbench.aggregate(path).notes)


@pytest.mark.parametrize("name", ["tie", "draw", "is_tie", "Is draw", "drawn"])
def test_ties_beside_winner_and_loser_have_many_names(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "results.csv", f"winner,loser,{name}\na,b,0\nb,a,1\n")
    assert read(path) == votes("a>b", "b=a")


def test_several_words_may_mean_one_side(tmp_path: Path) -> None:
    rows = ["A is better", "A is slightly better", "B is better", "B is slightly better", "Neither"]
    path = written(tmp_path / "graded.csv", "left,right,winner\n" + "".join(f"a,b,{word}\n" for word in rows))
    with pytest.raises(InputError, match=r"left_word=WORD\|WORD,right_word=WORD\|WORD,tie_word=WORD"):
        read(path)
    columns = "left_word=A is better|A is slightly better,right_word=B is better|B is slightly better"
    assert read(path, columns) == votes("a>b", "a>b", "b>a", "b>a", "a=b")
    with pytest.raises(InputError, match="no row says 'A is worse', the left_word"):
        read(path, columns.replace("slightly better,", "slightly better|A is worse,"))


def test_each_game_of_a_series_is_a_vote(tmp_path: Path) -> None:
    games = [(0, 1, 1, 0), (0, 2, 4, 3), (1, 0, 4, 3), (1, 2, 2, 5), (2, 0, 1, 6), (2, 1, 3, 4)]
    path = tmp_path / "series.csv"
    rows = "".join(f"{'OHB'[i]},{'OHB'[j]},{won},{lost}\n" for i, j, won, lost in games)
    path.write_text(f"home.team,away.team,home.wins,away.wins\n{rows}")
    found = rankbench.aggregate(path, intervals="sandwich")
    assert "a row is a series: 'home.wins' and 'away.wins' are games won, 36 games with ties are as many votes" in (
        found.notes
    )
    apart = [
        {"winner": "OHB"[a], "loser": "OHB"[b]}
        for i, j, won, lost in games
        for a, b, n in ((i, j, won), (j, i, lost))
        for _ in range(n)
    ]
    assert found.table.equals(rankbench.aggregate(apart, intervals="sandwich").table)


@pytest.mark.parametrize("name", ["n", "battles", "of"])
@pytest.mark.parametrize("names", ["model_a,model_b", "this,that"])
def test_rates_beside_counts_are_shares_of_so_many_votes(tmp_path: Path, names: str, name: str) -> None:
    path = written(tmp_path / "rates.csv", f"{names},rate,{name}\nx,y,.7,100\ny,z,.6,50\nz,x,.25,80\n")
    with pytest.raises(InputError) as caught:
        read(path)
    left, right = names.split(",")
    columns = f"left={left},right={right},points=rate,weight={name}"
    assert f"--columns {columns} reads 'x' has 0.7 of 100 votes, 'y' the others" in str(caught.value)
    assert "score" not in str(caught.value)
    won = {"x": 70 + 60, "y": 30 + 30, "z": 20 + 20}
    cast = {"x": 180, "y": 150, "z": 130}
    table = rankbench.aggregate(path, columns=columns).table
    assert {item: pytest.approx(wins) for item, wins in table.select("item", "wins").rows()} == won
    assert dict(table.select("item", "votes").rows()) == cast


def test_numbers_of_games_do_not_weigh_rates(tmp_path: Path) -> None:
    path = written(tmp_path / "games.csv", "game,white,black,score\n1,a,b,1\n2,b,c,0.5\n3,c,a,0\n")
    with pytest.raises(InputError, match="--columns left=white,right=black,points=score reads 'a' beats 'b'") as caught:
        read(path)
    assert "weight" not in str(caught.value)


def test_football_pools_have_draws_called_x(tmp_path: Path) -> None:
    path = written(tmp_path / "games.csv", "home_team,away_team,result\na,b,1\nb,c,X\nc,a,2\n")
    assert read(path) == votes("a>b", "b=c", "a>c")


@pytest.mark.parametrize("more", ["", ",total"])
def test_votes_for_each_of_two_are_counts(tmp_path: Path, more: str) -> None:
    rows = [("a", "b", 30, 12), ("b", "a", 5, 7)]
    text = "".join(f"{x},{y},{n},{k}{f',{n + k}' if more else ''}\n" for x, y, n, k in rows)
    path = written(tmp_path / "polls.csv", f"this,that,votes this,votes that{more}\n{text}")
    columns = "left=this,right=that,left_wins=votes this,right_wins=votes that"
    with pytest.raises(InputError, match=re.escape(f"{columns}' reads 'a' beats 'b' 30 times and loses 12 times")):
        read(path)
    table = rankbench.aggregate(path, columns=columns).table
    assert dict(table.select("item", "wins").rows()) == {"a": 37, "b": 17}


def test_wins_and_losses_of_one_item_are_games_of_a_series(tmp_path: Path) -> None:
    path = written(tmp_path / "series.csv", "team,opponent,wins,losses\na,b,3,1\nb,c,2,2\n")
    with pytest.raises(InputError) as caught:
        read(path)
    assert "left_wins=wins,right_wins=losses reads 'a' beats 'b' 3 times and loses 1 times" in str(caught.value)
    table = rankbench.aggregate(path, columns="left=team,right=opponent,left_wins=wins,right_wins=losses").table
    assert dict(table.select("item", "wins").rows()) == {"a": 3, "b": 3, "c": 2}


def test_numbers_of_two_kinds_are_no_scores(tmp_path: Path) -> None:
    """Percentages are no points, and a number of games is no score."""
    path = written(tmp_path / "rates.csv", "model_a,model_b,percent,games\nx,y,70,100\ny,z,60,50\n")
    with pytest.raises(InputError) as caught:
        read(path)
    assert "score=" not in str(caught.value)


def test_games_won_with_a_cell_that_is_no_number_name_the_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "series.csv", "left,right,left_wins,right_wins\na,b,3,2\nb,c,x,2\nc,a,2,1\n")
    columns = "left=left,right=right,left_wins=left_wins,right_wins=right_wins"
    with pytest.raises(InputError, match=f"--columns {columns} reads numbers of games won"):
        read(path)
    with pytest.raises(InputError, match=r"series\.csv:3 \[left_wins\]: .* do not say how many games"):
        read(path, columns)


def test_scores_that_may_be_games_and_zeros_that_may_be_ties_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path / "results.csv", "home_team,away_team,home_score,away_score\nx,y,1,0\nx,z,4,3\ny,z,2,5\n")
    with pytest.raises(InputError, match="the games that each side won") as caught:
        read(path)
    names = "left=home_team,right=away_team"
    for columns, count in (("left_score=home_score,right_score=away_score", 3), ("left_wins=home_score", 15)):
        columns = f"{names},{columns}" + (",right_wins=away_score" if "wins" in columns else "")
        assert columns in str(caught.value)
        assert len(read(path, columns)) == count
    # Goals are no games, a level row is no series of best of three, and long scores vary.
    for text in ("home,away,FTHG,FTAG\nx,y,1,0\ny,z,1,2\n", "home,away,home_score,away_score\nx,y,1,0\ny,z,2,2\n"):
        path.write_text(text)
        assert len(read(path)) == 2
    path.write_text("player1,player2,win1,win2\nx,y,1,0\ny,z,0,0\n")
    with pytest.raises(InputError, match="two zeros may say that neither won, or that nothing was played"):
        read(path)
    names = "left=player1,right=player2"
    assert len(read(path, f"{names},left_won=win1,right_won=win2")) == 2
    assert len(read(path, f"{names},left_wins=win1,right_wins=win2")) == 1


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "left,right,left_wins,right_wins\nx,y,1,4\nx,z,-1,2\n", ":3 [left_wins]: 'left_wins=-1, "),
        ("a.csv", "left,right,left_wins,right_wins\nx,y,3.5,2.5\n", "do not say how many games 'left' and 'right' won"),
        ("a.csv", "model_a,model_b,winner_model_a,winner_model_b\nx,y,1,0\nx,z,1,1\n", ":3 [winner_model_a]: "),
        ("a.csv", "home,away,home_score,away_score\nx,y,1,0\nx,z,one,0\n", ":3 [home_score]: 'one : 0' are not the"),
        ("a.csv", "left,right,label\nx,y,1\nx,z,\ny,z,0\n", ":3 [label]: "),
        ("a.csv", "left,right,winner\na,b,1\nb,c,0\na,c,2\n", "numbers from 0 to 2"),
        ("a.csv", "model_a,model_b,winner\nGPT-4,Bo,gpt-4\n", "'gpt-4' is neither of the two items, nor a tie"),
        ("a.csv", "home,away,result\na,b,1-0\nb,a,Feb-1\n", "is a score that a spreadsheet took for a date"),
        (
            "a.csv",
            "Stamp,Rank [Ada],Rank [Bo]\nmon,1st,2nd\ntue,2nd,1st\n",
            "no known table has these columns: 'Stamp', 'Ra",
        ),
        (
            "a.csv",
            "home,away,FTR,draw\na,b,H,3.2\n",
            "'3.2' is not a truth value (true or false); --columns tie= reads",
        ),
        ("a.csv", "winner,loser,draw\na,b,3.2\n", ":2 [draw]: '3.2' is not a truth value (true or false); --columns"),
        ("a.csv", "winer,loser\na,b\n", "column 'winner' is missing, which comparisons must have; did you mean 'wi"),
        ("a.csv", "winner,other,on\na,b,c\n", "did you mean 'other'? --columns loser=NAME says which column it is"),
        ("a.csv", "foo,bar,baz\n1,2,3\n4,5,6\n", "no known table has these columns: 'foo', 'bar', 'baz'"),
        ("a.csv", "sep=;\nwinner;loser\na;b\na;\n", ":4 [loser]: the value is missing"),
        ("a.csv", 'winner;loser\na;b\na;"b\n', ":3: a quote is opened here"),
        ("a.json", '[{"winner": "a", "loser": "b"}, {"winner": "b", "los', ":1:49: not JSON"),
        ("a.json", '[{"winner": "a", "loser": "b"} {"winner": "b"}]', ":1:32: not JSON: Expecting ',' delimiter"),
        ("a.json", '[{"winner": "a", "loser": "b"}, 3]', ":2: a row must be a JSON object, not a number"),
        ("a.json", '[{"winner": "a", "loser": "b"}, {"winner": "b"}]', ":2 [loser]: the value is missing"),
        ("a.json", '[{"winner": "a", "loser": "b", "winner": "b"}]', "the key 'winner' is there twice"),
        ("a.json", '[{"winner": "a", "loser": "b"}] 3', "not JSON"),
        ("a.json", '[{"winner": "a", "loser": "b", "weight": NaN}]', "NaN is not a finite number"),
        ("a.json", "[]", "the file has no rows"),
        ("a.json", '{"version": 2,\n"more": []}', "neither rows nor columns"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 700
    assert "items must have" not in str(caught.value)


def test_lists_of_json_may_hold_names_and_ties_of_them(tmp_path: Path) -> None:
    path = written(tmp_path / "ballots.json", json.dumps([{"ranking": ["b", ["a", "c"]]}, {"ranking": ["a", "b"]}]))
    assert rankbench.scan(path).collect()["ranking"].to_list() == [[["b"], ["a", "c"]], [["a"], ["b"]]]


@examples(200)
@given(
    st.dictionaries(
        st.sampled_from(["left", "right", "winner", "query"]),
        st.text(st.sampled_from('a ,="x|;'), min_size=1),
        min_size=1,
    )
)
def test_what_is_said_of_columns_is_read_again(roles: dict[str, str]) -> None:
    assert dict(said_columns(columns_text(roles))) == roles


def lines_of(error: InputError) -> list[str]:
    """Return what an error proposes as ``--columns``, as a shell reads it."""
    return [shlex.split(part)[0] for part in error.message.split("--columns ")[1:] if "WORD" not in part]


MATCHES = "home_team,away_team,home_score,away_score\nAnts,Bees,2,1\nCats,Dogs,1 (4),1 (2)\nDogs,Ants,0,2\n"
CHESS = "White,Black,Result\nIvo,Jun,1-0\nJun,Kai,1/2-1/2\nKai,Ivo,0-1\nJun,Ivo,*\nKai,Jun,0-0\nIvo,Kai,+:-\n"
PLAYED = ("Ivo>Jun", "Jun=Kai", "Ivo>Kai")
REFUSED = {
    "an item with itself": (
        "model_a,model_b,winner\noak,elm,model_a\noak,oak,tie\nelm,oak,tie\n",
        "oak>elm",
        "elm=oak",
    ),
    "a winner and loser": ("winner,loser\noak,elm\noak,oak\n", "oak>elm"),
    "an item with itself and no result": (
        "model_a,model_b,winner\noak,elm,model_a\noak,oak,tie\nelm,oak,error\nelm,oak,b\n",
        "oak>elm",
        "oak>elm",
    ),
    "unplayed games": (CHESS, *PLAYED),
    "penalties": (f"{MATCHES}Bees,Cats,W,L\nDogs,Bees,1,1\n", "Ants>Bees", "Ants>Dogs", "Dogs=Bees"),
    "penalties in games that are never level": (f"{MATCHES}Bees,Ants,0,2\n", "Ants>Bees", "Ants>Dogs", "Ants>Bees"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_an_error_proposes_leads_to_an_answer(tmp_path: Path, case: str) -> None:
    """Typed as it stands, the first of several proposals, until the log is read."""
    content, *said = REFUSED[case]
    path = written(tmp_path / "votes.csv", content)
    columns = ""
    for _ in range(3):
        try:
            found = read(path, columns)
        except InputError as error:
            columns = lines_of(error)[0]
        else:
            break
    assert columns
    assert found == votes(*said)


def test_a_word_that_is_said_stands_beside_the_usual_ones(tmp_path: Path) -> None:
    path = written(tmp_path / "games.csv", CHESS)
    assert read(path, "left_word=+:-,drop=*|0-0") == [*votes(*PLAYED), ("Ivo", "Kai", WON, 1)]
    assert read(path, "right_word=+:-,drop=*|0-0") == [*votes(*PLAYED), ("Kai", "Ivo", WON, 1)]
    # A usual word that is said to mean the other side, or that is the only one left, is not the usual one.
    path.write_text("left,right,who\na,b,W\na,c,L\nb,c,W\n")
    assert [vote[:2] for vote in read(path, "winner=who,left_word=L")] == [("b", "a"), ("a", "c"), ("c", "b")]
    path.write_text("left,right,who\na,b,+:-\na,c,1-0\n")
    with pytest.raises(InputError, match="'1-0' are other words of the column: say which one is the right_word"):
        read(path, "winner=who,left_word=+:-")
    assert [vote[:2] for vote in read(path, "winner=who,left_word=+:-,right_word=1-0")] == [("a", "b"), ("c", "a")]


@pytest.mark.parametrize("head", ["# made by x; 2024\n", "# one\n# two\n"])
def test_comments_before_the_header_are_named_and_not_read(tmp_path: Path, head: str) -> None:
    path = written(tmp_path / "votes.csv", f"{head}winner,loser\na,b\n#1,#2\n")
    assert read(path) == votes("a>b", "#1>#2")
    assert open_log(path).notes[0] == f"row 1 is a comment, {head.splitlines()[0]!r}, and is not read"
    path.write_text(f"{head}winner,loser\na,b\nb,b\n")
    with rejected(row=head.count("\n") + 3):
        read(path)
    # A header may begin with the sign, too.
    path.write_text("#winner,loser\n#1,#2\na,b\n")
    assert [vote[:2] for vote in read(path, "winner=#winner,loser=loser")] == [("#1", "#2"), ("a", "b")]


def test_rows_of_a_dataset_server_are_those_inside(tmp_path: Path) -> None:
    path = tmp_path / "votes.json"
    rows = [{"row_idx": k, "row": {"winner": w, "loser": o}, "truncated_cells": []} for k, (w, o) in enumerate(["ab"])]
    served = {"features": [{"name": "winner"}, {"name": "loser"}], "rows": rows, "num_rows_total": 1}
    for indent in (None, 1):
        path.write_text(json.dumps(served, indent=indent))
        assert read(path) == votes("a>b")
        assert not open_log(path).notes
    path.write_text(json.dumps(served | {"num_rows_total": 3000}))
    assert open_log(path).notes[0] == "the file holds 1 row of a data set of 3,000"


def test_games_won_that_are_not_available_are_no_words(tmp_path: Path) -> None:
    path = written(tmp_path / "series.csv", "item_1,item_2,wins_1,wins_2\na,b,2,1\nb,c,NA,3\nc,a,1,1\n")
    found = rankbench.aggregate(path, "win-rate")
    assert "rankbench leaves out 1 row without a game" in found.notes
    assert dict(found.table.select("item", "wins").iter_rows()) == {"a": 3.0, "b": 1.0, "c": 1.0}
