"""The interface of data sets."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from rankbench.component import Component
from rankbench.errors import SpecError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dataset", "simulator_fingerprint"]


class Dataset(Component):
    """Something that yields items or judgments in the columnar schema.

    Attributes
    ----------
    table : str
        What its rows are: the name of a kind of table.
    named : bool
        Whether items have names: one that comes back in another query is known again.
    title : str
        One line for people.
    simulated : bool
        Whether nobody ever judged anything: every leaderboard says so.
    licence : str
    citation : str
    """

    kind: ClassVar[str] = "dataset"
    table: ClassVar[str] = "items"
    named: ClassVar[bool] = False
    title: ClassVar[str]
    simulated: ClassVar[bool] = False
    licence: ClassVar[str] = ""
    citation: ClassVar[str] = ""

    @abstractmethod
    def scan(self) -> pl.LazyFrame:
        """Return the table, in the schema of its kind: see `rankbench.kinds.table`.

        Items are sorted by query.

        Raises
        ------
        InputError
            The data is not there (says how to get it) or cannot be read.
        """

    def scan_as(self, columns: str) -> pl.LazyFrame:
        """Return the table with other meanings of its columns, as ``query=tournament``; optional.

        Parameters
        ----------
        columns : str
            As ``--columns`` of a log's file.

        Raises
        ------
        SpecError
            The data set has its columns.
        """
        raise SpecError(f"{self.name!r} is a data set, which has its columns; leave --columns and --by COLUMN out")

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a sha256 (hex) of the data: of the files, or of a simulator's parameters."""

    def memory(self) -> int:
        """Return how many bytes the table takes in memory, at least; 0: nobody knows.

        A run that needs more than there is is refused before anything is read.
        """
        return 0

    def assumptions(self) -> list[str]:
        """Return what a reader of a leaderboard must know, one sentence each."""
        return []


def simulator_fingerprint(simulator: Dataset, version: int) -> str:
    """Return a sha256 (hex) of a simulator's name, version and parameters: its `Dataset.fingerprint`."""
    text = json.dumps([simulator.name, version, simulator.config()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
