"""Known formats that plugins bring: read like those of rankbench, checked, and refused where they are broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import installed
from installed import install_plugin

from rankbench.testing.check import registered_check, run_check, subject_of

FORMAT = (
    """
kind = "votes"
from = "A test"
verified = "none"
needs = ["better", "worse", "hall"]
[columns]
winner = "better"
loser = "worse"
[example]
file = "duels.csv"
text = """
    + "'''better,worse,hall\nann,bob,x\nbob,cy,y\nann,cy,x\n'''"
    + """
[unlike]
file = "more.csv"
text = """
    + "'''better,worse,hall,seen\nann,bob,x,1\nbob,cy,y,2\n'''"
    + """
why = "the column seen is not known"
"""
)

HOOK = """
from pathlib import Path

import rankbench


@rankbench.hookimpl
def rankbench_register():
    return [Path(__file__).with_name("duels.format.toml")]
"""


def site_with(folder: Path, text: str) -> Path:
    """Return a folder on the path with a distribution that brings one format alone."""
    install_plugin(folder, "some-duels", "duels = duels_plugin", duels_plugin=HOOK)
    (folder / "duels.format.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_plugin_of_formats_alone_is_checked_and_its_files_are_read(tmp_path: Path) -> None:
    run = installed(site_with(tmp_path / "site", FORMAT), tmp_path)
    checked = run("check", "some-duels")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "format/duels" in checked.stdout
    (tmp_path / "bouts.csv").write_text("better,worse,hall\nann,bob,x\nann,bob,x\nbob,cy,y\n", encoding="utf-8")
    found = run("aggregate", "bouts.csv", "--method", "borda", "--format", "csv")
    assert found.returncode == 0, found.stderr
    assert [line.split(",")[0] for line in found.stdout.splitlines()[1:]] == ["ann", "bob", "cy"]
    taken = FORMAT.replace("hall,seen", "hall").replace("x,1", "x").replace("y,2", "y")
    site_with(tmp_path / "site", taken)
    checked = run("check", "some-duels")
    assert checked.returncode != 0
    assert "look-alike-is-not-read-by-it" in checked.stdout


@pytest.mark.parametrize("text", ["kind = ", 'kind = "votes"', FORMAT.replace("[columns]", "[column]"), "columns = 3"])
def test_a_broken_format_fails_its_check(tmp_path: Path, text: str) -> None:
    path = tmp_path / "duels.format.toml"
    path.write_text(text, encoding="utf-8")
    result, _ = run_check(subject_of(path), registered_check("example-is-read-by-it"))
    assert result.status == "failed", str(result)
    assert "duels.format.toml: " in result.reason
