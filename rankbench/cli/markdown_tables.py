"""Markdown of rankings and whatever else a command writes as one table with notes below."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rankbench.text import markdown

__all__ = ["markdown_page", "table_lines"]


def table_lines(names: Sequence[str], rows: Iterable[Sequence[str]], worded: Collection[int]) -> list[str]:
    """Return the lines of a table.

    Parameters
    ----------
    names, rows : sequences of str
        Titles and cells, foreign words in them escaped.
    worded : collection of int
        Places of the columns that hold words and begin at the left; numbers end at the right.
    """
    rule = [":--" if place in worded else "--:" for place in range(len(names))]
    return ["| " + " | ".join(row) + " |" for row in (names, rule, *rows)]


def markdown_page(lines: Iterable[str], notes: Iterable[str]) -> bytes:
    """Return lines and the notes below them, a paragraph each."""
    return ("\n".join([*lines, *(f"\n{markdown(note)}" for note in notes)]) + "\n").encode()
