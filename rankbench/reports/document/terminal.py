"""Documents on a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import TYPE_CHECKING

from rankbench.reports.document.tree import Bullets, Details, Grid, Heading, Image, Node, Paragraph, Quote

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.text import Text

__all__ = ["terminal_of"]

GAP = 2
"""Spaces between columns of a table, one of which is that of its lines."""

EDGES = 2
"""Spaces at the edges of a table."""

LEAST = 8
"""Letters that are left of the words of a table, however narrow the terminal."""


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
    return _Fitted(grid)


class _Fitted:
    """A table as wide as its cells, or as the terminal: the widest column of words is cut where room is short."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        columns = self.grid.columns
        titles = [_inline(column.title) for column in columns]
        rows = [[_inline(cell) for cell in row] for row in self.grid.rows]
        # As wide as its cells; its title is folded.
        widths = [
            max([1, *(len(word) for word in title.plain.split()), *(row[i].cell_len for row in rows)])
            for i, title in enumerate(titles)
        ]
        words = [i for i, column in enumerate(columns) if column.align == "left"]
        cut = max(words, key=lambda i: widths[i], default=None)
        if cut is not None:
            room = options.max_width - EDGES - GAP * (len(columns) - 1) - sum(widths) + widths[cut]
            widths[cut] = max(LEAST, min(widths[cut], room))
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0))
        for column, title, width in zip(columns, titles, widths, strict=True):
            table.add_column(title, justify=column.align, width=width, no_wrap=False, overflow="ellipsis")
        for row in rows:
            for i, cell in enumerate(row):
                cell.truncate(widths[i], overflow="ellipsis")
            table.add_row(*row)
        yield table
