"""Data cards describe data sets, and how to recognize their files.

A card is a TOML file in ``datasets/`` (in the wheel: ``rankbench/data/cards``). It is
data, not code; unknown keys are errors. `CardDataset` makes a data set of one.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationError, model_validator

from rankbench.core.component import Record, first_problem
from rankbench.data.readings.find import whole_reading
from rankbench.data.tables.kinds import built_in
from rankbench.errors import InputError, nearest
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.suite import LogPlace

VARIABLE = "RANKBENCH_CARDS"
"""The environment's variable; it comes before the file."""

SETTINGS = "rankbench.toml"
"""The file in the working folder, with ``cards = "FOLDER"``; the folder is meant from there."""


class _Settings(Record):
    cards: str | None = None


def own_cards_folder() -> Path | None:
    """Return the folder with the user's own cards; None if none is set.

    Raises
    ------
    InputError
        The path is no folder; the file is not TOML, or has other keys.
    """
    said, path = os.environ.get(VARIABLE, ""), Path(SETTINGS)
    named = said or (_read_toml(path, _Settings).cards if path.is_file() else None)
    if named is None:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"{VARIABLE if said else f'cards in {SETTINGS}'} does not name a folder", path=folder)
    return folder.resolve()


def _inside(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or ":" in path or not pure.parts:
        raise ValueError(f"{path!r} must be a path inside the data set's folder, with forward slashes")
    return path


_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Inside = Annotated[str, AfterValidator(_inside)]
_Url = Annotated[str, Field(pattern=r"^https?://")]


class CardFile(Record):
    """A file that the data set is read from.

    Attributes
    ----------
    path : str
        Below the data set's folder.
    sha256 : str
    bytes : int, optional
    url : str, optional
        Where it can be fetched by itself.
    archive, member : str, optional
        Where it can be extracted from: name of an archive, exact name in it.
    prefix : str
        Stands before the query ids of this file, so that ids of several files differ. Of
        selections, before the session ids: files are parts of the same queries' log, and
        the column ``part`` says which.
    table : bool
        False for a file that stands beside another, as group sizes do.
    """

    path: _Inside
    sha256: _Sha256
    bytes: int | None = Field(default=None, ge=1)
    url: _Url | None = None
    archive: str | None = None
    member: str | None = None
    prefix: str = ""
    table: bool = True


class Archive(Record):
    """A zip file that holds files of the data set; ``url`` may be missing: it is dead."""

    name: _Inside
    sha256: _Sha256
    bytes: int | None = Field(default=None, ge=1)
    url: _Url | None = None


class Expected(Record):
    """Counts that a reading of all files must give."""

    queries: int = Field(ge=1)
    rows: int = Field(ge=1)


class Card(Record):
    """A data set: its description, source and checksums.

    Attributes
    ----------
    name : str
        Kebab-case; also the name of its folder.
    title, licence, homepage, citation, note : str
    restricted : bool
        Whether it may be downloaded only after the user accepted the licence.
    reader : str
        In the contender grammar, as ``letor:allow-single=true``.
    table : str
        Kind of the rows, as `Dataset.table`: a built-in kind of table.
    named : bool
        Whether items have names.
    d : int, optional
        Number of features; of items only.
    folder : str
        Where its files are below the folder that ``RANKBENCH_DATA`` names; by default its name.
    reading : dict
        Meanings of its columns, as a reading file has them.
    joins : dict of str to LogPlace
        Experiments on several logs that it joins, by name, with its place among the logs.
    expected : Expected
    archives : tuple of Archive
    files : tuple of CardFile
        Read in this order.
    """

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    title: str
    licence: str
    restricted: bool
    homepage: _Url
    citation: str
    note: str = ""
    reader: str
    table: str = "items"
    d: int | None = Field(default=None, ge=1)
    named: bool = False
    folder: Annotated[str, AfterValidator(lambda path: path and _inside(path))] = ""
    reading: dict[str, Any] = Field(default_factory=dict)
    joins: dict[str, LogPlace] = Field(default_factory=dict)
    expected: Expected
    archives: tuple[Archive, ...] = ()
    files: tuple[CardFile, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        known = {archive.name for archive in self.archives}
        for file in self.files:
            if (file.archive is None) != (file.member is None):
                raise ValueError(f"file {file.path!r}: 'archive' and 'member' belong together")
            if file.archive is not None and file.archive not in known:
                raise ValueError(f"file {file.path!r}: there is no archive {file.archive!r}")
        Reading.from_toml(self.reading, self.name)
        kinds = built_in()
        if self.table not in kinds:
            raise ValueError(f"there is no kind of table {self.table!r}{nearest(self.table, kinds)}")
        if (self.d is None) == kinds[self.table].features:
            raise ValueError("'d', the number of features, belongs to items, and to them alone")
        if len({file.path for file in self.files}) != len(self.files):
            raise ValueError("two files have the same path")
        tables = [file.prefix for file in self.files if file.table]
        if len(set(tables)) != len(tables):
            raise ValueError("tables must have different prefixes, or their query ids could be the same")
        return self

    def __hash__(self) -> int:
        return hash((self.name, self.fingerprint))

    @cached_property
    def downloadable(self) -> bool:
        """True if rankbench can fetch every file, by itself or in an archive."""
        urls = {archive.name: archive.url for archive in self.archives}
        return all((file.url or (file.archive and urls[file.archive])) is not None for file in self.files)

    @cached_property
    def told(self) -> Reading | None:
        """The reading of its files; None: they need none."""
        return whole_reading(self.reading, f"data card {self.name}") if self.reading else None

    @cached_property
    def fingerprint(self) -> str:
        """Sha256 over the files' sums, in the card's order."""
        lines = "".join(f"{file.sha256}  {file.prefix}  {file.path}\n" for file in self.files)
        return hashlib.sha256(lines.encode()).hexdigest()


def cards_folder() -> Path:
    """Return the folder of the cards: in the wheel, or in the repository of an editable install."""
    installed = Path(__file__).parent / "cards"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "datasets"


def card_folders() -> list[Path]:
    """Return the folders that hold cards, and files beside them: the built-in one, and the user's own if set.

    Raises
    ------
    InputError
        See `rankbench.data.cards.own_cards_folder`.
    """
    own = own_cards_folder()
    return [cards_folder()] if own is None else [cards_folder(), own]


def load_card(path: Path) -> Card:
    """Read a card.

    Raises
    ------
    InputError
        Not TOML (line and column), an unknown key, a value that does not fit (key path).
    """
    return _read_toml(path, Card)


_Model = TypeVar("_Model", bound=Record)


def _read_toml(path: Path, model: type[_Model]) -> _Model:
    """Return the contents of a TOML file, checked."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits, and brackets as deep
        raise InputError(f"not TOML: {error}", path=path) from error
    try:
        return model.model_validate(read)
    except ValidationError as error:
        where, reason = first_problem(error)
        raise InputError(reason, path=path, column=where or None) from error


@cache
def cards() -> dict[str, Card]:
    """Return all cards by name: the built-in ones, and the user's own.

    Raises
    ------
    InputError
        A card is malformed, or its file's name is not its name; a user's has the name of a built-in one.
    """
    found: dict[str, Card] = {}
    for path in (path for folder in card_folders() for path in sorted(folder.glob("*.toml"))):
        card = load_card(path)
        if card.name in found:
            raise InputError(f"a data set {card.name!r} is there already; name it otherwise", path=path, column="name")
        if card.name != path.stem:
            raise InputError(f"the card's name is {card.name!r}, its file's is {path.stem!r}", path=path, column="name")
        found[card.name] = card
    return found


def card_of(fingerprint: str) -> Card | None:
    """Return the built-in card whose files have this fingerprint, or None."""
    return _by_fingerprint().get(fingerprint)


@cache
def _by_fingerprint() -> dict[str, Card]:
    return {card.fingerprint: card for card in map(load_card, sorted(cards_folder().glob("*.toml")))}
