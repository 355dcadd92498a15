"""Checks try readers, kinds of tables, known formats and data sets."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from rankbench.core.spec import Spec
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readings.find import read_table
from rankbench.data.readings.formats import KnownFormat, SampleFile
from rankbench.data.readings.standard import by_standard_names
from rankbench.data.tables.checks import judgments_of, recognized, table_of, validate
from rankbench.data.tables.kinds import built_in, table_kinds
from rankbench.errors import ChecksumError, InputError, LicenseError, SpecError, Unread
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import reason
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table import QUERY
from rankbench.interfaces.table_check import RawTable
from rankbench.plugin.manager import get, names
from rankbench.plugin.registry import SUITE
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, conformance_check
from rankbench.testing.checks.declarations import points

T = TypeVar("T")

DAMAGES = 60
JUNK = (b"", b"\x00\xff\xfe" * 50, b"PK\x03\x04 not what it seems", b"\n\n\n", "ünïcode only".encode(), b"{" * 2000)


@contextmanager
def _file(subject: Subject, content: bytes) -> Iterator[Path]:
    ending = (*subject.it.extensions, ".data")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"example{ending}"
        path.write_bytes(content)
        yield path


def _reader_example(subject: Subject) -> bytes:
    """Return the reader's example.

    Raises
    ------
    CheckSkipped
        It has none.
    """
    example = subject.it.example()
    if not isinstance(example, bytes):
        raise CheckFailed(f"example() returned {type(example).__name__}, not bytes")
    if not example:
        raise CheckSkipped("it has no example(): a few lines of its format would let it be read")
    return example


def _reader_read(subject: Subject, path: Path) -> pl.DataFrame:
    frame: pl.DataFrame = subject.it.scan(path).collect()
    return frame


@conformance_check("reader")
def extensions_are_endings(subject: Subject) -> None:
    """File name endings begin with a dot and are in lower case."""
    for ending in subject.it.extensions:
        if not ending.startswith(".") or ending != ending.lower() or ending == ".gz":
            raise CheckFailed(f"{ending!r} is no ending such as '.csv', in lower case")


@conformance_check("reader")
def sniffing_never_fails(subject: Subject) -> None:
    """`sniff` says yes or no to any bytes at all."""
    example = subject.it.example()
    for head in (*JUNK, example[:100], example):
        try:
            found = subject.it.sniff(Path("example"), head)
        except Exception as error:
            raise CheckFailed(f"sniff at {head[:20]!r} raised {reason(error)}") from error
        if not isinstance(found, (bool, np.bool_)):
            raise CheckFailed(f"sniff returned {found!r}, neither true nor false")


@conformance_check("reader")
def missing_and_empty_files_are_errors(subject: Subject) -> None:
    """A file that is not there, or has no bytes, is an `InputError` that names it."""
    with _file(subject, b"") as path:
        for bad in (path, path.with_name("no-such-file" + path.suffix)):
            try:
                _reader_read(subject, bad)
            except InputError as error:
                if bad.name not in str(error):
                    raise CheckFailed(f"the error does not name the file: {error}") from error
                continue
            except Exception as error:
                raise CheckFailed(f"{bad.name}: raised {reason(error)} instead of InputError") from error
            raise CheckFailed(f"{bad.name}: it reads a file that is {'empty' if bad == path else 'not there'}")


@conformance_check("reader")
def example_is_read(subject: Subject) -> None:
    """Its own example becomes a table in the schema, the same each time, and the file is left alone."""
    example = _reader_example(subject)
    with _file(subject, example) as path:
        frame = _reader_read(subject, path)
        if frame.height == 0:
            raise CheckFailed("its example has no rows")
        table_of(frame.schema)
        if not subject.it.scan(path).collect_schema() == frame.schema:
            raise CheckFailed("the lazy frame's schema is another one than the frame's")
        if not frame.equals(_reader_read(subject, path)):
            raise CheckFailed("read again, the example has other rows")
        pieces = pl.concat(list(subject.it.batches(path)))
        if not pieces.equals(frame):
            raise CheckFailed("batches() yields other rows than scan()")
        if path.read_bytes() != example:
            raise CheckFailed("reading changed the file")
        path.write_bytes(b"")
        try:
            _reader_read(subject, path)
        except InputError:
            return
        raise CheckFailed("emptied, the file has the rows that it had before: keep nothing of a file by its name")


@conformance_check("reader")
def line_ends_do_not_matter(subject: Subject) -> None:
    """An example of text has the same rows with lines that end as on Windows, or without the last end."""
    example = _reader_example(subject)
    try:
        lines = example.decode().split("\n")
    except UnicodeDecodeError as error:
        raise CheckSkipped("its example is no text") from error
    with _file(subject, example) as path:
        frame = _reader_read(subject, path)
    for what, changed in {
        "\\r\\n for \\n": "\r\n".join(lines),
        "no last end of a line": "\n".join(lines).rstrip("\n"),
    }.items():
        with _file(subject, changed.encode()) as path:
            try:
                found = _reader_read(subject, path)
            except InputError:
                continue
            if not found.equals(frame):
                raise CheckFailed(f"with {what}, the example has other rows")


@conformance_check("reader")
def damaged_examples_are_errors_or_tables(subject: Subject) -> None:
    """Cut, doubled and with any byte changed, the example is read or refused with an `InputError`."""
    example = _reader_example(subject)
    rng = np.random.default_rng(95)
    for number in range(DAMAGES):
        damaged = bytearray(example)
        at = int(rng.integers(len(damaged)))
        if number % 3 == 0:
            del damaged[at:]
        elif number % 3 == 1:
            damaged[at] = int(rng.integers(256))
        else:
            damaged[at:at] = rng.bytes(4)
        with _file(subject, bytes(damaged)) as path:
            try:
                _reader_read(subject, path)
            except InputError:
                continue
            except Exception as error:
                raise CheckFailed(
                    f"the example, damaged at byte {at}, raised {reason(error)} instead of InputError"
                ) from error


def _table_example(subject: Subject) -> pl.DataFrame:
    return pl.DataFrame(dict(subject.it.example()))


def _table_read(subject: Subject, frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Return a table in the schema, fed in pieces."""
    one = subject.it.check(RawTable(pl.concat(frames).lazy()))()
    fed = [one.feed(frame) for frame in frames]
    one.end()
    found: pl.DataFrame = pl.concat(fed)
    if found.schema != one.schema:
        raise CheckFailed(f"its rows come out as {dict(found.schema)}, and its check's schema is {dict(one.schema)}")
    return found


