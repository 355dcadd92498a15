"""`rankbench check` and `rankbench new`; broken plugins are in tests/plugin."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from rankbench.cli.check import KINDS
from rankbench.testing.scaffold import PLUGIN_KINDS


def test_a_component_with_its_parameters(rankbench):
    shown = rankbench("check", "model/linear")
    assert shown.exit_code == 0, shown.output
    table, counts = shown.stdout.strip().split("\n\n")
    assert table.splitlines()[1].split()[:3] == ["model/linear", "ok", table.splitlines()[1].split()[2]]
    assert counts.split(" executed")[0].isdigit()
    assert "0 failed" in counts
    assert "skipped" in counts


def test_a_suite_and_a_suites_file_as_json(rankbench, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('name = "other"\ntitle = "A bad one"\n')
    shown = rankbench("check", str(path), "--json")
    assert shown.exit_code == 1
    found = json.loads(shown.stdout)
    assert found["ok"] is False
    assert {r["check"]: r["status"] for r in found["results"]}["loads"] == "failed"
    assert rankbench("check", "demo", "--kind", "suite").exit_code == 0


def test_what_is_not_there_gets_the_nearest(rankbench):
    shown = rankbench("check", "regresion")
    assert shown.exit_code == 2
    assert shown.stderr.strip() == (
        "error: there is no plugin, component or suite 'regresion'; did you mean 'regression'? "
        f"(a plugin must be installed: {shlex.quote(sys.executable)} -m pip install -e FOLDER)"
    )
    shown = rankbench("check", "regresion", "--kind", "surrogate")
    assert shown.stderr.strip().endswith("; did you mean 'regression'?")


def test_a_plugin_that_is_not_installed_is_told_how(rankbench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", "/some where/bin/python")
    (tmp_path / "zq-zq").mkdir()
    for name in ("zq-zq", "zq-zq/"):
        shown = rankbench("check", name)
        assert shown.exit_code == 2
        assert shown.stderr.strip() == (
            "error: there is no plugin, component or suite 'zq-zq' (a plugin must be installed: "
            "'/some where/bin/python' -m pip install -e zq-zq)"
        )
    made = rankbench("new", "plugin", "my-own", "--kind", "loss").stdout
    assert "\n  '/some where/bin/python' -m pip install -e my-own\n  rankbench check my-own\n" in made
    assert "\n  '/some where/bin/python' -m pytest my-own\n" in made
    assert made.endswith("\nmy-own/README.md says how to check its wheel before others install it.\n")


def test_a_folder_stands_for_the_plugin_that_is_installed_from_it(rankbench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rankbench("new", "plugin", "zq-zq", "--kind", "loss")
    monkeypatch.chdir(tmp_path / "zq-zq")
    shown = rankbench("check", ".")
    assert shown.exit_code == 2
    assert "plugin 'zq-zq', which stands in '.', is not installed here: " in shown.stderr
    assert shown.stderr.endswith(" -m pip install -e .\n")
    # The name of the folder is nothing; that of the distribution is in its pyproject.toml.
    about = tmp_path / "zq-zq" / "pyproject.toml"
    about.write_text(about.read_text().replace('name = "zq-zq"', 'name = "Rankbench_Example"'))
    asked = []
    monkeypatch.setattr("rankbench.testing.isolated.distributions", lambda: ["rankbench-example"])
    monkeypatch.setattr(
        "rankbench.testing.isolated._distribution", lambda name, seconds: iter([asked.append(name)][:0])
    )
    for path in (".", "./", str(tmp_path / "zq-zq")):
        assert rankbench("check", path).exit_code == 0
    assert asked == ["rankbench-example"] * 3


def test_new_offers_the_kinds_that_have_templates():
    assert KINDS == PLUGIN_KINDS


def test_new_writes_a_compiled_form_where_there_is_one(rankbench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rankbench("new", "plugin", "my-own", "--kind", "loss", "--compiled").exit_code == 0
    assert (tmp_path / "my-own" / "my_own" / "kernels.py").is_file()
    shown = rankbench("new", "plugin", "another", "--kind", "model", "--compiled")
    assert shown.exit_code == 2
    assert "a model has no compiled form" in shown.stderr
    assert not (tmp_path / "another").exists()


def test_a_wheel_is_checked_where_it_is_installed(rankbench, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/python")
    shown = rankbench("check", "some dist/My_Own-0.1.0-py3-none-any.whl")
    assert shown.exit_code == 2
    assert shown.stderr.strip() == (
        "error: a wheel is checked where it is installed: /bin/python -m venv fresh; fresh/bin/python -m pip install "
        "rankbench 'some dist/My_Own-0.1.0-py3-none-any.whl'; fresh/bin/rankbench check my-own"
    )


@pytest.mark.parametrize("arguments", [("plugin", "my-own", "--kind", "loss"), ("suite", "my-own")])
def test_new_writes_here_and_says_what_is_next(rankbench, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    shown = rankbench("new", *arguments)
    assert shown.exit_code == 0, shown.output
    (made,) = tmp_path.iterdir()
    assert made == tmp_path / ("my-own" if arguments[0] == "plugin" else "my-own.toml")
    assert "is written. Next:" in shown.stdout
    again = rankbench("new", *arguments)
    assert again.exit_code == 2
    assert "it is there already; nothing was written" in again.stderr
    assert Path(made).exists()
