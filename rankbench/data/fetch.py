"""Functions find, download and verify files of data cards, and make data sets of them.

Files are looked for beside the cards (those that are shipped), in the folder that
``RANKBENCH_DATA`` names, below the card's name, and then in the user's cache. Nothing is used
whose sha256 is not the card's: the sum is computed each time that the files are asked for, since
a size and a time of change say nothing about contents.
"""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rankbench.core.runtime import cache_root
from rankbench.core.system import replacement
from rankbench.core.text import first_of
from rankbench.data.cards import Card, CardFile, card_folders, cards
from rankbench.data.convert import sha256_of
from rankbench.data.tables.checks import CheckedTable, checked_table
from rankbench.data.tables.kinds import table_kind
from rankbench.data.tables.row_conditions import Condition
from rankbench.errors import ChecksumError, InputError, LicenseError
from rankbench.interfaces.dataset import Dataset, Reader
from rankbench.interfaces.table_check import RawTable
from rankbench.plugin.manager import get

_NAMED = 5
"""Files that a message names."""


def cache_folder() -> Path:
    """Return the folder of downloaded data in the user's cache."""
    return cache_root() / "data"


def card_folder(card: Card) -> Path | None:
    """Return the folder that holds a card's files, or None.

    Files that their licence allows to ship stand beside the card, and so may files of a user's own card.

    Raises
    ------
    InputError
        ``RANKBENCH_DATA`` has some of the files but not all, or is no folder.
    """
    for beside in (folder / card.name for folder in card_folders()):
        if all((beside / file.path).is_file() for file in card.files):
            return beside
    if named := os.environ.get("RANKBENCH_DATA", ""):
        if not Path(named).is_dir():
            raise InputError("RANKBENCH_DATA does not name a folder", path=named)
        folder = Path(named) / (card.folder or card.name)
        if not (missing := [file.path for file in card.files if not (folder / file.path).is_file()]):
            return folder
        if len(missing) < len(card.files):
            raise InputError(f"the data set {card.name} is incomplete; missing: {', '.join(missing)}", path=folder)
    folder = cache_folder() / card.name
    return folder if all((folder / file.path).is_file() for file in card.files) else None


def locate(card: Card) -> list[Path]:
    """Return the path of each of a card's files, in the card's order, after reading them all for their sums.

    Raises
    ------
    InputError
        The files are nowhere; says how to get them.
    ChecksumError
        A file is not the one that the card describes.
    """
    if (folder := card_folder(card)) is None:
        raise InputError(f"the data set {card.name} is not here; {_how(card)}")
    for file in card.files:
        if (found := sha256_of(folder / file.path)) != file.sha256:
            raise ChecksumError(
                f"not the file that the data card describes: sha256 should be {file.sha256}, but is {found}; "
                "fetch the file again",
                path=folder / file.path,
            )
    return [folder / file.path for file in card.files]


def _how(card: Card) -> str:
    """Return a text on how to obtain a card's files."""
    if not card.downloadable:
        return f"its download is not automated: {_by_hand(card)}"
    command = (
        f"rankbench data get {card.name} --accept-license" if card.restricted else f"rankbench data get {card.name}"
    )
    return f"run `{command}`, or {_by_hand(card)}"


def _by_hand(card: Card) -> str:
    files = first_of([f"{card.folder or card.name}/{file.path}" for file in card.files], _NAMED)
    return f"set RANKBENCH_DATA to a folder with {files} (from {card.homepage})"


def fetch(card: Card, *, accept_license: bool = False) -> Path:
    """Download a card's files into the user's cache and return their folder.

    Files that are there already, and right, are not downloaded again.

    Parameters
    ----------
    card : Card
    accept_license : bool
        Whether the user accepted the licence of restricted data.

    Raises
    ------
    LicenseError
        The data is restricted: names the terms and the command.
    ChecksumError
        A downloaded file is not as the card describes; it is deleted.
    InputError
        No address is known, or it does not answer.
    """
    if (folder := card_folder(card)) is not None:
        locate(card)
        return folder
    if not card.downloadable:
        raise InputError(f"the data set {card.name} is not here; {_how(card)}")
    if card.restricted and not accept_license:
        raise LicenseError(
            f"the data set {card.name} is restricted: {card.licence} (terms: {card.homepage}); if you accept them, run "
            f"`rankbench data get {card.name} --accept-license`"
        )
    folder = cache_folder() / card.name
    for archive in card.archives:
        wanted = [file for file in card.files if file.archive == archive.name and not (folder / file.path).is_file()]
        if wanted:
            path = folder / archive.name
            _download(archive.url or "", archive.sha256, path, card)
            for file in wanted:
                _extract(path, file, folder)
            path.unlink()
    for file in card.files:
        if file.url is not None and not (folder / file.path).is_file():
            _download(file.url, file.sha256, folder / file.path, card)
    locate(card)
    return folder


