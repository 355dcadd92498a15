"""Tables in object storage, by their addresses: Polars reads them itself, with the credentials that it finds."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from rankbench.errors import InputError, SpecError
from rankbench.kinds.table_check import UNREADABLE

if TYPE_CHECKING:
    import polars as pl

__all__ = ["is_address", "scan_address", "shown_address"]

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "http", "https", "hf")
"""What an address may begin with, before ``://``."""

_SECRET = re.compile(r"((?:key|secret|token|signature|credential|password)[\w-]*\s*[=:]\s*)[^\s,;&\"']+", re.IGNORECASE)

_PARQUET, _LINES, _TABLES = (".parquet", ".pq"), (".ndjson", ".jsonl"), (".csv", ".tsv")


def is_address(text: str) -> bool:
    """Return whether a text is the address of something in object storage or on the web."""
    return text.partition("://")[0].lower() in SCHEMES and "://" in text


def shown_address(text: str) -> str:
    """Return an address as it may be printed: without a user's name and password, and without what is signed."""
    parts = urlsplit(text)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def scan_address(text: str, columns: str = "") -> pl.LazyFrame:
    """Return the table at an address, checked: Parquet, a folder or a pattern of it too; CSV with a header; NDJSON.

    Parameters
    ----------
    text : str
        As in ``s3://bucket/votes/*.parquet``. Credentials come from where Polars looks for them, as ``AWS_PROFILE`` or
        ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, and ``AWS_ENDPOINT_URL``; never from the address.
    columns : str
        What columns mean, as for a file.

    Raises
    ------
    InputError
        There is nothing, or nothing that can be read.
    SpecError
        The ending says no format; the address has a password in it.
    """
    import polars as pl

    from rankbench.data.tables.checks import checked

    shown = shown_address(text)
    if "@" in urlsplit(text).netloc and not text.startswith("abfs"):
        raise SpecError(f"{shown}: leave user and password out of the address; credentials come from the environment")
    name = PurePosixPath(urlsplit(text).path.lower())
    ending = name.suffix
    header = 0
    if ending in _LINES:
        raw = pl.scan_ndjson(text, infer_schema_length=None)
    elif ending in _TABLES:
        raw, header = pl.scan_csv(text, separator="\t" if ending == ".tsv" else ",", infer_schema=False), 1
    elif ending in _PARQUET or text.endswith("/"):
        raw = pl.scan_parquet(text)
    else:
        raise SpecError(
            f"{shown}: its ending says no format; read are .parquet, .csv, .tsv, .ndjson, and folders of Parquet, with "
            "a / at the end"
        )
    try:
        return checked(raw, header=header, columns=columns)
    except UNREADABLE as error:
        raise InputError(_harmless(str(error)), path=shown) from error
    except InputError as error:
        raise type(error)(_harmless(error.message), path=shown, row=error.row, column=error.column) from error


def _harmless(message: str) -> str:
    """Return the first line of what storage says, without keys and signatures."""
    line = message.strip().split("\n", 1)[0][:300]
    return re.sub(
        r"(?i)((?:key|secret|token|signature|credential|password)[\w-]*\s*[=:]\s*)[^\s,;&\"']+", r"\1...", line
    )
