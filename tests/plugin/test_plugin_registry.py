"""What may be registered: names, sources, who comes first, and suites with their descriptions and errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import pytest
from small_suites import suite_text

from rankbench.errors import InputError, SpecError
from rankbench.interfaces.method import Model
from rankbench.plugin import manager
from rankbench.plugin.loading import load
from rankbench.suites.suite_files import describe_suite

NAMES = ("Upper", "under_score", "two words", "-x", "x-", "a--b", "3d", "", "inf", "true", 7, None)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        *(({"name": name}, f".name is {name!r}, not a kebab-case name") for name in NAMES),
        *(({"source": source}, "does not say its source") for source in ("", "  ", None, 3)),
    ],
)
def test_what_a_class_declares_is_looked_at(entry, model, declared, said):
    loaded = load([entry(brings=lambda: [model(**declared), model("good")])])
    assert loaded.registry.names("model") == ["good"]
    (cause,) = loaded.statuses[0].causes
    assert said in cause


class Unknown:
    """A type that Pydantic has no rule for."""


def test_a_class_whose_parameters_cannot_be_validated_is_refused_alone(entry, model):
    class Bad(Model):
        """Has a parameter of a type without a rule."""

        name: ClassVar[str] = "bad"
        source: ClassVar[str] = "a test"

        by: Unknown

        def features(self, x):
            return x

    loaded = load([entry(brings=lambda: [Bad, model("good")])])
    assert loaded.registry.names("model") == ["good"]
    (cause,) = loaded.statuses[0].causes
    assert "item 1" in cause
    assert "Unable to generate pydantic-core schema" in cause


def test_the_built_in_component_keeps_its_name(entry, model):
    ours, theirs = model("linear"), model("linear")
    intruder = entry("aaa", "aaa", "9.9", brings=lambda: [theirs])
    loaded = load([intruder, entry("models", "rankbench", "0.1.0", brings=lambda: [ours])])
    assert loaded.registry.component_class("model", "linear") is ours
    assert [status.distribution for status in loaded.statuses] == ["rankbench", "aaa"]
    (cause,) = loaded.statuses[1].causes
    said = (
        "model 'linear' is contested: rankbench 0.1.0 and aaa 9.9 both register it. Rename that of aaa, or block it: "
        "RANKBENCH_BLOCK_PLUGINS=aaa leaves that of rankbench"
    )
    assert said in cause
    # Who writes the name may mean either.
    with pytest.raises(SpecError, match="^" + re.escape(said) + "$"):
        loaded.registry.check_contested("linear", "model")
    assert loaded.registry.contested("aaa") == [said]
    assert loaded.registry.names("model") == ["linear"]


def test_a_name_of_two_third_parties_stands_for_neither(entry, model):
    first, second = model("same"), model("same")
    entries = [
        entry("x", "bbb", brings=lambda: [second, model("own")]),
        entry("y", "aaa", brings=lambda: [first]),
    ]
    said = (
        "model 'same' is contested: aaa 1.2 and bbb 1.2 both register it. Uninstall one of them, or block it: "
        "RANKBENCH_BLOCK_PLUGINS=bbb leaves that of aaa"
    )
    for order in (entries, entries[::-1]):
        loaded = load(order)
        for lookup in (loaded.registry.component_class, loaded.registry.origin):
            with pytest.raises(SpecError) as caught:
                lookup("model", "same")
            assert str(caught.value) == said
        assert loaded.registry.names("model") == ["own"]
        assert loaded.registry.contested("aaa") == loaded.registry.contested("bbb") == [said]
        assert loaded.statuses[1].causes == (f"hook rankbench_register, item 1: {said}",)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("missing.toml", "suite file missing.toml cannot be read"),
        ("a.yaml", "does not end in .toml"),
        ("A_b.toml", "not a kebab-case name"),
    ],
)
def test_suites_must_be_toml_files_with_good_names(entry, tmp_path, monkeypatch, name, cause):
    monkeypatch.chdir(tmp_path)
    for there in ("a.yaml", "A_b.toml"):
        (tmp_path / there).touch()
    loaded = load([entry(brings=lambda: [Path(name)])])
    assert cause in loaded.statuses[0].causes[0]
    assert loaded.registry.files("suite") == {}


TEXT = suite_text('use = "erm:k=[1,10,inf],lambda=[0.1,1]"', 'use = "random-scores"', name="own", repetitions=5)


def test_a_suite_is_described_as_its_file_writes_it(tmp_path, monkeypatch, entry):
    path = tmp_path / "own.toml"
    path.write_text(f'include = ["other"]\n{TEXT}', encoding="utf-8")
    monkeypatch.setattr(manager, "_loader", load([entry(brings=lambda: [path])]))
    found = describe_suite("own")
    (one,) = found.pop("experiments")
    assert found == {
        "name": "own", "title": "Own", "path": str(path), "dataset": "web10k-like:queries=24,features=8",
        "seed": found["seed"], "protocol": "btl:design=10,heldout=10", "includes": ("other",),
        "distribution": "thirdparty", "version": "1.2",
    }  # fmt: skip
    shown = [one[key] for key in ("name", "n", "repetitions", "losses", "contenders")]
    assert shown == ["a", (100,), 5, ("ndcg",), 3 * 2 + 1]
    with pytest.raises(SpecError, match="unknown suite 'onw'; did you mean 'own'"):
        describe_suite("onw")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"own\.toml: not a suite file"):
        describe_suite("own")
