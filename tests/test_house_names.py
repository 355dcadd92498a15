"""Names: one meaning in all of rankbench, and words that explain themselves."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from test_layout import FAMILIES

pytestmark = pytest.mark.lint

PACKAGE = Path(__file__).resolve().parent.parent / "rankbench"

REFUSED = frozenset({"alone", "apart", "borrow", "borrowed", "deaths", "half", "lend", "lent", "most", "of", "said"})
"""Words that say nothing of what they name."""

RECORDED = "interfaces/metric: said"
"""A field of `Fact`, by whose name journals and published rows have it."""

CHECKER = ("certificates/check", "certificates/checking/")
"""The checker of certificates imports nothing of rankbench: it has the formulas of others, by their names, again."""

HANDED_ON = frozenset({"rankbench_register", "main"})
"""Functions that whoever starts a package looks for by name."""


COMMAND = re.compile(r"\w+\.(command|group)\b")
"""What a function is decorated with that becomes a subcommand."""


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax of every module, by its path without suffix."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if path.name != "__init__.py"]
    return {
        path.relative_to(PACKAGE).with_suffix("").as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
    }


def several_meanings(homes: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return public functions of several packages that are not one thing.

    One thing are: compiled forms of one package and the plain one, or those of families, whose
    kernels have one contract; what `rankbench.api` hands on. A subcommand's function, which is a
    command and no function any more, is not asked.
    """
    found = {}
    for name, modules in homes.items():
        own = {each for each in modules if not each.startswith(("api", *CHECKER))}
        compiled = {each for each in own if "kernels" in each.split("/")}
        packages = {"a family" if each.split("/")[0] in FAMILIES else each.split("/")[0] for each in own}
        if name not in HANDED_ON and (len(own - compiled) > 1 or len(packages) > 1):
            found[name] = sorted(modules)
    return found


def unexplained(tree: ast.Module) -> list[str]:
    """Return names of functions, methods, classes, public fields and their parameters that are refused words."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (*functions, ast.ClassDef)):
            found.append(node.name)
            public = not node.name.startswith("_")
        if isinstance(node, functions) and public:
            found += [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        elif isinstance(node, ast.ClassDef) and public:
            fields = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
            found += [field.id for field in fields if isinstance(field, ast.Name)]
    return [name for name in found if name.strip("_").lower() in REFUSED]


def test_a_public_function_has_one_meaning() -> None:
    homes = defaultdict(set)
    for module, tree in trees().items():
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
                subcommand = any(COMMAND.match(ast.unparse(each)) for each in node.decorator_list)
                homes[node.name].update(() if subcommand else {module})
    assert len(homes) > 500
    assert several_meanings(homes) == {}


def test_names_explain_themselves() -> None:
    files = [module for module in trees() if module.rpartition("/")[2] in REFUSED]
    found = [f"{module}: {name}" for module, tree in trees().items() for name in unexplained(tree)]
    assert [*files, *found] == [RECORDED]
