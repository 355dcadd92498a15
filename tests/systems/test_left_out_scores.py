"""What is left out of a score table because the user says so, and pictures of rankings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib as mpl
import polars as pl
import pytest
from click.testing import CliRunner
from data_files import written
from matplotlib.figure import Figure

import rankbench
from rankbench.cli import main
from rankbench.drawing.canvas import picture_bytes
from rankbench.errors import InputError, SpecError

WIDE = "model,t1,t2,t3,avg,grit,licence\nA,1,2,3,2,7B*,x\nB,2,3,4,3,8,y\nC,0,1,1,.7,,z\n"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    return written(tmp_path / "scores.csv", WIDE)


def test_a_column_is_left_out_whatever_is_in_it(wide: Path) -> None:
    with pytest.raises(InputError, match=r"\[grit\]: '7B\*' is not a number"):
        rankbench.rank(wide, without=["avg"])
    found = rankbench.rank(wide, without=["grit", "avg"], replicates=50)
    frame = pl.read_csv(wide).select("model", "t1", "t2", "t3")
    assert found.table.equals(rankbench.rank(frame, replicates=50).table)
    assert found.notes[0] == "rankbench leaves out columns whose cells do not read as numbers: 'licence' ('x')"
    assert found.notes[1] == "left out of the tasks: 'avg', 'grit'"
    assert found.as_dict()["without"] == ["grit", "avg"]
    assert found.as_dict()["missing"]["cells"] == 0
    held = rankbench.rank(pl.read_csv(wide), without=["grit", "avg", "licence"], replicates=50)
    assert held.table.equals(found.table)


def test_of_a_long_table_rows_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    rows = [f"m{s},t{t},{s * t % 7},{s}" for s in range(4) for t in range(9)]
    path.write_text("\n".join(["model,task,f1,n", *rows]) + "\n")
    whole = pl.read_csv(path)
    with pytest.raises(InputError, match="several columns may be the score"):
        rankbench.rank(path)
    found = rankbench.rank(path, without=["m3", "t8"], columns="score=f1", replicates=50)
    part = whole.filter(pl.col("model") != "m3", pl.col("task") != "t8").drop("n")
    assert found.table.equals(rankbench.rank(part, columns="score=f1", replicates=50).table)
    assert found.notes[0] == "columns are not read: 'n'"
    assert found.notes[1:3] == ("left out of the tasks: 't8'", "left out of the systems: 'm3'")


def test_names_that_are_almost_right(tmp_path: Path) -> None:
    """Of a long table with a thousand tasks, whose names must not all be printed."""
    path = tmp_path / "scores.csv"
    tasks = [f"task number {t}" for t in range(1000)] + ["latency"]
    path.write_text("\n".join(["model,task,score", *(f"m{s},{task},{s}" for s in range(2) for task in tasks)]) + "\n")
    for arguments, said in {
        ("--lower", "latncy"): "there is no task 'latncy' for --lower; did you mean 'latency'?",
        ("--without", "latncy"): "there is no task and no system 'latncy' to leave out; did you mean 'latency'?",
        ("--lower", "qqqq"): "there is no task 'qqqq' for --lower; there are 'task number 0', ",
    }.items():
        found = CliRunner().invoke(main, ["rank", str(path), *arguments])
        assert found.exit_code == 2
        assert said in found.stderr
        assert len(found.stderr) < 300


@pytest.mark.parametrize("without", [["t1", "t2", "t3", "avg"], ["A", "B", "C"]])
def test_something_must_be_left(wide: Path, without: list[str]) -> None:
    with pytest.raises(SpecError, match="nothing is left"):
        rankbench.rank(wide, without=["grit", *without])


def test_a_name_of_a_task_and_a_system(tmp_path: Path) -> None:
    frame = pl.DataFrame({"model": ["x", "y"], "x": [1, 2], "z": [2, 3]})
    with pytest.raises(SpecError, match="'x' is a task and a system"):
        rankbench.rank(frame, without=["x"])


def test_describe_says_which_columns_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", "prompt,chosen,rejected,tokens\np,a,b,1\nq,b,c,1\n")
    found = json.loads(CliRunner().invoke(main, ["data", "describe", str(path), "--json"]).stdout)
    assert found["columns"] == {"winner": "chosen", "loser": "rejected", "query": "prompt"}
    assert found["columns_left_out"] == ["tokens"]
    text = re.sub(" {2,}", "  ", CliRunner().invoke(main, ["data", "describe", str(path)]).stdout)
    assert "columns read  winner=chosen, loser=rejected, query=prompt" in text
    assert "left out  'tokens'" in text
    path.write_text("a,b,who\nx,y,x\ny,z,z\nz,x,x\n")
    text = re.sub(" {2,}", "  ", CliRunner().invoke(main, ["data", "describe", str(path)]).stdout)
    assert "columns read  left=a, right=b, winner=who" in text
    assert "note  rankbench reads columns as left=a,right=b,winner=who" in text
    path.write_text("query_id,winner,loser\nq,a,b\n")
    text = re.sub(" {2,}", "  ", CliRunner().invoke(main, ["data", "describe", str(path)]).stdout)
    assert "columns read  winner, loser, query=query_id" in text


def test_wins_of_each_over_each_are_not_ranked_in_silence() -> None:
    won = pl.DataFrame({"system": ["a", "b"], "b": [730, 0], "a": [0, 33]})
    said = "systems and tasks have the same names: if cells count wins over one another"
    assert any(note.startswith(said) for note in rankbench.rank(won).notes)
    assert not any(note.startswith(said) for note in rankbench.rank(won.rename({"b": "c"})).notes)


def test_percents_beside_other_scores_are_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    for first, named in (("0.641", True), ("64.1%", False)):
        path.write_text(f"model,piqa,boolq\nash,78.18%,{first}\nbirch,79.1%,{first}\n")
        notes = rankbench.rank(path).notes
        assert ("rankbench reads 78% as 78, beside tasks without such a sign: 'piqa'" in notes) == named


VOTES = "winner,loser\n" + "a,b\nb,c\na,c\nc,d\nd,a\nb,d\nc,b\n" * 9
SCORES = "model,t1,t2,t3,t4\na,1,2,3,4\nb,2,3,5,4\nc,0,1,1,2\n"


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return written(tmp_path / "votes.csv", VOTES)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return written(tmp_path / "scores.csv", SCORES)


def labels(figure: Figure) -> tuple[str, list[str]]:
    axes = figure.axes[0]
    return axes.get_xlabel(), [label.get_text() for label in axes.get_yticklabels()]


def marked(found: rankbench.Aggregation | rankbench.ScoreRanking) -> list[bool]:
    """Return which rows of a picture have the mark of what may be first."""
    return ["*" in dot.note for dot in found.drawing().drawing.plots[0][0].dots]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_ranking_is_drawn_as_its_file(votes: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"ranking.{ending}"
    done = CliRunner().invoke(main, ["aggregate", str(votes), "--intervals", "sandwich", "--out", str(out)])
    assert done.exit_code == 0, done.output
    found = rankbench.aggregate(votes, intervals="sandwich")
    before = dict(mpl.rcParams)
    figure = found.plot()
    assert isinstance(figure, Figure)
    assert dict(mpl.rcParams) == before
    assert picture_bytes(figure)[ending] == out.read_bytes()
    words, names = labels(figure)
    assert words == "score in log-odds (more is better)"
    assert names == found.table["item"].to_list()
    assert "95% intervals (sandwich)" in figure.get_suptitle()
    assert marked(found) == found.table["may_be_first"].to_list()
    assert not any(marked(rankbench.aggregate(votes)))


def test_a_picture_of_few_votes_promises_no_intervals() -> None:
    few = {"winner": ["ada", "bo", "ada"], "loser": ["bo", "cy", "cy"]}
    title = rankbench.aggregate(few, intervals="auto").plot().get_suptitle()
    assert "no item has votes enough for an interval" in title
    assert "95% intervals" not in title


def test_intervals_of_no_kind_are_rejected_with_those_that_there_are() -> None:
    with pytest.raises(SpecError, match="no intervals 'jdge'; there are auto, bootstrap, judges, sandwich"):
        rankbench.aggregate("llmfao", intervals="jdge")  # type: ignore[arg-type]


def test_only_the_first(votes: Path) -> None:
    assert labels(rankbench.aggregate(votes).plot(2))[1] == rankbench.aggregate(votes).table["item"].to_list()[:2]


def test_a_ranking_of_each_query_is_no_picture(votes: Path) -> None:
    votes.write_text("query,winner,loser\n" + "q,a,b\nr,b,a\n" * 5)
    with pytest.raises(SpecError, match="one for each query"):
        rankbench.aggregate(votes, by="query").plot()


@pytest.mark.full
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_systems_are_drawn_as_their_file(scores: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"systems.{ending}"
    done = CliRunner().invoke(main, ["rank", str(scores), "--replicates", "50", "--out", str(out)])
    assert done.exit_code == 0, done.output
    found = rankbench.rank(scores, replicates=50)
    figure = found.plot()
    assert marked(found) == found.table.filter(method="mean-score")["may_be_first"].to_list()
    assert picture_bytes(figure)[ending] == out.read_bytes()
    assert labels(figure)[1] == ["b", "a", "c"]
    assert labels(figure)[0] == "score, unit: the tasks' own (more is better)"


def test_less_is_better_of_a_mean_rank(scores: Path) -> None:
    found = rankbench.rank(scores, ["mean-score", "mean-rank"], replicates=50)
    assert labels(found.plot("mean-rank"))[0].endswith("(less is better)")
    assert found.plot().get_suptitle().startswith("mean-score: 3 systems\n4 tasks; 95% intervals")
    with pytest.raises(SpecError, match="ranked by mean-score, mean-rank, not by 'borda-count'"):
        found.plot("borda-count")


def test_a_notebook_shows_tables_with_their_methods(votes: Path, scores: Path) -> None:
    found = rankbench.aggregate(votes, "win-rate"), rankbench.rank(scores, ["mean-score"], replicates=50)
    for ranking, method, column in zip(found, ("win-rate", "mean-score"), ("wins", "p_first"), strict=True):
        shown = ranking._repr_html_()
        assert shown.startswith(f"<p>{method}</p>")
        assert column in shown
