"""docs/ci.md: its recipes are what `rankbench new plugin` writes, and they run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workflow_steps import ROOT, commands, missing, scripts, unparsed

from rankbench.testing.scaffold import write_plugin

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)
    return str(found)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    return write_plugin("my-method", "method", tmp_path)


def test_the_gate_is_the_one_that_is_written(plugin: Path) -> None:
    assert block("yaml") == (plugin / ".github" / "workflows" / "gate.yml").read_text(encoding="utf-8")


def test_the_script_does_what_the_workflows_do(plugin: Path) -> None:
    """Each command of tests and gate, in their order; only a format and the name of the branch differ."""
    script = block("sh")
    assert unparsed(script) == ""
    found = [words for words in commands(script) if words[0] not in (".", "set") and "=" not in words[0]]
    assert [why for words in found if (why := missing(words, plugin))] == []

    def bare(words: list[str]) -> tuple[str, ...]:
        kept = [word for word in words if word != "comparison.md"]
        if "compare" in kept:  # GitHub has a page for it
            kept = [word for word in kept if word != "--out"]
        named = {"github": "md", "${BUDGET:-5m}": "5m"}
        return tuple("BRANCH" if word.startswith(("origin/$", "$MAIN")) else named.get(word, word) for word in kept)

    flows = (plugin / ".github" / "workflows" / name for name in ("tests.yml", "gate.yml"))
    steps = [step for flow in flows for step in scripts(flow) if step.name != "Install the change"]  # it is, for tests
    theirs = [words for step in steps for words in commands(step.script) if words[:2] != ["test", "-f"]]
    theirs = [words for words in theirs if words[0] != "echo"]
    assert list(map(bare, theirs)) == list(map(bare, found[1:]))  # the first makes the environment


@pytest.mark.parametrize("name", ["tests.yml", "gate.yml", "release.yml", "weekly.yml"])
def test_the_page_names_every_workflow(name: str) -> None:
    assert (ROOT / ".github" / "workflows" / name).is_file()
    assert f"`{name}`" in PAGE
