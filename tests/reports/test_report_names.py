"""A report knows rows and metrics as values: no method, metric, protocol or fact is named in its source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import rankbench
from rankbench.interfaces.metric import BUDGET, COLUMN_FACTS, RIDGE
from rankbench.interfaces.protocol import Protocol
from rankbench.plugin import manager

SOURCES = sorted((Path(rankbench.__file__).parent / "reports").rglob("*.py"))

OWN = {
    "lower": "a bound of an interval: a column of leaderboard.csv, as in `RANKING`",
    "upper": "a bound of an interval: a column of leaderboard.csv, as in `RANKING`",
    "votes": "what n counts where people vote, `counts` of a protocol; beside `RANKING` a metric of that name",
    "oracle": "a contender that knows the answer: a column of leaderboard.csv; a method has that name",
    "verdict": "a column of the table of claims; protocol `theory` has a metric of that name",
}
"""Words that the report uses for things of its own."""


def named() -> set[str]:
    """Return the names of everything that is judged, judges, or is told of a contender."""
    protocols = [manager.component_class(Protocol, name) for name in manager.names("protocol")]
    facts = {fact.name for protocol in protocols for fact in protocol.facts}
    facts |= {fact.name for fact in (*COLUMN_FACTS, RIDGE)} | {BUDGET.name, *BUDGET.steps}
    facts |= {fact.parameter for fact in COLUMN_FACTS}
    metrics = {name for protocol in protocols for name in protocol.metric_names()}
    components = {name for kind in ("method", "protocol", "loss", "aggregator") for name in manager.names(kind)}
    return facts | metrics | components


def literals(source: str) -> list[tuple[int, str]]:
    """Return the strings of a module, with their lines: no docstrings, names of `__all__` or keys of attributes."""
    tree = ast.parse(source)
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }  # fmt: skip
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]


def unmistakable(names: set[str]) -> set[str]:
    """Return the names that are no English words: those are looked for in sentences, too."""
    return {name for name in names if re.search(r"\w[-_]\w", name)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_component_metric_or_fact_is_named(path: Path) -> None:
    known = named() - set(OWN)
    assert {"calibration", "log-loss", "k", "mc_error", "erm", "own-log", "ndcg"} <= known
    found = [
        f"{path.name}:{line}: {text!r}"
        for line, text in literals(path.read_text(encoding="utf-8"))
        if text in known or unmistakable(known).intersection(re.findall(r"[\w-]+", text))
    ]
    assert found == []
