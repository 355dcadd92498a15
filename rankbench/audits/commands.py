"""`rankbench audit` answers what readers ask of one ranking."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl

from rankbench.audits.audit import Audit
from rankbench.audits.audit import audit as run
from rankbench.audits.probe import Probe
from rankbench.cli.help import FILES, FILTER, READING, SectionedCommand
from rankbench.cli.output import complete_names, filter_options, heartbeat, method_option, reading_options
from rankbench.cli.shown import Answer, Format, Part, Table, chosen_form, file_options, show
from rankbench.core.runtime import LOG_SEED
from rankbench.core.text import amount_text, count_text, markdown, sentence, significant
from rankbench.data.readers.remote import shown_log
from rankbench.reports.document import Bullets, Column, Grid, Heading, Node, Paragraph, markdown_of

_SHOWN = 12
"""Rows of a probe's table for people; JSON has all, and `rules` shows all."""

_COLUMNS = ("probe", "fires", "p", "level", "answer")


@click.command(
    cls=SectionedCommand, sections={"Which votes": f"{READING} {FILTER}", "Which model": "method", "How shown": FILES}
)
@click.argument("log", metavar="LOG|SCORES", shell_complete=complete_names("dataset", files=True))
@method_option("Aggregator, NAME:param=...; default: as rankbench aggregate has it for votes, mean-score for scores.")
@reading_options
@filter_options
@click.option("--seed", default=LOG_SEED, show_default=True, type=click.IntRange(0), help="Seed of simulations.")
@file_options
def audit(log: str, form: Format | None, out: Path | None, **options: Any) -> None:
    """Ask of one ranking what its readers ask.

    LOG holds votes, SCORES holds scores of systems on tasks. Each probe answers one question. A probe that tests fires
    if its p is at most its level: the levels of all probes sum to .05. The exit code is 0 whatever fires.
    """
    shown = chosen_form(form, out, [log])
    with heartbeat(f"auditing {shown_log(log)}"):
        found = run(log, **options)
    show(audit_answer(found, log), shown, out)


def audit_answer(found: Audit, log: str) -> Answer:
    """Return an audit of a log for people and programs; its title has the log's name."""
    title = f"Audit of {Path(shown_log(log)).name}"
    return Answer(
        lambda: {**found.as_dict(), "data": {"sha256": found.sha256(), **found.data}},
        _parts(found, title),
        frame=found.table,
        notes=found.notes,
        title=title,
        inputs={log: _amounts(found)},
        sha256=found.sha256,
        methods=[found.method],
        page=_page(found, title),
    )


def audited_words(found: Audit) -> str:
    """Return in a sentence or two what was audited, who is first, and which probes fire."""
    others = len(found.may_be_first) - 1
    open_to = f" (with {count_text(others, 'other')} that may be first)" if others > 0 else ""
    tests = sum(probe.level is not None for probe in found.probes)
    fired = f"{', '.join(found.fired)} {'fires' if len(found.fired) == 1 else 'fire'}" if found.fired else "none fires"
    return (
        f"{found.method}, {_amounts(found)}: {found.first} is first{open_to}. "
        f"Of {count_text(len(found.probes), 'probe')} {tests} {'tests' if tests == 1 else 'test'}; {fired}"
    )


def _amounts(found: Audit) -> str:
    return ", ".join(count_text(amount, noun[:-1]) for noun, amount in found.data.items())


def _cells(found: Audit) -> Iterator[list[str]]:
    for probe in found.probes:
        fires = "describes" if probe.fires is None else "fires" if probe.fires else "no"
        numbers = ["—" if value is None else significant(value, 2) for value in (probe.p, probe.level)]
        numbers[0] = "<1e-300" if probe.p == 0 else numbers[0]
        yield [probe.name, fires, *numbers, probe.answer]


def _cell(value: object) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return amount_text(value) if value == round(value) else significant(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _rows(probe: Probe, table: pl.DataFrame) -> tuple[list[list[str]], int]:
    """Return the rows that people see, and how many more there are."""
    shown = table if probe.name == "rules" else table.head(_SHOWN)
    return [[_cell(value) for value in row] for row in shown.iter_rows()], table.height - shown.height


def _words(table: pl.DataFrame) -> list[int]:
    return [place for place, dtype in enumerate(table.dtypes) if dtype == pl.String]


def _parts(found: Audit, title: str) -> Iterator[Part]:
    yield Table(_COLUMNS, _cells(found), (0, 1, 4), f"{title}: {audited_words(found)}")
    for probe in found.probes:
        if probe.table is not None and probe.table.height:
            yield ""
            rows, left = _rows(probe, probe.table)
            yield Table(probe.table.columns, rows, _words(probe.table), f"{probe.name}: {probe.question}")
            if left:
                yield f"and {count_text(left, 'more row')}: --format json"


def _page(found: Audit, title: str) -> str:
    rows = [[name, fires, p, level, markdown(answer)] for name, fires, p, level, answer in _cells(found)]
    grid = Grid.from_rows([Column(name) for name in _COLUMNS], rows)
    page: list[Node] = [Heading(1, markdown(title)), Paragraph(markdown(sentence(audited_words(found)))), grid]
    for probe in found.probes:
        page += [Heading(2, markdown(probe.question)), Paragraph(markdown(sentence(f"{probe.name}: {probe.answer}")))]
        if probe.table is not None and probe.table.height:
            words, (rows, left) = _words(probe.table), _rows(probe, probe.table)
            cells = [[markdown(cell) if at in words else cell for at, cell in enumerate(row)] for row in rows]
            page.append(Grid.from_rows([Column(markdown(name)) for name in probe.table.columns], cells))
            page += [Paragraph(f"The JSON has {count_text(left, 'more row')}.")] if left else []
    if found.notes:
        page += [Heading(2, "Notes"), Bullets(tuple(markdown(note) for note in found.notes))]
    return markdown_of(page) + "\n"
