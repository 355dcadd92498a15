"""`rankbench plugins`; real distributions are in tests/plugin."""

from __future__ import annotations

import json

from rankbench.plugin import manager
from rankbench.plugin.loading import Plugins, PluginStatus
from rankbench.plugin.registry import Registry


def test_a_broken_plugin_is_listed_with_distribution_version_and_cause(rankbench, monkeypatch):
    statuses = (
        PluginStatus("models", "rankbench", "0.1.0", ("model/a", "model/b", "suite/c"), 0.012, "ok", ()),
        PluginStatus("bad", "shattered", "9.9", (), 0.0, "broken", ("cannot import 'x'", "and more")),
    )
    monkeypatch.setattr(manager, "_loaded", Plugins(Registry(), statuses))
    shown = rankbench("plugins")
    assert shown.exit_code == 0
    plugins, _, causes = shown.stdout.partition("\n\n")
    assert " ".join(plugins.splitlines()[1].split()) == "models rankbench 0.1.0 2 models, 1 suite 12 ms ok"
    assert plugins.splitlines()[2].split() == ["bad", "shattered", "9.9", "0", "ms", "broken"]
    assert causes.splitlines()[1].split(maxsplit=3) == ["bad", "shattered", "9.9", "cannot import 'x'"]
    assert causes.splitlines()[2].split(maxsplit=3) == ["bad", "shattered", "9.9", "and more"]


def test_ours_are_all_well(rankbench):
    found = json.loads(rankbench("plugins", "--json").stdout)["plugins"]
    ours = [plugin for plugin in found if plugin["distribution"] == "rankbench"]
    assert [plugin["causes"] for plugin in ours] == [[]] * len(ours)
    assert all(plugin["components"] for plugin in ours)
