"""Documents: blocks, and what writers make of them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from rankbench.core.text import code, markdown
from rankbench.reports.document import (
    Bullets,
    Column,
    Grid,
    Heading,
    Image,
    Node,
    Paragraph,
    RowsLeftOut,
    csv_of,
    first_rows,
    markdown_of,
    terminal_of,
)

GRID = Grid.from_rows(
    [Column("a"), Column("b", "right"), Column("c", "center")], [("x", "1", "[0, 2]"), ("y", "2", "—")]
)
FOREIGN = [
    "a*b_c",
    "[link=x]y[/link]",
    "1. <b>&amp;",
    "| pipe \\ slash",
    "`tick`",
    "# no title",
    "- no item",
    "é ⚡ ~~x~~",
]


def printed(*blocks: Node, width: int = 80) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(terminal_of(blocks))
    return captured.get()


def test_every_block_is_the_markdown_that_a_parser_reads_back() -> None:
    blocks = [
        Heading(2, "Title"),
        Paragraph("Some **bold** words."),
        Bullets(("three", "four")),
        GRID,
        Image("A figure", "figures/a.svg"),
    ]
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown_of(blocks))
    kinds = [token.type for token in tokens if token.type.endswith("_open")]
    expected = ["heading_open", "paragraph_open", "bullet_list_open", "table_open"]
    assert [kind for kind in dict.fromkeys(kinds) if kind in expected] == expected
    assert [token.content for token in tokens if token.type == "inline"][-1] == "![A figure](figures/a.svg)"
    aligned = [token.attrs.get("style", "") for token in tokens if token.type == "th_open"]
    assert aligned == ["", "text-align:right", "text-align:center"]


def test_a_long_table_says_where_its_other_rows_are() -> None:
    assert first_rows(GRID, 2, "a.csv") == [GRID]
    table, said = first_rows(GRID, 1, "a.csv")
    assert (table, said) == (Grid(GRID.columns, GRID.rows[:1]), RowsLeftOut("1 more rows are in [a.csv](a.csv)."))


@pytest.mark.parametrize("text", FOREIGN)
def test_foreign_words_are_themselves_on_a_terminal(text: str) -> None:
    grid = Grid.from_rows([Column("claim"), Column("")], [(markdown(text), f"**{markdown(text)}** and {code(text)}")])
    last = printed(grid).splitlines()[-1 if printed(grid).splitlines()[-1].strip() else -2]
    assert last.split() == [*text.split(), *text.split(), "and", *text.replace("`", "'").split()]


def test_only_the_last_column_of_a_table_is_cut() -> None:
    grid = Grid.from_rows(
        [Column("verdict on held-out queries"), Column("claim")], [("did not hold", "word " * 100)] * 3
    )
    rows = [line for line in printed(grid, width=40).splitlines() if "did not hold" in line]
    assert len(rows) == 3
    assert all(line.rstrip().endswith("…") and len(line) <= 40 for line in rows)


def test_csv_has_digits_that_do_not_depend_on_last_bits() -> None:
    rows = [("a,b", 1, 0.1 + 0.2, math.nan, 3e-9), ("=x", True, -1e-9, None, math.nan)]
    assert csv_of(["t", "n", "v", "w", "e"], rows, {"e"}).splitlines() == [
        "t,n,v,w,e",
        '"a,b",1,0.300000,,3.00e-09',
        "'=x,true,0.000000,,",
    ]


LONG = st.text("ab,=", max_size=40).map(lambda end: f"erm:surrogate=regression,{end}.")


@given(st.lists(LONG, unique=True, min_size=1, max_size=4), st.integers(16, 90))
def test_names_of_rows_are_printed_whole_in_any_room(names: list[str], width: int) -> None:
    """Labels that were cut would be alike."""
    grid = Grid.from_rows([Column("contender"), Column("x", "right")], [(markdown(name), "7") for name in names])
    lines = printed(grid, width=width).splitlines()
    folded = "".join(re.sub(r" +7? *$", "", line).strip() for line in lines)
    assert all(name in folded for name in names)
