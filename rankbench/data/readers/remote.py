"""Remote files are read from object storage or a pipe."""

from __future__ import annotations

import os
import re
import sys
from contextlib import AbstractContextManager
from functools import cache, partial
from itertools import chain
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit, urlunsplit

import polars as pl

from rankbench.core.temporary import kept_folder
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.frame_source import frames_in_turn, readable
from rankbench.data.readers.text_lines import NULLS
from rankbench.data.readers.unpacked import fill_file, head
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.table_check import RawTable

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "http", "https", "hf")
"""Schemes of addresses, before ``://``."""

_SECRET = re.compile(r"(?i)((?:key|secret|token|signature|credential|password)[\w-]*\s*[=:>]\s*)[^\s,;&<\"']+")
_CREDENTIAL = re.compile(r"(?i)key|secret|token|credential|password")
_SHORTEST_SECRET = 6

_PARQUET, _LINES, _TABLES = (".parquet", ".pq"), (".ndjson", ".jsonl"), (".csv", ".tsv")


def is_address(text: str) -> bool:
    """Return whether a text is the address of something in object storage or on the web."""
    return text.partition("://")[0].lower() in SCHEMES and "://" in text


def shown_address(text: str) -> str:
    """Return an address for printing: without a user's name, password and signature."""
    parts = urlsplit(text)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def shown_log(text: str) -> str:
    """Return a log's name for printing: of an address, `shown_address`."""
    return shown_address(text) if is_address(text) else text


def raw_address(text: str) -> RawTable:
    """Return the table at an address: Parquet, a folder or a pattern of it too; CSV with a header; NDJSON.

    Parameters
    ----------
    text : str
        As in ``s3://bucket/votes/*.parquet``. Credentials come from where Polars looks for them, as ``AWS_PROFILE`` or
        ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, and ``AWS_ENDPOINT_URL``; never from the address.

    Raises
    ------
    InputError
        There is nothing, or nothing that can be read.
    SpecError
        The ending says no format; the address has a password in it.
    """
    raw, header = _raw(text)
    with naming_address(text):
        rows = frames_in_turn([raw], [partial(naming_address, text)])
    return _of_address(rows, header, text)


def _of_address(rows: pl.LazyFrame, header: int, text: str) -> RawTable:
    return RawTable(rows, header=header, locate=lambda row: (shown_address(text), row + header))


@cache
def fetched(text: str) -> Path:
    """Return a file with the contents of an address, as Parquet; it exists until the program ends.

    For what reads a table more than once. Raises what `raw_address` raises.
    """
    raw, _ = _raw(text)
    with kept_folder() as folder, naming_address(text):
        path = folder / "fetched.parquet"
        raw.sink_parquet(path, maintain_order=True)
    return path


def raw_fetched(text: str) -> RawTable:
    """Return the result of `raw_address` for the `fetched` copy."""
    return _of_address(pl.scan_parquet(fetched(text), glob=False), _raw(text)[1], text)


def _raw(text: str) -> tuple[pl.LazyFrame, int]:
    """Return the table at an address, unread, and the number of lines before its first row.

    Raises
    ------
    InputError, SpecError
        See `raw_address`.
    """
    shown = shown_address(text)
    if "@" in urlsplit(text).netloc and not text.startswith("abfs"):
        raise SpecError(f"{shown}: leave user and password out of the address; credentials come from the environment")
    ending = PurePosixPath(urlsplit(text).path.lower()).suffix
    with naming_address(text):
        if ending in _LINES:
            return pl.scan_ndjson(text, infer_schema_length=None), 0
        if ending in _TABLES:
            return pl.scan_csv(text, separator="\t" if ending == ".tsv" else ",", infer_schema=False), 1
        if ending in _PARQUET or text.endswith("/"):
            return pl.scan_parquet(text), 0
    raise SpecError(
        f"{shown}: its ending says no format; read are .parquet, .csv, .tsv, .ndjson, and folders of Parquet, with "
        "a / at the end"
    )


def naming_address(text: str) -> AbstractContextManager[None]:
    """Add the address, without credentials, to errors raised inside."""
    return readable(shown_address(text), _harmless)


def _harmless(message: str) -> str:
    """Return a message of the storage without keys and signatures."""
    line = _SECRET.sub(r"\1...", message)
    for name, value in os.environ.items():
        if _CREDENTIAL.search(name) and len(value) >= _SHORTEST_SECRET:
            line = line.replace(value, "...")
    return line


_BLOCK = 1 << 20


@cache
def piped() -> Path:
    """Return a file with the contents of standard input; it exists until the program ends.

    Its ending is of the format that its first bytes have, or of CSV if no reader knows them.

    Raises
    ------
    InputError
        Nothing is piped in; it is no text and of no format that is known; or more comes than there is room for.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- reads piped input, as in `cat votes.csv | rankbench aggregate -`, but nothing is piped in")
    rest = iter(partial(sys.stdin.buffer.read, _BLOCK), b"")
    first = next(rest, b"")
    with kept_folder() as folder:
        path = fill_file(folder / "stdin", [first], "-")
        try:
            choose_reader(path)
        except InputError:
            path = path.rename(path.with_suffix(".csv"))
            _check_text(path)
        return fill_file(path, chain([first], rest), "-")


def _check_text(path: Path) -> None:
    """Raise for binary input, which may have no end; a reader reports other errors."""
    try:
        first = head(path, _BLOCK)
    except InputError:
        return
    if 0 in first:
        raise InputError(f"-: {NULLS}")