@conformance_check("table")
def example_is_read_by_its_names(subject: Subject) -> None:
    """The names of its example's columns are roles of this kind alone, of all that are registered."""
    it, example = subject.it, _table_example(subject)
    if missing := it.missing(example.columns):
        raise CheckFailed(f"its example has not the columns {', '.join(missing)}")
    kinds = [*(kind for kind in table_kinds() if kind.name != it.name), it]
    if (found := recognized(example.columns, kinds)) != it:
        raise CheckFailed(f"the columns of its example make a table of {found}; no two kinds may have the same columns")
    try:
        read = by_standard_names(RawTable(example.lazy()), Reading(), kinds)
    except InputError as error:
        raise CheckFailed(f"a file of its example is not read: {error}") from error
    if read is None:
        raise CheckFailed("the names of its example's columns are no roles of its `shapes`")
    check = it.check(read.table)()
    rows = pl.concat([check.feed(batch) for batch in read.table.batches()])
    if not rows.equals(_table_read(subject, [example])):
        raise CheckFailed("`read` makes other rows of its example than it has")


@conformance_check("table")
def example_is_read_in_any_pieces(subject: Subject) -> None:
    """Its example becomes a table in the schema, at once or row by row, with the query first, the same each time."""
    example = _table_example(subject)
    whole = _table_read(subject, [example])
    if whole.height != example.height or whole.columns[:1] != [QUERY] or whole.schema[QUERY] != pl.String:
        raise CheckFailed(f"its example's {example.height} rows become {whole.height}, of {dict(whole.schema)}")
    if not whole.equals(_table_read(subject, [example])):
        raise CheckFailed("read again, the example has other rows")
    if not whole.equals(_table_read(subject, [example[row] for row in range(example.height)])):
        raise CheckFailed("row by row, the example has other rows than at once")


