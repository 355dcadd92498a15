"""Contenders that other people's packages compute: versions on the leaderboard, missing ones skipped."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from competing import executed

import rankbench
from rankbench.aggregators.elo import Elo
from rankbench.aggregators.rates import WinRate
from rankbench.core.code_digest import version
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.protocols import rankbench_register
from rankbench.protocols.btl import BTL

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


PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocols.md"


def test_the_page_lists_the_built_in_protocols_with_their_data() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| (\w+)s \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    found = {(cls.name, cls.table is None, cls.contender) for cls in rankbench_register()}
    assert {(name, data == "populations of its own", kind) for name, data, kind in rows} == found


def test_btl_judges_scores_against_limit_scores_and_says_so() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (assumption,) = [text for text in BTL().assumptions() if "limit scores" in text]
    assert "an item's label less the mean label of the query's other items" in assumption
    assert "limit scores (27)" in page
    data, loss = rankbench.get(rankbench.Dataset, "web10k-like:queries=12"), rankbench.get(rankbench.Loss, "ndcg")
    ready = BTL(design=5, heldout=5).prepare(data, 1)
    (found,) = executed(ready, ["feature:index=3"], ("ndcg",), n=40).values()
    for split in ("design", "heldout"):
        offsets, x, labels = (ready.arrays[f"{split}.{name}"] for name in ("offsets", "x", "labels"))
        for q, value in enumerate(found.losses["ndcg", split]):
            own = slice(offsets[q], offsets[q + 1])
            r, alpha = labels[own], x[own, 3].astype(np.float64)
            limit = [r[i] - np.delete(r, i).mean() for i in range(len(r))]
            assert value == pytest.approx(loss.value(alpha, np.array(limit)), abs=1e-9)
