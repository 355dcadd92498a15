"""A table in object storage, or on the web, as a data set: what ``rankbench run --log s3://...`` runs on."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.data.readers.remote import fetched, scan_fetched, shown_address
from rankbench.data.tables.recognize import table_of
from rankbench.data.tables.remarks import remarks_kept
from rankbench.errors import SpecError
from rankbench.kinds.dataset import Dataset
from rankbench.spec import Spec

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LogAddress", "log_address"]


class LogAddress(Dataset):
    """A table at an address, which is fetched once.

    It is not registered. Results name the address, without what signs it, and have the sha256 of the rows.
    """

    name: ClassVar[str] = "log-address"
    source: ClassVar[str] = "an address"
    title: ClassVar[str] = "a log of one's own"

    address: str = Field(description="As in s3://bucket/votes.parquet.", repr=False)
    columns: str = Field(default="", description="What columns mean, as left=model_x,right=model_y.")

    def __str__(self) -> str:
        shown = shown_address(self.address)
        return str(Spec(shown, {"columns": self.columns})) if self.columns else shown

    @cached_property
    def table(self) -> str:  # type: ignore[override]  # other data sets know it before they are made
        """The kind of table that its columns make."""
        return table_of(self.scan().collect_schema()).name

    def scan(self) -> pl.LazyFrame:
        """Return the table; see `Dataset.scan`."""
        return scan_fetched(self.address, self.columns)

    def assumptions(self) -> list[str]:
        """Return how columns were read, where that is not plain."""
        with remarks_kept() as found:
            self.scan()
        return found

    def fingerprint(self) -> str:
        """Return the sha256 of the rows as JSON, a line each, and of what was said of columns.

        The bytes in the storage are not it: a copy of the rows is what is read.
        """
        import polars as pl

        digest = hashlib.sha256(self.columns.encode())
        for batch in pl.scan_parquet(fetched(self.address), glob=False).collect_batches(maintain_order=True):
            digest.update(batch.write_ndjson().encode())
        return digest.hexdigest()


def log_address(address: str, *, columns: str = "", reader: str = "") -> LogAddress:
    """Return the table at an address as a data set.

    Raises
    ------
    InputError
        There is nothing, or nothing that can be read.
    SpecError
        A reader is named, though the ending says it.
    """
    if reader:
        raise SpecError("what is at an address is read by its ending; leave --reader out")
    return LogAddress(address=address, columns=columns)
