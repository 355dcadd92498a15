"""What is left out of a score table because the user says so, and pictures of rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
import pytest
from click.testing import CliRunner
from data_files import stored, written
from matplotlib.figure import Figure

import rankbench
from rankbench.cli import main
from rankbench.data.convert import convert
from rankbench.drawing.canvas import picture_bytes
from rankbench.errors import InputError, SpecError

COLUMNS = "system=model,scores=*"
WIDE = "model,t1,t2,t3,avg,grit,licence\nA,1,2,3,2,7B*,x\nB,2,3,4,3,8,y\nC,0,1,1,.7,,z\n"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    return written(tmp_path / "scores.csv", WIDE)


def test_a_column_is_left_out_whatever_is_in_it(wide: Path) -> None:
    options: dict[str, Any] = {"columns": COLUMNS, "replicates": 50}
    with pytest.raises(InputError, match=r"\[grit\]: '7B\*' is not a number"):
        rankbench.rank(wide, without=["avg", "licence"], **options)
    found = rankbench.rank(wide, without=["grit", "avg", "licence"], **options)
    frame = pl.read_csv(wide).select("model", "t1", "t2", "t3")
    assert found.table.equals(rankbench.rank(frame, **options).table)
    assert found.as_dict()["without"] == ["grit", "avg", "licence"]
    assert found.as_dict()["missing"]["cells"] == 0
    assert rankbench.audit(wide, columns=options["columns"], without=["grit", "avg", "licence"]).data["tasks"] == 3


def test_of_a_long_table_rows_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    rows = [f"m{s},t{t},{(s + 1) * (t + 2) ** 3 % 31}.5,{s}" for s in range(4) for t in range(9)]
    path.write_text("\n".join(["model,task,f1,n", *rows]) + "\n")
    whole = pl.read_csv(path)
    told = "system=model,task=task,score=f1"
    found = rankbench.rank(path, without=["m3", "t8"], columns=told, replicates=50)
    part = whole.filter(pl.col("model") != "m3", pl.col("task") != "t8").drop("n")
    assert found.table.equals(rankbench.rank(part, columns=told, replicates=50).table)
    assert found.facts["n"] == {"systems": 3, "tasks": 8, "seeds": 1}


def test_names_that_are_almost_right(tmp_path: Path) -> None:
    """Of a long table with a thousand tasks, whose names must not all be printed."""
    path = tmp_path / "scores.csv"
    tasks = [f"task number {t}" for t in range(1000)] + ["latency"]
    path.write_text("\n".join(["model,task,score", *(f"m{s},{task},{s}" for s in range(2) for task in tasks)]) + "\n")
    for name, said in {
        "latncy": "there is no task and no system 'latncy' to leave out; did you mean 'latency'?",
        "qqqq": "there is no task and no system 'qqqq' to leave out; there are 'task number 0', ",
    }.items():
        found = CliRunner().invoke(main, ["rank", str(path), "--columns", "system=model", "--without", name])
        assert found.exit_code == 2
        assert said in found.stderr
        assert len(found.stderr) < 300


@pytest.mark.parametrize("without", [["t1", "t2", "t3", "avg"], ["A", "B", "C"]])
def test_something_must_be_left(wide: Path, without: list[str]) -> None:
    with pytest.raises(InputError, match=r"none of 3 rows is left|no column of scores"):
        rankbench.rank(wide, columns=COLUMNS, without=["grit", "licence", *without])


def test_a_name_of_a_task_and_a_system(tmp_path: Path) -> None:
    wide = pl.DataFrame({"system": ["x", "y"], "x": [1, 2], "z": [2, 3], "u": [2, 5]})
    long = wide.unpivot(index="system", variable_name="task", value_name="score")
    convert(stored(long, tmp_path / "scores.parquet"), tmp_path / "folder", shards=1)
    logs: tuple[tuple[Any, str], ...] = (wide, "system=system,scores=*"), (long, ""), (tmp_path / "folder", "")
    for log, columns in logs:
        with pytest.raises((InputError, SpecError), match="'x' is a task and a system"):
            rankbench.rank(log, columns=columns, without=["x"])


def test_names_are_left_out_to_the_letter() -> None:
    """Another name in capitals, or a pattern that a name looks like, stays."""
    table = {"system": list("aabbcc"), "task": ["why?", "whys"] * 3, "score": [1.0, 4, 3, 5, 2, 7]}
    wide = {"model": ["a", "A", "b"], "t?": [1, 5, 3], "tx": [2, 1, 4], "ty": [7, 1, 3]}
    found = rankbench.rank(wide, columns=f"{COLUMNS},alike=keep", without=["t?"], replicates=50)
    assert found.facts["tasks"] == ["tx", "ty"]
    left = rankbench.rank(wide, columns=f"{COLUMNS},alike=keep", without=["A"], replicates=50).table["system"]
    assert set(left) == {"a", "b"}
    with pytest.raises(InputError, match="one task alone, 'whys'"):
        rankbench.rank(table, without=["why?"])


def test_a_system_of_two_columns_is_left_out() -> None:
    rows = [(model, size, task, len(model) * place + int(size)) for model in ("a", "bb") for size in "12"
            for place, task in enumerate(("t", "u", "v"))]  # fmt: skip
    table = pl.DataFrame(rows, ["model", "size", "task", "score"], orient="row")
    found = rankbench.rank(table, columns="system=model|size", without=["bb / 2"], replicates=50)
    assert set(found.table["system"]) == {"a / 1", "a / 2", "bb / 1"}


def test_wins_of_each_over_each_are_not_ranked_in_silence() -> None:
    won = pl.DataFrame({"system": ["a", "b"], "b": [730, 0], "a": [0, 33]})
    told, said = "system=system,scores=*", "systems and tasks have the same names: if cells count wins over one another"
    assert any(note.startswith(said) for note in rankbench.rank(won, columns=told).notes)
    assert not any(note.startswith(said) for note in rankbench.rank(won.rename({"b": "c"}), columns=told).notes)


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


@pytest.mark.full
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
    with pytest.raises(SpecError, match="intervals: Input should be 'bootstrap', 'judges', 'sandwich'"):
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
    done = CliRunner().invoke(
        main, ["rank", str(scores), "--columns", COLUMNS, "--replicates", "50", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    found = rankbench.rank(scores, columns=COLUMNS, replicates=50)
    figure = found.plot()
    assert marked(found) == found.table.filter(method="mean-score")["may_be_first"].to_list()
    assert picture_bytes(figure)[ending] == out.read_bytes()
    assert labels(figure)[1] == ["b", "a", "c"]
    assert labels(figure)[0] == "score, unit: the tasks' own (more is better)"


def test_less_is_better_of_a_mean_rank(scores: Path) -> None:
    found = rankbench.rank(scores, ["mean-score", "mean-rank"], columns=COLUMNS, replicates=50)
    assert labels(found.plot("mean-rank"))[0].endswith("(less is better)")
    assert found.plot().get_suptitle().startswith("mean-score: 3 systems\n4 tasks; 95% intervals")
    with pytest.raises(SpecError, match="ranked by mean-score, mean-rank, not by 'borda-count'"):
        found.plot("borda-count")


def test_a_notebook_shows_tables_with_their_methods(votes: Path, scores: Path) -> None:
    systems = rankbench.rank(scores, ["mean-score"], columns=COLUMNS, replicates=50)
    found = rankbench.aggregate(votes, "win-rate"), systems
    for ranking, method, column in zip(found, ("win-rate", "mean-score"), ("wins", "p_first"), strict=True):
        shown = ranking._repr_html_()
        assert shown.startswith(f"<p>{method}</p>")
        assert column in shown
