"""Nothing asks for a table's name: what differs between kinds of tables, their objects say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankbench.data.tables import rankbench_register

PACKAGE = Path(__file__).resolve().parents[2] / "rankbench"
NAMES = {kind.name for kind in rankbench_register()}
OWN = [PACKAGE / "data" / "tables" / name for name in sorted(NAMES)]
"""A kind's own folder may say its name."""


def texts(node: ast.AST) -> set[str]:
    """Return the texts that an operand is, or is a collection of."""
    inner = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {part.value for part in inner if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def of_judgments(node: ast.AST) -> bool:
    """Return whether this is what an aggregator aggregates: kinds of judgments have the tables' names.

    What a table's row is (`TableKind.row`) is a kind of judgment, too.
    """
    if isinstance(node, ast.Attribute) and node.attr == "row":
        return True
    return "judgments" in ast.unparse(node) or "JudgmentKind" in ast.unparse(node)


def asked(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of every place where something is compared with tables' names, or chosen by them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            found = set().union(*map(texts, operands)) & NAMES
            if found and not any(of_judgments(operand) for operand in operands):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Dict):
            keys = set().union(*(texts(key) for key in node.keys if key is not None)) if node.keys else set()
            if len(keys & NAMES) > 1:
                yield node.lineno, ast.unparse(node)[:80]
        elif (isinstance(node, ast.MatchValue) and texts(node.value) & NAMES) or (
            isinstance(node, ast.Subscript) and len(texts(node.slice) & NAMES) > 1
        ):
            yield node.lineno, ast.unparse(node)


def test_no_table_is_asked_for_by_its_name() -> None:
    assert len(NAMES) == 5
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not any(path.is_relative_to(folder) for folder in OWN)
        for line, text in asked(path.read_text(encoding="utf-8"))
    ]
    # What one judgment is: a winner and a loser, clicks, or a ballot (rankbench.core.component.JudgmentKind).
    judgments = [text for text in found if text.startswith("core/component.py:")]
    assert [text for text in found if text not in judgments] == []
    assert len(judgments) == 1


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ('if source.table == "comparisons": pass', True),
        ('if "items" != table: pass', True),
        ('if dataset.table in ("comparisons", "orders"): pass', True),
        ('suites = {"comparisons": "own-log", "selections": "own-clicks"}[table]', True),
        ('match table:\n    case "orders": pass', True),
        ('Table = Literal["items", "orders"]', True),
        ('if contender.judgments != "comparisons": pass', False),
        ('if source.table.row == "orders": pass', False),
        ('table: ClassVar[str] = "selections"', False),
        ('arrays = pack("items", offsets=offsets)', False),
        ('words = {"items": 3}', False),
    ],
)
def test_the_walk_sees_what_it_looks_for(source: str, wrong: bool) -> None:
    assert bool(list(asked(source))) is wrong
