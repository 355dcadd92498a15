"""Score tables as files: what is refused with its row, and what other verbs say of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from data_files import rejected, written

import rankbench
from rankbench.errors import InputError, SpecError

WIDE = "system=model,scores=t|u"


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("model,t,u\na,1,x1\nb,2,3\n", WIDE, ":2 [u]: 'x1' is not a number"),
        ("model,t,u\na,1,3\nb,2,inf\n", WIDE, ":3 [u]: 'inf' is not a number"),
        ("model,t,u\na,1,3\nb,2,4\na,2,3\n", WIDE, ":4: model 'a' stands twice: in row 2, too"),
        ("system,task,score\na,t,1\nb,t,2\na,t,1\n", "", ":4: task 't', system 'a' stands twice: in row 2, too"),
        ("model,t,u\na,1,\nb,2,\n", WIDE, " [u]: the column has no score at all"),
        ("model,t,t\na,1,3\nb,2,4\n", WIDE, ":1: the header names columns twice: 't'"),
        ("model,t,u\na,1,3\n,2,4\n", WIDE, ":3 [model]: the cell is empty"),
        ("model,t,u\na,1,3\nb,2,4\n", "system=Modell,scores=t|u", "for the system; did you mean 'model'?"),
        ("model,t,u\na,1,3\nb,2,4\n", "system=model,sed=t", "no role 'sed' of columns; did you mean 'seed'?"),
        ("model,t,u\na,1.5,3\nb,2,4\n", "system=model,scores=t", "there is one task alone, 't'"),
        ("model,t,u\na,1,2\n", WIDE, "there is one system alone, 'a'"),
        ("query_id,winner,loser\nq,a,b\n", "", "the table holds comparisons, not scores"),
    ],
)
def test_scores_that_are_refused(tmp_path: Path, text: str, columns: str, said: str) -> None:
    path = written(tmp_path / "scores.csv", text)
    with pytest.raises(InputError) as error:
        rankbench.rank(path, replicates=10, columns=columns)
    place, found = str(error.value)[: len(str(path))], str(error.value)[len(str(path)) :]
    assert place == str(path)
    assert found.startswith(said) if said[0] in ": " else said in found


def test_infinite_and_missing_values_of_frames() -> None:
    table = {"model": ["a", "b"], "t": [1.0, float("inf")], "u": [1.0, 2.0]}
    with rejected("'inf' is not a number", row=2, column="t"):
        rankbench.rank(pl.DataFrame(table), replicates=10, columns=WIDE)
    nan = pl.DataFrame(table | {"t": [1.0, float("nan")], "v": [0.0, 1.0]})
    assert rankbench.rank(nan, replicates=10, columns=f"{WIDE}|v").facts["missing"]["cells"] == 1


@pytest.mark.parametrize(
    ("text", "columns"),
    [("system,task,score\na,t,1\nb,t,2\na,u,1.5\nb,u,7\n", ""), ("model,t,u\na,1.5,3\nb,2,4\n", WIDE)],
)
def test_votes_asked_of_a_score_table_are_told_of_rank(tmp_path: Path, text: str, columns: str) -> None:
    with pytest.raises(SpecError, match="rankbench rank"):
        rankbench.aggregate(written(tmp_path / "scores.csv", text), columns=columns)
