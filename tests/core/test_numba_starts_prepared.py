"""Every module with compiled functions settles numba's cache folder before it compiles.

`rankbench.core.runtime.settle_runtime` does; `rankbench.kernels.signatures` and the packages named ``kernels``
call it when they are imported. A module is safe if it, what it imports or a package it
is in calls it: functions are compiled after a module's imports.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rankbench

PACKAGE = Path(rankbench.__file__).parent


def module_path(name: str) -> Path | None:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def imported(path: Path) -> set[str]:
    """Return what a module imports when it is imported itself, and the packages it is in."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    parts = path.relative_to(PACKAGE.parent).parts
    return names | {".".join(parts[:end]) for end in range(2, len(parts))}


def calls_prepare(path: Path) -> bool:
    return any(
        isinstance(node, ast.Expr) and ast.unparse(node) == "settle_runtime()"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    )


def prepares(path: Path) -> bool:
    reached, waiting = set(), [path]
    while waiting:
        module = waiting.pop()
        if calls_prepare(module):
            return True
        reached.add(module)
        found = (module_path(name) for name in imported(module) if name.startswith("rankbench."))
        waiting += [other for other in found if other is not None and other not in reached]
    return False


COMPILED = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    # numba imports `machine_code` itself, once it is prepared. To parse all files would take each worker half a second.
    if path != PACKAGE / "core" / "machine_code.py"
    and "numba" in path.read_text(encoding="utf-8")
    and any(name.partition(".")[0] == "numba" for name in imported(path))
]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_that_compiles_imports_the_preparation(path):
    assert prepares(path), f"{path} imports numba, and nothing calls rankbench.core.runtime.settle_runtime before"


def test_there_is_something_to_check():
    assert COMPILED
