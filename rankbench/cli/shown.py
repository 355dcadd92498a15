"""An answer is written as a table, CSV, Markdown, JSON, Parquet, a picture or annotations of GitHub."""

from __future__ import annotations

import functools
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankbench.cli.forms import Format
from rankbench.cli.origin import Provenance
from rankbench.cli.output import PIPE_WIDTH, echo, folded, json_option, print_notices, print_table, say, standard_output
from rankbench.core.question import QuestionRecord
from rankbench.core.system import replace_file
from rankbench.core.text import code, distinct, markdown, one_line, visible, visible_line, without_commands
from rankbench.errors import Warned
from rankbench.html.content import Table as Table

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from rankbench.drawing.canvas import TitledDrawing
    from rankbench.reports.headline import Notice


JSON_SCHEMA = 1
"""Version of the output of ``--json``, of each subcommand: docs/reference/json.md."""

SCREEN = 24
"""Lines of a terminal that an answer takes: a table has the rows for which there is room."""


Part: TypeAlias = "Table | str | RenderableType"


@dataclass(frozen=True)
class Answer:
    """Answer of a subcommand, for people and for programs.

    People see, in this order: the headline, tables and footnotes on standard output, so that a pipe gets the answer
    alone; then warnings, what to do next and notes of the details on standard error.

    Attributes
    ----------
    record : mapping of str to object, or a function that returns one
        Content of JSON beside what all answers say; one that names its own ``schema`` is all of it.
    headline : str
        Sentence that answers, in the words of the question.
    title : str
        Title of a page; empty: the headline.
    tables : iterable of Table, str or what rich prints
        Tables, and sentences where no table is. A page has the tables.
    footnotes : iterable of str
        Sentences that explain the tables.
    warnings : iterable of Warned
        Notes that would change the answer, with the option that acts on them.
    next : iterable of str
        Commands to try next, or options to add.
    long : bool
        Rows were asked for: a terminal gets more of them than a screen has room for.
    details : iterable of Table or str
        How certain and why; a terminal has the sentences, a page all of it.
    exit_code : int
        With which the command ends.
    frame : DataFrame, optional
        Rows of CSV and Parquet.
    drawing : function, optional
        Returns the answer as a picture.
    provenance : Provenance
        Inputs and methods, for a page.
    question : QuestionRecord, optional
        The question, for JSON.
    notices : sequence of Notice
        Outcomes of contenders; people see them below the answer, on standard error.
    verbose : bool
        With the traceback of each notice.
    annotations : sequence of str, optional
        Workflow commands of GitHub's runners; the page goes into the summary of the job.
    """

    record: Mapping[str, object] | Callable[[], Mapping[str, object]]
    headline: str = ""
    title: str = field(default="", kw_only=True)
    tables: Iterable[Part] = ()
    footnotes: Iterable[str] = ()
    warnings: Sequence[Warned] = ()
    next: Sequence[str] = ()
    long: bool = field(default=False, kw_only=True)
    details: Sequence[Table | str] = ()
    exit_code: int = 0
    frame: pl.DataFrame | None = None
    drawing: Callable[[], TitledDrawing] | None = None
    provenance: Provenance = field(default_factory=Provenance)
    question: QuestionRecord | None = None
    notices: Sequence[Notice] = ()
    verbose: bool = False
    annotations: Sequence[str] | None = None

    def noted(self, notes: Iterable[str]) -> Answer:
        """Return the answer with notes on it: notes with an option are warnings, others are details."""
        told = [*notes]
        warnings = [note for note in told if isinstance(note, Warned)]
        others = [note for note in told if not isinstance(note, Warned)]
        return replace(self, warnings=[*self.warnings, *warnings], details=[*self.details, *others])

    def sentences(self) -> list[str]:
        """Return warnings, marked, and the notes of the details."""
        notes = [f"note: {one}" for one in self.details if isinstance(one, str)]
        return [*(f"! {one}" for one in self.warnings), *notes]


def answering(command: Callable[..., Answer]) -> Callable[..., None]:
    """Give a subcommand ``--json``, print the answer that it returns, and end with its exit code."""

    @json_option
    @functools.wraps(command)
    def answered(*arguments: Any, as_json: bool, **options: Any) -> None:
        finish(command(*arguments, **options), "json" if as_json else "table")

    return answered


