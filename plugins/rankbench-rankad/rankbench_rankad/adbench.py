"""Tables of ADBench, for those who have the files."""

from __future__ import annotations

import hashlib
import os
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

import rankbench
from rankbench.errors import ChecksumError, InputError
from rankbench_rankad.items import to_items
from rankbench_rankad.points import read_npz

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TABLES", "Adbench", "Table"]

Table = Literal["annthyroid", "mammography", "pendigits", "satellite", "shuttle", "smtp"]

TABLES: tuple[Table, ...] = ("annthyroid", "mammography", "pendigits", "satellite", "shuttle", "smtp")

FOLDER = "adbench"


@cache
def _cards() -> dict[str, dict[str, Any]]:
    text = (files("rankbench_rankad") / "cards" / "adbench.toml").read_text(encoding="utf-8")
    return {table["name"]: table for table in tomllib.loads(text)["tables"]}


class Adbench(rankbench.Dataset):
    """An anomaly table of ADBench, looked for in the folder ``adbench`` of ``RANKBENCH_DATA``.

    The files are not downloaded: the terms of the tables differ, and none of them comes
    with this package. Their sha256 are checked.
    """

    name: ClassVar[str] = "adbench"
    title: ClassVar[str] = "Anomaly tables of ADBench: annthyroid, mammography, pendigits, satellite, shuttle, smtp"
    source: ClassVar[str] = "Han et al. 2022"
    licence: ClassVar[str] = "of each table's own publisher; not redistributed here"
    citation: ClassVar[str] = (
        "S. Han, X. Hu, H. Huang, M. Jiang and Y. Zhao. ADBench: anomaly detection benchmark. NeurIPS 2022."
    )

    points: Table = Field(default="mammography", description="Which table.")

    def path(self) -> Path:
        """Return where the file is.

        Raises
        ------
        InputError
            It is not there; says how to get it.
        """
        file = str(_cards()[self.points]["file"])
        named = os.environ.get("RANKBENCH_DATA", "")
        path = Path(named) / FOLDER / file
        if not named or not path.is_file():
            raise InputError(
                f"the data set {self!s} is not here; get {file} from github.com/Minqi824/ADBench "
                f"(adbench/datasets/Classical) and put it at {FOLDER}/{file} in the folder that RANKBENCH_DATA names"
            )
        return path

    def scan(self) -> pl.LazyFrame:
        """Return the points as the items of one query, labeled 1 for anomalies.

        Raises
        ------
        InputError
            The file is not there.
        ChecksumError
            It is another file.
        """
        path = self.path()
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.fingerprint():
            raise ChecksumError(f"its sha256 is {found}, not {self.fingerprint()}; get it again", path=path)
        points = read_npz(path)
        return to_items(points.x, points.labels)

    def fingerprint(self) -> str:
        """Return the sha256 of the file, as the card has it; `scan` checks the file against it."""
        return str(_cards()[self.points]["sha256"])

    def assumptions(self) -> list[str]:
        """Return what the table is."""
        card = _cards()[self.points]
        return [
            f"{card['rows']:,} points with {card['d']} features, {card['anomalies']:,} of them labeled anomalies: "
            f"{card['what']}."
        ]
