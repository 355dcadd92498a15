"""Where a ranking goes: to the terminal as a table, to a file or a pipe in a format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from rankbench.cli.output import standard_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankbench.cli.formats import Format

    Shown: TypeAlias = Format | Literal["table"]

__all__ = ["PICTURES", "chosen_form", "show_encoded", "show_notes", "show_picture", "show_table"]

_ENDINGS: dict[str, Shown] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json", ".md": "md"}


PICTURES = (".png", ".svg")
"""Endings of pictures."""


def chosen_form(form: Shown | None, out: Path | None, source: str, *, pictures: bool = False) -> Shown:
    """Return the form of a ranking: what was said, or what the file's ending says, or a table.

    Parameters
    ----------
    form : str, optional
        Of ``--format``.
    out : Path, optional
        Of ``--out``.
    source : str
        What is ranked; a file must not be written over itself.
    pictures : bool
        Whether endings of pictures are allowed; their form is the table's, and who asked looks at the ending.

    Raises
    ------
    SpecError
        The form does not fit where it goes, or the ranking would replace what is ranked.
    """
    from rankbench.errors import SpecError

    picture = out is not None and out.suffix.lower() in PICTURES
    if pictures and picture and form is None:
        _keep_what_is_ranked(out, source)
        return "table"
    chosen: Shown = form or (_ENDINGS.get(out.suffix.lower(), "table") if out else "table")
    if chosen == "parquet" and out is None and standard_output().isatty():
        raise SpecError("Parquet is nothing for a terminal; give a file with --out")
    if chosen == "table" and out is not None:
        if form is None:
            known = ", ".join((*_ENDINGS, *(PICTURES if pictures else ())))
            what = f"there is no format {out.suffix}" if out.suffix else "it has no ending that says a format"
            raise SpecError(f"--out {out}: {what}; endings: {known}, or say --format")
        raise SpecError("tables are for terminals; say --format csv, parquet, json or md for a file")
    _keep_what_is_ranked(out, source)
    return chosen


def _keep_what_is_ranked(out: Path | None, source: str) -> None:
    from rankbench.errors import SpecError

    if out is not None and os.path.isfile(out) and os.path.exists(source) and os.path.samefile(source, out):
        raise SpecError(f"--out {out} is what is ranked, which would be lost; choose another file")


def show_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error, so that what is piped on is the ranking alone."""
    from rankbench.cli.output import say

    for note in notes:
        say(f"note: {note}", err=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print a ranking as a table, under a line that says what it is."""
    from rankbench.cli.output import print_table

    # A name of two lines must not look like two rows.
    print_table(
        columns, [[cell.replace("\n", "\\n").replace("\t", "\\t") for cell in row] for row in rows], title=title
    )


def show_encoded(data: bytes, out: Path | None) -> None:
    """Write a ranking into a file, whole or not at all, or to standard output."""
    from rankbench.store.files import replace_file

    if out is not None:
        replace_file(out, data)
    else:
        standard_output().flush()
        standard_output().buffer.write(data)


def show_picture(canvas: Figure, out: Path) -> None:
    """Write a figure into a file that ends with .png or .svg."""
    from rankbench.drawing.picture import picture_bytes

    show_encoded(picture_bytes(canvas)[out.suffix.lower().removeprefix(".")], out)
