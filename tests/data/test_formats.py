"""Known formats: each has a source, an example, and a look-alike; no example has the columns of two of them."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankbench
import rankbench.data
from rankbench.data.readings.formats import fitting, known_formats
from rankbench.errors import Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable, ReadTable

FORMATS = {
    path.name.removesuffix(".format.toml"): tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(rankbench.data.__file__).parent / "formats").glob("*.toml"))
}
KEYS = {"kind", "from", "verified", "needs", "also", "columns", "example", "unlike"}
MAY = {"rows", "refuse", "header", "words", "agree", "where", "unless", "turned", "split"}
ANY_ROLES = {"ignore", "mirrored", "self", "numbers", "dates"}
ROLES = {
    "votes": {
        *("winner", "loser", "left", "right", "points", "margin", "preference", "left_score", "right_score"),
        *("left_place", "right_place", "left_wins", "right_wins", "ties", "left_won", "right_won", "items", "best"),
        *("worst", "query", "judge", "time", "weight", "count", "tie", "first"),
    },
    "ballots": {
        *("ranking", "candidates", "ranks", "query", "item", "place", "points", "places", "items", "cells", "judge"),
        *("weight", "time", "count"),
    },
    "clicks": {"session", "query", "position", "doc", "clicked"},
    "scores": {"system", "task", "score", "loss", "seed", "metric", "scores", "losses", "cells"},
}
MEANINGS = {"left", "right", "tie", "missing", "last", "more", "less", "name"}
SAID = ("self", "dates", "numbers", "mirrored", "cells")
"""Roles that name no column."""


def many(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def split_names(entry: Mapping[str, Any]) -> set[str]:
    """Return the columns that the texts of others are split into."""
    return {name for pattern in entry.get("split", {}).values() for name in re.findall(r"{(\w+)}", pattern)}


def read_names(entry: Mapping[str, Any]) -> set[str]:
    """Return the columns that an entry reads."""
    roles = {**entry["columns"], **entry.get("agree", {})}
    named = {name for role, names in roles.items() if role not in SAID for name in many(names)}
    named -= split_names(entry)
    return named.union(*(entry.get(part, {}) for part in ("where", "unless", "turned", "split")))


def columns_of(entry: Mapping[str, Any], part: str) -> list[str]:
    """Return the columns of a small file; of nested JSON those of its objects at the top."""
    text = entry[part]["text"].lstrip("\n")
    if entry[part]["file"].endswith((".json", ".jsonl", "/")):
        objects = [line for line in text.splitlines() if not line.startswith("@ ")]
        rows = json.loads(text) if text[0] == "[" or not is_json(objects[0]) else [json.loads(line) for line in objects]
        return list(dict.fromkeys(key for row in (rows if isinstance(rows, list) else [rows]) for key in row))
    return list(csv.reader(io.StringIO(text)))[entry.get("header", 1) - 1]


def is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def has_columns(entry: Mapping[str, Any], names: list[str]) -> bool:
    """Return whether a table has the columns of a format: those that it needs, and none that it does not know."""
    known = [*entry["needs"], *entry.get("also", ())]
    closed = all(any(fnmatchcase(name, re.sub(r"\[", "[[]", pattern)) for pattern in known) for name in names)
    return set(entry["needs"]) <= set(names) and (closed or "agree" in entry)


def test_there_are_many() -> None:
    assert len(FORMATS) >= 45
    assert {entry["kind"] for entry in FORMATS.values()} == {"votes", "ballots", "scores"}


@pytest.mark.parametrize("name", FORMATS)
def test_an_entry_says_what_it_must(name: str) -> None:
    entry = FORMATS[name]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9.]+)*", name)
    assert set(entry) <= KEYS | MAY
    assert KEYS - {"also"} <= set(entry)
    assert "also" in entry or "agree" in entry
    assert entry["verified"] in {"read", "code", "header", "none"}
    assert entry["from"].strip()
    assert {"file", "text"} <= set(entry["example"]) <= {"file", "text", "scores"}
    assert set(entry["unlike"]) == {"file", "text", "why"}
    assert set(entry["columns"]) <= ROLES[entry["kind"]] | ANY_ROLES
    assert bool(entry["columns"]) != ("refuse" in entry)
    items = {name for role in ("left", "right") for name in many(entry["columns"].get(role, []))}
    assert set(entry.get("words", {})) <= MEANINGS | items


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_read_is_known(name: str) -> None:
    entry = FORMATS[name]
    known = {*entry["needs"], *entry.get("also", ()), "_folder", "_row", "*"}
    assert {column for column in read_names(entry) if column not in known and "*" not in column} == set()


@pytest.mark.parametrize("name", [name for name, entry in FORMATS.items() if "rows" not in entry])
def test_an_example_has_the_columns_of_its_format_alone(name: str) -> None:
    names, lines = columns_of(FORMATS[name], "example"), FORMATS[name].get("header", 1)
    flat = {other: entry for other, entry in FORMATS.items() if "rows" not in entry and entry.get("header", 1) == lines}
    assert [other for other, entry in flat.items() if has_columns(entry, names)] == [name]


@pytest.mark.parametrize("name", [name for name, entry in FORMATS.items() if "rows" in entry])
def test_nested_json_has_the_columns_of_no_flat_format(name: str) -> None:
    names = columns_of(FORMATS[name], "example")
    assert [other for other, entry in FORMATS.items() if "rows" not in entry and has_columns(entry, names)] == []


VOTES = [name for name, entry in FORMATS.items() if entry["kind"] == "votes" and "rows" not in entry]
"""Formats of votes, from tables."""

STANDARD = {"query_id", "winner", "loser", "tie", "first", "judge", "time", "count", "weight"}


def table(name: str, part: str) -> RawTable:
    """Return a small file as a table of texts, or what JSON holds."""
    file, text = Path(FORMATS[name][part]["file"]), FORMATS[name][part]["text"].lstrip("\n")
    if file.suffix == ".csv":
        frame = pl.read_csv(io.StringIO(text), infer_schema=False)
    else:
        rows = json.loads(text) if text[0] == "[" else [json.loads(line) for line in text.splitlines()]
        frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    return RawTable(frame.lazy(), file, 1)


def read(name: str, part: str, by: str) -> ReadTable | None:
    """Return a small file of a format as another one reads it; None: it does not fit, or rankbench asks."""
    try:
        found = fitting(table(name, part), known_formats()[by], Reading())
    except Unread:
        return None
    return found if isinstance(found, ReadTable) else None


@pytest.mark.parametrize("name", VOTES)
def test_an_example_is_read_rightly(name: str) -> None:
    # Right answers come from an own fit of Firth's penalized likelihood by scipy, rounded to four digits.
    found = read(name, "example", name)
    assert found is not None
    votes = found.table.frame.filter(~pl.col("left_out") if "left_out" in found.table.schema() else True).collect()
    right, frame = FORMATS[name]["example"]["scores"], votes.drop("left_out", strict=False)
    assert set(votes["winner"]) | set(votes["loser"]) == set(right)
    if set(frame.columns) <= STANDARD:
        scores = rankbench.aggregate(frame).table
        assert dict(scores.select("item", "score").iter_rows()) == pytest.approx(right, abs=1e-4)


@pytest.mark.parametrize("name", VOTES)
def test_a_look_alike_is_not_read(name: str) -> None:
    assert read(name, "unlike", name) is None


@pytest.mark.parametrize("name", VOTES)
def test_no_other_format_reads_an_example(name: str) -> None:
    assert [other for other in FORMATS if other != name and read(name, "example", other)] == []


@pytest.mark.parametrize("name", [name for name, entry in FORMATS.items() if "refuse" in entry and "rows" not in entry])
def test_a_refused_file_is_known(name: str) -> None:
    with pytest.raises(Unread) as caught:
        fitting(table(name, "example"), known_formats()[name], Reading())
    assert caught.value.code == "known"
    assert read(name, "unlike", name) is None
