"""The hook, and that the page for plugin authors says what the code does."""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
import types
from pathlib import Path

import numpy as np
import pytest

import rankbench
from rankbench.core.spec import parse
from rankbench.errors import SpecError
from rankbench.plugin import registry as hookspecs
from rankbench.plugin.loading import load
from rankbench.plugin.registry import KINDS, base_of, kind_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
HOOKS = {name: value for name, value in vars(hookspecs).items() if name.startswith("rankbench_")}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_there_is_one_hook():
    assert list(HOOKS) == [hookspecs.HOOK]
    assert inspect.signature(HOOKS[hookspecs.HOOK]).return_annotation == "list[type[Component] | Path]"


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_kind_has_a_base_class_that_is_public(kind):
    base = kind.base_class()
    assert (base.kind, base_of(kind.name)) == (kind.name, base)
    assert getattr(rankbench, base.__name__) is base


@pytest.mark.parametrize("hook", HOOKS.values(), ids=lambda hook: hook.__name__)
def test_every_hook_says_since_when(hook):
    assert re.search(r"\.\. versionadded:: \d+\.\d+", inspect.getdoc(hook))


def test_the_page_has_the_hook_with_its_signature():
    written = re.findall(r"^def (rankbench_\w+)(\(.*\) -> .*): \.\.\.$", PAGE, flags=re.MULTILINE)
    signatures = {name: str(inspect.signature(hook)).replace("'", "") for name, hook in HOOKS.items()}
    assert dict(written) == signatures


def test_the_example_of_the_page_is_a_plugin_that_works(entry):
    module = types.ModuleType("squared_margin")
    sys.modules[module.__name__] = module
    try:
        exec(compile(blocks("python")[0], "docs/plugins.md", "exec"), vars(module))
        loaded = load([entry("squared-margin", load=lambda: module)], strict=True)
    finally:
        del sys.modules[module.__name__]
    cls = loaded.registry.component_class("surrogate", "squared-margin")
    surrogate = cls.from_spec(parse("squared-margin:gamma=2"))
    assert repr(surrogate) in PAGE
    margin, h = np.linspace(-2, 3, 11), 1e-6
    np.testing.assert_allclose(
        surrogate.dphi(margin), (surrogate.phi(margin + h) - surrogate.phi(margin - h)) / (2 * h), atol=1e-6
    )
    np.testing.assert_allclose(
        surrogate.ddphi(margin), (surrogate.dphi(margin + h) - surrogate.dphi(margin - h)) / (2 * h), atol=1e-6
    )


def test_the_entry_points_of_the_page_are_in_the_groups_that_are_read():
    from rankbench.cli import GROUP

    groups = [group for block in blocks("toml") for group in tomllib.loads(block)["project"]["entry-points"]]
    assert groups == [hookspecs.GROUP, GROUP]


def test_ours_enter_through_the_same_door():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # Kinds of claims and figures come with the suites that use them, models with the methods.
    kinds = {kind.plural for kind in KINDS.values()} - {"claims", "figures", "models"}
    assert set(project["entry-points"][hookspecs.GROUP]) == kinds | {"suites"}


@pytest.mark.parametrize("word", ["loss", "losses", "suite", "suites", "dataset", "datasets"])
def test_kinds_are_known_in_the_singular_and_the_plural(word):
    singular = {"losses": "loss", "suites": "suite", "datasets": "dataset"}
    assert kind_of(word) == singular.get(word, word)


def test_an_unknown_kind_gets_the_nearest():
    with pytest.raises(SpecError, match=r"no kind 'surogate'; did you mean 'surrogate'"):
        kind_of("surogate")
