"""The end of a run in a terminal: claims in order, foreign text as text."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.console import Console

from rankbench.results.summary import summary


def shown(claims: list[tuple[str, str, str]], origin: str = "beforehand") -> str:
    frame = pl.DataFrame(
        [{"claim": c, "text": t, "split": "design", "verdict": v, "origin": origin} for c, t, v in claims]
    )
    console = Console(width=200, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(summary(Path("out"), frame))
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
    known = "a is less (written knowing earlier results)"
    assert known in shown([("C1", "a is less", "yes")], "post hoc")
    assert known not in shown([("C1", "a is less", "yes")])
