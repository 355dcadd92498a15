"""The block list."""

from __future__ import annotations

import importlib

import pytest

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
    verbs = importlib.import_module("rankbench.cli")  # a function of that name hides it
    info = tmp_path / "some_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rankbench.commands]\nhello = some_plugin:hello\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for listed, offered in (("", True), ("some-plugin", False)):
        monkeypatch.setenv("RANKBENCH_BLOCK_PLUGINS", listed)
        verbs.verbs.cache_clear()
        verbs.offered.cache_clear()
        assert ("hello" in verbs.verbs()) is offered
    verbs.verbs.cache_clear()
    verbs.offered.cache_clear()
