"""Tables of ADBench, for those who have the files."""

from __future__ import annotations

import hashlib
import os
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import rankbench
from rankbench.errors import ChecksumError, InputError
from rankbench_rankad.items import to_items
from rankbench_rankad.points import read_npz

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TABLES", "Adbench", "Annthyroid", "Mammography", "Pendigits", "Satellite", "Shuttle", "Smtp"]

FOLDER = "adbench"


@cache
def _cards() -> dict[str, dict[str, Any]]:
    text = (files("rankbench_rankad") / "cards" / "adbench.toml").read_text(encoding="utf-8")
    return {table["name"]: table for table in tomllib.loads(text)["tables"]}


class Adbench(rankbench.Dataset):
    """Base: an anomaly table of ADBench, looked for in the folder ``adbench`` of ``RANKBENCH_DATA``.

    The files are not downloaded: the terms of the tables differ, and none of them comes
    with this package. Their sha256 are checked.
    """

    source: ClassVar[str] = "Han et al. 2022"
    licence: ClassVar[str] = "of each table's own publisher; not redistributed here"
    citation: ClassVar[str] = (
        "S. Han, X. Hu, H. Huang, M. Jiang and Y. Zhao. ADBench: anomaly detection benchmark. NeurIPS 2022."
    )

    @classmethod
    def card(cls) -> dict[str, Any]:
        """Return what the card says of the table."""
        return _cards()[cls.name.removeprefix("adbench-")]

    def path(self) -> Path:
        """Return where the file is.

        Raises
        ------
        InputError
            It is not there; says how to get it.
        """
        file = str(self.card()["file"])
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
        return str(self.card()["sha256"])

    def assumptions(self) -> list[str]:
        """Return what the table is."""
        card = self.card()
        return [f"{card['rows']:,} points with {card['d']} features, {card['anomalies']:,} of them labeled anomalies."]


class Annthyroid(Adbench):
    """Thyroid records; the anomalies are hyper- and subnormal function."""

    name: ClassVar[str] = "adbench-annthyroid"
    title: ClassVar[str] = "Thyroid records; the anomalies are hyper- and subnormal function (ADBench)"


class Mammography(Adbench):
    """Candidate regions of mammograms; the anomalies are calcifications."""

    name: ClassVar[str] = "adbench-mammography"
    title: ClassVar[str] = "Candidate regions of mammograms; the anomalies are calcifications (ADBench)"


class Pendigits(Adbench):
    """Pen strokes of digits; the anomalies are a digit made rare."""

    name: ClassVar[str] = "adbench-pendigits"
    title: ClassVar[str] = "Pen strokes of digits; the anomalies are a digit made rare (ADBench)"


class Satellite(Adbench):
    """Pixels of Landsat images; the anomalies are the rare classes of soil."""

    name: ClassVar[str] = "adbench-satellite"
    title: ClassVar[str] = "Pixels of Landsat images; the anomalies are the rare classes of soil (ADBench)"


class Shuttle(Adbench):
    """Sensor readings of the space shuttle; the anomalies are its uncommon states."""

    name: ClassVar[str] = "adbench-shuttle"
    title: ClassVar[str] = "Sensor readings of the space shuttle; the anomalies are its uncommon states (ADBench)"


class Smtp(Adbench):
    """Mail connections of KDD Cup 99; the anomalies are attacks."""

    name: ClassVar[str] = "adbench-smtp"
    title: ClassVar[str] = "Mail connections of KDD Cup 99; the anomalies are attacks (ADBench)"


TABLES: tuple[type[Adbench], ...] = (Annthyroid, Mammography, Pendigits, Satellite, Shuttle, Smtp)
"""All of them."""
