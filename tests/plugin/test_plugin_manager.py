"""Loading, isolation and look-up, with entry points that need no installation."""

from __future__ import annotations

import threading
from typing import Annotated, ClassVar

import pytest

from rankbench.errors import PluginError, SpecError
from rankbench.losses.base import Loss
from rankbench.methods.base import Fitted, Method
from rankbench.models.base import Model
from rankbench.models.linear import Linear
from rankbench.plugin import manager
from rankbench.plugin.manager import load
from rankbench.plugin.resolve import reference
from rankbench.spec import Spec


def raising(error):
    def function():
        raise error

    return function


class WithoutName(Model):
    source: ClassVar[str] = "a test"

    def features(self, x):
        return x


class WithoutSource(Model):
    name: ClassVar[str] = "without-source"

    def features(self, x):
        return x


class Incomplete(Model):
    name: ClassVar[str] = "incomplete"
    source: ClassVar[str] = "a test"


class OfOtherKind(Loss):
    name: ClassVar[str] = "of-other-kind"
    source: ClassVar[str] = "a test"
    range: ClassVar[tuple[float, float]] = (0, 1)

    def value(self, alpha, structure):
        return 0.0


class NoException(BaseException):
    """What `except Exception` does not catch."""


class Mute(Exception):
    """An exception that ends the program of whoever asks what it says."""

    def __str__(self):
        raise SystemExit(3)


class Unequal:
    """A plugin that cannot be compared, printed or looked at."""

    def __eq__(self, other):
        raise NoException("no comparison")

    __hash__ = object.__hash__

    def __repr__(self):
        raise NoException("no repr")


class Unending(list):
    def __iter__(self):
        raise KeyboardInterrupt


ANYTHING = [NoException("odd"), KeyboardInterrupt(), SystemExit(0), GeneratorExit(), Mute()]


@pytest.mark.parametrize("error", ANYTHING, ids=lambda error: type(error).__name__)
def test_whatever_a_plugin_raises_breaks_that_plugin_only(entry, model, error):
    loaded = load([entry("a", load=raising(error)), entry("b", models=raising(error)), entry("c", losses=lambda: [])])
    at_import, at_hook, good = loaded.statuses
    assert (at_import.status, at_hook.status, good.status) == ("broken", "broken", "ok")
    assert f"cannot import 'some.module': {type(error).__name__}" in at_import.causes[0]
    assert f"hook rankbench_register_models raised {type(error).__name__}" in at_hook.causes[0]
    with pytest.raises(PluginError, match=type(error).__name__):
        load([entry(load=raising(error))], strict=True)


def test_an_object_that_cannot_be_looked_at_breaks_its_plugin_only(entry, model):
    returned = entry("a", models=lambda: [Unequal(), model()])
    unending = entry("b", models=lambda: Unending())
    itself = entry("c", load=Unequal)
    good = entry("d", "zzz", models=lambda: [model("other")])
    loaded = load([returned, unending, itself, good])
    assert [status.status for status in loaded.statuses] == ["broken", "broken", "broken", "ok"]
    assert loaded.statuses[0].components == ("model/doubled",)
    assert loaded.registry.names("model") == ["doubled", "other"]
    with pytest.raises(PluginError, match="NoException"):
        load([itself, good], strict=True)


class Unprintable(type):
    def __repr__(cls):
        raise RuntimeError("no repr")


def test_a_good_plugin_registers_and_is_reported(entry, model):
    doubled = model()
    loaded = load([entry(models=lambda: [doubled])])
    assert loaded.registry.component_class("model", "doubled") is doubled
    (status,) = loaded.statuses
    assert (status.entry_point, status.distribution, status.version) == ("fake", "thirdparty", "1.2")
    assert status.hooks == ("rankbench_register_models",)
    assert status.components == ("model/doubled",)
    assert (status.status, status.causes) == ("ok", ())
    assert status.seconds >= 0
    origin = loaded.registry.origin("model", "doubled")
    assert (origin.distribution, origin.version, origin.entry_point) == ("thirdparty", "1.2", "fake")


