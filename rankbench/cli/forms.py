"""The form of an answer is an option: as requested, or by the ending of its file."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import click

from rankbench.cli.output import json_option, standard_output
from rankbench.errors import SpecError

F = TypeVar("F", bound=Callable[..., object])

Format: TypeAlias = Literal["table", "csv", "parquet", "json", "md", "html", "png", "svg", "github"]

_ENDINGS: dict[str, Format] = {
    ".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json", ".md": "md", ".html": "html",
}  # fmt: skip

_PICTURES: dict[str, Format] = {".png": "png", ".svg": "svg"}


def format_option(forms: Sequence[str], words: str) -> Callable[[F], F]:
    """Return a decorator that gives a command ``--format``, and ``--json`` as a short form of it, as `form`."""

    def given(command: F) -> Any:
        @json_option
        @functools.wraps(command)
        def formed(*arguments: Any, form: str | None, as_json: bool, **options: Any) -> object:
            if as_json and form not in (None, "json"):
                what = f"--json is short for --format json, and --format {form} was given too: leave one out"
                raise click.UsageError(what)
            return command(*arguments, form="json" if as_json else form, **options)

        return click.option("--format", "form", type=click.Choice(forms), help=words)(formed)

    return given


title_option = click.option("--title", default="", metavar="TEXT", help="Title of the page.")


def file_options(command: F) -> Any:
    """Give a command that ranks ``--format``, ``--json``, ``--out`` and ``--title``, for `chosen_form`."""
    said = "Default: what the ending of --out says, else table."
    words = "Write a file, whole or not at all: .html (a page), .png, .svg (a picture), .csv, .parquet, .json or .md."
    forms = format_option(["table", "csv", "parquet", "json", "md", "html"], said)
    return forms(
        click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help=words)(title_option(command))
    )


def chosen_form(form: Format | None, out: Path | None, sources: Iterable[str], *, pictures: bool = False) -> Format:
    """Return the form of a ranking: as requested, or by the file's ending, or a table.

    Parameters
    ----------
    form : str, optional
        Of ``--format``.
    out : Path, optional
        Of ``--out``.
    sources : iterable of str
        Inputs of the ranking; a file must not be written over itself.
    pictures : bool
        Whether endings of pictures are allowed.

    Raises
    ------
    SpecError
        The form does not fit the output, or the ranking would replace its own input.
    """
    if out is None:
        if form == "parquet" and standard_output().isatty():
            raise SpecError("Parquet is nothing for a terminal; give a file with --out")
        return form or "table"
    if form == "table":
        raise SpecError("tables are for terminals; say --format csv, parquet, json, md or html for a file")
    if out.is_file() and any(os.path.exists(source) and os.path.samefile(source, out) for source in sources):
        raise SpecError(f"--out {out} would replace the file that is ranked; choose another file")
    endings = _ENDINGS | (_PICTURES if pictures else {})
    if form is None and out.suffix.lower() not in endings:
        what = f"there is no format {out.suffix}" if out.suffix else "it has no ending that says a format"
        raise SpecError(f"--out {out}: {what}; endings: {', '.join(endings)}, or say --format")
    return form or endings[out.suffix.lower()]
