"""The main command: help, errors, lazy subcommands, and one table of exit codes that code, pages and helps have."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import rankbench.cli
from rankbench import errors
from rankbench.cli import GROUP, Subcommand, main, offered, subcommands
from rankbench.cli.help import CODES, COMMANDS, ORDER, RARE, RARE_COMMANDS, SectionedCommand
from rankbench.errors import InputError, OptionError

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = PROJECT["entry-points"][GROUP]


@pytest.fixture
def failing(monkeypatch):
    """Replace what a subcommand does by an error."""

    def install(error: BaseException):
        @click.command()
        def command():
            raise error

        monkeypatch.setattr(rankbench.cli, "_import", lambda subcommand: command)

    return install


def test_help_shows_the_groups_on_one_screen_and_all_of_them_where_asked(rankbench):
    shown, everything = rankbench("--help", COLUMNS="100"), rankbench("--help-all", COLUMNS="100")
    assert (shown.exit_code, everything.exit_code) == (0, 0)
    assert len(shown.stdout.splitlines()) <= 24
    assert max(map(len, shown.stdout.splitlines())) <= 100
    for page, hidden in ((shown, {*COMMANDS[RARE_COMMANDS]}), (everything, set())):
        rows = re.findall(r"^  (?:[A-Z]\w+|) +(\w+)  +\S", page.stdout, flags=re.MULTILINE)
        ours = [name for name in rows if name in DECLARED]
        assert ours == [name for name in ORDER if name not in hidden]
    assert "Try:   rankbench aggregate llmfao --intervals" in shown.stdout
    assert rankbench("-h", COLUMNS="100").stdout == shown.stdout


SECTIONED = [name for name in DECLARED if isinstance(main.get_command(click.Context(main), name), SectionedCommand)]


@pytest.mark.parametrize("name", SECTIONED)
def test_help_has_every_option_once_and_rare_ones_where_asked(rankbench, name):
    command = main.get_command(click.Context(main), name)
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    for asked, hidden in (("--help", RARE), ("--help-all", set())):
        shown = re.findall(r"^  (?:-\w, )?(--[\w-]+)", rankbench(name, asked).stdout, flags=re.MULTILINE)
        expected = [max(one.opts, key=len) for one in options if one.name not in hidden]
        assert sorted(shown) == sorted([*expected, "--help"])


def test_the_package_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "rankbench", "--version"], capture_output=True, text=True, check=True)
    assert "rankbench " in shown.stdout


def test_the_subcommands_are_those_of_the_project():
    assert set(ORDER) == set(DECLARED)
    assert {name: each.target for name, each in subcommands().items() if each.built_in} == DECLARED


@pytest.mark.parametrize("name", list(DECLARED))
def test_commands_have_the_names_of_their_entry_points(name):
    module, _, attribute = DECLARED[name].partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert command.name == name


def test_help_imports_nothing_heavy_and_no_subcommand():
    program = (
        "import sys\nfrom rankbench.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print(sorted(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(re.findall(r"'([\w.]+)'", shown.stdout.splitlines()[-1]))
    assert "click" in modules
    heavy = {"numpy", "polars", "numba", "scipy", "pydantic", "rich", "pluggy", "matplotlib"}
    assert not modules & heavy
    assert not [module for module in modules if module.startswith("rankbench_")]  # a plugin's
    packages = {module.split(".")[1] for module in modules if module.startswith("rankbench.")}
    assert packages <= {"cli", "core", "errors", "plugin"}
    assert [module for module in modules if module.startswith("rankbench.cli.")] == ["rankbench.cli.help"]


def test_version(rankbench):
    for option in ("-V", "--version"):
        assert rankbench(option).stdout == f"rankbench {PROJECT['version']}\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("bad line", path="a.txt", row=3), 2, "error: a.txt:3: bad line"),
        (InputError("no item \x1b[2J"), 2, "error: no item \\x1b[2J"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError("Unable to allocate 11.9 GiB"), 1, "error: not enough memory: Unable to allocate 11.9 GiB"),
        (PermissionError(13, "Permission denied", "/some/file"), 1, "error: /some/file: Permission denied"),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(rankbench, failing, error, code, said):
    failing(error)
    shown = rankbench("list")
    assert (shown.exit_code, shown.stdout, shown.stderr) == (code, "", f"{said}\n")


@pytest.mark.parametrize("error", [ZeroDivisionError("a defect"), OSError("no file to name")])
def test_a_defect_is_not_hidden(rankbench, failing, error):
    failing(error)
    assert rankbench("list").exception is error


def test_what_is_not_a_command_is_said(rankbench, monkeypatch):
    monkeypatch.setitem(subcommands(), "list", Subcommand("list", "rankbench.cli:GROUP", "rankbench"))
    shown = rankbench("list")
    assert shown.exit_code == 2
    assert "command 'list' of rankbench is not a click command: rankbench.cli:GROUP" in shown.stderr


class Mute(BaseException):
    def __str__(self):
        raise SystemExit(0)


@pytest.mark.parametrize("error", [Mute(), KeyboardInterrupt(), SystemExit(0)], ids=lambda error: type(error).__name__)
def test_a_subcommand_of_a_plugin_cannot_end_the_program(rankbench, monkeypatch, error):
    others = importlib.import_module

    def importing(module, package=None):
        if module == "some.module":
            raise error
        return others(module, package)

    monkeypatch.setitem(subcommands(), "list", Subcommand("list", "some.module:command", "thirdparty"))
    monkeypatch.setattr(importlib, "import_module", importing)
    shown = rankbench("list")
    assert shown.exit_code == 2
    assert f"command 'list' of thirdparty cannot be imported: {type(error).__name__}" in shown.stderr


def test_our_own_imports_can_be_interrupted(rankbench, monkeypatch):
    def importing(module):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", importing)
    assert rankbench("list").exit_code == 130


@pytest.mark.parametrize(("value", "colored"), [("1", False), ("", True)])
def test_no_color_is_respected_by_every_command(monkeypatch, rankbench, value, colored):
    @click.command()
    def command():
        click.echo(click.style("red", fg="red"))

    monkeypatch.setattr(rankbench_cli := sys.modules["rankbench.cli"], "_import", lambda subcommand: command)
    monkeypatch.setenv("NO_COLOR", value)
    context = rankbench_cli.main.make_context("rankbench", ["list"], color=True)
    with context, click.testing.CliRunner().isolation(color=True) as (out, *_):
        rankbench_cli.main.invoke(context)
        assert ("\x1b[" in out.getvalue().decode()) is colored


def test_blas_is_limited_before_a_subcommand_is_imported(rankbench, monkeypatch):
    seen = []
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    command = click.Command("list")
    monkeypatch.setattr(
        "rankbench.cli._import", lambda subcommand: seen.append(os.environ.get("OPENBLAS_NUM_THREADS")) or command
    )
    rankbench("list")
    assert seen == ["1"]


def test_ours_come_first_and_keep_their_names():
    order = [each.built_in for each in offered()]
    assert order == sorted(order, reverse=True)


def test_what_nobody_sees_in_a_name_is_written_out() -> None:
    from rankbench.core.text import visible

    hidden = "a\u00adb\u180ec\U000e0041\u200b\ufff9"
    assert visible(hidden) == "a\\u00adb\\u180ec\\U000e0041\\u200b\\ufff9"
    assert visible("é e\u0301 日本 \u0600 a") == "é e\u0301 日本 \u0600 a"


PAGE = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.*?) \| (.*?) ?\|$", PAGE, flags=re.MULTILINE)
ERRORS = [cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, errors.RankbenchError)]


def test_the_page_has_all_codes():
    ours = {rankbench.cli.HUNG_UP, rankbench.cli.INTERRUPTED, rankbench.cli.BROKEN_PIPE, rankbench.cli.TERMINATED}
    assert {int(code) for code, _, _ in ROWS} == {0, 137, *ours, *(cls.exit_code for cls in ERRORS)}


def test_the_page_names_every_error_once_with_its_code():
    named = [(int(code), name) for code, _, names in ROWS for name in re.findall(r"`(\w+)`", names)]
    assert sorted(named) == sorted((cls.exit_code, cls.__name__) for cls in ERRORS)
    assert set(errors.__all__) == {cls.__name__ for cls in ERRORS} | {"nearest", "option", "options", "options_as"}


def test_the_docstring_of_the_errors_has_the_same_codes():
    rows = re.findall(r"^`(\w+)` +(\d+)  \S", errors.__doc__, flags=re.MULTILINE)
    assert sorted(rows) == sorted((cls.__name__, str(cls.exit_code)) for cls in ERRORS)


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_a_command_ends_with_the_code_of_its_error(cls, rankbench, failing):
    failing(cls("what is wrong"))
    shown = rankbench("list")
    written = "=" * (cls is OptionError)
    assert (shown.exit_code, shown.stderr.strip()) == (cls.exit_code, f"error: what is wrong{written}")


def pages() -> list[list[str]]:
    """Return the words of every built-in command and subcommand."""
    found: list[list[str]] = [[]]
    for name, target in DECLARED.items():
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        found += [[name], *([name, sub] for sub in getattr(command, "commands", ()))]
    return found


@pytest.mark.parametrize("words", pages(), ids=" ".join)
def test_every_help_page_ends_with_the_exit_codes(words, rankbench):
    assert " ".join(rankbench(*words, "--help").stdout.split()).endswith(CODES)
    assert (ROOT / CODES.rpartition(" ")[2]).is_file()


def test_options_that_the_page_names_exist():
    lines = re.findall(r"^\| `([a-z]+)(.*)", PAGE, flags=re.MULTILINE)
    assert lines
    for subcommand, text in lines:
        module, _, attribute = DECLARED[subcommand].partition(":")
        options = {
            name for option in getattr(importlib.import_module(module), attribute).params for name in option.opts
        }
        assert set(re.findall(r"--[a-z]+", text)) <= options
