"""Tables of a report as LaTeX, one file a table, from the documents that Markdown is written from."""

from __future__ import annotations

import html
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.markdown import Markdown

from rankbench.core.text import latex
from rankbench.interfaces.cell import Split
from rankbench.reports.document import Grid, Heading, Node, Paragraph, RowsLeftOut

_ALIGN = {"left": "l", "center": "c", "right": "r"}
_STYLES = {"strong_open": r"\textbf{", "em_open": r"\emph{", "strong_close": "}", "em_close": "}"}

PREAMBLE = (
    r"% \usepackage[T1]{fontenc}, textcomp, array, booktabs and graphicx; letters that are not Latin need LuaLaTeX "
    r"or XeLaTeX."
)

HEADING_WIDTH = 14
"""Letters in a line of a column's heading: an interval is as wide."""

FIT = (
    r"\resizebox*{!}{\ifdim\totalheight>.7\textheight.7\textheight\else\totalheight\fi}{%",
    r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
)
"""A table that is wider or higher than a page's text shrinks to it; a smaller one keeps its size."""

LINE = 84
"""Letters of a line of text, in a table's size."""

_LONG = 24
"""Letters from which cells may be broken, in tables that are wider than a line."""


def latex_of(text: str) -> str:
    """Return a line of Markdown as LaTeX: bold, italic and code; of links the text."""
    found = []
    for token in (child for block in Markdown(text).parsed for child in block.children or ()):
        if token.type == "code_inline":
            found.append(rf"\texttt{{{latex(token.content.replace(chr(92) + '|', '|'))}}}")
        else:
            found.append(_STYLES.get(token.type, latex(token.content)))
    return "".join(found)


def latex_tables(documents: Mapping[str, Sequence[Node]], split: Split | None = None) -> dict[str, bytes]:
    """Return the tables of documents as LaTeX files by name, of one split or of all.

    A table of an experiment has its name; another one that of the heading it stands under. A number tells them apart.
    """
    made: dict[str, bytes] = {}
    times = Counter[str]()
    for blocks in documents.values():
        for heading, caption, grid, rest in _tables(blocks):
            if split and grid.split not in (None, split):
                continue
            section = (
                re.sub(r"[^a-z0-9]+", "-", (grid.name or html.unescape(heading)).lower())[:60].strip("-") or "table"
            )
            times[section] += 1
            name = f"{section}-{times[section]}"
            made[f"{name}.tex"] = _table(name, " ".join(filter(None, (caption, rest))), grid).encode()
    return made


def _tables(blocks: Sequence[Node]) -> Iterator[tuple[str, str, Grid, str]]:
    """Yield each table with its heading, its caption or the text above it, and the text on rows left out."""
    heading = caption = ""
    for at, block in enumerate(blocks):
        match block:
            case Heading(_, text):
                heading = caption = text
            case Paragraph(text):
                caption = text
            case Grid():
                after = blocks[at + 1] if at + 1 < len(blocks) else None
                yield heading, block.caption or caption, block, after.text if isinstance(after, RowsLeftOut) else ""
                caption = heading
            case _:
                caption = heading


def _table(name: str, caption: str, grid: Grid) -> str:
    columns = "".join(_columns(grid))
    head, rows = ([" & ".join(map(_cell, row)) + r" \\" for row in part] for part in (_heads(grid), grid.rows))
    lines = [
        PREAMBLE, r"\begin{table}", r"\centering", rf"\caption{{{latex_of(caption)}}}", rf"\label{{tab:{name}}}",
        r"\footnotesize", r"\setlength{\tabcolsep}{4pt}", *FIT,
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *head, r"\midrule", *rows, r"\bottomrule",
        r"\end{tabular}}}", r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _columns(grid: Grid) -> Iterator[str]:
    """Yield the types of columns; in a table that is too wide, long cells of words get lines that fit each word."""
    columns = list(zip(*_heads(grid), *grid.rows, strict=True))
    sizes = [max(map(len, column)) + 2 for column in columns]
    words = [column.align == "left" and size > _LONG for column, size in zip(grid.columns, sizes, strict=True)]
    left = LINE - sum(size for size, broken in zip(sizes, words, strict=True) if not broken)
    long = sum(size for size, broken in zip(sizes, words, strict=True) if broken)
    for column, cells, size, broken in zip(grid.columns, columns, sizes, words, strict=True):
        if sum(sizes) <= LINE or not broken:
            yield _ALIGN[column.align]
        else:
            word = max(len(word) for cell in cells for word in cell.split() or [""])
            share = max(left * size / long, _LONG / 2, 1.25 * word) / LINE
            yield rf">{{\raggedright\arraybackslash}}p{{{share:.2f}\linewidth}}"


def _heads(grid: Grid) -> list[tuple[str, ...]]:
    """Return the rows of the headings, which end in the last; a title used before follows the title on its left."""
    titles = [column.title for column in grid.columns]
    apart = [f"{titles[at - 1]}, {title}" if title in titles[:at] else title for at, title in enumerate(titles)]
    # A line may not end within code or bold words.
    wrapped = [
        [title] if re.search("[`*]", title) else textwrap.wrap(title, HEADING_WIDTH, break_long_words=False) or [""]
        for title in apart
    ]
    return list(zip_longest(*map(reversed, wrapped), fillvalue=""))[::-1]


def _cell(text: str) -> str:
    r"""Return a cell; a hyphen before a number is a minus, and the braces keep a bracket from being read by ``\\``."""
    return re.sub(r"^\[", "{[}", re.sub(r"(?<!\w)-(?=\d)", "$-$", latex_of(text)))