def _download(url: str, sha256: str, path: Path, card: Card) -> None:
    """Fetch one file; it gets its name only if its sum is right."""
    import pooch

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{sha256}",
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=60, chunk_size=1 << 20),
        )
    except ValueError as error:
        raise ChecksumError(
            f"the download from {url} is not what the data card describes: {error}", path=path
        ) from error
    except OSError as error:
        raise InputError(
            f"cannot download {url} ({type(error).__name__}: {error}); if the address is dead, {_by_hand(card)}"
        ) from error


def _extract(archive: Path, file: CardFile, folder: Path) -> None:
    """Extract one member, given by its exact name, to the card's path."""
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacement(target) as out, zipfile.ZipFile(archive) as opened, opened.open(file.member or "") as member:
            shutil.copyfileobj(member, out)
            out.flush()
            if sha256_of(Path(out.name)) != file.sha256:
                raise ChecksumError(f"{file.member} is not the file that the data card describes", path=archive)
    except (KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot extract {file.member!r}: {error}", path=archive) from error


class CardDataset(Dataset):
    """A data set that a card describes; the classes are made by `card_dataset`.

    Attributes
    ----------
    card : Card
    """

    card: ClassVar[Card]

    def scan(self) -> pl.LazyFrame:
        """Return the rows of all files, in the card's order, with ids that the files' prefixes separate.

        `rankbench.interfaces.table.TableKind.part` of the kind of table separates them.

        Raises
        ------
        InputError
            The files are nowhere (says how to get them).
        ChecksumError
            A file is not the one that the card describes.
        """
        return self.read(self.raw()).frame

    def scan_as(self, columns: str) -> pl.LazyFrame:
        """Return the rows with other meanings of their columns, for readers of files whose columns have any names."""
        return self.read(self.raw(), columns).frame

    def raw(self) -> list[tuple[str, RawTable]]:
        """Return the tables of all files with their own columns, each with its prefix."""
        reader = get(Reader, self.card.reader)
        files = zip(self.card.files, locate(self.card), strict=True)
        return [(file.prefix, replace(reader.raw(path), kept=self.card.told)) for file, path in files if file.table]

    def read(
        self, raw: Sequence[tuple[str, RawTable]], columns: str = "", condition: Condition | None = None
    ) -> CheckedTable:
        """Return the rows of all files, and how their columns were read; see `scan`."""
        kind, tables = table_kind(self.table), []
        for prefix, part in raw:
            if columns and part.in_schema:
                super().scan_as(columns)  # refuses
            table = checked_table(part, columns, condition)
            tables.append(replace(table, frame=kind.part(table.frame, prefix)) if prefix else table)
        notes = dict.fromkeys(note for table in tables for note in table.notes)
        return replace(tables[-1], frame=pl.concat([table.frame for table in tables]), notes=tuple(notes))

    def fingerprint(self) -> str:
        """Return the sha256 over the card's file sums; `items` checks the files against them."""
        return self.card.fingerprint

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the card's name: the class is made anew where it is loaded."""
        return _restore, (self.name,)


def _restore(name: str) -> CardDataset:
    return card_dataset(cards()[name])()


@cache
def card_dataset(card: Card) -> type[CardDataset]:
    """Return the data set class of a card."""
    said = {name: getattr(card, name) for name in ("table", "named", "name", "title", "licence", "citation")}
    own = {"__doc__": f"{card.title}.\n\n{card.note}", "__module__": __name__, "card": card, "source": card.citation}
    return type("".join(part.capitalize() for part in card.name.split("-")), (CardDataset,), said | own)
