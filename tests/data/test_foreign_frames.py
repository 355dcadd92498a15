"""Frames of pandas and PyArrow as their users have them: `make elsewhere` brings both."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl
import pytest

import rankbench
from rankbench.errors import InputError

pd: Any = pytest.importorskip("pandas")
pa: Any = pytest.importorskip("pyarrow")

VOTES = {
    "model_a": ["x", "y", "x", "z"] * 5, "model_b": ["y", "z", "z", "y"] * 5,
    "winner": ["model_a", "tie", "model_b", "model_a"] * 5,
    "judge": ["j1", "j2", "j3", "j4", "j5"] * 4, "weight": [1.0, 2.5, 1.0, 0.5] * 5,
}  # fmt: skip
EXPECTED = {**VOTES, "turn": list(range(20))}


def frames() -> dict[str, Any]:
    plain = pd.DataFrame(EXPECTED)
    return {
        "as made": plain,
        "categories": plain.astype(dict.fromkeys(("model_a", "model_b", "winner", "judge"), "category")),
        "nullable": plain.convert_dtypes(),
        "of PyArrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "rows numbered otherwise": plain.set_axis(range(100, 80, -1), axis=0),
        "a filtered frame": pd.concat([plain, plain]).iloc[:20],
        "an index with a name": plain.set_index("judge"),
        "two of them": plain.set_index(["judge", "winner"]),
        "sliced columns": plain[["winner", "weight", "judge", "model_b", "model_a", "turn"]],
        "a table": pa.table(EXPECTED),
        "words as numbers": pa.table({**EXPECTED, "judge": pa.array(EXPECTED["judge"]).dictionary_encode()}),
        "in pieces": pa.concat_tables([pa.table(EXPECTED).slice(0, 7), pa.table(EXPECTED).slice(7)]),
        "batches": pa.table(EXPECTED).to_reader(max_chunksize=3).read_all(),
        "a batch": pa.RecordBatch.from_pydict(EXPECTED),
        "large texts": pa.table(EXPECTED).cast(
            pa.schema([*((name, pa.large_string()) for name in ("model_a", "model_b", "winner", "judge")),
                       ("weight", pa.float32()), ("turn", pa.int8())])),
    }  # fmt: skip


@pytest.mark.parametrize("name", frames() if pd and pa else [])
def test_votes_are_those_of_a_dict_of_lists(name: str) -> None:
    expected = rankbench.aggregate(EXPECTED, intervals="judges", replicates=20)
    found = rankbench.aggregate(frames()[name], intervals="judges", replicates=20)
    assert found.table.equals(expected.table)
    assert rankbench.scan(frames()[name]).collect().height == 20


def test_what_is_missing_is_missing() -> None:
    for nothing in (None, float("nan"), pd.NA, pd.NaT):
        frame = pd.DataFrame({**VOTES, "judge": [nothing, *VOTES["judge"][1:]]})
        judges = rankbench.scan(frame).collect()["judge"]
        assert judges.null_count() == 1
        frame = pd.DataFrame({**VOTES, "model_a": [*VOTES["model_a"][:2], nothing, *VOTES["model_a"][3:]]})
        with pytest.raises(InputError, match=r"row 3 \[(model_a|loser)\]: the cell is empty"):
            rankbench.scan(frame).collect()


def test_times_are_read() -> None:
    times = pd.to_datetime([datetime(2024, 1, 1 + at % 28) for at in range(20)])
    for column in (times, times.tz_localize("Europe/Berlin"), pd.Series(times).astype("datetime64[s]")):
        frame = pd.DataFrame({**VOTES, "time": column})
        assert rankbench.aggregate(frame, "elo").table.height == 3
        assert rankbench.scan(frame).collect()["time"].n_unique() == 20


@pytest.mark.parametrize("how", ["a column", "an index with a name", "an index without one", "a pivot"])
def test_score_tables_have_their_systems_in_the_index(how: str) -> None:
    wide = {"model": ["A", "B", "C"], **{f"t{at}": [at + 0.0, at + 1.0, 0.5] for at in range(12)}}
    frame = pd.DataFrame(wide)
    told = "system=model,scores=t?|t??"
    expected = rankbench.rank(pl.DataFrame(wide), columns=told, replicates=50).table
    if how == "an index with a name":
        frame = frame.set_index("model")
    elif how == "an index without one":
        frame = frame.set_index("model").rename_axis(None)
    elif how == "a pivot":
        frame = frame.melt("model", var_name="task").pivot_table(index="model", columns="task", values="value")
        frame = frame[[f"t{at}" for at in range(12)]]
    named = told.replace("model", "column 1") if how == "an index without one" else told
    assert rankbench.rank(frame, columns=named, replicates=50).table.equals(expected)
    assert rankbench.rank(pa.table(wide), columns=told, replicates=50).table.equals(expected)


def test_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([["a", "b", "c"]], columns=["winner", "loser", "loser"])
    with pytest.raises(InputError, match="the frame has two columns called 'loser'; rename or drop one"):
        rankbench.scan(frame)
