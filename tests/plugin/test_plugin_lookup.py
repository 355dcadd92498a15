"""Looking components up among the plugins of this process, which are loaded once, and what types say of it."""

from __future__ import annotations

import threading
from importlib.metadata import entry_points

import pytest
from typed_look_ups import look_ups

from rankbench.core.component import Component
from rankbench.errors import PluginError, SpecError
from rankbench.interfaces.method import Model
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager
from rankbench.plugin.loading import Loader, load
from rankbench.plugin.registry import KINDS, SUITE


class Special(Model):
    """What some models are."""


@pytest.fixture
def installed(monkeypatch):
    """Make the given entry points the ones that this process looks things up in."""

    def install(*entries):
        loaded = load(entries)
        monkeypatch.setattr(manager, "_loader", loaded)
        return loaded

    return install


@pytest.fixture
def there(monkeypatch):
    """Make the given entry points those of the environment, before anything is loaded."""

    def install(*entries):
        monkeypatch.setattr(manager, "_loader", None)
        monkeypatch.setattr(manager.importlib.metadata, "entry_points", lambda group: entries)

    return install


@pytest.mark.parametrize(
    ("base", "text", "message"),
    [
        ("model", "doubled", "'model' is not a class of components, such as rankbench.Aggregator"),
        (Component, "doubled", "is not a class of components"),
        (int, "doubled", "<class 'int'> is not a class of components"),
        (Loss, "doubled", "unknown loss 'doubled'"),
        (Special, "doubled", "model 'doubled' is not a Special"),
        (Model, "doubld", "unknown model 'doubld'; did you mean 'doubled'?"),
        (Model, "doubled:by=1", "has no parameter 'by'"),
        (Model, "doubled:by=[1,2]", "is a grid"),
        (Model, "doubled:inner=other(by=[1,2])", "is a grid"),
        (Model, "doubled:", "expected a parameter name"),
    ],
)
def test_get_says_what_is_wrong(installed, entry, model, base, text, message):
    installed(entry(brings=lambda: [model("doubled")]))
    with pytest.raises(SpecError) as caught:
        manager.get(base, text)
    assert message in str(caught.value)


def test_an_unknown_name_points_to_broken_plugins(installed, entry, model):
    def shattered():
        raise ImportError("x")

    installed(entry("good", brings=lambda: [model()]), entry("bad", "shattered", load=shattered))
    with pytest.raises(SpecError, match=r"unknown model 'mine'.*broken plugins: shattered; see `rankbench info`"):
        manager.get(Model, "mine")


def test_plugins_are_loaded_once_by_any_number_of_threads(there, entry, model):
    calls = []

    def models():
        calls.append(threading.get_ident())
        return [model()]

    there(entry(brings=models))
    threads = [threading.Thread(target=manager.names, args=("model",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_looking_up_while_loading_breaks_that_plugin_only(there, entry, model):
    def eager():
        return [type(manager.get(Model, "doubled"))]

    there(entry("good", brings=lambda: [model()]), entry("eager", brings=eager))
    eager_status, good_status = manager.statuses()
    assert good_status.status == "ok"
    assert "while plugins load" in eager_status.causes[0]


def test_a_failed_strict_load_is_tried_again(there, monkeypatch, entry):
    there(entry(brings=lambda: 3))
    monkeypatch.setenv("RANKBENCH_STRICT_PLUGINS", "1")
    for _ in range(2):
        with pytest.raises(PluginError, match="not a list"):
            manager.statuses()
    monkeypatch.setenv("RANKBENCH_STRICT_PLUGINS", "0")
    assert manager.statuses()[0].status == "broken"


def test_of_ours_only_what_brings_a_kind_is_loaded_and_the_rest_when_it_is_asked_for():
    ours = [found for found in entry_points(group="rankbench") if found.dist and found.dist.name == "rankbench"]
    loader = Loader(ours, strict=True)
    loader.load("dataset")
    assert [status.entry_point for status in loader.statuses] == ["datasets"]
    assert {each.split("/")[0] for each in loader.statuses[0].components} == {"dataset"}
    assert loader.registry.names("model") == []
    simulator = loader.registry.component_class("dataset", "cascade-clicks")
    loader.load()
    assert loader.registry.component_class("dataset", "cascade-clicks") is simulator
    assert [status.entry_point for status in loader.statuses] == sorted(found.name for found in ours)


def test_where_a_plugin_is_installed_everything_is_loaded_at_once_ours_first(entry, model):
    ours = [found for found in entry_points(group="rankbench") if found.dist and found.dist.name == "rankbench"]
    loaded = Loader([entry(brings=lambda: [model()]), *ours])
    loaded.load("dataset")
    assert len(loaded.statuses) == len(ours) + 1
    assert [status.distribution for status in loaded.statuses[:-1]] == ["rankbench"] * len(ours)


@pytest.mark.parametrize("kind", [*KINDS, SUITE])
def test_our_entry_points_bring_the_kinds_that_they_are_named_after(kind):
    """So that asking for one kind need not load the others."""
    ours = [found for found in entry_points(group="rankbench") if found.dist and found.dist.name == "rankbench"]
    whole, part = load(ours).registry, Loader(ours)
    part.load(kind)
    assert part.registry.names(kind) == whole.names(kind)
    assert whole.names(kind)


def test_look_ups_with_types_find_what_there_is():
    look_ups()
