"""`rankbench audit` answers what readers ask of one ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import polars as pl

from rankbench.audits.audit import Audit, audited_log
from rankbench.audits.probe import Probe
from rankbench.audits.question import AuditQuestion
from rankbench.cli.forms import Format, chosen_form, file_options
from rankbench.cli.help import FILES, FILTER, READING, SectionedCommand
from rankbench.cli.origin import Provenance
from rankbench.cli.output import complete_names, heartbeat
from rankbench.cli.question_options import question_options
from rankbench.cli.shown import Answer, Table, show
from rankbench.core.text import amount_text, count_text, sentence, significant
from rankbench.data.readers.remote import shown_log
from rankbench.logs.question import LogQuestion, ReadingQuestion, RowsQuestion

_SHOWN = 12
"""Rows of a probe's table for people; JSON has all, and `rules` shows all."""

_CHANCE = ", no more often than by chance"

_COLUMNS = ("probe", "fires", "p", "level", "answer")


@click.command(
    cls=SectionedCommand,
    sections={"Which votes": f"{READING} {FILTER}", "Which model": "method", "How shown": f"everything {FILES}"},
)
@click.argument("log", metavar="LOG|SCORES", shell_complete=complete_names("dataset", files=True))
@question_options(ReadingQuestion, RowsQuestion, LogQuestion, AuditQuestion)
@click.option("--all", "everything", is_flag=True, help="Print the answers and tables of all probes.")
@file_options
def audit(log: str, form: Format | None, out: Path | None, everything: bool, title: str, **options: Any) -> None:
    """Ask of one ranking what its readers ask.

    LOG holds votes, SCORES holds scores of systems on tasks. Each probe answers one question. A probe that tests fires
    if its p is at most its level: the levels of all probes sum to .05. The exit code is 0 whatever fires.
    """
    shown = chosen_form(form, out, [log])
    with heartbeat(f"auditing {shown_log(log)}"):
        asked = AuditQuestion.from_options(**options)
        found = audited_log(log, asked)
    answer = audit_answer(found, log)
    if everything and shown == "table":
        answer = replace(answer, tables=[*answer.tables, *probe_tables(found)])
    show(replace(answer, title=title, long=everything, question=asked), shown, out)


def audit_answer(found: Audit, log: str) -> Answer:
    """Return an audit of a log for people and programs."""
    return Answer(
        lambda: {**found.as_dict(), "data": {"sha256": found.sha256(), **found.data}},
        audit_headline(found),
        [table for table in [_faults(found)] if table.rows],
        footnotes=_other_probes(found),
        next=["--all", "--out audit.html"],
        details=[f"{found.method}, {_amounts(found)}", *probe_tables(found)],
        frame=found.table,
        provenance=Provenance({log: _amounts(found)}, [found.method], found.sha256),
    ).noted(found.notes)


def audit_headline(found: Audit) -> str:
    """Return a sentence on whether the first is significantly first, and on the fewest removals that change it."""
    others_first, every = len(found.may_be_first) - 1, found.data["items" if "items" in found.data else "systems"]
    data = "votes" if "votes" in found.data else "tasks"
    if not found.may_be_first:
        said = f"The {data} tell nothing of how certain that is."
    elif others_first > 0 or found.may_be_first != [found.first]:
        said = f"The {data} do not say: {len(found.may_be_first):,} of {every:,} may be first."
    else:
        said = f"The {data} say so: no other may be first (95%)."
    return " ".join([f"Is {found.first} really first? {said}", *_fewest(found)])


def _fewest(found: Audit) -> list[str]:
    """Return a sentence on the fewest votes, or tasks, that change the first place."""
    for probe in found.probes:
        facts, noun = probe.facts, probe.name.removeprefix("fewest-")
        if "removed" in facts and noun in ("votes", "tasks"):
            known = "no fewer do: proved" if facts["proved"] else f"at least {facts['proved_bound']:,}: proved"
            return [f"Without {facts['removed']:,} of {facts['of']:,} {noun} ({known}) {facts['rival']} leads."]
    return []


def _faults(found: Audit) -> Table:
    """Return the tests with their marks, and the faults that other probes find."""
    tested = [probe for probe in found.probes if probe.level is not None]
    described = [probe for probe in found.probes if probe.level is None and probe.finding]
    rows = [
        [
            "x" if probe.fires else "ok",
            probe.name,
            f"{probe.finding}{'' if probe.fires else _CHANCE} (p {_p_text(probe.p).replace('0.', '.', 1)})",
            probe.acts * bool(probe.fires),
        ]
        for probe in tested
    ]
    rows += [["!", probe.name, str(probe.finding), probe.acts] for probe in described]
    fired = sum(probe.fires is True for probe in tested)
    finds = "finds" if len(tested) == 1 else "find"
    title = f"{fired} of {count_text(len(tested), 'test')} {finds} a fault (false alarms of all together: at most 5%)"
    return Table(("", "probe", "finding", "option"), rows, (0, 1, 2, 3), title if tested else "")


def _p_text(p: float | None) -> str:
    return "—" if p is None else "<1e-300" if p == 0 else significant(p, 2)


def _other_probes(found: Audit) -> list[str]:
    """Return lists of clean and of unknown probes, and a text on separating the first two."""
    clean = [probe.name for probe in found.probes if probe.level is None and probe.finding == "" and not probe.unknown]
    unknown = [f"{probe.name} ({probe.unknown})" for probe in found.probes if probe.unknown]
    lists = [f"{title}: {', '.join(names)}." for title, names in (("Clean", clean), ("Unknown", unknown)) if names]
    return [*[" ".join(lists)] * bool(lists), *_separating(found)]


def _separating(found: Audit) -> list[str]:
    for probe in found.probes:
        if probe.name in ("more-votes", "more-tasks") and probe.table is not None:
            row, noun = probe.table.row(0, named=True), probe.name.removeprefix("more-")
            today, best = row.get("more votes as today", row.get("more tasks")), row.get("on the best pairs")
            if today:
                spread = (
                    f"{best:,} votes on the best pairs ({today:,} spread as today)" if best else f"{today:,} {noun}"
                )
                return [f"To separate 1 and 2: {spread}."]
    return []


def _amounts(found: Audit) -> str:
    return ", ".join(count_text(amount, noun[:-1]) for noun, amount in found.data.items())


def _cells(found: Audit) -> Iterator[list[str]]:
    for probe in found.probes:
        fires = "describes" if probe.fires is None else "fires" if probe.fires else "no"
        yield [probe.name, fires, _p_text(probe.p), _p_text(probe.level), probe.answer]


def _cell(value: object) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return amount_text(value) if value == round(value) else significant(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _rows(probe: Probe, table: pl.DataFrame) -> tuple[list[list[str]], int]:
    """Return the rows shown to people, and the number of the others."""
    shown = table if probe.name == "rules" else table.head(_SHOWN)
    return [[_cell(value) for value in row] for row in shown.iter_rows()], table.height - shown.height


def probe_tables(found: Audit) -> list[Table]:
    """Return the answers of all probes, and the rows of probes with some."""
    tables = [Table(_COLUMNS, [*_cells(found)], (0, 1, 4), "All probes")]
    for probe in found.probes:
        if probe.table is not None and probe.table.height:
            rows, left = _rows(probe, probe.table)
            more = f"; the JSON has {count_text(left, 'more row')}" if left else ""
            note = sentence(f"{probe.name}: {probe.answer}{more}")
            words = [place for place, dtype in enumerate(probe.table.dtypes) if dtype == pl.String]
            tables.append(Table(probe.table.columns, rows, words, probe.question, note))
    return tables
