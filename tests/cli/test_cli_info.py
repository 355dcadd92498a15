"""`rankbench info`."""

from __future__ import annotations

import json

import pytest

from rankbench.interfaces.surrogate import Loss
from rankbench.methods.models import LinearModel
from rankbench.plugin import manager
from rankbench.plugin.loading import Plugins
from rankbench.plugin.registry import Origin, Registry


class Shared(Loss):
    """A loss with the name of a model."""

    name = "linear"
    source = "a test"
    range = (0.0, float("inf"))

    def value(self, alpha, structure):
        return 0.0


@pytest.fixture
def registered(monkeypatch, tmp_path):
    suite = tmp_path / "own.toml"
    suite.write_text(
        'name = "own"\ntitle = "A suite of one\'s own"\ndataset = "web10k-like"\nprotocol = "btl:design=30"\n'
        '[[experiments]]\nname = "one"\ntitle = "First"\nn = [5, 50]\nrepetitions = 2\n'
        'contenders = [{use = "erm:k=[1,2,3]"}]\n'
    )
    registry = Registry()
    origin = Origin("third", "4.2", "x")
    registry.add(LinearModel, origin)
    registry.add(Shared, origin)
    registry.add(suite, origin)
    monkeypatch.setattr(manager, "_loaded", Plugins(registry, ()))
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
    assert rows["needs"].endswith("yes")


def test_json_is_the_same_as_in_list(rankbench):
    listed = json.loads(rankbench("list", "method", "--json").stdout)["method"]
    described = json.loads(rankbench("info", "erm", "--json").stdout)
    assert described.pop("schema_version") == 1
    assert described in listed


def test_a_suite_with_its_experiments(rankbench, registered):
    shown = rankbench("info", "own")
    assert shown.exit_code == 0, shown.output
    assert "A suite of one's own" in shown.stdout
    assert "btl:design=30" in shown.stdout
    assert shown.stdout.splitlines()[-1].split() == ["one", "First", "5,", "50", "2", "3", "ndcg", "0"]
    found = json.loads(rankbench("info", "own", "--json").stdout)
    assert found["kind"] == "suite"
    assert found["path"] == str(registered)
    assert found["experiments"][0]["n"] == [5, 50]
    assert found["experiments"][0]["contenders"] == 3


def test_a_name_of_two_kinds_asks_for_the_kind(rankbench, registered):
    shown = rankbench("info", "linear")
    assert shown.exit_code == 2
    assert shown.stderr == "error: 'linear' names several things (loss, model); say which with --kind\n"
    assert rankbench("info", "linear", "--kind", "model").stdout.startswith("model linear\n")
    loss = rankbench("info", "linear", "--kind", "losses").stdout
    assert loss.startswith("loss linear\n")
    assert "0.0, inf" in loss
    assert "minimize" in loss


def test_an_unknown_name_gets_the_nearest(rankbench):
    shown = rankbench("info", "random-score")
    assert shown.exit_code == 2
    assert shown.stderr == "error: there is no component or suite 'random-score'; did you mean 'random-scores'?\n"


@pytest.mark.parametrize(("name", "kind"), [("linear", "method"), ("erm", "suite"), ("linear", "modle")])
def test_a_name_that_the_kind_does_not_have(rankbench, name, kind):
    shown = rankbench("info", name, "--kind", kind)
    assert shown.exit_code == 2
    assert shown.stderr.startswith("error: ")
