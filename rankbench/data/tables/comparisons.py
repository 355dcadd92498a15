"""The kind `comparisons` checks rows of votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankbench.core.component import JudgmentKind
from rankbench.core.text import count_text
from rankbench.data.tables.contests import read_contests
from rankbench.data.tables.covariates import (
    TRANSFORMS,
    ControlTerm,
    VotePrediction,
    covariate_terms,
)
from rankbench.data.tables.doubts import blank_cell
from rankbench.data.tables.read_votes import read_votes
from rankbench.data.tables.schemas import GAMES, LEFT_OUT, REST, SHARE, comparisons_schema
from rankbench.data.tables.times import TimeReading, checked_times, time_of
from rankbench.data.tables.vote_outcomes import OUTCOMES
from rankbench.errors import InputError, option
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.row_weights import MOST_VOTES, votes_counted
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import MISSING, NAMELESS, RawTable, ReadTable, TableCheck


class ComparisonTable(TableKind):
    """Votes: one item won against another, or neither did.

    Prefer it for judgments on two items at a time.
    """

    name: ClassVar[str] = "comparisons"
    source: ClassVar[str] = "[DMJ13]_ section 2"
    columns: ClassVar[tuple[str, ...]] = ("query_id", "winner", "loser")
    optional: ClassVar[tuple[str, ...]] = ("weight", "count", "judge", "time", "tie", "first", REST)
    shapes: ClassVar[tuple[tuple[str, ...], ...]] = (
        *(roles if roles[0] == "winner" else ("left", "right", *roles) for roles in OUTCOMES),
        ("left", "right", "winner"),
        ("items", "best"),
        ("items", "worst"),
    )
    beside: ClassVar[tuple[str, ...]] = ("query", "judge", "time", "weight", "count", "tie", "ties", "first", REST)
    judgments: ClassVar[tuple[JudgmentKind, ...]] = ("comparisons",)
    words: ClassVar[str] = "votes"
    method: ClassVar[str] = "bradley-terry:penalty=firth"
    history: ClassVar[str] = "dynamic-bradley-terry:drift=[0.001,0.01,0.1],variance=[0.3,3]"
    suite: ClassVar[str] = "own-log"
    checked_by_counting: ClassVar[bool] = True

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        """Return three votes, one of them a tie."""
        return {
            "query_id": ["a", "a", "b"],
            "winner": ["x", "y", "u"],
            "loser": ["y", "z", "v"],
            "weight": [1.0, 2.5, 1.0],
            "tie": [False, True, False],
        }

    def read(self, raw: RawTable, reading: Reading) -> ReadTable:
        """Return votes under the names of the schema; see `TableKind.read`."""
        if reading.first["items"]:
            return read_contests(raw, reading)
        found = read_votes(raw, reading)
        if reading.first["mirrored"] != "halve":
            return found
        if found.reading.first["loser"]:
            raise InputError("mirrored=halve is of votes with two sides, not of winners and losers", path=raw.path)
        frame, note = halved(found.table.frame, sides=bool(covariate_terms(found.table.roles)))
        return replace(found, table=replace(found.table, frame=frame), notes=(*found.notes, note))

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return a factory of checks; the type of times is decided here, see `TableKind.check`."""
        schema = comparisons_schema(raw.schema, covariate_terms(raw.roles))
        if "count" in schema and not self._many(raw, schema):
            schema = pl.Schema({name: dtype for name, dtype in schema.items() if name != "count"})
        if (times := time_of(raw)) is not None:
            schema["time"] = times.dtype
        return partial(ComparisonsCheck, raw, schema, times)

    @staticmethod
    def _many(raw: RawTable, schema: pl.Schema) -> bool:
        """Return whether rows with counts are too many votes for a row each.

        Raises
        ------
        InputError
            Votes have weights as well, or split points, which cannot be summed by row.
        """
        columns, name = raw.schema, raw.roles.get("count", "count")
        if REST in columns:
            how = option("columns", "count=")
            what = f"a vote whose points are split has two rows, which have no count ({how} leaves it out)"
            raise InputError(what, path=raw.path, column=name)
        with raw.located(name):
            votes = votes_counted(raw.frame, LEFT_OUT, "votes")
            if votes > MOST_VOTES and ("weight" in schema or GAMES[0] in columns):
                raise InputError(
                    f"{votes:,} weighted votes, or series, are too many to be counted (at most {MOST_VOTES:,})"
                )
        return votes > MOST_VOTES


