"""Documents are blocks, written as Markdown, CSV or terminal text.

Texts are lines of Markdown, in which foreign words are escaped already (`rankbench.core.text`): bold, italic and code
are all that they hold, and in a list of contents links. Blocks know nothing of where they are written to.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from rankbench.core.text import csv_cell
from rankbench.interfaces.cell import Split


@dataclass(frozen=True)
class Heading:
    """A title of a level, 1 to 6."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str


class RowsLeftOut(Paragraph):
    """A sentence on the rows that the table above it leaves out."""


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, and the alignment of its cells."""

    title: str
    align: Literal["left", "center", "right"] = "left"


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes
    ----------
    columns : tuple of Column
    rows : tuple of tuple of str
        A text for each column.
    caption : str
        Its caption where no paragraph above it is one.
    name : str
        Name of its experiment, if it is of one alone.
    split : Split or None
        Split that it shows, if it is one alone.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    name: str = ""
    split: Split | None = None

    @classmethod
    def from_rows(cls, columns: Sequence[Column], rows: Sequence[Sequence[str]], caption: str = "") -> Grid:
        """Return a table of any sequences."""
        return cls(tuple(columns), tuple(tuple(row) for row in rows), caption)


@dataclass(frozen=True)
class Image:
    """A figure in a file beside the document."""

    words: str
    path: str


TerminalNode: TypeAlias = Paragraph | Bullets | Grid
"""Blocks of a terminal."""

Node: TypeAlias = Heading | Paragraph | Bullets | Grid | Image


_MARKS = {"left": "---", "center": ":-:", "right": "--:"}


def markdown_of(blocks: Sequence[Node]) -> str:
    """Return blocks as Markdown, without a line feed at the end."""
    return "\n\n".join(_markdown_block(block) for block in blocks)


def _markdown_block(block: Node) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Grid():
            return _markdown_grid(block)
        case Image(words, path):
            return f"![{words}]({path})"


def _markdown_grid(grid: Grid) -> str:
    head = "| " + " | ".join(column.title for column in grid.columns) + " |"
    marks = "|" + "|".join(_MARKS[column.align] for column in grid.columns) + "|"
    return "\n".join([head, marks, *("| " + " | ".join(row) + " |" for row in grid.rows)])


def first_rows(grid: Grid, limit: int, file: str, name: str = "", split: Split | None = None) -> list[Node]:
    """Return a table of `limit` rows at most, of an experiment and a split, and which CSV file has the others."""
    grid = replace(grid, name=name, split=split)
    left = len(grid.rows) - limit
    if left <= 0:
        return [grid]
    return [replace(grid, rows=grid.rows[:limit]), RowsLeftOut(f"{left:,} more rows are in [{file}]({file}).")]


def csv_of(
    columns: Sequence[str], rows: Iterable[Sequence[object]], exponents: Collection[str] = (), form: str = "z.6f"
) -> str:
    """Return rows as CSV, with empty cells for missing values.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequence
        Texts, numbers, truth values and None, one for each column.
    exponents : collection of str
        Columns whose numbers are written with an exponent and two decimals.
    form : str
        Format of other numbers that are no integers.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    forms = [".2e" if name in exponents else form for name in columns]
    writer.writerows([_cell(*cell) for cell in zip(row, forms, strict=True)] for row in rows)
    return text.getvalue()


def _cell(value: Any, form: str) -> str:
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, str):
        return csv_cell(value)
    return "" if value is None or math.isnan(value) else f"{value:{form}}"


def terminal_of(blocks: Sequence[TerminalNode]) -> RenderableType:
    """Return blocks for printing: names of rows are folded where room is short, and other words cut."""
    return Group(*(_table(block) if isinstance(block, Grid) else Markdown(markdown_of([block])) for block in blocks))


def _inline(text: str) -> Text:
    """Return a line of Markdown as text, without escapes; marks become styles."""
    found, styles = Text(), list[str]()
    for token in (child for block in Markdown(text).parsed for child in block.children or ()):
        if token.nesting > 0:
            styles.append({"strong_open": "bold", "em_open": "italic"}[token.type])
        elif token.nesting < 0:
            styles.pop()
        elif token.type == "code_inline":
            found.append(token.content.replace("\\|", "|"), " ".join([*styles, "cyan"]))
        else:
            found.append(token.content, " ".join(styles))
    return found


def _table(grid: Grid) -> Table:
    """Return a table as wide as its cells; where room is short, columns of words are narrower, the widest first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for i, column in enumerate(grid.columns):
        title, cells = _inline(column.title), [_inline(row[i]) for row in grid.rows]
        # Its title is folded.
        width = max([1, *(len(word) for word in title.plain.split()), *(cell.cell_len for cell in cells)])
        if column.align == "left":
            # Two names that are cut may look the same.
            table.add_column(title, overflow="ellipsis" if i else "fold", max_width=width)
        else:
            table.add_column(title, justify=column.align, width=width)
    for row in grid.rows:
        name, *cells = map(_inline, row)
        for cell in cells:
            cell.no_wrap = True
        table.add_row(name, *cells)
    return table
