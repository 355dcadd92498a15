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

import pytest
from amounts import part_of

import rankbench
import rankbench.data
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readings.find import read_table
from rankbench.errors import InputError, Unread
from rankbench.interfaces.reading import Reading
from rankbench.logs.open import open_log

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
    comma = "\t" if entry[part]["file"].endswith(".tsv") else ","
    return list(csv.reader(io.StringIO(text), delimiter=comma))[entry.get("header", 1) - 1]


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


def written(name: str, part: str, folder: Path) -> Path:
    """Return a small file, or a folder of some, as it is on a disk."""
    sample = FORMATS[name][part]
    path, text = folder / sample["file"], sample["text"].lstrip("\n")
    files = re.split(r"^@ (.*)\n", text, flags=re.MULTILINE)[1:] if sample["file"].endswith("/") else ["", text]
    for inner, content in zip(files[::2], files[1::2], strict=True):
        file = path / inner if inner else path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return path


def read_as(path: Path) -> str:
    """Return the format that a file is read by as it stands; empty: by none, or rankbench asks."""
    try:
        return read_table(choose_reader(path).raw(path), Reading()).reading.format
    except InputError:
        return ""


READ = [name for name, entry in FORMATS.items() if "refuse" not in entry]


@pytest.mark.parametrize("name", part_of(READ))
def test_an_example_is_read_by_its_format_alone(name: str, tmp_path: Path) -> None:
    path = written(name, "example", tmp_path)
    assert read_as(path) == name
    opened = open_log(path)
    assert opened.reading is not None
    assert opened.reading.format == name
    assert opened.frame.collect().height > 0


@pytest.mark.parametrize("name", part_of([name for name in READ if "scores" in FORMATS[name]["example"]]))
def test_an_example_is_read_rightly(name: str, tmp_path: Path) -> None:
    # Right answers are means, or come from an own fit of Firth's penalized likelihood by scipy, to four digits.
    path, right = written(name, "example", tmp_path), FORMATS[name]["example"]["scores"]
    scores = FORMATS[name]["kind"] == "scores"
    table = rankbench.rank_scores(path, ["mean-score"]).table if scores else rankbench.aggregate(path).table
    found = table.select("system" if scores else "item", "score")
    assert dict(found.iter_rows()) == pytest.approx(right, abs=1e-4)


@pytest.mark.parametrize("name", part_of(FORMATS))
def test_a_look_alike_is_not_read(name: str, tmp_path: Path) -> None:
    assert read_as(written(name, "unlike", tmp_path)) != name


@pytest.mark.parametrize("name", [name for name, entry in FORMATS.items() if "refuse" in entry])
def test_a_refused_file_is_known(name: str, tmp_path: Path) -> None:
    path = written(name, "example", tmp_path)
    with pytest.raises(Unread) as caught:
        read_table(choose_reader(path).raw(path), Reading())
    assert caught.value.code == "known"