def finish(answer: Answer, form: Format) -> None:
    """Print an answer, and end with its exit code."""
    show(answer, form)
    if answer.exit_code:
        sys.exit(answer.exit_code)


def show(answer: Answer, form: Format = "table", out: Path | None = None) -> None:
    """Print an answer in a form, or write it into a file, whole or not at all."""
    if form == "github" and answer.annotations is not None:
        for line in answer.annotations:
            echo(line)  # with names in it escaped
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with open(summary, "a", encoding="utf-8") as file:
                file.write(encoded(answer, "md").decode())
        return
    if form in ("table", "github"):
        _print_first_screen(answer)
        print_notices(answer.notices, verbose=answer.verbose)
        return
    for sentence in answer.sentences():
        say(visible_line(sentence), err=True)
    data = encoded(answer, form)
    if out is not None:
        replace_file(out, data)
    elif form == "csv" and standard_output().isatty():
        echo(visible(data.decode()), nl=False)
    else:
        standard_output().flush()
        standard_output().buffer.write(data)


def _print_first_screen(answer: Answer) -> None:
    """Print an answer for people: see `Answer`."""
    footnotes, below, at = [*answer.footnotes], answer.sentences(), len(answer.warnings)
    below[at:at] = [f"Next: {' | '.join(answer.next)}"] * bool(answer.next)
    tables, room = answer.tables, None
    if answer.headline:
        say(visible_line(answer.headline))
        if not answer.long:
            tables = [*tables]
            room = _room(tables, [answer.headline, *footnotes, *below])
    for place, part in enumerate(tables):
        if not place and answer.headline:
            echo()
        _print(part, room)
    for line in footnotes:
        say(visible_line(line))
    if below and answer.headline:
        say("", err=True)
    for line in below:
        say(visible_line(line), err=True)


