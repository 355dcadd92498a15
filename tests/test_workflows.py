"""GitHub's workflows, ours and those of docs/how-to/ci.md: their form, and our steps as scripts on a clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from workflow_steps import ROOT, Step, commands, missing, read, schema_problems, scripts, unparsed, unsafe

from rankbench.testing.scaffold import write_plugin

pytestmark = pytest.mark.lint

FLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")

needs_shell = pytest.mark.skipif(not (shutil.which("bash") and shutil.which("make")), reason="needs bash and make")

ELSEWHERE = {"macos-latest", "windows-latest"}
"""Machines whose steps are not run here."""


def test_there_are_workflows_for_all_that_is_promised() -> None:
    assert {path.stem for path in FLOWS} == {"tests", "weekly", "gate", "release", "docs"}
    assert all(f"`{path.name}`" in PAGE for path in FLOWS)
    tests = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert tests["linux"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert asked == ">=3.11"
    assert "continue-on-error" not in tests["linux"]
    assert set(tests["elsewhere"]["strategy"]["matrix"]["os"]) == ELSEWHERE
    assert tests["elsewhere"]["continue-on-error"] is True
    release = read(ROOT / ".github" / "workflows" / "release.yml")
    assert release["on"] == {"push": {"tags": ["v*"]}}
    assert release["jobs"]["publish"]["needs"] == "build"


def test_they_are_valid_by_the_schema() -> None:
    assert schema_problems(FLOWS) == ""


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_rights_are_few(path: Path) -> None:
    assert unsafe(path) == []


def every_step() -> list[tuple[str, Step]]:
    return [(path.stem, step) for path in FLOWS for step in scripts(path)]


@needs_shell
@pytest.mark.parametrize(("flow", "step"), every_step(), ids=lambda one: one.name if isinstance(one, Step) else one)
def test_each_step_is_a_script_of_commands_that_exist(flow: str, step: Step) -> None:
    assert unparsed(step.script) == ""
    found = commands(step.script)
    assert found
    assert [why for words in found if (why := missing(words))] == []


SHORT = {
    "tests": {"ARGS": "tests/stats/test_log_ratios.py", "TESTS": "tests/stats/test_log_ratios.py"},
    "gate": {"GITHUB_BASE_REF": "main", "BUDGET": "60s"},
    "release": {"ARGS": "tests/stats/test_log_ratios.py", "GITHUB_REF_NAME": "v{version}"},
    "weekly": {"ARGS": "tests/stats/test_change_points.py"},
}
"""What a runner gives to the steps of a workflow, and fewer tests: those are run elsewhere."""

LEFT_OUT = {"elsewhere", "faults", "laws", "peers", "speed"}
"""Jobs for other machines, and those that run whole campaigns whatever ARGS are."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone of what is checked in here, with a main branch of its origin and a dated changelog."""
    folder = tmp_path_factory.mktemp("clone") / "rankbench"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    run(folder, "git update-ref refs/remotes/origin/main HEAD")
    log = folder / "CHANGELOG.md"
    dated = re.sub(r"^## \[Unreleased\]: (\S+)$", r"## [\1] - 2026-01-31", log.read_text(encoding="utf-8"), flags=re.M)
    log.write_text(dated, encoding="utf-8")
    return folder


def run(folder: Path, script: str, **more: str) -> None:
    """Run a step as GitHub's runners do: bash that ends at the first error, of a pipe too."""
    dropped = ("MAKEFLAGS", "MAKELEVEL", "PYTHONPATH", "RANKBENCH_DATA", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in dropped} | more
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


@pytest.mark.long
@needs_shell
@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_the_steps_run_on_a_clone(path: Path, clone: Path) -> None:
    version = tomllib.loads((clone / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    given = {key: value.format(version=version) for key, value in SHORT.get(path.stem, {}).items()}
    steps = [step for step in scripts(path) if step.job not in LEFT_OUT]
    assert steps
    for step in steps:
        run(clone, step.script, **given)


def block(language: str, first: str = "") -> str:
    (found,) = re.findall(rf"^```{language}\n({first}.*?)^```$", PAGE, re.M | re.S)
    return str(found)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    return write_plugin("my-method", "method", tmp_path)


def test_the_gate_is_the_one_that_is_written(plugin: Path) -> None:
    assert block("yaml") == (plugin / ".github" / "workflows" / "gate.yml").read_text(encoding="utf-8")


def test_the_script_does_what_the_workflows_do(plugin: Path) -> None:
    """Each command of tests and gate, in their order; only a format and the name of the branch differ."""
    script = block("sh", "set -eu")
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
