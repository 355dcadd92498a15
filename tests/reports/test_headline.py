"""How a run ends on a terminal: the table of the headline experiment and who is best, no wider than the terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import synthetic
from rich.console import Console
from synthetic import Contender, Plan

from rankbench.reports.headline import MOST_SHOWN, Headline
from rankbench.reports.render import Report, report
from rankbench.reports.results import run_summary


def ended(folder: Path, contenders: list[Contender], **extra: object) -> Report:
    plan = Plan("e", contenders, n=(100_000, 200_000), repetitions=6, extra=dict(extra))
    return report(synthetic.write(folder, [plan]))


def shown(found: Report, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(run_summary(Path("out"), pl.DataFrame(), found.recommendation, found.headline))
    return captured.get()


@pytest.mark.parametrize("width", [80, 60])
def test_a_run_ends_with_its_table_and_who_is_best(tmp_path: Path, width: int) -> None:
    long = "a contender with a label that is much longer than a terminal has room for, and then some more"
    found = ended(tmp_path, [Contender(long, {}, 0.0, noise=0.0), Contender("bad", {}, 0.2, noise=0.0)])
    text = shown(found, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    table = [line for line in lines if line.split()[:1] in (["a"], ["bad"])]
    (first, last) = [line.split() for line in table[:2]]
    rows = {(row.split, row.contender): row for row in found.headline.rows}
    assert last[0] == "bad"
    assert last[1::2] == [str(rows[split, "bad"].rank_low) for split in ("design", "heldout")]
    assert [float(mean) for mean in last[2::2]] == pytest.approx(
        [rows[split, "bad"].mean for split in ("design", "heldout")], abs=5e-5
    )
    assert "…" in " ".join(first)
    words = " ".join(text.split())
    assert "e, n = 200,000: ndcg, less is better" in words
    assert "is best: it is shown to be better than the other one (by ndcg in e, n = 200,000)." in words


def test_many_contenders_are_cut_and_counted(tmp_path: Path) -> None:
    found = ended(tmp_path, [Contender(f"c{i:02}", {}, 0.01 * i) for i in range(MOST_SHOWN + 3)])
    text = shown(found, 80)
    assert "and 3 more: see leaderboard.md" in text
    assert f"c{MOST_SHOWN - 1:02} " in text
    assert f"c{MOST_SHOWN:02} " not in text


def test_plain_values_have_no_nan(tmp_path: Path) -> None:
    rows = ended(tmp_path, [Contender("good", {}, 0.0), Contender("bad", {}, 0.2)]).headline.as_dict()["headline"]
    assert {row["n"] for row in rows} == {200_000}
    assert all(value == value for row in rows for value in row.values())


def test_nothing_that_is_compared_is_nothing_to_show() -> None:
    assert Headline(()).nodes() == []
    assert Headline(()).as_dict() == {"who_is_best": [], "headline": []}
