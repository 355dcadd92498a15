"""Statements of the papers: every name in the table of implementations and tests exists."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import rankbench
from rankbench.plugin.registry import base_of
from rankbench.suites.suite_files import load_suite

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "reference" / "coverage.toml"
ROWS = tomllib.loads(FILE.read_text(encoding="utf-8"))["statement"]
STATUSES = {"verified", "differently", "proof device"}

STATEMENTS = {"DMJ10": 54, "DMJ10-appendix": 3, "DMJ13": 101, "DMJ13-supplement": 40, "rank-AD": 16}
"""Statements of each document, counted by hand: the papers are not in the repository."""

EQUATIONS = {"DMJ10": 16, "DMJ13": 29, "DMJ13-supplement": 16, "rank-AD": 3}
"""Last numbered equation of each document."""


def names(key: str) -> list[str]:
    """Return the names that rows hold under a key."""
    return sorted({name for row in ROWS for name in row[key]})


def attribute(name: str) -> object:
    """Return what a dotted name of Python is."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@cache
def functions_of(path: str) -> set[str]:
    """Return the names of all functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_statement_stands_in_the_table_once() -> None:
    assert Counter(row["source"] for row in ROWS) == STATEMENTS
    assert len({(row["source"], row["number"]) for row in ROWS}) == len(ROWS)
    for source, last in EQUATIONS.items():
        found = [re.match(r"eq\. \((\d+)", row["number"]) for row in ROWS if row["source"] == source]
        assert {int(one[1]) for one in found if one} == set(range(1, last + 1))


def test_every_row_says_how_it_is_verified() -> None:
    for row in ROWS:
        assert row["status"] in STATUSES
        # A proof device has nothing to compute.
        computed = row["status"] in ("verified", "differently")
        assert (bool(row["implemented"]), bool(row["verified"])) == (computed, computed)
        assert row.get("how") or row["status"] != "differently"
        long = [one for one in re.split(r"(?<=[.?!]) ", row.get("how", "")) if len(one.split()) > 25]
        assert not long


@pytest.mark.parametrize("name", names("implemented"))
def test_implementations_exist(name: str) -> None:
    if "rankad" in name or "rank-ad" in name:
        pytest.importorskip("rankbench_rankad")
    kind, _, spec = name.partition(" ")
    if spec:
        assert rankbench.get(base_of(kind), spec)
    elif "/" in name:
        assert (ROOT / name).is_file()
    elif ":" in name:
        suite, experiment = name.split(":")
        assert experiment in {one.name for one in load_suite(suite).experiments}
    else:
        assert attribute(name) is not None


@pytest.mark.parametrize("name", names("verified"))
def test_verifications_exist(name: str) -> None:
    path, _, test = name.partition("::")
    if test:
        assert test.startswith("test_")
        assert test in functions_of(path)
    else:
        suite, claim = name.split(":")
        assert claim in {one.id for experiment in load_suite(suite).experiments for one in experiment.claims}
