"""Every question on a log says how the log is read, and which of its rows, items and judges count: its filter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from rankbench.core.question import DifferentNames, Offered, QuestionRecord
from rankbench.core.text import amount_text, count_text, first_of, listed
from rankbench.data.readings.find import told
from rankbench.data.tables.row_conditions import Condition, judgments_kept
from rankbench.errors import InputError, SpecError, closest, option
from rankbench.interfaces.reading import told_text
from rankbench.interfaces.table import TableKind

_NAMED = 8


@dataclass(frozen=True)
class Filter:
    """Rows, items and judges of a log to rank.

    Attributes
    ----------
    where : str
        Condition on rows: an SQL expression in columns of the file, or of the schema.
    without, without_judge : tuple of str
        Items and judges to leave out.
    min_votes : int
        rankbench takes out items with fewer votes (sum of weights), again and again, until no item has fewer.
    """

    where: str = ""
    without: tuple[str, ...] = ()
    without_judge: tuple[str, ...] = ()
    min_votes: int = 0

    @classmethod
    def from_options(
        cls, where: str = "", without: Iterable[str] = (), without_judge: Iterable[str] = (), min_votes: int = 0
    ) -> Filter:
        """Return a filter; a single name is read as a sequence of one."""
        items, judges = ((one,) if isinstance(one, str) else tuple(one) for one in (without, without_judge))
        return cls(where, items, judges, min_votes)

    def __bool__(self) -> bool:
        return self != Filter()

    def as_dict(self) -> dict[str, Any]:
        """Return the parts that are set, as plain values."""
        said = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {name: value for name, value in said.items() if value}

    def applied(
        self, frame: pl.LazyFrame, table: TableKind, condition: Condition | None
    ) -> tuple[pl.LazyFrame, list[str]]:
        """Return an opened log with the rows that are kept, and notes on how many there were.

        Parameters
        ----------
        frame : LazyFrame
            In the schema.
        table : TableKind
            Kind of `frame`.
        condition : Condition, optional
            That of `where`, with which the log was opened.

        Raises
        ------
        InputError
            A column, an item or a judge is not there, or nothing is left.
        SpecError
            The condition is no SQL expression, or the table has no votes and no ballots.
        """
        notes = list[str]()
        if condition is not None:
            frame, note = judgments_kept(frame, condition)
            notes.append(note)
        if not (self.without or self.without_judge or self.min_votes):
            return frame, notes
        names = frame.collect_schema().names()
        if "ranking" not in names and not {"winner", "loser"}.issubset(names):
            options = f"{option('without')}, {option('without_judge')} and {option('min_votes')}"
            raise SpecError(f"{options} leave out items and judges of votes and of ballots; these are {table}")
        weight = pl.col("weight") if "weight" in names else pl.lit(1.0)
        weight = weight * pl.col("count") if "count" in names else weight
        own = pl.lit(value=True)
        if self.without_judge:
            if "judge" not in names:
                raise SpecError(
                    f"{option('without_judge')}: the log does not say who judged ({option('columns', 'judge=COLUMN')})"
                )
            judges = frame.select(pl.col("judge").unique()).collect(engine="streaming")["judge"]
            _check_known("judge", self.without_judge, judges.drop_nulls())
            own = ~pl.col("judge").is_in(self.without_judge).fill_null(value=False)
        kept, total, left, few = (_ballots if "ranking" in names else _votes)(frame, self, weight, own)
        asked = ("item", self.without), ("judge", self.without_judge)
        how = [f"without {noun} {listed(named)}" for noun, named in asked if named]
        if self.min_votes:
            fewer = f"fewer than {self.min_votes:,} votes"
            some = f"without {count_text(len(few), 'item')} of {fewer} ({first_of(few, _NAMED)})"
            how.append(some if few else f"no item has {fewer}")
        said = f"{amount_text(left)} of {amount_text(total)} {table.words or 'votes'} are left: {', '.join(how)}"
        if not left:
            raise InputError(said)
        return kept, [*notes, said]


NO_FILTER = Filter()

KeptVotes = tuple[pl.LazyFrame, float, float, list[str]]
"""Rows that are kept; the votes of all rows, and of these; and the items that had too few."""


def _votes(frame: pl.LazyFrame, keep: Filter, weight: pl.Expr, own: pl.Expr) -> KeptVotes:
    """Return the votes on kept items, of kept judges: of ``own`` rows."""
    rows = frame.select("winner", "loser", votes=weight, left=pl.when(own).then(weight).otherwise(0.0))
    pairs = rows.group_by("winner", "loser").sum().sort("winner", "loser").collect(engine="streaming")
    _check_known("item", keep.without, pl.concat([pairs["winner"], pairs["loser"]]).unique())
    one_of = pl.col("winner").is_in, pl.col("loser").is_in
    left = pairs.filter(pl.col("left") > 0, *(~named(keep.without) for named in one_of))
    first = items = _of_items(left)
    while less := items.filter(pl.col("left") < keep.min_votes)["item"].to_list():
        left = left.filter(*(~named(less) for named in one_of))
        items = _of_items(left)
    few = first.join(items, on="item", how="anti")["item"].sort().to_list()
    kept = frame.filter(own, *(~named([*keep.without, *few]) for named in one_of))
    return kept, float(pairs["votes"].sum()), float(left["left"].sum()), few


def _of_items(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the votes on each item, given those on pairs."""
    return pl.concat([pairs.select("left", item=end) for end in ("winner", "loser")]).group_by("item").sum()


