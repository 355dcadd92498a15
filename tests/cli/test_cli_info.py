"""`rankbench list`, `info`, `plugins`, `env`, `check` and `new`; real distributions are in tests/plugin."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib

import pytest
from small_suites import suite_text

from rankbench.core import code_digest as digest
from rankbench.data.readers.csv import CsvReader
from rankbench.data.readings.formats import broken_formats, known_formats
from rankbench.data.readings.question import columns_question
from rankbench.interfaces.aggregator import ComparisonAggregator
from rankbench.interfaces.surrogate import Loss
from rankbench.methods.baselines import LinearModel
from rankbench.plugin import manager
from rankbench.plugin.loading import Loader, PluginStatus
from rankbench.plugin.registry import FILES, KINDS, Origin, plural_of


@pytest.fixture
def registered(monkeypatch):
    """Have components and files of suites registered, and nothing else."""

    def register(*things):
        loader = Loader([])
        for thing in things:
            loader.registry.add(thing, Origin("third", "4.2", "x"))
        monkeypatch.setattr(manager, "_loader", loader)

    return register


def test_everything_registered_is_listed(rankbench):
    shown = rankbench("list")
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    for kind in (*KINDS, *FILES):
        assert plural_of(kind) in lines
        for name in manager.names(kind):
            assert any(line.split()[:1] == [name] for line in lines)


def test_a_row_is_one_line_in_a_pipe_with_all_that_matters(rankbench):
    lines = rankbench("list", "methods").stdout.splitlines()
    (erm,) = [line for line in lines if line.startswith("erm ")]
    assert "[DMJ13] eq. (18), (19), (24)" in erm  # no markup is read into it
    assert "aggregator=mean-log-odds" in erm
    assert "lambda=0.001" in erm
    assert erm == erm.rstrip()


@pytest.mark.parametrize(
    "command", [["list"], pytest.param(["run", "--dry-run", "--suite", "theory"], marks=pytest.mark.full)]
)
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
    assert list(listed) == ["schema_version", *KINDS, *FILES]
    (erm,) = [method for method in listed["method"] if method["name"] == "erm"]
    defaults = {p["name"]: p["default"] for p in erm["parameters"]}
    assert defaults["lambda"] == 1e-3
    assert defaults["k"] == "inf"


def test_compiled_and_interpreted_are_marked(rankbench, registered):
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

    registered(Plain, Fast)
    last = {
        line.split()[0]: line.split()[-1] for line in rankbench("list", "aggregators").stdout.splitlines()[2:] if line
    }
    assert last == {"plain": "interpreted", "fast": "compiled"}


def test_suites_are_listed_and_a_broken_one_hides_no_other(rankbench, registered, tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(suite_text('use = "random-scores"', name="good"))
    bad.write_text("name = ")
    registered(good, bad)
    shown = rankbench("list", "suites")
    assert shown.exit_code == 0
    (row,) = [line for line in shown.stdout.splitlines() if line.startswith("good")]
    assert row.split() == ["good", "Good", "a", "third", "4.2"]
    assert "broken: " in shown.stdout
    listed = json.loads(rankbench("list", "suites", "--json").stdout)["suite"]
    assert [(suite["name"], suite["experiments"]) for suite in listed] == [("bad", ""), ("good", "a")]


def test_a_format_shows_its_columns_and_a_broken_one_hides_no_other(rankbench, registered, tmp_path):
    said = 'kind = "votes"\nfrom = "a page"\nverified = "none"\nneeds = ["one", "two"]\n'
    good, bad = tmp_path / "good.format.toml", tmp_path / "bad.format.toml"
    good.write_text(f'{said}[columns]\nwinner = "one"\nloser = "two"\n')
    bad.write_text(said.replace("votes", "wishes"))
    registered(good, bad)
    rows = {line.split()[0]: line for line in rankbench("list", "formats").stdout.splitlines()[2:] if line}
    assert rows["good"].split() == ["good", "votes", "winner=one,", "loser=two", "none", "a", "page"]
    assert "broken: " in rows["bad"]
    listed = json.loads(rankbench("list", "format", "--json").stdout)["format"]
    assert [one["name"] for one in listed] == ["bad", "good"]
    assert json.loads(rankbench("info", "good", "--json").stdout)["needs"] == ["one", "two"]
    shown = rankbench("info", "good").stdout
    assert tomllib.loads(shown.partition("reading file:")[2])["columns"] == {"winner": "one", "loser": "two"}
    assert rankbench("info", "bad").exit_code == 2
    assert list(known_formats()) == ["good"]
    assert broken_formats() == " (broken formats: bad; see `rankbench list formats`)"
    (tmp_path / "some.csv").write_text("a,b\nx,y\n")
    assert "not known (broken formats: bad;" in str(columns_question(CsvReader().raw(tmp_path / "some.csv"), []))


def test_foreign_control_characters_are_not_printed(rankbench, registered):
    class Evil(LinearModel):
        """Looks \x1b[31mred\x07 and \x9b31mred."""

        name = "evil"
        source = "\x1b]0;title\x07 a test"

    registered(Evil)
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
    assert re.split(r", | and ", listed) == [*KINDS, *FILES]


class Shared(Loss):
    """A loss with the name of a model."""

    name = "linear"
    source = "a test"
    range = (0.0, float("inf"))

    def value(self, alpha, structure):
        return 0.0


@pytest.fixture
def own(registered, tmp_path):
    suite = tmp_path / "own.toml"
    suite.write_text(
        'name = "own"\ntitle = "A suite of one\'s own"\ndataset = "web10k-like"\nprotocol = "btl:design=30"\n'
        '[[experiments]]\nname = "one"\ntitle = "First"\nn = [5, 50]\nrepetitions = 2\n'
        'contenders = [{use = "erm:k=[1,2,3]"}]\n'
    )
    registered(LinearModel, Shared, suite)
    return suite


def test_a_component_with_its_docstring_parameters_and_origin(rankbench):
    shown = rankbench("info", "erm")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("method erm\n\nMinimize a surrogate's U-statistic risk (19)")
    assert "The order-k empirical risk is" in shown.stdout
    rows = {line.split()[0]: line for line in shown.stdout.splitlines() if line.strip()}
    assert rows["from"].split()[1] == "rankbench"
    assert rows["lambda"].split()[:2] == ["lambda", "number"]
    assert ">= 0, finite" in rows["lambda"]
    assert rows["lambda"].endswith("Ridge penalty.")
    assert rows["needs"].split() == ["needs", "truth", "no"]


def test_json_is_the_same_as_in_list(rankbench):
    listed = json.loads(rankbench("list", "method", "--json").stdout)["method"]
    described = json.loads(rankbench("info", "erm", "--json").stdout)
    assert described.pop("schema_version") == 1
    assert described in listed


def test_a_suite_with_its_experiments(rankbench, own):
    shown = rankbench("info", "own")
    assert shown.exit_code == 0, shown.output
    assert "A suite of one's own" in shown.stdout
    assert "btl:design=30" in shown.stdout
    assert shown.stdout.splitlines()[-1].split() == ["one", "First", "5,", "50", "2", "3", "ndcg", "0"]
    found = json.loads(rankbench("info", "own", "--json").stdout)
    assert found["kind"] == "suite"
    assert found["path"] == str(own)
    assert found["experiments"][0]["n"] == [5, 50]
    assert found["experiments"][0]["contenders"] == 3


def test_a_name_of_two_kinds_asks_for_the_kind(rankbench, own):
    shown = rankbench("info", "linear")
    assert shown.exit_code == 2
    assert shown.stderr == "error: 'linear' names several things (loss, model); say which with --kind\n"
    assert rankbench("info", "linear", "--kind", "model").stdout.startswith("model linear\n")
    loss = rankbench("info", "linear", "--kind", "losses").stdout
    assert loss.startswith("loss linear\n")
    assert "0.0, inf" in loss
    assert "minimize" in loss


def test_a_broken_plugin_is_listed_with_distribution_version_and_cause(rankbench, monkeypatch):
    statuses = (
        PluginStatus("models", "rankbench", "0.1.0", ("model/a", "model/b", "suite/c"), 0.012, "ok", ()),
        PluginStatus("bad", "shattered", "9.9", (), 0.0, "broken", ("cannot import 'x'", "and more")),
    )
    monkeypatch.setattr("rankbench.cli.info.statuses", lambda: statuses)
    shown = rankbench("info")
    assert shown.exit_code == 0
    plugins, _, causes = shown.stdout.partition("\nplugin ")[2].partition("\n\n")
    assert " ".join(plugins.splitlines()[1].split()) == "models rankbench 0.1.0 2 models, 1 suite 12 ms ok"
    assert plugins.splitlines()[2].split() == ["bad", "shattered", "9.9", "0", "ms", "broken"]
    assert causes.splitlines()[1].split(maxsplit=3) == ["bad", "shattered", "9.9", "cannot import 'x'"]
    assert causes.splitlines()[2].split(maxsplit=3) == ["bad", "shattered", "9.9", "and more"]


def test_ours_are_all_well(rankbench):
    found = json.loads(rankbench("info", "--json").stdout)["plugins"]
    ours = [plugin for plugin in found if plugin["distribution"] == "rankbench"]
    assert [plugin["causes"] for plugin in ours] == [[]] * len(ours)
    assert all(plugin["components"] for plugin in ours)


def test_json_and_table_say_the_same(rankbench, tmp_path):
    folders = {"RANKBENCH_DATA": str(tmp_path / "data"), "RANKBENCH_CACHE": str(tmp_path / "cache")}
    found = json.loads(rankbench("info", "--json", **folders).stdout)
    assert found["cpu_class"] == digest.cpu_class()
    assert found["data"] == folders["RANKBENCH_DATA"]
    assert found["cache"] == folders["RANKBENCH_CACHE"]
    table = rankbench("info", **folders).stdout
    for value in (found["rankbench"], found["python"], found["cpu_class"], found["code_digest"], found["data"]):
        assert value in table
    rows = [line.split() for line in table.splitlines()]
    for library, version in found["libraries"].items():
        assert [library, version] in rows


def test_a_variable_that_is_not_set_is_said(rankbench):
    shown = rankbench("info", RANKBENCH_DATA="").stdout
    assert "not set" in shown


def test_a_component_with_its_parameters(rankbench):
    shown = rankbench("check", "aggregator/win-rate")
    assert shown.exit_code == 0, shown.output
    counts, table = shown.stdout.strip().split("\n\n")
    name, status, executed, failed, skipped, *_ = table.splitlines()[1].split()
    assert (name, status, failed) == ("aggregator/win-rate", "ok", "0")
    assert counts == f"{executed} of {executed} checks passed; {skipped} skipped."
    assert "Next: --verbose" in shown.stderr


@pytest.mark.full
def test_a_suite_and_a_suites_file_as_json(rankbench, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('name = "other"\ntitle = "A bad one"\n')
    shown = rankbench("check", str(path), "--json")
    assert shown.exit_code == 1
    found = json.loads(shown.stdout)
    assert found["ok"] is False
    assert {r["check"]: r["status"] for r in found["results"]}["loads"] == "failed"
    assert rankbench("check", "demo", "--kind", "suite").exit_code == 0


def test_a_loss_with_a_place_is_described_as_the_loss(rankbench):
    plain = rankbench("info", "ndcg", "--kind", "loss")
    assert plain.exit_code == 0
    assert rankbench("info", "ndcg@10").stdout == plain.stdout
    assert rankbench("info", "ndcg@10", "--kind", "losses").stdout == plain.stdout
    wrong = rankbench("info", "precision@5")
    assert wrong.exit_code == 2
    assert "no parameter cutoff" in wrong.stderr


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
    assert "\n  '/some where/bin/python' -m pip install -e 'my-own[test]'\n  rankbench check my-own\n" in made
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
    shown = rankbench("check", "dist/zq_zq-0.1.0-py3-none-any.whl")
    assert shown.exit_code == 2
    install = "pip install --force-reinstall --no-deps dist/zq_zq-0.1.0-py3-none-any.whl"
    assert shown.stderr.startswith("error: a wheel is checked once it is installed: ")
    assert shown.stderr.endswith(f" -m {install} && rankbench check zq-zq\n")
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


def test_new_writes_a_compiled_form_where_there_is_one(rankbench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rankbench("new", "plugin", "my-own", "--kind", "loss", "--compiled").exit_code == 0
    assert (tmp_path / "my-own" / "my_own" / "kernels.py").is_file()
    shown = rankbench("new", "plugin", "another", "--kind", "model", "--compiled")
    assert shown.exit_code == 2
    assert "a model has no compiled form" in shown.stderr
    assert not (tmp_path / "another").exists()


@pytest.mark.parametrize("arguments", [("plugin", "my-own", "--kind", "loss"), ("suite", "my-own")])
def test_new_writes_here_and_says_what_is_next(rankbench, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    shown = rankbench("new", *arguments)
    assert shown.exit_code == 0, shown.output
    (made,) = tmp_path.iterdir()
    assert made == tmp_path / ("my-own" if arguments[0] == "plugin" else "my-own.toml")
    assert "is written. Next:" in shown.stdout
    again = rankbench("new", *arguments)
    if arguments[0] == "plugin":
        assert (again.exit_code, "has one more loss" in again.stdout) == (0, True)
        return
    assert again.exit_code == 2
    assert "it is there already; nothing was written" in again.stderr