@conformance_check("table")
def damaged_columns_are_errors_or_tables(subject: Subject) -> None:
    """With any column emptied, or full of something else, it is read, or refused with the column or row."""
    example = _table_example(subject)
    for what, damaged in _damages(example):
        try:
            _table_read(subject, [damaged])
        except InputError as error:
            if error.column is None and error.row is None:
                raise CheckFailed(f"{what}: the error names neither row nor column: {error}") from error
        except CheckFailed:
            raise
        except Exception as error:
            raise CheckFailed(f"{what} raised {reason(error)} instead of InputError") from error


def _damages(example: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    others: dict[str, list[Any]] = {
        "texts": ["?!"],
        "numbers": [float("nan")],
        "numbers below zero": [-1],
        "lists": [[["a"]]],
        "truth values": [True],
        "dates": [None],
    }
    types = {"dates": pl.Date()}
    for name in example.columns:
        emptied = pl.when(pl.int_range(pl.len()) > 0).then(pl.col(name)).alias(name)
        yield f"column {name!r} without its first value", example.with_columns(emptied)
        for what, value in others.items():
            column = pl.Series(name, value * example.height, dtype=types.get(what))
            yield f"column {name!r} of {what}", example.with_columns(column)


@conformance_check("table")
def facts_are_plain(subject: Subject) -> None:
    """`facts` are numbers and texts by name, and not what is counted of every table."""
    found = subject.it.facts(_table_read(subject, [_table_example(subject)]).lazy())
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and isinstance(value, int | float | str) for name, value in found.items()
    ):
        raise CheckFailed(f"facts() returned {found!r}, not numbers and texts by name")
    if taken := {"table", "rows", "queries", "rows_per_query"} & set(found):
        raise CheckFailed(f"facts() has {', '.join(sorted(taken))}, which `data describe` counts itself")


@conformance_check("table")
def what_it_names_is_there(subject: Subject) -> None:
    """The suite that asks which method suits it and the aggregator that ranks it are registered, and fit it."""
    it = subject.it
    if not it.suite and not it.method:
        raise CheckSkipped("it names neither a suite nor a method")
    if it.suite and it.suite not in names(SUITE):
        raise CheckFailed(f"`suite` is {it.suite!r}, which no plugin brings")
    if it.method and get(Aggregator, it.method).judgments not in it.judgments:
        raise CheckFailed(f"`method` is {it.method!r}, which aggregates none of its `judgments`")
    if not it.words:
        raise CheckFailed("`words` is empty: what are its rows called?")


@conformance_check("table")
def rows_are_the_judgments_that_it_says(subject: Subject) -> None:
    """Where it has `judgments`, `as_judgments` makes a table of them, the first, of its example."""
    it = subject.it
    if not it.judgments:
        raise CheckSkipped("it has no judgments")
    kind, rows = judgments_of(it, _table_read(subject, [_table_example(subject)]).lazy())
    if kind.row != it.row:
        raise CheckFailed(f"`judgments` begins with {it.judgments[0]!r}, and `as_judgments` makes a table of {kind}")
    if kind == it and any(other.missing(rows.collect_schema()) for other in built_in().values() if other.row == it.row):
        raise CheckFailed("`as_judgments` returns the table itself, which has not the columns of a built-in kind")
    if not rows.collect().height:
        raise CheckFailed("`as_judgments` makes no judgment of its example")


def _format_read(sample: SampleFile | None, part: str) -> str:
    """Return the format that reads a small file, or ``""``."""
    if sample is None:
        raise CheckFailed(f"there is no [{part}]")
    with tempfile.TemporaryDirectory() as folder:
        path = sample.written(Path(folder))
        try:
            return read_table(choose_reader(path).raw(path), Reading()).reading.format
        except Unread as error:
            return "refused" if error.code == "known" else ""
        except InputError:
            return ""


