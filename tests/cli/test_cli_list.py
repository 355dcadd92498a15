"""`rankbench list`."""

from __future__ import annotations

import json
import re

import pytest

from rankbench.plugin import manager
from rankbench.plugin.loading import Plugins
from rankbench.plugin.registry import KINDS, SUITE, Origin, Registry


def test_everything_registered_is_listed(rankbench):
    shown = rankbench("list")
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    for kind in (*KINDS, "suite"):
        assert (KINDS[kind].plural if kind in KINDS else "suites") in lines
        for name in manager.names(kind):
            assert any(line.split()[:1] == [name] for line in lines)


def test_a_row_is_one_line_in_a_pipe_with_all_that_matters(rankbench):
    lines = rankbench("list", "methods").stdout.splitlines()
    (erm,) = [line for line in lines if line.startswith("erm ")]
    assert "[DMJ13] eq. (18), (19), (24)" in erm  # no markup is read into it
    assert "aggregator=mean-log-odds" in erm
    assert "lambda=0.001" in erm
    assert erm == erm.rstrip()


@pytest.mark.parametrize("command", [["list"], ["plan", "--suite", "theory"]])
def test_no_marks_of_docstrings_are_printed(rankbench, command):
    shown = rankbench(*command)
    assert "[DMJ1" in shown.stdout
    assert not re.search(r"\]_|``|:[a-z]+:`|\*\w+\*", shown.stdout)


@pytest.mark.parametrize("word", ["model", "models"])
def test_one_kind_in_the_singular_or_the_plural(rankbench, word):
    listed = json.loads(rankbench("list", word, "--json").stdout)
    assert list(listed) == ["schema_version", "model"]
    (linear,) = [model for model in listed["model"] if model["name"] == "linear"]
    assert linear["distribution"] == "rankbench"
    assert linear["compiled"] is None
    assert linear["parameters"] == []


def test_json_has_all_kinds_and_parameters(rankbench):
    listed = json.loads(rankbench("list", "--json").stdout)
    assert list(listed) == ["schema_version", *KINDS, "suite"]
    (erm,) = [method for method in listed["method"] if method["name"] == "erm"]
    defaults = {p["name"]: p["default"] for p in erm["parameters"]}
    assert defaults["lambda"] == 1e-3
    assert defaults["k"] == "inf"


def test_compiled_and_interpreted_are_marked(rankbench, monkeypatch):
    from rankbench.interfaces.aggregator import ComparisonAggregator

    class Plain(ComparisonAggregator):
        """In NumPy."""

        name = "plain"
        source = "a test"

        def aggregate(self, winners, losers, weights, m):
            raise NotImplementedError

    class Fast(Plain):
        """In machine code."""

        name = "fast"

        def kernel(self):
            raise NotImplementedError

    registry = Registry()
    for cls in (Plain, Fast):
        registry.add(cls, Origin("third", "1", "x"))
    monkeypatch.setattr(manager, "_loaded", Plugins(registry, ()))
    last = {
        line.split()[0]: line.split()[-1] for line in rankbench("list", "aggregators").stdout.splitlines()[2:] if line
    }
    assert last == {"plain": "interpreted", "fast": "compiled"}


def test_suites_are_listed_and_a_broken_one_hides_no_other(rankbench, monkeypatch, tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(
        'name = "good"\ntitle = "A good one"\n[[experiments]]\nname = "one"\ntitle = "x"\nn = [5]\n'
        'repetitions = 2\ncontenders = [{use = "random-scores"}]\n'
    )
    bad.write_text("name = ")
    registry = Registry()
    for path in (good, bad):
        registry.add(path, Origin("third", "1", "x"))
    monkeypatch.setattr(manager, "_loaded", Plugins(registry, ()))
    shown = rankbench("list", "suites")
    assert shown.exit_code == 0
    (row,) = [line for line in shown.stdout.splitlines() if line.startswith("good")]
    assert row.split() == ["good", "A", "good", "one", "one", "third", "1"]
    assert "broken: " in shown.stdout
    listed = json.loads(rankbench("list", "suites", "--json").stdout)["suite"]
    assert [(suite["name"], suite["experiments"]) for suite in listed] == [("bad", ""), ("good", "one")]


def test_an_unknown_kind_gets_the_nearest(rankbench):
    shown = rankbench("list", "agregators")
    assert shown.exit_code == 2
    assert shown.stderr == "error: there is no kind 'agregators'; did you mean 'aggregator'?\n"


def test_foreign_control_characters_are_not_printed(rankbench, monkeypatch):
    from rankbench.methods.models import LinearModel

    class Evil(LinearModel):
        """Looks \x1b[31mred\x07 and \x9b31mred."""

        name = "evil"
        source = "\x1b]0;title\x07 a test"

    registry = Registry()
    registry.add(Evil, Origin("third", "1", "x"))
    monkeypatch.setattr(manager, "_loaded", Plugins(registry, ()))
    for arguments in (["list"], ["info", "evil"]):
        shown = rankbench(*arguments)
        assert shown.exit_code == 0
        assert not set(shown.stdout) & {"\x1b", "\x07", "\x9b"}
        assert r"Looks \x1b[31mred\x07 and \x9b31mred." in shown.stdout
        as_json = rankbench(*arguments, "--json").stdout
        assert not set(as_json) & {"\x1b", "\x07", "\x9b"}


def test_the_help_names_every_kind(rankbench):
    text = " ".join(rankbench("list", "--help").stdout.split())
    listed = text.partition("KIND is one of ")[2].partition(", in the singular")[0]
    assert re.split(r", | and ", listed) == [*KINDS, SUITE]
