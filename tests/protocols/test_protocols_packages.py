"""Contenders that other people's packages compute: versions on the leaderboard, missing ones skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankbench
from rankbench.aggregators.elo import Elo
from rankbench.aggregators.rates import WinRate
from rankbench.core.code_digest import version
from rankbench.errors import ContenderDiverged, SpecError

SUITE = """
name = "borrowed"
title = "Borrowed"
seed = 3
protocol = "own-log"
dataset = "llmfao"
[[experiments]]
name = "methods"
title = "Methods"
losses = ["disagreement"]
contenders = [{ use = "win-rate" }, { use = "elo" }, { use = "borda" }]
[[experiments]]
name = "items"
title = "Items"
protocol = "items:replicates=0"
losses = ["score", "lower", "upper", "rank-low", "rank-high"]
contenders = [{ use = "win-rate" }, { use = "elo" }, { use = "borda" }]
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rankbench.Results:
    def missing(*_: object) -> None:
        raise SpecError("the package 'nowhere' is not installed")

    def diverging(*_: object) -> None:
        raise ContenderDiverged("no maximum")

    monkeypatch.setattr(WinRate, "packages", ("nowhere", "numpy", "click"))
    monkeypatch.setattr(WinRate, "from_counts", missing)
    monkeypatch.setattr(Elo, "from_comparisons", diverging)
    (tmp_path / "borrowed.toml").write_text(SUITE)
    return rankbench.run(str(tmp_path / "borrowed.toml"), out=tmp_path / "out")


def test_they_are_rows_with_a_status_and_not_failures(results: rankbench.Results) -> None:
    assert results.failures == {}
    found = {(r["experiment"], r["contender"]): (r["status"], r["reason"]) for r in results.rows.iter_rows(named=True)}
    for experiment in ("methods", "items"):
        assert found[experiment, "win-rate"] == ("skipped", "the package 'nowhere' is not installed")
        assert found[experiment, "elo"] == ("diverged", "no maximum")
        assert found[experiment, "borda"] == ("done", "")


def test_the_leaderboard_has_the_versions_of_packages_and_says_what_was_missing(results: rankbench.Results) -> None:
    text = (results.directory / "leaderboard.md").read_text()
    made = text.partition("## What made this")[2]
    assert f"- click `{version('click')}`" in made
    assert "- nowhere `missing`" in made
    assert made.count("- numpy ") == 1
    assert "the package 'nowhere' is not installed" in text