def _room(tables: Sequence[Part], texts: Iterable[str]) -> int:
    """Return the lines that a screen has for the rows of each table, beside texts."""
    heads = [bool(part.title) + any(part.columns) for part in tables if isinstance(part, Table)]
    lines = (part for part in (*texts, *tables) if isinstance(part, str))
    taken = sum(len(folded(visible_line(line), standard_output())) for line in lines) + sum(heads) + 2
    return max(0, (SCREEN - taken) // max(1, len(heads)))


def _head(answer: Answer) -> list[str]:
    """Return the first paragraphs of a page in Markdown; below a title of its own stands the headline."""
    title = answer.title or answer.headline
    return [f"# {markdown(title)}", *[markdown(answer.headline)] * bool(answer.title)] if title else []


def _print(part: Part, room: int | None) -> None:
    """Print a part of an answer, rows of a table with heads in so many lines; a text is one line."""
    if isinstance(part, str):
        say(visible_line(part))
        return
    if not isinstance(part, Table):
        from rich.console import Console

        # A pipe has no width: nothing is cut there, and a sentence is one line.
        console = Console(file=standard_output(), width=None if standard_output().isatty() else PIPE_WIDTH)
        with console.capture() as captured:
            console.print(part)
        echo(without_commands("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())), nl=False)
        return
    print_table(part.columns, part.rows, title=part.title, room=room if any(part.columns) else None)


def encoded(answer: Answer, form: Format) -> bytes:
    """Return an answer in a form.

    JSON (ASCII), Parquet and CSV have names as they are, but that one that a spreadsheet would take for a formula
    begins with an apostrophe in CSV. In Markdown they have no control characters; names that would become the same
    have escapes instead.
    """
    if form == "json":
        indent = 2 if answer.frame is None else 1  # rows may be many
        return f"{json.dumps(_json_record(answer), indent=indent, allow_nan=False)}\n".encode("ascii")
    if form == "md":
        texts = _head(answer)
        for part in answer.tables:
            if isinstance(part, Table):
                texts += [*[markdown(part.title)] * bool(part.title), _markdown_table(part)]
        return ("\n\n".join([*texts, *_below(answer)]) + "\n").encode()
    if answer.drawing is not None and form in ("png", "svg"):
        from rankbench.drawing.canvas import picture_bytes

        return picture_bytes(answer.drawing().canvas())[form]
    if form == "html":
        return _html(answer)
    if answer.frame is None:
        raise ValueError(f"the answer has no {form}")
    if form == "csv":
        return _without_formulas(answer.frame).write_csv().encode()
    file = io.BytesIO()
    answer.frame.write_parquet(file)
    return file.getvalue()


def _json_record(answer: Answer) -> Mapping[str, object]:
    """Return the record for JSON; a record with a schema of its own is all of it."""
    record = answer.record if isinstance(answer.record, Mapping) else answer.record()
    if "schema" in record:
        return record
    said = {
        "answer": answer.headline,
        "warnings": [{"text": str(one), "option": one.option} for one in answer.warnings],
        "next": [*answer.next],
        "reading": answer.provenance.reading,
        "asked": answer.question and answer.question.asked(),
    }
    return {"schema_version": JSON_SCHEMA, **{name: value for name, value in said.items() if value}, **record}


def _below(answer: Answer) -> list[str]:
    """Return the text below the tables of a page, in Markdown."""
    found = [markdown(line) for line in answer.footnotes]
    lines = [f"**!** {markdown(one)}" for one in answer.warnings]
    lines += [f"Next: {' or '.join(map(code, answer.next))}"] * bool(answer.next)
    lines += [markdown(one) for one in answer.details if isinstance(one, str)]
    found += ["\n".join(f"- {line}" for line in lines)] * bool(lines)
    for part in answer.details:
        if isinstance(part, Table):
            found += [
                f"## {markdown(part.title)}",
                *([markdown(part.note)] if part.note else []),
                _markdown_table(part),
            ]
    return found


def _html(answer: Answer) -> bytes:
    """Return an answer as a page: its headline, figure and tables, and the text below them."""
    from rankbench.drawing.canvas import picture_bytes
    from rankbench.drawing.looks import assign_looks
    from rankbench.html.charts import chart_content
    from rankbench.html.content import Chart, Page
    from rankbench.html.page import page_bytes

    words, charts, tables = "\n\n".join(_head(answer)) + "\n", [], []
    if answer.drawing is not None:
        figure = answer.drawing()
        svg = picture_bytes(figure.canvas())["svg"]
        content = chart_content(figure.drawing, assign_looks([figure.drawing]))
        charts = [Chart("figure", one_line(figure.title), svg, content)]
        words += f"\n![{markdown(figure.title.splitlines()[0])}](figures/figure.svg)\n"
    for at, part in enumerate(part for part in answer.tables if isinstance(part, Table)):
        titles = distinct(part.columns, one_line)
        columns, title = [titles[column] for column in part.columns], one_line(part.title) or "All rows"
        safe = replace(part, columns=columns, rows=_safe_rows(part), title=title, note="", name=f"table-{at + 1}")
        tables.append(safe)
    below, texts = "\n\n".join(_below(answer)), answer.provenance.texts()
    return page_bytes(
        Page(answer.title or answer.headline, words, tables, charts, below=below, texts=texts, sorts=True)
    )


def _safe_rows(table: Table) -> list[list[str]]:
    """Return the rows of a table; words are on one line, and different words look different."""
    rows = [list(row) for row in table.rows]
    for place in table.words:
        texts = distinct([row[place] for row in rows], one_line)
        for row in rows:
            row[place] = texts[row[place]]
    return rows


def _markdown_table(table: Table) -> str:

    titles = distinct(table.columns, one_line)
    words = [place in table.words for place in range(len(table.columns))]
    rows = [[markdown(cell) if is_word else cell for cell, is_word in zip(row, words, strict=True)]
            for row in _safe_rows(table)]  # fmt: skip
    rule = [":--" if is_word else "--:" for is_word in words]
    head = [markdown(titles[column]) for column in table.columns]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


_FORMULA = r"^'*\s*[=+\-@]"
"""A text that a spreadsheet takes for a formula, or that differs from one by apostrophes: no two become the same."""


def _without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table in whose texts, and names of columns, a spreadsheet finds no formula."""
    import polars as pl

    texts = {name: pl.col(name) for name, dtype in frame.schema.items() if dtype == pl.String}
    marked = frame.with_columns(
        pl.when(text.str.contains(_FORMULA)).then(pl.lit("'") + text).otherwise(text).alias(name)
        for name, text in texts.items()
    )
    return marked.rename({name: f"'{name}" for name in frame.columns if re.match(_FORMULA, name)})
