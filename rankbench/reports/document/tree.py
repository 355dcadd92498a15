"""What a document is made of: headings, paragraphs, lists, tables, figures, and details to unfold.

Texts are lines of Markdown, in which foreign words are escaped already (`rankbench.text`): bold, italic and code are
all that they hold, and in a list of contents links. Blocks know nothing of where they are written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Bullets", "Column", "Details", "Grid", "Heading", "Image", "Node", "Paragraph", "Quote"]


@dataclass(frozen=True)
class Heading:
    """A title of a level, 1 to 6."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Quote:
    """What stands out before everything else: paragraphs, then a list."""

    paragraphs: tuple[str, ...]
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, and where its cells stand."""

    title: str
    align: Literal["left", "center", "right"] = "left"


@dataclass(frozen=True)
class Grid:
    """A table: columns, and rows with a text for each of them."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def from_rows(cls, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Grid:
        """Return a table of any sequences."""
        return cls(tuple(columns), tuple(tuple(row) for row in rows))


@dataclass(frozen=True)
class Image:
    """A figure that stands in a file beside the document."""

    words: str
    path: str


@dataclass(frozen=True)
class Details:
    """Blocks that are shown when asked for."""

    summary: str
    blocks: tuple[Node, ...]


Node: TypeAlias = Heading | Paragraph | Bullets | Quote | Grid | Image | Details
