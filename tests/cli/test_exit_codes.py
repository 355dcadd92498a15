"""One table of exit codes: the code, docs/commands.md, the page of errors and every help page say the same."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib
from pathlib import Path

import click
import pytest

from rankbench import errors
from rankbench.cli import GROUP, MEANINGS, OF_COMPARISONS, SHORT_HELPS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.*?) \| (.*?) ?\|$", PAGE, flags=re.MULTILINE)
ERRORS = [cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, errors.RankbenchError)]
VERBS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][GROUP]


def test_the_page_has_the_meanings():
    assert {int(code): meaning for code, meaning, _ in ROWS} == MEANINGS


def test_the_page_names_every_error_once_with_its_code():
    named = [(int(code), name) for code, _, names in ROWS for name in re.findall(r"`(\w+)`", names)]
    assert sorted(named) == sorted((cls.exit_code, cls.__name__) for cls in ERRORS)
    assert set(errors.__all__) == {cls.__name__ for cls in ERRORS} | {"nearest"}


def test_the_docstring_of_the_errors_has_the_same_codes():
    rows = re.findall(r"^`(\w+)` +(\d+)  \S", errors.__doc__, flags=re.MULTILINE)
    assert sorted(rows) == sorted((cls.__name__, str(cls.exit_code)) for cls in ERRORS)


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_a_command_ends_with_the_code_of_its_error(cls, rankbench, monkeypatch):
    @click.command()
    def command():
        raise cls("what is wrong")

    monkeypatch.setattr(sys.modules["rankbench.cli"], "_import", lambda verb: command)
    shown = rankbench("list")
    assert (shown.exit_code, shown.stderr) == (cls.exit_code, "error: what is wrong\n")


def pages() -> list[list[str]]:
    """Return the words of every built-in command and subcommand."""
    found: list[list[str]] = [[]]
    for name, target in VERBS.items():
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        found += [[name], *([name, sub] for sub in getattr(command, "commands", ()))]
    return found


@pytest.mark.parametrize("words", pages(), ids=" ".join)
def test_every_help_page_ends_with_the_meanings(words, rankbench):
    shown = rankbench(*words, "--help")
    text = " ".join(shown.stdout.split())
    said = text.rpartition("Exit codes: ")[2].removesuffix(".")
    # A comparison's 1 and 3 are answers, and have one meaning.
    meanings = MEANINGS | OF_COMPARISONS if words in (["compare"], ["time"]) else MEANINGS
    assert dict(part.split(" ", 1) for part in said.split("; ")) == {str(c): m for c, m in meanings.items()}


def test_the_page_has_every_command_with_its_help():
    assert dict(re.findall(r"^\| `([a-z]+)` \| (.*) \|$", PAGE, flags=re.MULTILINE)) == SHORT_HELPS


def test_options_that_the_page_names_exist():
    section = PAGE.partition("## Exit codes")[2]
    for line in re.findall(r"^- `([a-z]+)`(.*(?:\n  .*)*)", section, flags=re.MULTILINE):
        verb, text = line
        module, _, attribute = VERBS[verb].partition(":")
        options = {
            name for option in getattr(importlib.import_module(module), attribute).params for name in option.opts
        }
        assert set(re.findall(r"--[a-z]+", text)) <= options