def halved(votes: pl.LazyFrame, *, sides: bool) -> tuple[pl.LazyFrame, str]:
    """Return votes without repetitions of a vote from the other side, and a note on how many there were.

    Both are about the same items, with the same result, time, query and judge; the later one is left out.

    Parameters
    ----------
    votes : LazyFrame
        As `rankbench.data.tables.read_votes.read_votes` returns them.
    sides : bool
        Whether the left one is kept; of games seen from both sides neither is first.

    Raises
    ------
    InputError
        There are none.
    """
    names = votes.collect_schema().names()
    low, high = pl.min_horizontal("winner", "loser"), pl.max_horizontal("winner", "loser")
    turned = pl.when("first").then("winner").otherwise("loser") != low
    even = [pl.col("tie")]
    of_sides = [pl.when(pl.col("winner") == low).then(1).otherwise(2)]
    if GAMES[0] in names:
        of_sides = [pl.when(turned).then(GAMES[k]).otherwise(GAMES[1 - k]) for k in (0, 1)]
        even = [pl.col(GAMES[2])]
    elif SHARE in names:
        share = pl.col(SHARE)
        of_sides = [
            pl.when(share.is_null()).then(of_sides[0]),
            pl.when(turned).then(1 - share).otherwise(share).round(9),
        ]
    of_sides = [pl.when(~pl.col("tie")).then(one) for one in of_sides]
    out = pl.col(LEFT_OUT) if LEFT_OUT in names else pl.lit(value=False)
    beside = [pl.col(name) for name in ("query_id", "judge", "time", "weight", "count") if name in names]
    keys = [out, low, high, *of_sides, *even, *beside]
    # The k-th row from one side is that of the k-th from the other.
    kth = pl.int_range(pl.len()).over(*keys, turned)
    both = pl.min_horizontal(turned.sum().over(*keys), (~turned).sum().over(*keys))
    again = ~out & (kth < both) & ~kth.is_first_distinct().over(*keys, kth)
    if not (count := votes.select(again.sum()).collect().item()):
        raise InputError("mirrored=halve: no row mirrors another row; leave it out")
    found = votes.with_columns((out | again).alias(LEFT_OUT))
    note = f"rankbench leaves out {count_text(count, 'row')}: each mirrors another row"
    return found if sides else found.drop("first"), note


_NO_CHANCE = (
    "{} is no chance above 0 and below 1. A chance of 0 or 1 that turns out wrong has an infinite log loss: mend it, "
    "or leave the row out with "
)

_PERCENTAGE = "{} is no chance above 0 and below 1; divide percentages by 100"