def test_all_hooks_of_a_plugin_are_called_once(entry, model, tmp_path):
    suite = tmp_path / "own.toml"
    suite.touch()
    calls = []

    def models():
        calls.append("models")
        return [model("one"), model("two")]

    loaded = load([entry(models=models, losses=lambda: [OfOtherKind], suites=lambda: [suite])])
    assert calls == ["models"]
    assert loaded.registry.names("model") == ["one", "two"]
    assert loaded.registry.names("loss") == ["of-other-kind"]
    assert loaded.registry.suites() == {"own": suite}
    assert loaded.registry.names("suite") == ["own"]
    assert loaded.registry.origin("suite", "own").distribution == "thirdparty"


@pytest.mark.parametrize(
    ("hook", "cause"),
    [
        (raising(ValueError("no formula")), "hook rankbench_register_models raised ValueError: no formula"),
        (raising(SystemExit(3)), "hook rankbench_register_models raised SystemExit: 3"),
        (lambda: None, "hook rankbench_register_models returned NoneType, not a list"),
        (lambda: (Linear,), "hook rankbench_register_models returned tuple, not a list"),
        (lambda: Linear, "not a list"),
        (lambda: [Linear()], "is not a class; return subclasses of Model, not instances"),
        (lambda: ["linear"], "'linear' is not a class"),
        (lambda: [int], "builtins.int does not derive from rankbench.models.base.Model"),
        (lambda: [OfOtherKind], "OfOtherKind does not derive from rankbench.models.base.Model"),
        (lambda: [WithoutName], "WithoutName.name is missing; give a kebab-case name"),
        (lambda: [WithoutSource], "WithoutSource does not say its source"),
        (lambda: [Incomplete], "Incomplete does not implement features"),
        (lambda: [Unprintable("X", (), {})], "does not derive from rankbench.models.base.Model"),
    ],
)
def test_nonsense_is_recorded_with_its_cause_and_the_rest_works(entry, model, hook, cause):
    good = model("good")
    bad = entry("bad", "abroken", "0.3", models=hook, losses=lambda: [OfOtherKind])
    loaded = load([bad, entry("good", "zgood", models=lambda: [good])])
    status, other = loaded.statuses
    assert (status.distribution, status.version, status.status) == ("abroken", "0.3", "broken")
    assert len(status.causes) == 1
    assert cause in status.causes[0]
    assert other.status == "ok"
    assert loaded.registry.names("model") == ["good"]
    assert loaded.registry.names("loss") == ["of-other-kind"]  # its other hook still counts


@pytest.mark.parametrize("name", ["Upper", "under_score", "two words", "-x", "x-", "a--b", "3d", "", "inf", "true", 7])
def test_names_must_be_kebab_case_and_no_value_of_the_grammar(entry, model, name):
    loaded = load([entry(models=lambda: [model(name)])])
    assert loaded.registry.names("model") == []
    assert "not a kebab-case name" in loaded.statuses[0].causes[0]


@pytest.mark.parametrize("source", ["", "  ", None, 3])
def test_a_source_must_be_said(entry, model, source):
    loaded = load([entry(models=lambda: [model(source=source)])])
    assert "does not say its source" in loaded.statuses[0].causes[0]


def test_one_bad_component_does_not_take_its_neighbours_along(entry, model):
    loaded = load([entry(models=lambda: [model("one"), Incomplete, model("two")])])
    assert loaded.registry.names("model") == ["one", "two"]
    assert loaded.statuses[0].components == ("model/one", "model/two")
    assert loaded.statuses[0].status == "broken"


@pytest.mark.parametrize("error", [ImportError("no such wheel"), SystemExit("bye"), ZeroDivisionError("1/0")])
def test_a_plugin_that_cannot_be_imported_is_recorded(entry, model, error):
    loaded = load([entry("bad", load=raising(error)), entry("good", models=lambda: [model()])])
    assert loaded.statuses[0].causes == (f"cannot import 'some.module': {type(error).__name__}: {error}",)
    assert loaded.registry.names("model") == ["doubled"]


