"""`rankbench data` lists, gets, verifies, describes and converts data."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rankbench.cli.ask_reading import asked_log
from rankbench.cli.output import complete_names, heartbeat
from rankbench.cli.question_options import command_on, question_options
from rankbench.cli.shown import Answer, Table, answering
from rankbench.core.text import count_text, listed
from rankbench.data.cards import Card, cards
from rankbench.data.convert import convert as run
from rankbench.data.fetch import card_folder, fetch, locate
from rankbench.data.readers.remote import shown_log
from rankbench.data.readings.draft import draft, kept_reading, reading_path, write_reading
from rankbench.data.tables.kinds import default_of
from rankbench.descriptions.describe import describe as summarize
from rankbench.errors import InputError, SpecError, Unread, nearest
from rankbench.interfaces.dataset import Dataset, Reader
from rankbench.interfaces.reading import names_text
from rankbench.interfaces.table import TableKind
from rankbench.logs.open import open_log, raw_log
from rankbench.logs.opened import OpenedLog
from rankbench.logs.question import LogQuestion, ReadingQuestion, RowsQuestion
from rankbench.plugin import manager
from rankbench.plugin.manager import component_class, names
from rankbench.ranking.covariates import offered_controls


@click.group("data")
def data() -> None:
    """List, get, verify, describe and convert data."""


@data.command("list")
@answering
def list_datasets() -> Answer:
    """List the data sets and whether they are here."""
    every, rows = cards(), list[dict[str, Any]]()
    for name in names("dataset"):
        cls, card = component_class(Dataset, name), every.get(name)
        facts = {fact: getattr(cls, fact) for fact in ("title", "simulated", "licence")}
        counts = {fact: getattr(card.expected, fact) if card else None for fact in ("queries", "rows")}
        here = "simulated" if cls.simulated else _state(card)
        rows.append({"name": name, **facts, "restricted": bool(card and card.restricted), **counts, "here": here})
    shown = [(r["name"], r["here"], f"{r['queries']:,}" if r["queries"] else "any", r["title"]) for r in rows]
    return Answer({"datasets": rows}, tables=[Table(("data set", "here", "queries", "what"), shown)])


def _state(card: Card | None) -> str:
    """Return whether a data set can be used now, in a word or three; unknown without a card."""
    if card is None:
        return "unknown"
    try:
        if card_folder(card) is not None:
            return "yes"
    except InputError:
        return "incomplete"
    return "can be downloaded" if card.downloadable else "no"


def _card(name: str) -> Card:
    if (found := cards().get(name)) is None:
        if name in names("dataset"):
            raise SpecError(f"data set {name!r} is not made of files: there is nothing to get or to verify")
        raise SpecError(f"there is no data set {name!r}{nearest(name, cards())}")
    return found


@data.command()
@click.argument("name", shell_complete=complete_names("dataset"))
@click.option("--accept-license", is_flag=True, help="Accept the data's licence, which you have read.")
@answering
def get(name: str, accept_license: bool) -> Answer:
    """Download a data set into the user's cache, and check it."""
    card = _card(name)
    with heartbeat(f"getting {card.name}"):
        folder = fetch(card, accept_license=accept_license)
    facts = {"name": card.name, "folder": str(folder), "licence": card.licence, "citation": card.citation}
    return Answer(facts, f"{card.name} is in {folder}; licence: {card.licence}; cite: {card.citation}")


@data.command()
@click.argument("name", required=False, shell_complete=complete_names("dataset"))
@answering
def verify(name: str | None) -> Answer:
    """Check the sha256 of the files of one data set, or of all that are here."""
    every = cards().values()
    here = [_card(name)] if name is not None else [card for card in every if card_folder(card) is not None]

    def verified() -> Iterator[str]:
        for card in here:
            with heartbeat(f"verifying {card.name}"):
                locate(card)
            yield card.name

    said = (f"{each}: ok" for each in verified()) if here else ["no data set is here; see `rankbench data list`"]
    return Answer(lambda: {"ok": list(verified())}, tables=said)