class ComparisonsCheck(TableCheck):
    """Comparisons: two different items, a positive weight, times of one reading."""

    def __init__(self, raw: RawTable, schema: pl.Schema, times: TimeReading | None) -> None:
        super().__init__(raw, schema)
        self.times = times
        self.kept: pl.Series | None = None
        self.items: list[pl.Series] = []
        roles = dict(raw.roles)
        self.controls = covariate_terms(roles)
        self.before: pl.DataFrame | None = None
        self.names = {"query_id": roles.get("query", "")} | roles

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error that names the column as the log does."""
        if self.kept is not None and row < len(self.kept):
            row = int(self.kept[row])
        nobody = message in (MISSING, NAMELESS) and column in ("winner", "loser")
        if nobody and self.raw.doubts is not None:
            return self.raw.at(self.rows + row, blank_cell("", self.names.get(column) or column))
        if message == MISSING and nobody:
            message += f"; {option('words', 'missing=')} leaves such rows out"
        if column in ("tie", "first"):
            without = "each row as a win" if column == "tie" else "the log without it"
            message += f"; {option('columns', f'{column}=')} reads {without}"
        return super().error(message, row, self.names.get(column) or column)

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        self.kept = None
        if LEFT_OUT in frame.columns:
            self.kept, frame = (~frame[LEFT_OUT]).arg_true(), frame.filter(~frame[LEFT_OUT])
        columns = [self.cast(frame[name], pl.String()) for name in ComparisonTable.columns]
        winner, loser = columns[1], columns[2]
        if self.raw.doubts is not None:
            self.items = [pl.concat([*self.items, winner.rename(""), loser.rename("")]).unique()]
        same = f"item {{}} is compared with itself; {option('columns', 'self=drop')} leaves such rows out"
        self.refuse(winner == loser, winner, same)
        # A vote whose points are split has a weight for each of its two rows, and they belong together.
        defaults = {name: value for name, value in (("weight", 1.0), (REST, False)) if name not in frame.columns}
        frame = frame.with_columns(pl.lit(value).alias(name) for name, value in defaults.items())
        beside = {"weight": self.weight, "count": self.counts, "judge": self.judge}
        columns += [checked(frame) for name, checked in beside.items() if name in self.schema]
        if self.times is not None:
            columns.append(checked_times(self, frame["time"], self.times))
        columns += [self.cast(frame[name], pl.Boolean()) for name in ("tie", "first") if name in self.schema]
        if REST in self.schema:
            columns.append(self.rest(frame, winner, loser))
        columns += [self.control(frame, number, term) for number, term in enumerate(self.controls)]
        result = pl.DataFrame(columns, schema=self.schema)
        if "count" in self.schema:
            return result.filter(pl.col("count") > 0)
        if "count" in frame.columns:
            rows = np.repeat(np.arange(frame.height), self.counts(frame).to_numpy())
            result, frame = result[rows], frame[rows] if {SHARE, GAMES[0]} & {*frame.columns} else frame
        if SHARE in frame.columns:
            result = _divided(result, frame[SHARE])
        return _each_game(result, frame) if GAMES[0] in frame.columns else result

    def end(self) -> None:
        """Check the whole table, and ask about its names; see `TableCheck.end`."""
        super().end()
        for items in self.items:
            if self.raw.doubts is not None:
                self.raw.doubts(items.to_list())

    def rest(self, frame: pl.DataFrame, winner: pl.Series, loser: pl.Series) -> pl.Series:
        """Return which rows are the rest of the vote of the row before, which must be of the same two items."""
        rest, pair = self.cast(frame[REST], pl.Boolean()), pl.DataFrame([winner.alias("0"), loser.alias("1")])
        last = pl.DataFrame({"0": [None], "1": [None]}, schema=pair.schema) if self.before is None else self.before
        before, self.before = pl.concat([last, pair]).head(-1), pair.tail(1)
        other = (winner.ne_missing(before["1"])) | (loser.ne_missing(before["0"]))
        self.refuse(rest & other, rest, "the row before is no vote of the other item against this one")
        return rest

    def control(self, frame: pl.DataFrame, number: int, term: ControlTerm | VotePrediction) -> pl.Series:
        """Return a covariate of the left less the right, null where something is missing."""
        if not (parts := [name for name in frame.columns if name.startswith(f"control.{number}.")]):
            return pl.Series([1.0], dtype=pl.Float64).new_from_index(0, frame.height)
        if isinstance(term, ControlTerm) and term.unless:
            return 1.0 - self.cast(frame[parts[0]], pl.Boolean(), nulls=True).cast(pl.Float64)
        values = [self._transformed(frame[name], term) for name in parts]
        if isinstance(term, VotePrediction):
            # Of one chance the rest is the other's; of two, the rest is a tie's or a bookmaker's.
            chances = values if len(values) == 2 else [values[0], 1.0 - values[0]]
            values = [(chances[0] / chances[1]).log()]
            values[0] *= -1.0 if parts[0].endswith(".right") else 1.0
        value = values[0] - values[1] if len(values) == 2 else values[0]
        # Sides of winners and losers: the left is the item listed first.
        if "loser" in self.names and "first" in frame.columns and not parts[0].endswith(".vote"):
            value *= 2.0 * self.cast(frame["first"], pl.Boolean()).cast(pl.Float64) - 1.0
        return value

    def _transformed(self, column: pl.Series, term: ControlTerm | VotePrediction) -> pl.Series:
        if isinstance(term, VotePrediction) and column.dtype == pl.String:
            self.refuse(column.str.ends_with("%").fill_null(False), column, _PERCENTAGE)
        value = self.cast(column, pl.Float64(), nulls=True)
        self.refuse(~value.is_finite().fill_null(True), column, "{} is not a finite number")
        if isinstance(term, VotePrediction):
            self.refuse((value > 1).fill_null(False), column, _PERCENTAGE)
            outside = ~value.is_between(0, 1, closed="none").fill_null(True)
            self.refuse(outside, column, _NO_CHANCE + option("where"))
            return value
        for name in term.transforms:
            transform = TRANSFORMS[name]
            allowed = transform.defined(value).fill_null(True)
            self.refuse(~allowed, column, f"{term}: {{}} has no {name}, which takes {transform.needs}")
            value = transform.value(value)
        return value


def _each_game(votes: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Return the games of series, with the series' winner as left: games won by the left, by the right, and ties."""
    rows = votes.with_row_index("row")
    turned = _turned(rows)
    won, lost, level = (
        part.select(pl.all().repeat_by(series[name]).explode(empty_as_null=False))
        for part, name in zip((rows, turned, rows.with_columns(tie=pl.lit(value=True))), GAMES, strict=True)
    )
    return pl.concat([won, lost, level]).sort("row", maintain_order=True).drop("row")


def _turned(votes: pl.DataFrame) -> pl.DataFrame:
    first = {"first": ~pl.col("first")} if "first" in votes.columns else {}
    return votes.with_columns(winner="loser", loser="winner", **first)


def _divided(votes: pl.DataFrame, share: pl.Series) -> pl.DataFrame:
    """Divide each vote that has a share for the first item into two, one each way."""
    rows = votes.with_columns(share=share).with_row_index("row")
    some = rows.filter(pl.col("share").is_not_null())
    other = pl.col("weight") * (1 - pl.col("share"))
    turned = _turned(some).with_columns(pl.lit(value=True).alias(REST), weight=other)
    kept = rows.with_columns(weight=pl.col("weight") * pl.col("share").fill_null(1.0))
    return pl.concat([kept, turned]).sort("row", maintain_order=True).drop("row", "share")
