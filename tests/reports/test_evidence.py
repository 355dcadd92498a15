"""The claims on a leaderboard: what they promise, and the intervals behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import synthetic

from rankbench.reports.render import frames, report

LATE = "written knowing earlier results"


def claims(folder: Path, *origins: str, queries: dict[str, int] | None = None, **source: Any) -> str:
    plan = synthetic.small()
    contrast = {"a": "logistic", "b": "regression k=1"}
    plan.extra = {
        "claims": [
            {"id": f"C{i}", "text": f"Claim {i}", "kind": "less", "contrasts": [contrast], "origin": origin}
            for i, origin in enumerate(origins)
        ]
    }
    synthetic.write(folder, [plan], queries, **source)
    report(folder)
    text = (folder / "leaderboard.md").read_text()
    return text[text.index("## The claims") : text.index("## How to read")]


def test_claims_of_beforehand(tmp_path: Path) -> None:
    text = claims(tmp_path, "beforehand", "beforehand")
    assert text.startswith("## The claims, declared before the run\n")
    assert LATE not in text
    assert "Verdicts are about this data, these minimizers and these queries." in text
    assert "| alone | all at once | all at once, over draws |" in text
    assert "resampled" not in text


def test_claims_that_knew(tmp_path: Path) -> None:
    text = claims(tmp_path, "post hoc", "post hoc")
    assert text.startswith(f"## The claims, {LATE}\n")
    assert "before the run" not in text
    assert text.count(f"*({LATE})*") == 4
    assert frames(tmp_path)["claims"]["origin"].unique().to_list() == ["post hoc"]


def test_some_of_each_are_told_apart(tmp_path: Path) -> None:
    text = claims(tmp_path, "beforehand", "post hoc")
    assert text.startswith("## The claims\n")
    assert "declared before the run. Those marked" in text
    assert f"**C1** Claim 1. *({LATE})*" in text
    assert "**C0** Claim 0. |" in text


def test_splits_of_one_table_have_one_interval(tmp_path: Path) -> None:
    splits = {"heldout": "Test pairs"}
    text = claims(tmp_path, "beforehand", queries={"heldout": 1}, test_share=0.25, splits=splits)
    assert "Verdicts are about this data and these minimizers." in text
    assert "Intervals are those of the corrected resampled t" in text
    assert "| contrast | on | difference | alone | all at once |" in text
    assert "over queries" not in text
    rows = [line for line in text.splitlines() if line.startswith("| logistic vs")]
    assert rows
    assert {line.count("|") for line in rows} == {6}


def test_verdicts_are_about_what_is_judged(tmp_path: Path) -> None:
    text = claims(tmp_path, "beforehand", queries={"design": 20}, splits={"design": "Populations"})
    assert "this data, these minimizers and these populations." in text
