"""Components that other people's packages compute, where these are not installed."""

from __future__ import annotations

import os
from typing import Annotated

import pytest
from forked import run_program
from installed import hook, install_plugin
from small_suites import suite_text

import rankbench
from rankbench.interfaces.method import Model
from rankbench.plugin.manager import reference
from rankbench.testing.check import check_component, checks_for
from rankbench.testing.pytest_mark import parametrize_with_checks

REASON = "the package 'a-package-that-is-nowhere' is not installed"


class Elsewhere(rankbench.Model):
    """The features, as a package that is not here would have them."""

    name = "elsewhere"
    source = "A test"
    packages = ("numpy", "a-package-that-is-nowhere")

    def features(self, x):
        import a_package_that_is_nowhere

        return a_package_that_is_nowhere.features(x)


class Here(Elsewhere):
    """The features, copied."""

    name = "here"
    packages = ("numpy",)

    def features(self, x):
        return x.copy()


class Around(rankbench.Method):
    """A method that is fine but for its model."""

    name = "around"
    source = "A test"
    model: Annotated[rankbench.Model, reference(Model)] = Elsewhere()

    def fit(self, block):
        raise NotImplementedError


@pytest.mark.parametrize("component", [Elsewhere(), Around()])
def test_all_checks_are_skipped_with_the_package_and_none_executed_is_a_failure(component):
    *skipped, failed = check_component(component)
    assert [r.check for r in skipped] == [c.name for c in checks_for(component.kind)]
    assert {(r.status, r.reason) for r in skipped} == {("skipped", REASON)}
    assert (failed.check, failed.status) == ("any-executed", "failed")
    assert failed.reason == f"no check was executed: {REASON}"


def test_pytest_skips_it():
    for parameter in parametrize_with_checks([Elsewhere()]).args[1]:
        with pytest.raises(pytest.skip.Exception, match=REASON):
            parameter.values[0]()


def test_a_package_that_is_there_changes_nothing():
    assert all(r.ok for r in check_component(Here))


MODULE = """
from pathlib import Path
import rankbench

class Away(rankbench.Model):
    "Needs what is not here."
    name = "away"
    source = "A test"
    packages = ("a-package-that-is-nowhere",)

    def features(self, x):
        raise NotImplementedError
"""
BROUGHT = 'Away, Path(__file__).with_name("some-suite.toml")'
SUITE = suite_text('use = "random-scores"', name="some-suite")


@pytest.mark.full
def test_a_distribution_of_which_no_component_is_executed_fails_and_says_why(tmp_path):
    """And its suite is checked, in a process of its own."""
    install_plugin(tmp_path, "some-peers", "peers = some_peers", some_peers=MODULE + hook(BROUGHT))
    (tmp_path / "some-suite.toml").write_text(SUITE)
    variables = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    shown = run_program("check", "Some.Peers", environment=variables)
    assert shown.returncode == 1, shown.stderr
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["model/away", "skipped", "0", "0"] in [line[:4] for line in lines]
    assert f"plugin/some-peers any-executed failed no check was executed: {REASON}".split() in lines
    assert f"model/away all of them skipped {REASON}".split() in lines
