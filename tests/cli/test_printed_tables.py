"""A table in a pipe is what rich makes of it, whether rich was needed or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rankbench.cli.output import PIPE_WIDTH, _fitted, padded_lines, print_table

CELLS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)


def lines_of_rich(columns: list[str], rows: list[list[str]]) -> list[str]:
    gap, widths = _fitted(columns, rows, PIPE_WIDTH)
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=any(columns))
    for column, width in zip(columns, widths, strict=True):
        table.add_column(Text(column), overflow="fold", width=width)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=PIPE_WIDTH, highlight=False, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=2, max_size=6)))
def test_lines_are_those_of_rich(cells):
    columns, *rows = cells
    assert padded_lines(columns, rows) == lines_of_rich(columns, rows)


@pytest.mark.parametrize("cell", ["two\nlines", "a\ttab", "\N{GREEK SMALL LETTER PHI}", "x" * (PIPE_WIDTH + 1)])
def test_what_is_not_one_line_of_plain_letters_is_left_to_rich(cell):
    assert padded_lines(["name"], [[cell]]) is None
    assert padded_lines([cell], [["name"]]) is None


def test_a_table_of_nothing_is_left_to_rich():
    assert padded_lines(["", ""], []) is None


@pytest.mark.parametrize("cell", ["a", "\N{GREEK SMALL LETTER PHI}"])
def test_heads_in_a_pipe_are_plain_whatever_colors_are_asked_for(cell, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_table(["name"], [[cell]], title="one")
    assert capsys.readouterr().out == f"one\nname\n{cell}\n"