@conformance_check("format")
def example_is_read_by_it(subject: Subject) -> None:
    """A file as its `example` is read by this format alone, or refused with its advice."""
    entry = KnownFormat.load(subject.it)
    found = _format_read(entry.example, "example")
    if found != ("refused" if entry.refuse else entry.name):
        raise CheckFailed(f"its example is read by {found or 'no format'}")


@conformance_check("format")
def look_alike_is_not_read_by_it(subject: Subject) -> None:
    """The file `unlike`, which only looks so, is not read by this format."""
    entry = KnownFormat.load(subject.it)
    if _format_read(entry.unlike, "unlike") == entry.name:
        raise CheckFailed("the file of [unlike] is read as if it were of this format")


def _rows(it: Any) -> pl.DataFrame:
    """Return the table of a data set.

    Raises
    ------
    CheckSkipped
        The data are not on this machine.
    """
    frame: pl.DataFrame = _here(lambda: it.scan().collect())
    return frame


def _here(read: Callable[[], T]) -> T:
    """Return the result of reading data; skip the check if they are not on this machine."""
    try:
        return read()
    except (ChecksumError, LicenseError):
        raise
    except InputError as error:
        raise CheckSkipped(f"the data are not here: {error}") from error


@conformance_check("dataset")
def described(subject: Subject) -> None:
    """It has a title, a licence, and assumptions where nobody ever judged anything."""
    it = subject.it
    for fact in ("title", "licence"):
        if not isinstance(getattr(it, fact, None), str) or not getattr(it, fact).strip():
            raise CheckFailed(f"`{fact}` is empty")
    assumptions = it.assumptions()
    if not isinstance(assumptions, list) or not all(isinstance(text, str) and text for text in assumptions):
        raise CheckFailed("assumptions() is no list of sentences")
    if it.simulated and not assumptions:
        raise CheckFailed("it is simulated, but assumptions() says nothing")


@conformance_check("dataset")
def fingerprint_is_a_sha256(subject: Subject) -> None:
    """The fingerprint is 64 hex digits, the same each time; of a simulator, another one for other rows."""
    it = subject.it
    first = _here(it.fingerprint)
    if not isinstance(first, str) or not re.fullmatch(r"[0-9a-f]{64}", first):
        raise CheckFailed(f"fingerprint() returned {first!r}, not 64 hex digits")
    if it.fingerprint() != first:
        raise CheckFailed("fingerprint() returns another one each time")
    for name in it.parameters() if it.simulated else ():
        other = _with_another(it, name)
        if other is not None and other.fingerprint() == first and not _rows(other).equals(_rows(it)):
            raise CheckFailed(f"with another {name} it has other rows, and the same fingerprint")


@conformance_check("dataset")
def rows_are_in_the_schema(subject: Subject) -> None:
    """The table is what `table` says, in the schema, its queries standing together."""
    it = subject.it
    frame = _rows(it)
    if frame.height == 0:
        raise CheckFailed("it has no rows")
    if (found := table_of(frame.schema).name) != it.table:
        raise CheckFailed(f"its columns make a table of {found}, `table` says {it.table}")
    validate(it.table, frame.lazy(), allow_single=True)


@conformance_check("dataset")
def same_seed_same_rows(subject: Subject) -> None:
    """Scanned twice, it has the same rows; a simulator has others for another seed."""
    it = subject.it
    first = _rows(it)
    if not first.equals(_rows(it)):
        raise CheckFailed("scanned again, it has other rows")
    seeded = it.simulated and "seed" in it.parameters()
    if seeded and (other := _with_another(it, "seed")) is not None and first.equals(_rows(other)):
        raise CheckFailed("another seed gives the same rows")


def _with_another(it: Any, name: str) -> Any:
    """Return a data set with another value of a parameter, or None where no other one is accepted."""
    given = it.spec().params
    now = getattr(it, it.attributes()[name])
    for value in points(it.parameters()[name]):
        if value != now:
            try:
                return type(it).from_spec(Spec(it.name, {**given, name: value}))
            except SpecError:
                continue
    return None
