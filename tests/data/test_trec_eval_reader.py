"""Scores that trec_eval prints, topic by topic: one measure of several runs, a file each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from data_files import rejected, written

import rankbench
from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.errors import Unread

Row = tuple[str, object, object]


def printed(rows: Sequence[Row], width: int = 22) -> str:
    """Return lines as trec_eval prints them: ``%-22s\\t%s\\t%6.4f``, until version 8 with 15."""
    return "".join(f"{measure:<{width}}\t{topic}\t{value}\n" for measure, topic, value in rows)


def of_run(tag: str, values: Mapping[str, Sequence[float]]) -> list[Row]:
    """Return what trec_eval says of a run: topics from 301, then sums, which are another value than the mean."""
    topics = len(next(iter(values.values())))
    each: list[Row] = [(name, 301 + t, f"{row[t]:.4f}") for t in range(topics) for name, row in values.items()]
    return [*each, ("runid", "all", tag), ("num_q", "all", topics), *((name, "all", "0.9999") for name in values)]


MAP = {"bm25": [0.25, 0.5, 0.0, 0.75], "dense": [0.5, 0.5, 0.25, 0.5]}
P10 = {"bm25": [0.1, 0.2, 0.3, 0.4], "dense": [0.0, 0.1, 0.1, 0.1]}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in MAP:
        rows = of_run("standard", {"map": MAP[name], "P_10": P10[name]})
        written(tmp_path / f"{name}.eval", printed([("relstring_5", 301, "'010-0'"), *rows]))
    return tmp_path


@pytest.mark.parametrize(("measure", "values"), [("map", MAP), ("P_10", P10)])
@pytest.mark.parametrize("which", ["*.eval", ""])
def test_one_measure_of_all_runs(runs: Path, measure: str, values: Mapping[str, Sequence[float]], which: str) -> None:
    frame = rankbench.scan(str(runs / which), reader=f"trec-eval:measure={measure}").collect()
    found = {(system, task): score for system, task, score in frame.select("system", "query_id", "score").iter_rows()}
    assert found == {(name, str(301 + t)): value for name, row in values.items() for t, value in enumerate(row)}
    ranked = rankbench.rank(str(runs / which), ["mean-score"], reader=f"trec-eval:measure={measure}")
    assert dict(ranked.table.select("system", "score").iter_rows()) == pytest.approx(
        {name: sum(row) / len(row) for name, row in values.items()}
    )
    assert "rankbench does not read the rows of 'all', which are no topic, nor other measures (2)" in ranked.notes
    assert "systems are called as their files; runs call themselves otherwise" in ranked.notes


def test_several_measures_are_a_question(runs: Path) -> None:
    with pytest.raises(Unread, match="it has 3 measures, and scores are of one") as error:
        rankbench.scan(runs).collect()
    assert error.value.code == "metric"
    assert error.value.step == 'reader="trec-eval:measure=____"'
    with rejected("the measure 'err' is of no topic; there are 'relstring_5', 'map', 'P_10'"):
        rankbench.scan(runs / "bm25.eval", reader="trec-eval:measure=err").collect()
    said = CliRunner().invoke(main, ["rank", str(runs / "bm25.eval"), str(runs / "dense.eval")])
    assert said.exit_code == 2
    assert "a pattern, as 'runs/*.eval'" in said.output


@pytest.mark.parametrize("width", [15, 22])
@pytest.mark.parametrize("name", ["bm25.txt", "bm25", "bm25.dat", "bm25.csv"])
def test_the_only_measure_needs_no_question(tmp_path: Path, name: str, width: int) -> None:
    path = written(tmp_path / name, printed(of_run("bm25", {"map": MAP["bm25"]}), width))
    assert choose_reader(path).name == "trec-eval"
    assert rankbench.scan(path).collect()["score"].to_list() == MAP["bm25"]


def test_files_of_different_measures_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "bm25.eval", printed(of_run("a", {"map": MAP["bm25"]})))
    written(tmp_path / "dense.eval", printed(of_run("b", {"P_10": P10["dense"]})))
    with rejected("scores of task '301' are by several metrics, 'P_10', 'map'"):
        rankbench.rank(str(tmp_path))


def test_a_measure_that_counts_is_asked_about(tmp_path: Path) -> None:
    for name in MAP:
        written(tmp_path / f"{name}.eval", printed(of_run(name, {"num_ret": [5, 6, 7, 8]})))
    with pytest.raises(Unread, match="which way is better by 'num_ret' is not said"):
        rankbench.rank(str(tmp_path))
    told = rankbench.rank(str(tmp_path), ["mean-score"], reading="trec-eval", words="less=num_ret")
    assert told.table["score"].to_list() == pytest.approx([6.5, 6.5])


@pytest.mark.parametrize(
    ("line", "row", "said"),
    [
        ("map\t302\tx", 3, "the value 'x' is not a finite number"),
        ("map\t302\tnan", 3, "the value 'nan' is not a finite number"),
        ("map\t301\t0.5", 3, "'map' of topic '301' is there twice; a file holds one run"),
        ("map\t302", 3, "the line has 2 words, not 3: measure topic value"),
    ],
)
def test_what_is_wrong_has_its_row(tmp_path: Path, line: str, row: int, said: str) -> None:
    path = written(tmp_path / "bm25.eval", f"num_q\tall\t2\nmap\t301\t0.25\n{line}\nmap\tall\t0.2\n")
    with rejected(said=said, path=path, row=row):
        rankbench.scan(path).collect()


def test_sums_alone_are_no_scores(tmp_path: Path) -> None:
    path = written(tmp_path / "bm25.eval", printed([("runid", "all", "bm25"), ("map", "all", "0.3")]))
    with rejected("it has no topic, only sums: trec_eval prints the topics with -q", path=path):
        rankbench.scan(path).collect()