def test_interrupting_our_own_imports_is_not_breaking(entry):
    with pytest.raises(KeyboardInterrupt):
        load([entry(distribution="rankbench", load=raising(KeyboardInterrupt()))])


def test_the_built_in_component_keeps_its_name(entry, model):
    ours, theirs = model("linear"), model("linear")
    intruder = entry("aaa", "aaa", "9.9", models=lambda: [theirs])
    loaded = load([intruder, entry("models", "rankbench", "0.1.0", models=lambda: [ours])])
    assert loaded.registry.component_class("model", "linear") is ours
    assert [status.distribution for status in loaded.statuses] == ["rankbench", "aaa"]
    (cause,) = loaded.statuses[1].causes
    assert "model 'linear' of aaa 9.9 is refused: rankbench 0.1.0 registered that name first" in cause


def test_of_two_third_parties_the_first_by_distribution_keeps_the_name(entry, model):
    first, second = model("same"), model("same")
    entries = [entry("x", "bbb", models=lambda: [second]), entry("y", "aaa", models=lambda: [first])]
    for order in (entries, entries[::-1]):
        assert load(order).registry.component_class("model", "same") is first


def test_one_name_may_stand_for_two_kinds(entry, model):
    class Same(OfOtherKind):
        name: ClassVar[str] = "doubled"

    loaded = load([entry(models=lambda: [model("doubled")], losses=lambda: [Same])])
    assert loaded.statuses[0].status == "ok"


def test_a_misspelled_hook_gets_the_nearest_name(entry):
    loaded = load([entry(modles=lambda: [])])
    (cause,) = loaded.statuses[0].causes
    assert cause == "there is no hook 'rankbench_register_modles'; did you mean 'rankbench_register_models'?"


def test_a_plugin_without_hooks_is_broken(entry):
    assert "implements no hook" in load([entry()]).statuses[0].causes[0]


def test_one_module_under_two_entry_points_is_refused_once(entry, model):
    one = entry("one", models=lambda: [model()])
    two = entry("two", load=one.load)
    loaded = load([one, two])
    assert [status.status for status in loaded.statuses] == ["ok", "broken"]
    assert "already registered" in loaded.statuses[1].causes[0]


@pytest.mark.parametrize("hook", [lambda: 3, lambda: [int], raising(KeyError("x"))])
def test_strict_mode_raises_with_distribution_and_version(entry, hook):
    with pytest.raises(PluginError, match=r"plugin 'fake' of thirdparty 1\.2 is broken: hook") as caught:
        load([entry(models=hook)], strict=True)
    assert caught.value.exit_code == 2


def test_strict_mode_raises_when_the_import_fails(entry):
    with pytest.raises(PluginError, match="cannot import") as caught:
        load([entry(load=raising(ImportError("gone")))], strict=True)
    assert isinstance(caught.value.__cause__, ImportError)


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda tmp: [str(tmp / "a.toml")], "is not a pathlib.Path"),
        (lambda tmp: [tmp / "missing.toml"], "is not there"),
        (lambda tmp: [tmp / "a.yaml"], "does not end in .toml"),
        (lambda tmp: [tmp / "A_b.toml"], "not a kebab-case name"),
    ],
)
def test_suites_must_be_toml_files_with_good_names(entry, tmp_path, make, cause):
    for name in ("a.toml", "a.yaml", "A_b.toml"):
        (tmp_path / name).touch()
    loaded = load([entry(suites=lambda: make(tmp_path))])
    assert cause in loaded.statuses[0].causes[0]
    assert loaded.registry.suites() == {}


def test_two_suites_of_one_name_clash(entry, tmp_path):
    files = [tmp_path / folder / "same.toml" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        file.touch()
    loaded = load([entry("a", "aaa", suites=lambda: files[:1]), entry("b", "bbb", suites=lambda: files[1:])])
    assert loaded.registry.suites() == {"same": files[0]}
    assert "suite 'same' of bbb 1.2 is refused: aaa 1.2" in loaded.statuses[1].causes[0]


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
    installed(entry("good", models=lambda: [model()]), entry("bad", "shattered", load=raising(ImportError("x"))))
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
