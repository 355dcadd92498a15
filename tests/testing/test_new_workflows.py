"""The workflows of a new plugin: valid, safe, and of commands that exist; their steps are run as scripts."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from workflow_steps import ROOT, commands, missing, schema_problems, scripts, unparsed, unsafe

from rankbench.testing.scaffold import GATES, PLUGIN_KINDS, write_plugin

pytestmark = pytest.mark.lint


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("plugins")
    return {kind: write_plugin(f"rankbench-made-{kind}", kind, folder) for kind in PLUGIN_KINDS}


def flows(plugin: Path) -> list[Path]:
    return sorted((plugin / ".github" / "workflows").iterdir())


def test_every_kind_has_tests_pages_and_a_release_and_what_can_be_compared_a_gate(plugins: dict[str, Path]) -> None:
    for kind, plugin in plugins.items():
        gate = {"gate.yml"} if kind in GATES else set()
        assert {path.name for path in flows(plugin)} == {"tests.yml", "release.yml", "docs.yml"} | gate
    # No contender's result depends on what is left: how files are read and checked, what is claimed and drawn.
    assert set(PLUGIN_KINDS) - GATES.keys() == {"reader", "table", "claim", "figure"}


def test_they_are_valid_by_the_schema(plugins: dict[str, Path]) -> None:
    assert schema_problems([path for plugin in plugins.values() for path in flows(plugin)]) == ""


def test_they_are_safe_and_their_commands_exist(plugins: dict[str, Path]) -> None:
    for plugin in plugins.values():
        for path in flows(plugin):
            assert unsafe(path) == []
            for step in scripts(path):
                assert unparsed(step.script) == ""
                assert [why for words in commands(step.script) if (why := missing(words, plugin))] == []


def test_what_a_step_needs_is_installed(plugins: dict[str, Path]) -> None:
    """The build backend too, with which the release is built."""
    for plugin in plugins.values():
        about = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))
        assert set(about["build-system"]["requires"]) <= set(about["project"]["optional-dependencies"]["test"])
        for flow, extra in (("tests.yml", "test"), ("release.yml", "test"), ("docs.yml", "docs")):
            step = scripts(plugin / ".github" / "workflows" / flow)[0]
            assert '"$RANKBENCH"' in step.script
            assert f".[{extra}]" in step.script


class Runner:
    """What GitHub does with a plugin's repository: steps as scripts, in an environment of its own.

    Parameters
    ----------
    folder : Path
        Whose parent the steps may write to.
    around : Path
        Site folder that the environment of the job sees too.
    more : str
        Variables.
    """

    def __init__(self, folder: Path, around: Path, **more: str) -> None:
        self.folder, self.output = folder, folder.parent / "outputs"
        venv = folder.parent / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        site = next(venv.glob("lib/python*/site-packages"))
        # A .pth file of that folder is read too: rankbench may be installed editable.
        (site / "around.pth").write_text(f"import site; site.addsitedir({str(around)!r})\n")
        # As pip writes it: workers load this file too, and must not run it again.
        command, started = venv / "bin" / "rankbench", "if __name__ == '__main__':\n    main(prog_name='rankbench')\n"
        command.write_text(f"#!{venv / 'bin' / 'python'}\nfrom rankbench.cli import main\n{started}")
        command.chmod(0o755)
        kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.environment = kept | {
            "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
            "GITHUB_BASE_REF": "main",
            "GITHUB_REF_NAME": "v0.1.0",
            "GITHUB_OUTPUT": str(self.output),
            "BUDGET": "10s",
            **more,
        }

    def commit(self, *, base: bool) -> None:
        """Commit the plugin to the branch; to `main` too, or, without `base`, nothing before."""
        git = "git -c user.name=a -c user.email=a@example.org"
        self.run(f"git init -q -b main . && {git} commit -q --allow-empty -m nothing && git branch -q before")
        self.run(f"git add -A && {git} commit -qm first")
        self.run(f"git update-ref refs/remotes/origin/main {'HEAD' if base else 'before'}")

    def run(self, script: str) -> str:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def job(self, flow: Path) -> list[str]:
        """Run the steps of a workflow; return the names of those whose condition holds."""
        ran = list[str]()
        self.output.write_text("")
        for step in scripts(flow):
            if "installed" in step.condition and "installed=true" not in self.output.read_text():
                continue
            self.run(step.script)
            ran.append(step.name)
        return ran


@pytest.mark.long
def test_the_steps_of_the_tests_run_without_a_network(tmp_path: Path) -> None:
    """With what this environment has, and an `rankbench` that is there already."""
    plugin = write_plugin("rankbench-made-reader", "reader", tmp_path)
    runner = Runner(
        plugin,
        Path(sysconfig.get_path("purelib")),
        PIP_NO_BUILD_ISOLATION="0",  # pip's inverted sense: without isolation
        PIP_NO_INDEX="1",
        RANKBENCH="rankbench",
    )
    runner.commit(base=True)
    steps = runner.job(plugin / ".github" / "workflows" / "tests.yml")
    assert steps == ["Install", "Test", "Check what it declares", "Check the wheel"]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a wheel of rankbench, and the site folder of an environment with it and what it requires, by pip."""
    folder = tmp_path_factory.mktemp("fresh")
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip"]
    reached = subprocess.run(
        [*pip, "download", "--no-deps", "--dest", str(folder), "hatchling"], capture_output=True, text=True, check=False
    )
    if reached.returncode:
        pytest.skip(f"no package registry is reached: {reached.stderr.strip().splitlines()[-1]}")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, env=os.environ | {"RANKBENCH_PURE_WHEEL": "1"}, check=True)
    (wheel,) = folder.glob("rankbench-*.whl")
    subprocess.run([*pip, "install", "--quiet", str(wheel)], check=True)
    return wheel, next(venv.glob("lib/python*/site-packages"))


@pytest.mark.long
@pytest.mark.parametrize("kind", PLUGIN_KINDS)
def test_the_steps_run_on_a_fresh_runner(kind: str, fresh: tuple[Path, Path], tmp_path: Path) -> None:
    """As on a runner: what is there is Python, pip and, to install it once, rankbench; the rest the steps install."""
    wheel, site = fresh
    plugin = write_plugin(f"rankbench-made-{kind}", kind, tmp_path)
    runner = Runner(plugin, site, RANKBENCH=str(wheel))
    runner.commit(base=True)
    for flow in flows(plugin):
        assert runner.job(flow) == [step.name for step in scripts(flow)]


@pytest.mark.long
def test_a_pull_request_that_adds_a_plugin_passes_and_says_that_nothing_is_compared(
    fresh: tuple[Path, Path], tmp_path: Path
) -> None:
    wheel, site = fresh
    plugin = write_plugin("rankbench-made-method", "method", tmp_path)
    runner = Runner(plugin, site, RANKBENCH=str(wheel))
    runner.commit(base=False)
    steps = runner.job(plugin / ".github" / "workflows" / "gate.yml")
    assert steps == ["Install the change", "Install what it is merged into", "Run the change"]
