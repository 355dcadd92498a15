"""What a published folder consists of, under digests."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from rankbench.errors import StoreError
from rankbench.store.published import SCHEMA, PublishedRows

__all__ = ["DIGESTS", "Digests", "check_listed", "read_digests"]

DIGESTS = "digests.json"


class Digests(BaseModel):
    """What a published folder consists of.

    Attributes
    ----------
    schema_version : int
        Of this list.
    rows : str
        sha256 of the manifest of the rows, and so of all of them.
    files : dict of str to str
        sha256 by file, but for those of the rows.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: int = SCHEMA
    rows: str
    files: dict[str, str]


def read_digests(directory: Path) -> Digests | None:
    """Return what a folder consists of; None if nobody published it.

    Raises
    ------
    StoreError
        The list cannot be read.
    """
    path = directory / DIGESTS
    if not path.exists():
        return None
    try:
        found = Digests.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path}: it is no list of published files: {error}") from error
    if found.schema_version > SCHEMA:
        raise StoreError(f"{path}: it has version {found.schema_version}, and this rankbench reads up to {SCHEMA}")
    return found


def check_listed(directory: Path, rows: PublishedRows) -> None:
    """Refuse rows that are not those that a published folder names; of a folder that names none, nothing is known.

    The list and the manifest of the rows are read and hashed once: a millisecond. All other rows are under that digest.

    Raises
    ------
    StoreError
        They are others, or the list cannot be read.
    """
    listed = read_digests(directory)
    if listed is not None and listed.rows != rows.digest:
        raise StoreError(
            f"{rows.path}: these are not the rows that were published: {directory / DIGESTS} has another sha256 of "
            "them; publish the run again, or see what differs by `rankbench verify`"
        )
