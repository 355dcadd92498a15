"""Below the command line nobody writes options with dashes: Python has keywords."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rankbench
from rankbench.cli import offered, option_text
from rankbench.errors import OptionError, SpecError, option, options_as

PACKAGE = Path(rankbench.__file__).parent
DASHES = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"rankbench(?:\.certificates\.check)? [a-z]+[^.;]*?--[a-z]")
"""A whole command of the shell, which is the same whoever reads of it."""

OTHERS = {
    "certificates/check.py": "a program of its own",
    "reports/web_page.py": "makes the command of a run again",
    "testing/component_added.py": "finds commands in workflows",
    "testing/isolated.py": "calls pip",
    "testing/scaffold.py": "writes commands into a new plugin's pages",
    "tracking/other_version.py": "calls git and pip",
}
"""Files that write commands of the shell, or call other programs."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield texts with their lines; a text of several parts is one, docstrings are none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | parts:
            yield node.lineno, node.value


@pytest.mark.lint
def test_no_text_below_the_command_line_has_dashes() -> None:
    modules = {one.target.partition(":")[0] for one in offered()}
    commands = {f"{module.replace('.', '/')}.py".removeprefix("rankbench/") for module in modules}
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("cli/") and name not in commands and name not in OTHERS:
            wrong = [(line, COMMAND.sub("", text)) for line, text in texts(path)]
            found += [f"{name}:{line}: {text}" for line, text in wrong if DASHES.search(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("given", "python", "shell"),
    [
        (("by",), "by=", "--by"),
        (("by", "COLUMN"), "by=COLUMN", "--by COLUMN"),
        (("time_unit", "day"), 'time_unit="day"', "--time-unit day"),
        (("words", "missing="), 'words="missing="', "--words missing="),
        (("columns", 'numbers="1,5"'), "columns='numbers=\"1,5\"'", "--columns 'numbers=\"1,5\"'"),
        (("where", "a == 1"), 'where="a == 1"', "--where 'a == 1'"),
        (("reading", "NAME"), "reading=NAME", "--file-format NAME"),
    ],
)
def test_options_are_keywords_and_dashes_are_the_command_lines(given: tuple[str, ...], python: str, shell: str) -> None:
    assert option(*given) == python
    with options_as(option_text):
        assert option(*given) == shell
    assert option(*given) == python


@pytest.mark.full
def test_results_are_the_same_however_a_run_is_asked(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("winner,loser\n" + "a,b\nb,c\nc,a\na,c\n" * 5, encoding="utf-8")
    told = {}
    for name, context in (("python", options_as()), ("shell", options_as(option_text))):
        with context:
            found = rankbench.run(
                "own-log",
                dataset=rankbench.log_file(votes),
                extra=["bradley-terry:control=true"],
                reps=2,
                out=tmp_path / name,
            )
        told[name] = (found.directory / "leaderboard.csv").read_bytes()
    assert b"control=" in told["python"]
    assert told["python"] == told["shell"]


def test_python_and_the_command_line_say_the_same_of_an_option() -> None:
    votes = [{"winner": "a", "loser": "b"}]
    with pytest.raises(OptionError, match=r"^pool= is of categories: say by=COLUMN with it$"):
        rankbench.aggregate(votes, pool=True)
    with options_as(option_text), pytest.raises(SpecError, match=r"^--pool is of categories: say --by COLUMN with it$"):
        rankbench.aggregate(votes, pool=True)
