"""Looking components up among the plugins of this process, which are loaded once."""

from __future__ import annotations

import threading
from typing import Annotated, ClassVar

import pytest

from rankbench.errors import PluginError, SpecError
from rankbench.kinds.method import Fitted, Method
from rankbench.kinds.model import Model
from rankbench.plugin import manager
from rankbench.plugin.manager import load
from rankbench.plugin.resolve import reference
from rankbench.spec import Spec


@pytest.fixture
def installed(monkeypatch):
    """Make the given entry points the ones that this process looks things up in."""

    def install(*entries):
        loaded = load(entries)
        monkeypatch.setattr(manager, "_loaded", loaded)
        return loaded

    return install


def test_get_reads_names_specs_and_parameters(installed, entry):
    class Scaled(Model):
        """Scales the features."""

        name: ClassVar[str] = "scaled"
        source: ClassVar[str] = "a test"
        by: float = 1.0

        def features(self, x):
            return self.by * x

    installed(entry(models=lambda: [Scaled]))
    assert manager.get("model", "scaled") == Scaled()
    assert manager.get("model", "scaled:by=2") == Scaled(by=2)
    assert manager.get("model", Spec("scaled", {"by": 3})) == Scaled(by=3)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("modle", "doubled", "there is no kind 'modle' of component; did you mean 'model'?"),
        ("model", "doubld", "unknown model 'doubld'; did you mean 'doubled'?"),
        ("model", "doubled:by=1", "has no parameter 'by'"),
        ("model", "doubled:by=[1,2]", "is a grid"),
        ("model", "doubled:inner=other(by=[1,2])", "is a grid"),
        ("model", "doubled:", "expected a parameter name"),
    ],
)
def test_get_says_what_is_wrong(installed, entry, model, kind, text, message):
    installed(entry(models=lambda: [model("doubled")]))
    with pytest.raises(SpecError) as caught:
        manager.get(kind, text)
    assert message in str(caught.value)


def test_an_unknown_name_points_to_broken_plugins(installed, entry, model):
    def shattered():
        raise ImportError("x")

    installed(entry("good", models=lambda: [model()]), entry("bad", "shattered", load=shattered))
    with pytest.raises(SpecError, match=r"unknown model 'mine'.*broken plugins: shattered; see `rankbench plugins`"):
        manager.get("model", "mine")


def test_parameters_that_are_components_are_looked_up(installed, entry, model):
    class Wrapper(Method):
        """Wraps a model."""

        name: ClassVar[str] = "wrapper"
        source: ClassVar[str] = "a test"
        model: Annotated[Model, reference("model")]

        def fit(self, block):
            return Fitted(lambda queries: self.model.features(queries.x)[:, 0])

    doubled = model("doubled")
    installed(entry(models=lambda: [doubled], methods=lambda: [Wrapper]))
    assert manager.get("method", "wrapper:model=doubled").model == doubled()
    assert str(manager.get("method", "wrapper:model=doubled")) == "wrapper:model=doubled"
    with pytest.raises(SpecError, match=r"did you mean 'doubled'"):
        manager.get("method", "wrapper:model=dubled")


def test_plugins_are_loaded_once_by_any_number_of_threads(monkeypatch, entry, model):
    calls = []

    def models():
        calls.append(threading.get_ident())
        return [model()]

    found = [entry(models=models)]
    monkeypatch.setattr(manager, "_loaded", None)
    monkeypatch.setattr(manager.importlib.metadata, "entry_points", lambda group: found)
    threads = [threading.Thread(target=manager.names, args=("model",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_looking_up_while_loading_breaks_that_plugin_only(monkeypatch, entry, model):
    def eager():
        return [type(manager.get("model", "doubled"))]

    found = [entry("good", models=lambda: [model()]), entry("eager", models=eager)]
    monkeypatch.setattr(manager, "_loaded", None)
    monkeypatch.setattr(manager.importlib.metadata, "entry_points", lambda group: found)
    eager_status, good_status = manager.statuses()
    assert good_status.status == "ok"
    assert "while plugins load" in eager_status.causes[0]


def test_a_failed_strict_load_is_tried_again(monkeypatch, entry):
    monkeypatch.setattr(manager, "_loaded", None)
    monkeypatch.setattr(manager.importlib.metadata, "entry_points", lambda group: [entry(models=lambda: 3)])
    monkeypatch.setenv("RANKBENCH_STRICT_PLUGINS", "1")
    for _ in range(2):
        with pytest.raises(PluginError, match="not a list"):
            manager.statuses()
    monkeypatch.setenv("RANKBENCH_STRICT_PLUGINS", "0")
    assert manager.statuses()[0].status == "broken"
