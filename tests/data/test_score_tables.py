"""Score tables as files: the three layouts, what is guessed, and everything that is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from amounts import examples
from data_files import rejected, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankbench
from rankbench.data.tables.checks import table_of
from rankbench.data.tables.measurements import load_scores
from rankbench.data.tables.score_layout import AS_SCORES
from rankbench.errors import InputError, RankbenchError
from rankbench.logs.open import open_log


def scanned(tmp_path: Path, text: str, columns: str = AS_SCORES) -> pl.DataFrame:
    path = written(tmp_path / "scores.csv", text)
    table = rankbench.scan(path, columns=columns)
    assert table_of(table.collect_schema()).name == "measurements"
    return table.collect()


def refused(tmp_path: Path, text: str, columns: str = "") -> str:
    path = written(tmp_path / "scores.csv", text)
    with pytest.raises(InputError) as error:
        rankbench.rank(path, replicates=10, columns=columns)
    assert str(error.value).startswith(str(path))
    return str(error.value).removeprefix(str(path))


CELLS = {("t", "a"): 1.0, ("t", "b"): 2.0, ("u", "a"): 3.0, ("u", "b"): 4.5}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("query_id,system,score\nt,a,1\nt,b,2\nu,a,3\nu,b,4.5\n", ""),
        ("model,task,accuracy,note\na,t,1,x\nb,t,2,\na,u,3,y\nb,u,4.5,z\n", ""),
        ("model,dataset,f1\na,t,1\nb,t,2\na,u,3\nb,u,4.5\n", AS_SCORES),
        ("Model,t,u,license\na,1,3,mit\nb,2,4.5,\n", AS_SCORES),
        (",t,u\na,1,3\nb,2,4.5\n", AS_SCORES),
        ("task,a,b\nt,1,2\nu,3,4.5\n", AS_SCORES),
        ("who,t,u\na,1,3\nb,2,4.5\n", "system=who"),
        ("what,a,b\nt,1,2\nu,3,4.5\n", "task=what"),
        ("who,what,much,other\na,t,1,9\nb,t,2,9\na,u,3,9\nb,u,4.5,9\n", "system=who,task=what,score=much"),
    ],
)
def test_layouts_are_one_table(tmp_path: Path, text: str, columns: str) -> None:
    found = scanned(tmp_path, text, columns)
    assert {(row["query_id"], row["system"]): row["score"] for row in found.iter_rows(named=True)} == CELLS


VALUES = (
    "1",
    " 2.5",
    "-3e-2",
    "",
    "NA",
    "True",
    "false",
    "5%",
    "12.5 %",
    "inf",
    "nan",
    "x",
    "0",
    "2 (.5)",
    "5% ± 1%",
    "-",
)


@pytest.mark.full
@settings(examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_columns_are_read_together_as_they_are_one_by_one(data: st.DataObject, tmp_path: Path) -> None:
    common = data.draw(st.sampled_from([VALUES[:7], VALUES[:3], VALUES]))
    rows = data.draw(st.lists(st.lists(st.sampled_from(common), min_size=3, max_size=3), min_size=1, max_size=4))
    path = tmp_path / "scores.csv"

    def read(*tasks: int) -> set[tuple[object, ...]] | None:
        lines = [",".join([f"s{at}", *(row[task] for task in tasks)]) for at, row in enumerate(rows)]
        path.write_text("\n".join([",".join(["model", *(f"t{task}" for task in tasks)]), *lines]))
        try:
            return set(rankbench.scan(path, columns=AS_SCORES).collect().rows())
        except InputError:
            return None

    together, apart = read(0, 1, 2), [read(task) for task in range(3)]
    if together is None:
        assert None in apart
    else:
        assert together == set().union(*filter(None, apart))


def test_seeds_truth_values_and_gaps(tmp_path: Path) -> None:
    found = scanned(tmp_path, "model,seed,t,u\na,1,True,NaN\na,2,false,0.5\nb,1,1,\nb,2,0,n/a\n")
    assert found.columns == ["query_id", "system", "score", "seed"]
    scores = load_scores(found.lazy())
    assert (scores.systems, scores.tasks, scores.seeds) == (["a", "b"], ["t", "u"], ["1", "2"])
    assert scores.values[:, 0].tolist() == [[1, 1], [0, 0]]
    assert scores.present.tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("model,t,u\na,1,x1\nb,2,3\n", "", ":2 [u]: 'x1' is not a number"),
        ("model,t,u\na,1,3\nb,2,inf\n", "", ":3 [u]: the score 'inf' is not finite"),
        ("model,t,u\na,1,3\nb,2,4\na,2,3\n", "", ":4: system 'a': another row has the same"),
        ("model,task,score\na,t,1\nb,t,2\na,t,1\n", "", ":4: task 't', system 'a': another row has the same"),
        ("model,t,u,v\na,1,3,\nb,2,4,\n", "", " [v]: the column has no score at all"),
        ("model,t,t\na,1,3\nb,2,4\n", "", ":1: the header names columns twice: 't'"),
        ("model,t,u\na,1,3\n,2,4\n", "", ":3 [model]: the value is missing"),
        ("model,t,u\na,1,3\nb,2,4\n", "system=Modell", "for the system; did you mean 'model'?"),
        ("model,t,u\na,1,3\nb,2,4\n", "system=model,sed=t", "no role 'sed' of columns; did you mean 'seed'?"),
        ("model,t,u\na,1,3\nb,2,4\n", "system=model,system=t", "the system's column is given twice"),
        ("model,note\na,x\nb,y\n", "", "no column has numbers beside 'model'"),
        ("model,task,f1,em\na,t,1,2\nb,t,2,3\n", "", "several columns may be the score: 'f1', 'em'; --columns "),
        ("1,2\n3,4\n5,6\n", "", "no column names the systems"),
        ("model,t\na,1\nb,2\n", "", "there is one task alone, 't'"),
        ("model,t,u\na,1,2\n", "", "there is one system alone, 'a'"),
        ("query_id,winner,loser\nq,a,b\n", "", "the table holds comparisons, not scores"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, columns: str, said: str) -> None:
    assert said in refused(tmp_path, text, columns)


def test_two_readings_are_shown_as_they_would_be_read(tmp_path: Path) -> None:
    said = refused(tmp_path, "who,t,u\na,1,3\nb,2,4\nc,5,6\nd,7,8\n")
    assert "--columns system=who reads the system 'a' with 't': 1, 'u': 3; the system 'b'" in said
    assert "--columns task=who reads the task 'a' with" in said
    assert "'d'" not in said


def test_infinite_and_mixed_values_of_frames_are_refused() -> None:
    table = {"model": ["a", "b"], "t": [1.0, float("inf")], "u": [1.0, 2.0]}
    with rejected("not finite", row=2, column="t"):
        rankbench.rank(pl.DataFrame(table), replicates=10)
    nan = pl.DataFrame(table | {"t": [1.0, float("nan")], "v": [0.0, 1.0]})
    assert rankbench.rank(nan, replicates=10).facts["missing"]["cells"] == 1


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (["query_id", "label", "x"], "items"),
        (["query_id", "label", "system", "x"], "items"),
        (["query_id", "winner", "loser", "system"], "comparisons"),
        (["query_id", "winner", "loser", "score"], "comparisons"),
        (["query_id", "ranking", "score"], "orders"),
        (["query_id", "system", "score"], "measurements"),
    ],
)
def test_other_kinds_are_recognized_as_before(columns: list[str], kind: str) -> None:
    assert table_of(pl.Schema(dict.fromkeys(columns, pl.String))).name == kind


def test_votes_with_a_system_prompt_are_votes(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", "question,model_a,model_b,winner,system\nq,x,y,model_a,be kind\n")
    assert rankbench.scan(path).collect().select("winner", "loser").rows() == [("x", "y")]


def test_percent_signs_are_read_or_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.csv", "model,MMLU,speed\na,60.25%,1\nb,7%,2\nc,,3\n")
    found = open_log(path, columns="system=model").frame.collect()
    assert sorted(found.rows()) == [
        *[("MMLU", "a", 60.25), ("MMLU", "b", 7.0), ("MMLU", "c", None)],
        *[("speed", "a", 1.0), ("speed", "b", 2.0), ("speed", "c", 3.0)],
    ]
    path.write_text("model,MMLU\na,60.25%\nb,.07\n")
    with pytest.raises(InputError, match=r":3 \[MMLU\]: the score '.07' is written otherwise"):
        open_log(path, columns="system=model").frame.collect()


@pytest.mark.parametrize(
    "text",
    [
        "model,task,score\na,t,1\nb,t,2\n",
        "name,MMLU,GSM8K\na,60.25,1\nb,7,2\n",
        "model,task,f1,em\na,t,1,2\nb,t,2,3\n",
    ],
)
def test_votes_asked_of_a_score_table_are_told_of_rank(tmp_path: Path, text: str) -> None:
    with pytest.raises(RankbenchError, match="rankbench rank"):
        rankbench.aggregate(written(tmp_path / "scores.csv", text))
