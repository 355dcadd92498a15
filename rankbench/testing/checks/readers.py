"""Readers: their own example, read again and again, whole and damaged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankbench.errors import InputError
from rankbench.kinds.guard import reason
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject

if TYPE_CHECKING:
    import polars as pl

DAMAGES = 60
JUNK = (b"", b"\x00\xff\xfe" * 50, b"PK\x03\x04 not what it seems", b"\n\n\n", "ünïcode only".encode(), b"{" * 2000)


@contextmanager
def _file(subject: Subject, content: bytes) -> Iterator[Path]:
    ending = (*subject.it.extensions, ".data")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"example{ending}"
        path.write_bytes(content)
        yield path


def _example(subject: Subject) -> bytes:
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


def _read(subject: Subject, path: Path) -> pl.DataFrame:
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
                _read(subject, bad)
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
    from rankbench.data.tables.recognize import table_of

    example = _example(subject)
    with _file(subject, example) as path:
        frame = _read(subject, path)
        if frame.height == 0:
            raise CheckFailed("its example has no rows")
        table_of(frame.schema)
        if not subject.it.scan(path).collect_schema() == frame.schema:
            raise CheckFailed("the lazy frame's schema is another one than the frame's")
        if not frame.equals(_read(subject, path)):
            raise CheckFailed("read again, the example has other rows")
        import polars as pl

        pieces = pl.concat(list(subject.it.batches(path)))
        if not pieces.equals(frame):
            raise CheckFailed("batches() yields other rows than scan()")
        if path.read_bytes() != example:
            raise CheckFailed("reading changed the file")


@conformance_check("reader")
def damaged_examples_are_errors_or_tables(subject: Subject) -> None:
    """Cut, doubled and with any byte changed, the example is read or refused with an `InputError`."""
    example = _example(subject)
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
                _read(subject, path)
            except InputError:
                continue
            except Exception as error:
                raise CheckFailed(
                    f"the example, damaged at byte {at}, raised {reason(error)} instead of InputError"
                ) from error
