"""Data cards as data sets."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from rankbench.data.cards import Card, cards
from rankbench.data.fetch import locate
from rankbench.data.readers.choose import with_meanings
from rankbench.data.tables.recognize import table_kind
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.reader import Reader
from rankbench.plugin.manager import get

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CardDataset", "card_dataset"]


class CardDataset(Dataset):
    """A data set that a card describes; the classes are made by `card_dataset`.

    Attributes
    ----------
    card : Card
    """

    card: ClassVar[Card]

    def scan(self) -> pl.LazyFrame:
        """Return the rows of all files, in the card's order, told apart by the files' prefixes.

        How, is the table's: see `rankbench.kinds.table.TableKind.part`.

        Raises
        ------
        InputError
            The files are nowhere (says how to get them).
        ChecksumError
            A file is not the one that the card describes.
        """
        return self._scanned(get(Reader, self.card.reader))

    def scan_as(self, columns: str) -> pl.LazyFrame:
        """Return the rows with other meanings of their columns, for readers of files whose columns have names."""
        reader = get(Reader, self.card.reader)
        if "columns" not in reader.parameters():
            return super().scan_as(columns)
        return self._scanned(with_meanings(reader, columns))

    def _scanned(self, reader: Reader) -> pl.LazyFrame:
        import polars as pl

        kind = table_kind(self.table)
        tables = []
        for file, path in zip(self.card.files, locate(self.card), strict=True):
            if file.table:
                table = reader.scan(path)
                if file.prefix:
                    table = kind.part(table, file.prefix)
                tables.append(table)
        return pl.concat(tables)

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
    return type(
        "".join(part.capitalize() for part in card.name.split("-")),
        (CardDataset,),
        {
            "__doc__": card.title + ".",
            "__module__": __name__,
            "card": card,
            "table": card.table,
            "named": card.named,
            "name": card.name,
            "title": card.title,
            "source": card.citation,
            "licence": card.licence,
            "citation": card.citation,
        },
    )
