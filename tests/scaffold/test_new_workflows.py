"""The workflows of a new plugin: valid, safe, and of commands that exist; their steps are run as scripts."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from workflow_steps import commands, missing, schema_problems, scripts, unparsed, unsafe

from rankbench.scaffold import PLUGIN_KINDS, write_plugin
from rankbench.scaffold.plugin import GATES


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("plugins")
    return {kind: write_plugin(f"rankbench-made-{kind}", kind, folder) for kind in PLUGIN_KINDS}


def flows(plugin: Path) -> list[Path]:
    return sorted((plugin / ".github" / "workflows").iterdir())


def test_every_kind_has_tests_and_a_release_and_what_can_be_compared_a_gate(plugins: dict[str, Path]) -> None:
    for kind, plugin in plugins.items():
        gate = {"gate.yml"} if kind in GATES else set()
        assert {path.name for path in flows(plugin)} == {"tests.yml", "release.yml"} | gate
    assert {"aggregator", "surrogate", "method", "suite", "dataset"} < GATES.keys()


def test_they_are_valid_by_the_schema(plugins: dict[str, Path]) -> None:
    assert schema_problems([path for plugin in plugins.values() for path in flows(plugin)]) == ""


def test_they_are_safe_and_their_commands_exist(plugins: dict[str, Path]) -> None:
    for plugin in plugins.values():
        for path in flows(plugin):
            assert unsafe(path) == []
            for step in scripts(path):
                assert unparsed(step.script) == ""
                assert [why for words in commands(step.script) if (why := missing(words, plugin))] == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["method", "suite", "reader"])
def test_the_steps_run_in_a_new_repository(kind: str, tmp_path: Path) -> None:
    """As on a runner: the first commit, then its steps with an environment that has rankbench already."""
    plugin = write_plugin(f"rankbench-made-{kind}", kind, tmp_path)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    site = next(venv.glob("lib/python*/site-packages"))
    # A .pth file of this environment is read too: rankbench may be installed editable.
    (site / "around.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    command = venv / "bin" / "rankbench"
    # As pip writes it: workers load this file too, and must not run it again.
    started = "if __name__ == '__main__':\n    main(prog_name='rankbench')\n"
    command.write_text(f"#!{venv / 'bin' / 'python'}\nfrom rankbench.cli import main\n{started}")
    command.chmod(0o755)
    git = "git -c user.name=a -c user.email=a@example.org"
    environment = os.environ | {
        "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's inverted sense: without isolation
        "PIP_NO_INDEX": "1",
        "GITHUB_BASE_REF": "main",
        "GITHUB_REF_NAME": "v0.1.0",
    }

    def run(script: str) -> None:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=plugin, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"

    run(
        f"git init -q -b main . && git add -A && {git} commit -qm first && git update-ref refs/remotes/origin/main HEAD"
    )
    for path in flows(plugin):
        for step in scripts(path):
            run(step.script)
