"""The end of a run in a terminal: claims in order, foreign text as text."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import synthetic
from rich.console import Console

from rankbench.reports.document import Grid
from rankbench.reports.render import frames
from rankbench.reports.results import claims_of_a_run, run_summary


def shown(claims: list[tuple[str, str, str]], origin: str = "beforehand") -> str:
    frame = pl.DataFrame(
        [
            {
                "claim": c,
                "text": t,
                "split": "design",
                "about": "design",
                "units": "design queries",
                "verdict": v,
                "origin": origin,
            }
            for c, t, v in claims
        ]
    )
    console = Console(width=200, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(run_summary(Path("out"), frame))
    return captured.get()


def test_brackets_are_no_markup_and_escapes_are_gone() -> None:
    text = shown([("C[red]1", "[link=http://x]a[/link] [/nothing]\x1b[2J", "[bold]yes")])
    assert "C[red]1" in text
    assert "[link=http://x]a[/link] [/nothing]" in text
    assert "[bold]yes" in text
    assert "\x1b[2J" not in text


def test_claims_come_in_the_order_of_their_numbers() -> None:
    ids = ["C10", "C2", "C8", "C1", "C" + "9" * 30]
    text = shown([(name, f"claim <{name}>", "yes") for name in ids])
    found = sorted(ids, key=lambda name: text.index(f"<{name}>"))
    assert found == ["C1", "C2", "C8", "C10", "C" + "9" * 30]


def test_claims_written_knowing_results_say_so() -> None:
    known = "† written knowing earlier results"
    text = shown([("C1", "a is less", "yes")], "post hoc")
    assert known in text
    assert "C1 †" in text
    assert "†" not in shown([("C1", "a is less", "yes")])


def test_a_claim_has_one_line_in_eighty_columns_and_verdicts_are_whole() -> None:
    verdicts = ["held", "did not hold", "could not tell"]
    frame = pl.DataFrame(
        [
            {"claim": f"C{i}", "text": f"Claim {i} " + "of many words " * 20, "about": split, "units": units,
             "verdict": verdicts[(i + j) % 3], "origin": "beforehand"}
            for i in range(21)
            for j, (split, units) in enumerate((("design", "design queries"), ("heldout", "held-out queries")))
        ]
    )  # fmt: skip
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(run_summary(Path("out"), frame))
    lines = captured.get().splitlines()
    assert len(lines) <= 21 + 9
    assert max(len(line) for line in lines) <= 80
    rows = [line for line in lines if "of many words" in line]
    assert len(rows) == 21
    for i, line in enumerate(rows):
        assert re.match(rf" *C{i} +{verdicts[i % 3]}  +{verdicts[(i + 1) % 3]}  +Claim {i} of many", line)
    text = " ".join(captured.get().split())
    assert "design queries: 7 could not tell, 7 did not hold, 7 held; held-out queries: 7 could not tell" in text


def test_units_are_called_by_their_names(tmp_path: Path) -> None:
    """As on the leaderboard: populations, worlds, sessions; also of claims about curves, which have no split."""
    plan = synthetic.small()
    contrast = {"a": "logistic", "b": "regression k=1"}
    plan.extra = {"claims": [{"id": "C1", "text": "a", "kind": "less", "contrasts": [contrast]}]}
    titles = {"design": "Populations (drawn [anew])", "heldout": "Held-out sessions"}
    synthetic.write(tmp_path, [plan], splits=titles)
    claims = frames(tmp_path)["claims"]
    assert claims["units"].unique(maintain_order=True).to_list() == ["populations", "held-out sessions"]
    assert header(tmp_path, claims) == ["claim", "populations", "held-out sessions"]
    curves = claims.head(1).with_columns(split=pl.lit(None, pl.String))
    assert header(tmp_path, curves) == ["claim", "populations"]
    other = claims.with_columns(units=pl.lit("worlds"))
    assert header(tmp_path, pl.concat([claims, other])) == [
        "claim",
        "populations / worlds",
        "held-out sessions / worlds",
    ]


def header(folder: Path, claims: pl.DataFrame) -> list[str]:
    """Return the titles of the table's columns; the last one has none."""
    grid = claims_of_a_run(claims)[0]
    assert isinstance(grid, Grid)
    *titles, last = [column.title for column in grid.columns]
    assert last == ""
    return titles


def test_files_that_are_there_are_listed(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    for name in ("leaderboard.md", "units.csv", "figures/a.png", "figures/a.svg", "other.csv"):
        (tmp_path / name).touch()
    console = Console(width=400, color_system=None)
    with console.capture() as captured:
        console.print(run_summary(tmp_path, pl.DataFrame()))
    names = ("leaderboard.md", "units.csv", "figures/ (2 pictures)")
    paths = [f"{tmp_path}/{name}" for name in names]
    assert captured.get().splitlines() == [f"open {paths[0]}", *paths[1:]]
    with console.capture() as captured:
        console.print(run_summary(tmp_path, pl.DataFrame(), ["Use **a\\_b** (`a`).", "No `x` is better."]))
    assert [line.rstrip() for line in captured.get().splitlines()] == ["Use a_b (a).", "No x is better.", *paths]
