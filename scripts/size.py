"""How large the project is: files, code lines and imports of every package. `make size` prints it.

A code line is neither blank, nor a comment, nor part of a docstring. A package is a folder, or a file, of `rankbench/`.
The longest chain counts packages that import one another in turn, imports inside functions and for types included.
"""

from __future__ import annotations

import ast
import re
import tokenize
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rankbench"
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def docstring_lines(tree: ast.AST) -> set[int]:
    """Return the lines of strings that stand alone as statements: docstrings, and strings below constants."""
    alone = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    texts = [node for node in alone if isinstance(node.value, str)]
    return {line for node in texts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def code_lines(path: Path) -> int:
    """Return the number of code lines of a Python file."""
    with tokenize.open(path) as file:
        tokens = [token for token in tokenize.generate_tokens(file.readline) if token.type not in LAYOUT]
    lines = {line for token in tokens if token.string for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - docstring_lines(ast.parse(path.read_text(encoding="utf-8"))))


def package_of(path: Path) -> str:
    """Return the package of a file of rankbench; the face has none."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "" if parts[0] in ("__init__", "__main__") else parts[0]


def imports_of(path: Path) -> set[str]:
    """Return the packages that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= (
                {node.module} if node.module != "rankbench" else {f"rankbench.{alias.name}" for alias in node.names}
            )
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("rankbench.")}


def longest_chain(edges: dict[str, set[str]]) -> list[str]:
    """Return the longest chain of packages in which each imports the next; they must have no circle."""

    @cache
    def below(name: str) -> list[str]:
        return [name, *max((below(target) for target in sorted(edges[name])), key=len, default=[])]

    return max((below(name) for name in sorted(edges)), key=len)


def words_of(page: Path) -> int:
    """Return the number of words of a page outside of its examples, which are blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return len(re.findall(r"\S*\w\S*", text))


def main() -> None:
    """Print the table."""
    files: dict[str, list[Path]] = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")]):
        files.setdefault(package_of(path), []).append(path)
    edges = {name: set[str]().union(*map(imports_of, paths)) & set(files) - {name} for name, paths in files.items()}
    print(f"{'package':<14}{'files':>6}{'code lines':>12}  imports")
    for name, paths in files.items():
        print(
            f"{name or '(face)':<14}{len(paths):>6}{sum(map(code_lines, paths)):>12,}  {' '.join(sorted(edges[name]))}"
        )
    everything = [path for paths in files.values() for path in paths]
    print(f"\nrankbench/     {len(everything):>5}{sum(map(code_lines, everything)):>12,}")
    for folder in ("tests", "plugins", "scripts"):
        paths = sorted((ROOT / folder).rglob("*.py"))
        print(f"{folder + '/':<14}{len(paths):>6}{sum(map(code_lines, paths)):>12,}")
    chain = longest_chain({name: targets - {""} for name, targets in edges.items() if name})
    print(f"\nlongest chain: {len(chain)} packages, {' > '.join(chain)}")
    print(f"Python files directly in rankbench/: {len(list(PACKAGE.glob('*.py')))}")
    records = [path for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name != "README.md"]
    print(f"decision records: {len(records)}")
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path not in records]
    counts = {"README.md": [ROOT / "README.md"], "docs/": pages, "docs/decisions/": records}
    words = {name: sum(map(words_of, paths)) for name, paths in counts.items()}
    print(f"words without examples: {', '.join(f'{name} {count:,}' for name, count in words.items())}")


if __name__ == "__main__":
    main()
