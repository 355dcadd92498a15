"""A table of files: how rankbench reads each as it stands, or what it asks; and what is in it, counted by hand."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from amounts import part_of

from rankbench.cli import option_text
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readings.draft import kept_reading
from rankbench.data.readings.find import ENDING, read_table
from rankbench.data.tables.kinds import table_kind_of
from rankbench.errors import InputError, Unread, options_as
from rankbench.interfaces.reading import Reading, said_names, told_text
from rankbench.interfaces.table_check import RawTable, ReadTable

Case = Mapping[str, Any]


def cases() -> dict[str, Case]:
    """Return all cases by name."""
    found: dict[str, Case] = {}
    for path in sorted((Path(__file__).parent / "reading_cases").glob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            assert case["name"] not in found, f"{case['name']} is there twice"
            found[case["name"]] = {"file": f"{path.stem}.csv", **case}
    return found


CASES = cases()
RIGHT = ("pairs", "ballots", "lists", "scores", "less", "beside")
"""Keys of right answers."""


def table(case: Case, folder: Path) -> RawTable:
    """Return the file of a case as its reader gives it."""
    path = folder / case["file"]
    path.write_text(case["text"].lstrip("\n"), encoding="utf-8")
    return choose_reader(path).raw(path)


def read(case: Case, folder: Path, told: Mapping[str, Any]) -> ReadTable:
    """Return what rankbench reads after it was told some options."""
    said = (told.get(name, "") for name in ("columns", "words", "format"))
    return read_table(table(case, folder), Reading.parsed(told_text(*said)))


def checked(found: ReadTable) -> pl.DataFrame:
    """Return a table after the check of its kind."""
    check = table_kind_of(found.reading).check(found.table)()
    frame = pl.concat([check.feed(batch) for batch in found.table.batches()])
    check.end()
    return frame


def tellings(case: Case) -> list[dict[str, Any]]:
    """Return what is told of a file, one after the other; each may have an outcome of its own."""
    told = case.get("told", [])
    common = {key: case[key] for key in RIGHT if key in case}
    return [{**({} if "asks" in one else common), **one} for one in (told if isinstance(told, list) else [told])]


def votes_of(frame: pl.DataFrame) -> dict[str, float]:
    """Return how many votes, by weight, say that one item beats another, ``x>y``, or that neither did, ``x=y``."""
    found: Counter[str] = Counter()
    for row in frame.iter_rows(named=True):
        sign = "=" if row.get("tie") else ">"
        pair = (row["winner"], row["loser"])
        found[sign.join(sorted(pair) if sign == "=" else pair)] += row.get("weight", 1) * row.get("count", 1)
    return dict(found)


def ballots_of(frame: pl.DataFrame) -> dict[str, float]:
    """Return how many ballots, by weight, are ``x>y=z``."""
    found: Counter[str] = Counter()
    for row in frame.iter_rows(named=True):
        text = ">".join("=".join(sorted(place)) for place in row["ranking"])
        found[text] += row.get("weight", 1) * row.get("count", 1)
    return dict(found)


def means_of(frame: pl.DataFrame) -> tuple[dict[str, float], set[str]]:
    """Return the mean of each system over the tasks that all have, and the tasks in which less is better."""
    cells = frame.drop_nulls("score").group_by("query_id", "system").agg(pl.col("score").mean())
    systems = frame["system"].n_unique()
    whole = cells.filter(pl.len().over("query_id") == systems)
    means = whole.group_by("system").agg(pl.col("score").mean())
    less = set(frame.filter(frame["less"])["query_id"]) if "less" in frame.columns else set()
    return dict(means.rows()), less


def expect(right: Mapping[str, Any], found: ReadTable) -> None:
    """Compare a table with what was counted by hand."""
    frame = checked(found)
    assert {"pairs", "ballots", "lists", "scores"} & set(right)
    if "pairs" in right:
        assert votes_of(frame) == pytest.approx(right["pairs"])
    if "ballots" in right:
        assert ballots_of(frame) == pytest.approx(right["ballots"])
    if "lists" in right:
        assert [list(row) for row in frame.rows()] == right["lists"]
    if "scores" in right:
        found_means, less = means_of(frame)
        assert found_means == pytest.approx(right["scores"], abs=1e-4)
        assert less == set(right.get("less", []))
    for name, values in right.get("beside", {}).items():
        assert [str(value) for value in frame[name]] == values


def expect_question(asked: Mapping[str, Any], case: Case, folder: Path, told: Mapping[str, Any]) -> None:
    """Expect the question, or the error, of a code and a row."""
    with options_as(option_text), pytest.raises(InputError) as caught:
        checked(read(case, folder, told))
    code = caught.value.code if isinstance(caught.value, Unread) else "input"
    assert code == asked["asks"], str(caught.value)
    assert "row" not in asked or caught.value.row == asked["row"], str(caught.value)
    # No answer is given with the question.
    assert not re.search(r"(?<!name)=\*([\s,|;]|$)", str(caught.value))
    assert not re.search(r"missing='?\S*\d", str(caught.value)) or code in ("code", "word", "words")
    expect_options(str(caught.value))


def expect_options(message: str) -> None:
    """Expect that a shell hands over what a message says of options, as their grammar has it."""
    for option, said in re.findall(r"--(columns|words) ((?:'[^']*'|[^\s'])+?)(?=[;,)]*(?:\s|$))", message):
        assert not set(re.sub("'[^']*'", "", said)) & set('|*"?;&<>()')
        assert said_names(shlex.split(said)[0], option)


@pytest.mark.parametrize("name", part_of(name for name, case in CASES.items() if "asks" in case))
def test_lines_that_are_offered_are_python(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        checked(read(CASES[name], tmp_path, {}))
    texts = r"\"[^\"]*\"|'[^']*'"
    said = re.findall(
        rf"(?<!\w)(?:(?:columns|words|reading|where)=(?:{texts})(?:,? (?=\w+=[\"']))?)+", str(caught.value)
    )
    for keywords in said:
        ast.parse(f"aggregate(log, {keywords})")


@pytest.mark.parametrize("name", part_of(CASES))
def test_a_file_is_read_rightly_or_asked_about(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    assert ("asks" in case) != ("source" in case)
    if "asks" in case:
        expect_question(case, case, tmp_path, {})
    else:
        found = read(case, tmp_path, {})
        assert found.reading.source == case["source"]
        expect(case, found)
    for told in tellings(case):
        if "asks" in told:
            expect_question(told, case, tmp_path, told)
        else:
            expect(told, read(case, tmp_path, told))


@pytest.mark.parametrize("name", part_of(name for name, case in CASES.items() if any(key in case for key in RIGHT)))
def test_a_reading_survives_its_file(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    told = next((one for one in tellings(case) if "asks" not in one), {})
    found = read(case, tmp_path, told)
    path = tmp_path / (case["file"] + ENDING)
    path.write_text(kept_reading(found.reading, table(case, tmp_path).schema.names()), encoding="utf-8")
    again = read(case, tmp_path, {})
    assert again.reading.source == path.name
    assert checked(again).equals(checked(found))
