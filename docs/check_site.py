"""The built site loads nothing from elsewhere, and so do the pages of a new plugin: `make docs` runs this file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankbench.cli import main
from rankbench.testing.scaffold import PLUGIN_KINDS

ROOT = Path(__file__).resolve().parent.parent
SITE, SPHINX = ROOT / "build" / "docs", ROOT / "build" / "sphinx"


def test_pages_show_formulas_and_load_nothing_from_elsewhere() -> None:
    """Formulas are MathML; scripts, styles and pictures are files of the site."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in SITE.rglob("*.html")}
    loads = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["'](?:https?:)?//""")
    assert [name for name, text in pages.items() if loads.search(text)] == []
    assert re.search(r"<mfrac>.*<munder><mo>∑</mo>", pages["budgeted"], re.S)


def test_the_pages_of_a_new_plugin_of_all_kinds_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One plugin holds a component of each kind."""
    monkeypatch.chdir(tmp_path)
    for kind in PLUGIN_KINDS:
        made = CliRunner().invoke(main, ["new", "plugin", "rankbench-made", "--kind", kind])
        assert made.exit_code == 0, made.output
    plugin = tmp_path / "rankbench-made"
    paths = os.pathsep.join([str(plugin), str(SPHINX)])
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "docs", "build/docs"]
    done = subprocess.run(
        command, cwd=plugin, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    page = (plugin / "build" / "docs" / "index.html").read_text(encoding="utf-8")
    assert "rankbench_made" in page
