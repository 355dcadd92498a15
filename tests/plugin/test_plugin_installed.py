"""Real distributions on the path, seen by real processes, and those of the block list."""

from __future__ import annotations

import importlib
import json
import os

import pytest
from forked import installed, run_program
from installed import hook, install_plugin

from rankbench.plugin.loading import is_blocked, load


@pytest.mark.parametrize(
    ("listed", "name", "blocked"),
    [
        ("", "some-plugin", False),
        ("some-plugin", "some-plugin", True),
        ("Some_Plugin", "some.plugin", True),
        ("other, some-plugin ", "some-plugin", True),
        ("some", "some-plugin", False),
        ("rankbench", "rankbench", False),
        ("rankbench", "rankbench-example", False),
    ],
)
def test_distributions_are_named_in_any_spelling(listed, name, blocked, monkeypatch):
    monkeypatch.setenv("RANKBENCH_BLOCK_PLUGINS", listed)
    assert is_blocked(name) is blocked


def test_a_blocked_plugin_is_not_imported_but_listed(entry, model, monkeypatch):
    monkeypatch.setenv("RANKBENCH_BLOCK_PLUGINS", "thirdparty")

    def load_it():
        raise AssertionError("it was imported")

    plugins = load([entry(load=load_it), entry("kept", distribution="other", brings=lambda: [model()])], strict=True)
    by_name = {status.distribution: status for status in plugins.statuses}
    assert (by_name["thirdparty"].status, by_name["thirdparty"].causes) == ("blocked", ())
    assert by_name["other"].components == ("model/doubled",)


def test_its_commands_are_not_on_offer(monkeypatch, tmp_path):
    cli = importlib.import_module("rankbench.cli")  # a function of that name hides it
    install_plugin(tmp_path, "some-plugin", "[rankbench.commands]\nhello = some_plugin:hello")
    monkeypatch.syspath_prepend(str(tmp_path))
    for listed, offered in (("", True), ("some-plugin", False)):
        monkeypatch.setenv("RANKBENCH_BLOCK_PLUGINS", listed)
        cli.subcommands.cache_clear()
        cli.offered.cache_clear()
        assert ("hello" in cli.subcommands()) is offered
    cli.subcommands.cache_clear()
    cli.offered.cache_clear()


GOOD = """
from typing import ClassVar
import rankbench

class Halved(rankbench.Model):
    "Halves the features."
    name: ClassVar[str] = "halved"
    source: ClassVar[str] = "a test"
    by: float = 2.0

    def features(self, x):
        return x / self.by
""" + hook("Halved")

COMMAND = """
import click

@click.command()
def hello():
    "Greet."
    click.echo("hello from a plugin")
"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    theirs = "halved = some_halved\n[rankbench.commands]\nhello = some_hello:hello\nlist = some_hello:hello"
    install_plugin(folder, "some-plugin", theirs, version="2.5", some_halved=GOOD, some_hello=COMMAND)
    theirs = "bad = bad_module\n[rankbench.commands]\ncrash = bad_module:crash"
    install_plugin(folder, "bad-plugin", theirs, version="0.1", bad_module="import a_module_that_is_nowhere\n")
    return folder


@pytest.fixture
def rankbench(site):
    def run(*arguments, **environment):
        return run_program(*arguments, environment={**os.environ, "PYTHONPATH": str(site), **environment})

    return run


def test_plugins_tells_both_with_version_and_cause(rankbench):
    shown = rankbench("info", "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    by_name = {plugin["entry_point"]: plugin for plugin in found["plugins"]}
    assert by_name["halved"]["status"] == "ok"
    assert by_name["halved"]["components"] == ["model/halved"]
    bad = by_name["bad"]
    assert (bad["distribution"], bad["version"], bad["status"]) == ("bad-plugin", "0.1", "broken")
    assert bad["causes"] == [
        "cannot import 'bad_module': ModuleNotFoundError: No module named 'a_module_that_is_nowhere' at bad_module.py:1"
    ]
    commands = {command["name"]: command for command in found["commands"]}
    assert commands["hello"]["status"] == "ok"
    assert commands["list"]["status"] == "rejected: rankbench has it"


def test_help_names_their_commands_and_imports_neither(rankbench):
    shown = rankbench("--help")
    assert shown.returncode == 0, shown.stderr
    lines = [line.removeprefix("  Plugins").split() for line in shown.stdout.splitlines()]
    theirs = [line for line in lines if line[-1:] in (["bad-plugin"], ["some-plugin"])]
    assert theirs == [["crash", "from", "bad-plugin"], ["hello", "from", "some-plugin"]]


def test_their_commands_run_and_ours_stay_ours(rankbench):
    assert rankbench("hello").stdout == "hello from a plugin\n"
    assert "models" in rankbench("list").stdout


def test_a_command_that_cannot_be_imported_names_its_distribution(rankbench):
    shown = rankbench("crash")
    assert shown.returncode == 2
    assert shown.stderr.startswith("error: command 'crash' of bad-plugin cannot be imported: ModuleNotFoundError")
    assert "Traceback" not in shown.stderr


@pytest.mark.full
def test_a_plugin_for_another_rankbench_is_not_ok(site, tmp_path):
    source = GOOD.replace("halved", "later")
    requires = ("numpy>=2", "rankbench>=97,<98")
    install_plugin(site, "later-plugin", "later = some_later", version="0.3", requires=requires, some_later=source)
    run = installed(site, tmp_path)
    found = json.loads(run("info", "--json").stdout)["plugins"]
    (later,) = (plugin for plugin in found if plugin["entry_point"] == "later")
    assert (later["status"], later["components"]) == ("broken", [])
    (cause,) = later["causes"]
    assert cause.startswith("it asks for rankbench <98,>=97, and ")
    assert "Install a release of it that allows" in cause
    shown = run("check", "later-plugin")
    assert shown.returncode == 1, shown.stderr
    assert "it asks for rankbench" in " ".join(shown.stdout.split())
    for words in (
        ("info", "later"),
        ("check", "later"),
        ("run", "--dry-run", "--suite", "later"),
    ):  # what is missing may be theirs
        shown = run(*words)
        assert shown.returncode == 2
        assert "(broken plugins: bad-plugin, later-plugin; see `rankbench info`)" in shown.stderr


@pytest.mark.full
def test_a_name_of_rankbench_that_a_plugin_takes_too_is_an_error_where_it_is_written(tmp_path):
    site = tmp_path / "site"
    suites = "[Halved, *__import__('pathlib').Path(__file__).parent.glob('demo.toml')]"
    source = GOOD.replace("halved", "linear").replace("[Halved]", suites)
    install_plugin(site, "takes-linear", "takes = takes_linear", takes_linear=source)
    (site / "demo.toml").write_text("")
    said = "both register it. Rename that of takes-linear, or block it: RANKBENCH_BLOCK_PLUGINS=takes-linear leaves"
    run = installed(site, tmp_path)
    for words in (
        ("run", "--dry-run", "--suite", "paper", "--with", "model=linear"),
        ("run", "--dry-run", "--suite", "demo"),
    ):
        shown = run(*words)
        assert shown.returncode == 2
        assert said in " ".join(shown.stderr.split()), words
    assert json.loads(run("list", "models", "--json").stdout)["model"]
    environment = {**os.environ, "PYTHONPATH": str(site), "RANKBENCH_BLOCK_PLUGINS": "takes-linear"}
    assert run_program("run", "--dry-run", "--suite", "demo", environment=environment).returncode == 0
