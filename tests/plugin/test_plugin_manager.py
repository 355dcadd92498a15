"""Loading and isolation, with entry points that need no installation."""

from __future__ import annotations

from importlib.metadata import version
from typing import ClassVar

import pytest

from rankbench.errors import PluginError
from rankbench.kinds.loss import Loss
from rankbench.kinds.model import Model
from rankbench.models.linear import LinearModel
from rankbench.plugin.manager import load


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
        (lambda: (LinearModel,), "hook rankbench_register_models returned tuple, not a list"),
        (lambda: LinearModel, "not a list"),
        (lambda: [LinearModel()], "is not a class; return subclasses of Model, not instances"),
        (lambda: ["linear"], "'linear' is not a class"),
        (lambda: [int], "builtins.int does not derive from rankbench.kinds.model.Model"),
        (lambda: [OfOtherKind], "OfOtherKind does not derive from rankbench.kinds.model.Model"),
        (lambda: [WithoutName], "WithoutName.name is missing; give a kebab-case name"),
        (lambda: [WithoutSource], "WithoutSource does not say its source"),
        (lambda: [Incomplete], "Incomplete does not implement features"),
        (lambda: [Unprintable("X", (), {})], "does not derive from rankbench.kinds.model.Model"),
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


@pytest.mark.parametrize("error", [ImportError("no such wheel"), SystemExit("bye"), ZeroDivisionError("1/0")])
def test_a_plugin_that_cannot_be_imported_is_recorded(entry, model, error):
    loaded = load([entry("bad", load=raising(error)), entry("good", models=lambda: [model()])])
    assert loaded.statuses[0].causes == (f"cannot import 'some.module': {type(error).__name__}: {error}",)
    assert loaded.registry.names("model") == ["doubled"]


def test_interrupting_our_own_imports_is_not_breaking(entry):
    with pytest.raises(KeyboardInterrupt):
        load([entry(distribution="rankbench", load=raising(KeyboardInterrupt()))])


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
    ("requires", "ok"),
    [
        (None, True),
        ([], True),
        (["numpy>=99"], True),
        (["rankbench"], True),
        (["RankBench>=0.0.1"], True),
        (["rankbench>=97"], False),
        (["Rank_Bench<0.0.1"], True),  # another distribution
        (["rankbench[dask]<0.0.1"], False),
        (["rankbench!={installed}"], False),
        (["rankbench=={installed}"], True),
        (["rankbench>=97; extra == 'later'"], True),
        (["rankbench>=97; python_version < '3'"], True),
        (["rankbench>=97; python_version > '3'"], False),
        (["rankbench >> 1"], False),
    ],
)
def test_requirements_decide_whether_a_plugin_is_for_this_rankbench(requires, ok, entry, model):
    installed = version("rankbench")
    asked = None if requires is None else [text.format(installed=installed) for text in requires]
    plugins = load([entry(requires=asked, models=lambda: [model()])])
    (status,) = plugins.statuses
    assert status.status == ("ok" if ok else "broken")
    assert status.components == (("model/doubled",) if ok else ())
    if not ok:
        assert installed in status.causes[0] or "cannot be read" in status.causes[0]
        with pytest.raises(PluginError, match="is broken: it"):
            load([entry(requires=asked, models=lambda: [model()])], strict=True)


def test_a_pre_release_of_rankbench_is_held_to_the_same_bounds():
    from rankbench.plugin.requirements import unmet

    class Fake:
        requires: ClassVar[list[str]] = ["rankbench>=0.1,<0.2"]

    assert unmet(Fake(), "0.1.1.dev3") == ""
    assert unmet(Fake(), "0.1") == ""
    assert "0.2.0rc1 is installed" in unmet(Fake(), "0.2.0rc1")
    assert "0.0.9 is installed" in unmet(Fake(), "0.0.9")