@data.command()
@click.argument("table", metavar="FILE|NAME", shell_complete=complete_names("dataset", files=True))
@question_options(ReadingQuestion, RowsQuestion, LogQuestion)
@click.option(
    "--write-reading",
    "keep_reading",
    is_flag=True,
    help="Write what columns mean into FILE.reading.toml; a draft, where that is asked.",
)
@click.option("--ask", is_flag=True, help="Ask what columns mean, at most five questions, and write it beside FILE.")
@answering
def describe(table: str, keep_reading: bool, ask: bool, **options: Any) -> Answer:
    """Describe a file, a folder of shards or a data set, with the role of each column."""
    asked = LogQuestion.from_options(**options)
    keep = asked.keep
    source = _read_and_kept(table, asked.reader, asked.told, ask=ask) if keep_reading or ask else None
    if source is None or keep:
        source = open_log(table, columns=asked.told, reader=asked.reader, keep=keep)
    with heartbeat(f"describing {shown_log(table)}"):
        summary = source.counted(lambda frame: summarize(frame, path=source.path))
        position = summary.facts.get("position")
        side = position is not None and not position.lower <= 0.5 <= position.upper
        controls = offered_controls(source, side)
    read, left, notes = dict(source.columns), list(source.left), list(source.notes)
    said: dict[str, object] = {"columns": read, "columns_left_out": left} if read else {}
    said |= {"reading": dict(source.stated)} if source.stated else {}
    said |= ({"controls": controls} if controls else {}) | ({"filter": keep.as_dict()} if keep else {})
    record = summary.as_dict() | said | ({"notes": notes} if notes else {})
    offer = f"--control {shlex.quote(', '.join(controls))} (aggregate and run)" if controls else ""
    lines = [
        ("columns read", ", ".join(_reading(role, name) for role, name in read.items())),
        ("left out", listed(left)),
        ("could be controlled for", offer),
    ]
    # The headline has the kind of table and the amounts; what is not there is said at once.
    headline, none = summary.headline(), ", ".join(name for name, value in summary.lines if value == "none")
    more = [(name, value) for name, value in summary.lines if f" {value} {name}" not in headline and value != "none"]
    rows = [line for line in (*more, ("none", none), *lines) if line[0] != "table" and line[1]]
    to_keep = ["--write-reading"] * bool(asked.told and not keep_reading)
    then = [*_ranking_commands(source.table, shown_log(table), asked), *to_keep]
    return Answer(record, headline, [Table(("", ""), rows)], next=then).noted(notes)


def _ranking_commands(kind: TableKind, log: str, asked: LogQuestion) -> list[str]:
    """Return the commands that rank what a table of a kind holds, if any does."""
    if "measurements" in kind.judgments:
        return [command_on("rank", log, asked)]
    if not default_of(kind, "method"):
        return []
    audit = [command_on("audit", log, asked)] * (kind.judgments[0] == "comparisons")
    return [command_on("aggregate", log, asked, "--intervals"), *audit]


@data.command()
@click.argument("source", metavar="SRC", type=click.Path(path_type=Path))
@click.argument("destination", metavar="DST", type=click.Path(path_type=Path))
@click.option("--shards", default=16, show_default=True, type=click.IntRange(1, 99_999), help="Number of files.")
@question_options(ReadingQuestion)
@click.option("--force", is_flag=True, help="Replace DST if it is a folder of shards.")
@answering
def convert(source: Path, destination: Path, shards: int, force: bool, **options: Any) -> Answer:
    """Stream a file of any size to a folder of Parquet shards."""
    done = [0]

    def progress(rows: int) -> None:
        done[0] = rows

    asked = ReadingQuestion.from_options(**options)
    chosen = manager.get(Reader, asked.reader) if asked.reader else None
    with heartbeat(lambda: count_text(done[0], "row")):
        manifest = run(
            source, destination, shards=shards, force=force, reader=chosen, told=asked.told, progress=progress
        )
    counts = {"rows": manifest.rows, "queries": manifest.queries, "shards": len(manifest.shards)}
    rows, queries, files = map(count_text, counts.values(), ("row", "query", "shard"))
    said = f"{rows} of {queries} in {files}: {destination}"
    return Answer({"folder": str(destination), "table": manifest.table, **counts}, said)


def _read_and_kept(table: str, reader: str, columns: str, *, ask: bool) -> OpenedLog:
    """Return an opened file, whose reading is written beside it; a draft where rankbench asks.

    Raises
    ------
    InputError
        It is no file, or its reading is there already.
    Unread
        The draft is written: it says where.
    """
    raw = raw_log(table, reader)
    if raw.path is None or raw.held is None:
        raise InputError("only a file, or a folder, has a reading beside it", path=raw.name)
    if (file := reading_path(raw.path)).exists():
        raise InputError("it is there already; remove it, or edit it", path=file)
    try:
        source = asked_log(raw, columns) if ask else raw.opened(columns)
    except Unread as error:
        if ask:
            raise
        file = write_reading(raw.path, draft(raw.held))
        more = f"{error.message}\n  a draft is in {file}: move columns to their roles"
        raise Unread(more, code=error.code, path=raw.path) from None
    if source.reading is not None:
        click.echo(f"{write_reading(raw.path, kept_reading(source.reading, raw.held.schema.names()))}", err=True)
    return source


def _reading(role: str, name: str) -> str:
    """Return a column's role in the form of ``--columns``; its name alone if that is the role."""
    return name if role == name else names_text({role: (name,)})
