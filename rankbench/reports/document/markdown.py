"""Documents as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rankbench.reports.document.tree import Bullets, Details, Grid, Heading, Image, Node, Paragraph, Quote

__all__ = ["markdown_of"]

_MARKS = {"left": "---", "center": ":-:", "right": "--:"}


def markdown_of(blocks: Sequence[Node]) -> str:
    """Return blocks as Markdown, without a line feed at the end."""
    return "\n\n".join(_block(block) for block in blocks)


def _block(block: Node) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Quote(paragraphs, items):
            lines = [f"> {text}" for text in paragraphs]
            return "\n".join([*lines, *([">", *(f"> - {item}" for item in items)] if items else [])])
        case Grid():
            return _grid(block)
        case Image(words, path):
            return f"![{words}]({path})"
        case Details(summary, inner):
            return "\n\n".join([f"<details><summary>{summary}</summary>", markdown_of(inner), "</details>"])


def _grid(grid: Grid) -> str:
    titles = [column.title for column in grid.columns]
    head = "| " + " | ".join(titles) + " |" if any(titles) else "| " * len(titles) + "|"
    marks = "|" + "|".join(_MARKS[column.align] for column in grid.columns) + "|"
    return "\n".join([head, marks, *("| " + " | ".join(row) + " |" for row in grid.rows)])
