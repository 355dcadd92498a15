"""`.plot()` of rankings: a figure of matplotlib, the one that ``--out FILE.png`` writes."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from click.testing import CliRunner
from data_files import written
from matplotlib.figure import Figure

import rankbench
from rankbench.cli import main
from rankbench.drawing.canvas import picture_bytes
from rankbench.errors import SpecError

VOTES = "winner,loser\n" + "a,b\nb,c\na,c\nc,d\nd,a\nb,d\nc,b\n" * 9
SCORES = "model,t1,t2,t3,t4\na,1,2,3,4\nb,2,3,5,4\nc,0,1,1,2\n"


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = written(tmp_path / "votes.csv", VOTES)
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = written(tmp_path / "scores.csv", SCORES)
    return path


def labels(figure: Figure) -> tuple[str, list[str]]:
    axes = figure.axes[0]
    return axes.get_xlabel(), [label.get_text() for label in axes.get_yticklabels()]


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


def test_only_the_first(votes: Path) -> None:
    assert labels(rankbench.aggregate(votes).plot(2))[1] == rankbench.aggregate(votes).table["item"].to_list()[:2]


def test_a_ranking_of_each_query_is_no_picture(votes: Path) -> None:
    votes.write_text("query,winner,loser\n" + "q,a,b\nr,b,a\n" * 5)
    with pytest.raises(SpecError, match="one for each query"):
        rankbench.aggregate(votes, by="query").plot()


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_systems_are_drawn_as_their_file(scores: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"systems.{ending}"
    done = CliRunner().invoke(main, ["rank", str(scores), "--replicates", "50", "--out", str(out)])
    assert done.exit_code == 0, done.output
    figure = rankbench.rank(scores, replicates=50).plot()
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
