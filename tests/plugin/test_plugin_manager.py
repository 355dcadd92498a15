"""Loading and isolation, with entry points that need no installation."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import pytest

from rankbench.core.component import Component
from rankbench.errors import PluginError
from rankbench.interfaces.method import Model
from rankbench.interfaces.surrogate import Loss
from rankbench.methods.baselines import LinearModel
from rankbench.plugin.loading import load
from rankbench.plugin.registry import KINDS, base_of


def raising(error):
    def function():
        raise error

    return function


class Incomplete(Model):
    name: ClassVar[str] = "incomplete"
    source: ClassVar[str] = "a test"


class NoKind(Component):
    name: ClassVar[str] = "no-kind"
    source: ClassVar[str] = "a test"


class SaysOther(LinearModel):
    name: ClassVar[str] = "says-other"
    kind: ClassVar[str] = "loss"


class Again(LinearModel):
    name: ClassVar[str] = "first"


class OfOtherKind(Loss):
    name: ClassVar[str] = "of-other-kind"
    source: ClassVar[str] = "a test"
    range: ClassVar[tuple[float, float]] = (0, 1)

    def value(self, alpha, structure):
        return 0.0


class TwoKinds(OfOtherKind, LinearModel):
    name: ClassVar[str] = "two-kinds"


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


ANYTHING = [NoException("odd"), KeyboardInterrupt(), SystemExit(0), GeneratorExit(), Mute()]


@pytest.mark.parametrize("error", ANYTHING, ids=lambda error: type(error).__name__)
def test_whatever_a_plugin_raises_breaks_that_plugin_only(entry, model, error):
    loaded = load([entry("a", load=raising(error)), entry("b", brings=raising(error)), entry("c", brings=lambda: [])])
    at_import, at_hook, good = loaded.statuses
    assert (at_import.status, at_hook.status, good.status) == ("broken", "broken", "ok")
    assert f"cannot import 'some.module': {type(error).__name__}" in at_import.causes[0]
    assert f"hook rankbench_register raised {type(error).__name__}" in at_hook.causes[0]
    with pytest.raises(PluginError, match=rf"thirdparty 1\.2 is broken: .*{type(error).__name__}") as caught:
        load([entry(load=raising(error))], strict=True)
    assert caught.value.exit_code == 2


class Unprintable(type):
    def __repr__(cls):
        raise RuntimeError("no repr")


def test_one_hook_brings_every_kind_and_suites_and_is_called_once(entry, model, tmp_path):
    suite = tmp_path / "own.toml"
    suite.touch()
    calls = []

    def everything():
        calls.append("called")
        return [model("one"), suite, OfOtherKind, model("two")]

    loaded = load([entry(brings=everything)])
    assert calls == ["called"]
    assert loaded.statuses[0].components == ("model/one", "suite/own", "loss/of-other-kind", "model/two")
    assert loaded.registry.names("model") == ["one", "two"]
    assert loaded.registry.names("loss") == ["of-other-kind"]
    assert loaded.registry.files("suite") == {"own": suite}
    assert loaded.registry.names("suite") == ["own"]
    assert loaded.registry.origin("suite", "own").distribution == "thirdparty"


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_has_its_kind_from_its_base(entry, kind):
    base = base_of(kind)
    body = {"__module__": __name__, "__doc__": "Nothing.", "name": "nothing", "source": "a test"}
    if kind == "table":
        body |= {"columns": ("query_id", "nothing")}
    cls = type("Nothing", (base,), body | dict.fromkeys(base.__abstractmethods__, lambda self: None))
    assert load([entry(brings=lambda: [cls])], strict=True).statuses[0].components == (f"{kind}/nothing",)


@pytest.mark.parametrize(
    ("hook", "cause"),
    [
        (raising(ValueError("no formula")), "hook rankbench_register raised ValueError: no formula"),
        (lambda: None, "hook rankbench_register returned NoneType, not a list"),
        (lambda: (LinearModel,), "hook rankbench_register returned tuple, not a list"),
    ],
)
def test_a_hook_that_fails_is_recorded_with_its_cause_and_the_rest_works(entry, model, hook, cause):
    good = model("good")
    loaded = load([entry("bad", "abroken", "0.3", brings=hook), entry("good", "zgood", brings=lambda: [good])])
    status, other = loaded.statuses
    assert (status.distribution, status.version, status.status) == ("abroken", "0.3", "broken")
    assert len(status.causes) == 1
    assert cause in status.causes[0]
    assert other.status == "ok"
    assert loaded.registry.names("model") == ["good"]


ITEMS = {
    "an instance": (lambda: LinearModel(), "LinearModel() is not a class; return LinearModel itself, not an instance"),
    "a text": (lambda: "linear", "'linear' is not a class of components, nor a pathlib.Path to a suite file"),
    "nothing": (lambda: None, "None is not a class of components"),
    "another class": (lambda: int, "builtins.int derives from the base class of no kind; derive it from one of"),
    "no kind": (lambda: NoKind, "NoKind derives from the base class of no kind; derive it from one of rankbench.Agg"),
    "two kinds": (lambda: TwoKinds, "derives from several kinds (rankbench.Loss, rankbench.Model); write a class for"),
    "its base": (lambda: Model, "Model.name is None, not a kebab-case name"),
    "abstract": (lambda: Incomplete, "Incomplete does not implement features"),
    "other kind": (lambda: SaysOther, "SaysOther says it is of the kind 'loss'; leave `kind` to the base class"),
    "no repr": (lambda: Unprintable("X", (), {}), "derives from the base class of no kind"),
    "cannot be looked at": (lambda: Unequal(), "looking at it raised NoException: no repr"),
    "bad path": (lambda: Path("a\0b.toml"), "cannot be read"),
    "a name that is taken": (lambda: Again, "rejects model 'first' of abroken 0.3: abroken 0.3 registered that"),
}


@pytest.mark.parametrize("wrong", ITEMS)
def test_one_item_that_is_wrong_takes_no_other_with_it(entry, model, tmp_path, wrong):
    make, cause = ITEMS[wrong]
    suite = tmp_path / "own.toml"
    suite.touch()
    brought = [model("first"), OfOtherKind, make(), suite, model("last")]
    (status,) = load([entry("bad", "abroken", "0.3", brings=lambda: brought)]).statuses
    assert status.components == ("model/first", "loss/of-other-kind", "suite/own", "model/last")
    assert status.status == "broken"
    (said,) = status.causes
    assert said.startswith("hook rankbench_register, item 3: ")
    assert cause in said
    with pytest.raises(PluginError, match=r"plugin 'bad' of abroken 0\.3 is broken: hook rankbench_register, item 3: "):
        load([entry("bad", "abroken", "0.3", brings=lambda: brought)], strict=True)


def test_interrupting_our_own_imports_is_not_breaking(entry):
    with pytest.raises(KeyboardInterrupt):
        load([entry(distribution="rankbench", load=raising(KeyboardInterrupt()))])


@pytest.mark.parametrize("hook", ["rankbench_register_losses", "rankbench_register_suites", "rankbench_regster"])
def test_a_hook_that_there_is_not_is_named_with_the_two_lines_to_write(entry, model, hook):
    (status,) = load([entry(**{hook: lambda: [model()]})]).statuses
    assert (status.status, status.components) == ("broken", ())
    (cause,) = status.causes
    assert f"there is no hook {hook!r}" in cause
    assert cause.endswith("write `@rankbench.hookimpl` / `def rankbench_register(): return [...]` instead")
    with pytest.raises(PluginError, match=f"there is no hook '{hook}'"):
        load([entry(**{hook: lambda: [model()]})], strict=True)


def test_a_plugin_without_hooks_is_broken(entry):
    (cause,) = load([entry()]).statuses[0].causes
    assert cause.endswith("implements no hook; write `@rankbench.hookimpl` / `def rankbench_register(): return [...]`")


def test_one_module_under_two_entry_points_is_refused_once(entry, model):
    one = entry("one", brings=lambda: [model()])
    two = entry("two", load=one.load)
    loaded = load([one, two])
    assert [status.status for status in loaded.statuses] == ["ok", "broken"]
    assert "already registered" in loaded.statuses[1].causes[0]


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
    plugins = load([entry(requires=asked, brings=lambda: [model()])])
    (status,) = plugins.statuses
    assert status.status == ("ok" if ok else "broken")
    assert status.components == (("model/doubled",) if ok else ())
    if not ok:
        assert installed in status.causes[0] or "cannot be read" in status.causes[0]
        with pytest.raises(PluginError, match="is broken: it"):
            load([entry(requires=asked, brings=lambda: [model()])], strict=True)


def test_a_pre_release_of_rankbench_is_held_to_the_same_bounds():
    from rankbench.plugin.loading import unmet

    class Fake:
        requires: ClassVar[list[str]] = ["rankbench>=0.1,<0.2"]

    assert unmet(Fake(), "0.1.1.dev3") == ""
    assert unmet(Fake(), "0.1") == ""
    assert "0.2.0rc1 is installed" in unmet(Fake(), "0.2.0rc1")
    assert "0.0.9 is installed" in unmet(Fake(), "0.0.9")
