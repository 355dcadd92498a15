"""Which way a change goes stands in the head of its column, and in a clause above the table."""

from __future__ import annotations

import math

import pytest
import synthetic
from click.testing import CliRunner

from rankbench.cli.compare import compare
from rankbench.tracking.comparison import (
    Change,
    ChangeSubject,
    Comparison,
    cells_of,
    columns_of,
    comparison_markdown,
    how_to_read,
)


def change(about: ChangeSubject, size: float = 0.25) -> Change:
    return Change("e, n = 5", "a", 1.0, 1.25, size, "worse", "5 launches", size - 0.1, size + 0.1, 0.001, about=about)


@pytest.mark.parametrize(
    ("about", "head", "clause"),
    [
        (("quality",), "change (+ worse)", "+ is worse, whether more or less of the metric is good"),
        (("speed",), "change (+ slower)", "+ is slower"),
        (("ranking",), "change (+ fell)", "+ is a fall"),
        (("speed", "quality"), "change (+ worse or slower)", "; of a time it is a share of base's, and + is slower"),
    ],
)
def test_the_head_says_which_way(about: tuple[ChangeSubject, ...], head: str, clause: str) -> None:
    changes = [change(one) for one in about]
    assert columns_of(changes)[5] == head
    assert len(columns_of(changes)) == len(cells_of(changes[0]))
    assert clause in how_to_read(changes)
    page = comparison_markdown(Comparison("b", "h", tuple(changes), "0", 0.01))
    assert page.index(clause) < page.index(f"| {head} |")


def test_times_are_shares_and_metrics_differences() -> None:
    slower = change("speed", math.log(1.25))
    assert cells_of(slower)[5] == "+25%"
    assert cells_of(slower)[6] == "[+13.1%, +38.1%]"  # 1.25 exp(-.1) and 1.25 exp(.1)
    assert cells_of(change("quality"))[5:7] == ("+0.25", "[+0.15, +0.35]")


def test_the_terminal_has_it_above_the_table(tmp_path) -> None:
    for name, effect in (("base", 0.0), ("head", 0.05)):
        plan = synthetic.small()
        for contender in plan.contenders:
            contender.effect += effect
        synthetic.write(tmp_path / name, [plan])
    shown = CliRunner().invoke(compare, [str(tmp_path / "base"), str(tmp_path / "head")]).stdout.splitlines()
    assert shown[0].startswith("A change is head against base: of a metric it is a difference, and + is worse")
    assert "change (+ worse)" in shown[1]
