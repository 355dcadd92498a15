"""What ``run`` and ``plan`` show of text from outside."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from rankbench import api
from rankbench.runner.plan import Planned


def test_reasons_of_failures_are_short_and_plain(rankbench, monkeypatch):
    reason = "\x1b[2J[/red] [bold]broken" + "x" * 10_000
    results = SimpleNamespace(directory=Path("out"), claims=pl.DataFrame(), failures={reason: 3})
    monkeypatch.setattr(api, "run", lambda *args, **kwargs: results)
    done = rankbench("run", "--suite", "demo")
    assert done.exit_code == 1
    assert "\x1b[2J" not in done.output
    assert "\\x1b[2J[/red] [bold]broken" in done.stderr.replace("\n", "")
    assert 300 < done.stderr.count("x") <= 500
    assert "3 cells failed" in done.stderr


def test_plan_shows_notes_and_labels_as_they_are(rankbench, monkeypatch):
    member = SimpleNamespace(experiment="one", n=5, label="[red]a[/b]\x1b[2J", spec="erm")
    planned = SimpleNamespace(members=[member], tasks=[], suite=SimpleNamespace(name="s"))
    source = SimpleNamespace(notes=("note [/x]\x1b[2J",), dataset="data\x1b[2J", protocol=None, units={})
    monkeypatch.setattr(api, "planned", lambda *args, **kwargs: Planned([source], {}, planned))
    done = rankbench("plan")
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    for text in ("[red]a[/b]\\x1b[2J", "note [/x]\\x1b[2J", "data\\x1b[2J"):
        assert text in done.output


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300"])
def test_a_timeout_is_a_number_of_seconds(rankbench, tmp_path, seconds):
    shown = rankbench("run", "--timeout", seconds, "--out", str(tmp_path / "out"))
    assert shown.exit_code == 2
    assert "a timeout is a number of seconds" in shown.stderr
    assert not (tmp_path / "out").exists()