def _ballots(frame: pl.LazyFrame, keep: Filter, weight: pl.Expr, own: pl.Expr) -> KeptVotes:
    """Return the ballots of kept judges, without other items; ballots that name no kept item are dropped."""
    item = pl.element()
    named = frame.select(own=own, votes=weight, item=pl.col("ranking").list.eval(item.explode(empty_as_null=False)))
    sums = named.explode("item", empty_as_null=False).group_by("item").agg(pl.col("votes").filter("own").sum())
    items = sums.sort("item").collect(engine="streaming")
    _check_known("item", keep.without, items["item"])
    rest = items.filter(~pl.col("item").is_in(keep.without))
    # A ballot that loses an item still names the others: their numbers of votes stay.
    few = rest.filter(pl.col("votes") < keep.min_votes)["item"].to_list()
    kept, out = frame.filter(own), [*keep.without, *few]
    ranked = pl.col("ranking").list.eval(item.list.filter(~item.is_in(out)))
    kept = kept.with_columns(ranking=ranked.list.filter(item.list.len() > 0)).filter(pl.col("ranking").list.len() > 0)
    if "candidates" in kept.collect_schema():
        kept = kept.with_columns(pl.col("candidates").list.filter(~item.is_in(out)))
    # A weight of 1 is a literal, and a selection of it alone has one row.
    weighed = (one.with_columns(votes=weight).select("votes") for one in (frame, kept))
    total, left = (one.collect(engine="streaming")["votes"].sum() for one in weighed)
    return kept, float(total), float(left), few


def _check_known(noun: str, asked: Iterable[str], known: pl.Series) -> None:
    """Raise for a name that the log does not have."""
    there = set(known)
    for name in asked:
        if name not in there:
            said = option("without_judge" if noun == "judge" else "without")
            raise InputError(f"{said}: there is no {noun} {name!r}{closest(name, there)}")


class ReadingQuestion(QuestionRecord):
    """Options on the meanings of columns; `rankbench.aggregate` explains them."""

    columns: Annotated[str, Offered(metavar="ROLE=NAME,..")] = ""
    """Roles of columns, as left=home,right=visitor."""

    words: Annotated[str, Offered(metavar="MEANING=WORD,..")] = ""
    """Words, as home=H,visitor=A,tie=D,missing=NA."""

    reading: Annotated[Any, Offered(name="file-format", metavar="NAME", names="format")] = None
    """Known format of the file: rankbench list formats."""

    reader: Annotated[str, Offered(names="reader")] = ""
    """Reader, as csv or letor:zero-based=true; default: by the file's ending."""

    @cached_property
    def told(self) -> str:
        """All meanings as one text: see `rankbench.interfaces.reading.Reading.text`.

        Raises
        ------
        InputError
            A text is not in its grammar, or there is no such reading.
        """
        reading = self.reading or ""
        if isinstance(reading, str) and not (Path(reading).suffix or Path(reading).is_file()):
            return told_text(self.columns, self.words, reading)
        return told(self.columns, self.words, reading)


class RowsQuestion(ReadingQuestion):
    """Options on the rows of a table."""

    where: Annotated[str, Offered(metavar="CONDITION")] = ""
    """Keep rows that fulfil an SQL condition, as "lang == 'en' and turn > 1". Its names are columns of the file; if the
    file lacks one, all are columns of the schema, as query_id, winner, loser and judge."""


class LogQuestion(RowsQuestion):
    """Options of a question on a log that concern the log itself; `rankbench.aggregate` explains them."""

    without: Annotated[DifferentNames, Offered(metavar="ITEM")] = ()
    """An item to leave out; repeatable."""

    without_judge: Annotated[DifferentNames, Offered(metavar="NAME")] = ()
    """A judge to leave out; repeatable."""

    min_votes: Annotated[int, Field(ge=0), Offered(metavar="N")] = 0
    """Take out items with fewer votes, again and again, until no item has fewer."""

    @property
    def keep(self) -> Filter:
        """Rows, items and judges to keep."""
        return Filter(self.where, self.without, self.without_judge, self.min_votes)
