"""Documents: blocks, and what writers make of them."""

from __future__ import annotations

import math

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from rankbench.core.text import code, markdown
from rankbench.reports.document import (
    Bullets,
    Column,
    Details,
    Grid,
    Heading,
    Image,
    Node,
    Paragraph,
    Quote,
    csv_of,
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
        Quote(("First.", "Then:"), ("one", "two")),
        Bullets(("three", "four")),
        GRID,
        Image("A figure", "figures/a.svg"),
        Details("More", (Paragraph("inside"),)),
    ]
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown_of(blocks))
    kinds = [token.type for token in tokens if token.type.endswith("_open") or token.type == "html_block"]
    expected = ["heading_open", "paragraph_open", "blockquote_open", "bullet_list_open", "table_open", "html_block"]
    assert [kind for kind in dict.fromkeys(kinds) if kind in expected] == expected
    assert [token.content for token in tokens if token.type == "inline"][-2:] == [
        "![A figure](figures/a.svg)",
        "inside",
    ]
    aligned = [token.attrs.get("style", "") for token in tokens if token.type == "th_open"]
    assert aligned == ["", "text-align:right", "text-align:center"]


def test_a_table_without_titles_has_an_empty_head() -> None:
    assert markdown_of([Grid.from_rows([Column(""), Column("")], [("a", "b")])]) == "| | |\n|---|---|\n| a | b |"


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
