"""Documents on a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import TYPE_CHECKING

from rankbench.reports.document.tree import Bullets, Details, Grid, Heading, Image, Node, Paragraph, Quote

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["terminal_of"]


def terminal_of(blocks: Sequence[Node]) -> RenderableType:
    """Return blocks as they are printed: a table's last column has the room that is left, and one line a row."""
    from rich.console import Group

    return Group(*(_block(block) for block in blocks))


def _block(block: Node) -> RenderableType:
    from rich.markdown import Markdown
    from rich.padding import Padding

    match block:
        case Heading(_, text):
            title = _inline(text)
            title.stylize("bold")
            return title
        case Paragraph(text):
            return Markdown(text)
        case Bullets(items):
            return Markdown("\n".join(f"- {item}" for item in items))
        case Quote(paragraphs, items):
            return Padding(
                terminal_of([*map(Paragraph, paragraphs), *([Bullets(items)] if items else [])]), (0, 0, 0, 2)
            )
        case Grid():
            return _grid(block)
        case Image(words, path):
            return _inline(f"{words}: {path}")
        case Details(summary, inner):
            return terminal_of([Heading(3, summary), *inner])


_INLINE = re.compile(r"\\(?P<escaped>\d+[.)]|[^\w\s]|_)|(?P<code>(?P<fence>`+) ?.+? ?(?P=fence))|(?P<mark>\*{1,3})")


def _inline(text: str) -> Text:
    """Return a line of Markdown as text: what was escaped is itself again, marks are styles."""
    from rich.text import Text

    found, styles, at = Text(), "", 0
    for token in _INLINE.finditer(text):
        found.append(unescape(text[at : token.start()]), styles)
        at = token.end()
        if token["mark"]:
            styles = "" if styles else ("italic", "bold", "bold italic")[len(token["mark"]) - 1]
        elif token["code"]:
            found.append(token["code"].strip("`").strip().replace("\\|", "|"), f"{styles} cyan".strip())
        else:
            found.append(token["escaped"], styles)
    found.append(unescape(text[at:]), styles)
    return found


def _grid(grid: Grid) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    titles = [_inline(column.title) for column in grid.columns]
    rows = [[_inline(cell) for cell in row] for row in grid.rows]
    for i, (column, title) in enumerate(zip(grid.columns, titles, strict=True)):
        if i == len(titles) - 1:
            table.add_column(title, justify=column.align, no_wrap=True, overflow="ellipsis", ratio=1)
            continue
        # As wide as its cells, so that they are never cut; its title is folded.
        words = [len(word) for word in title.plain.split()]
        width = max([*words, *(row[i].cell_len for row in rows)], default=1)
        table.add_column(title, justify=column.align, width=width)
    for row in rows:
        table.add_row(*row)
    return table
