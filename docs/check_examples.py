"""The examples of the README, of the pages of docs/ and of docstrings: every command and every line that it prints.

In a block of the language ``console`` a line that begins with ``$`` is a command, and the lines below it are what it
prints; ``...`` stands for any text. ``$ cat FILE`` of a file that is not there writes it: readers see what they need.
``pip install`` installs into a folder of the page.
Blocks of ``python`` are executed. Each page has a folder of its own. `make lint` runs this file.
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from generated import component_pages
from sybil import Document, Example
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

from rankbench.cli import main
from rankbench.plugin.registry import KINDS

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tutorials", "how-to", "reference", "explanation")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md")))]
PACKAGE = ROOT / "rankbench"
DOCUMENTED = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
PIP = {"PIP_TARGET": "site", "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}


def path_of_site() -> str:
    """Return where Python finds what a page installed: Python reads the .pth files of its own folder alone."""
    site = Path("site").resolve()
    edited = [path.read_text(encoding="utf-8").strip() for path in site.glob("*.pth")]
    return os.pathsep.join([str(site), *edited])


HERE = re.compile(r"rankbench [^|<>&;$*()\n]+")
"""A command of rankbench alone, in which a shell has nothing to do: a process of its own starts for a second."""


def run_here(command: str) -> tuple[int, str]:
    """Return the exit code of a command of rankbench, and what it prints."""
    done = CliRunner().invoke(main, shlex.split(command)[1:], env=TERMINAL, prog_name="rankbench")
    return done.exit_code, done.output


def run_in_shell(command: str, code: int) -> tuple[int, str]:
    """Return the exit code of a command after one that ended with `code`, and what it prints."""
    done = subprocess.run(
        ["bash", "-c", f"(exit {code}); {command}"],
        env=os.environ | PIP | TERMINAL | {"PATH": PROGRAMS, "PYTHONPATH": path_of_site()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def executed(example: Example) -> str | None:
    """Execute the commands of a block; return what is printed in place of what the page shows."""
    code = 0
    for step in re.split(r"^\$ ", example.parsed, flags=re.M)[1:]:
        command, _, shown = re.sub(r"\\\n(?:> )?", "", step).partition("\n")
        written = re.fullmatch(r"cat ([\w.-]+)", command)
        if written and not Path(written[1]).exists():
            Path(written[1]).write_text(shown, encoding="utf-8")
            continue
        alone = HERE.fullmatch(command) and not Path("site").exists()
        code, printed = run_here(command) if alone else run_in_shell(command, code)
        # A slow machine prints how far a command is, every half minute.
        printed = re.sub(r"^\d[\d.]* (s|min): .*\n", "", printed, flags=re.M)
        printed = re.sub(r" +$", "", printed, flags=re.M).rstrip("\n") + "\n"
        wanted = re.sub(r" +$", "", shown, flags=re.M).rstrip("\n") + "\n"
        if not doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS):
            return f"$ {command}\n{printed}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_show_what_commands_print(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("leaderboards").symlink_to(ROOT / "leaderboards")
    parsers = (CodeBlockParser("console", executed), PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS))
    document = Document.parse(str(page), *parsers)
    document.namespace["__name__"] = "page"
    for example in document:
        example.evaluate()


def test_an_example_that_is_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```console\n$ cat a.txt\n1\n2\n$ wc -l a.txt\n2 a.txt\n$ false\n$ echo $?\n1\n```\n")
    for example in Document.parse(str(page), CodeBlockParser("console", executed)):
        example.evaluate()
    page.write_text("```console\n$ wc -l a.txt\n3 a.txt\n```\n")
    with pytest.raises(AssertionError, match=r"\$ wc -l a.txt\n2 a.txt"):
        next(iter(Document.parse(str(page), CodeBlockParser("console", executed)))).evaluate()


@pytest.mark.parametrize("path", DOCUMENTED, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_docstrings_show_what_calls_return(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("kind", KINDS)
def test_components_say_when_to_prefer_them_and_have_an_example(kind: str) -> None:
    _, *pages = component_pages(kind).items()
    assert pages
    lacking = []
    for name, text in pages:
        found = re.search(r"autoclass:: (\S+)\.(\w+)", text)
        said = text + (getattr(importlib.import_module(found[1]), found[2]).__doc__ or "" if found else "")
        advised = re.search(r"Prefer |there is nothing else to use it for", said)
        if not (advised and "Examples\n" in said):
            lacking.append(name)
    assert lacking == []
