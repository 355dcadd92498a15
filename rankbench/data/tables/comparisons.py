"""The kind `comparisons` checks rows of votes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankbench.core.component import JudgmentKind
from rankbench.core.text import count_text, short_repr
from rankbench.data.tables.column_roles import (
    OPTIONS,
    as_comparisons,
    guess,
    parse_columns,
    unread_outcomes,
    vote_readings,
)
from rankbench.data.tables.contests import read_contests
from rankbench.data.tables.covariates import (
    TRANSFORMS,
    ControlTerm,
    VotePrediction,
    control_roles,
    covariate_terms,
)
from rankbench.data.tables.doubts import blank_cell
from rankbench.data.tables.outcome_readings import level_winners
from rankbench.data.tables.outcomes import MOST_GAMES, as_number
from rankbench.data.tables.read_votes import read_votes
from rankbench.data.tables.schemas import GAMES, REST, SHARE, comparisons_schema
from rankbench.data.tables.sides import CONTRADICTED, LEFT_OUT, MARKED, SAID, WORD_ROLES, decided
from rankbench.data.tables.times import TimeReading, checked_times, time_reading
from rankbench.data.tables.vote_outcomes import OUTCOMES
from rankbench.data.tables.whole_names import whole_ids
from rankbench.errors import InputError
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.row_weights import MOST_VOTES, NOTHING, votes_counted, with_counts
from rankbench.interfaces.table import ColumnReading, TableKind, columns_text
from rankbench.interfaces.table_check import MISSING, NAMELESS, RawTable, ReadTable, TableCheck


class ComparisonTable(TableKind):
    """Votes: one item won against another, or neither did.

    Prefer it for judgments on two items at a time.
    """

    name: ClassVar[str] = "comparisons"
    source: ClassVar[str] = "[DMJ13]_ section 2"
    columns: ClassVar[tuple[str, ...]] = ("query_id", "winner", "loser")
    optional: ClassVar[tuple[str, ...]] = ("weight", "count", "judge", "time", "tie", "first", REST)
    marks: ClassVar[tuple[str, ...]] = ("winner", "loser")
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

    def known(self, names: Collection[str]) -> bool:
        """Return whether these are columns of votes, under the usual names; see `TableKind.known`."""
        return guess(names) is not None

    def renamed(self, raw: RawTable, columns: str) -> RawTable | None:
        """Return votes under the names of the schema; see `TableKind.renamed`."""
        schema = raw.schema()
        with raw.located():
            said = parse_columns(columns) if columns else {}
            options = {role: said.pop(role) for role in OPTIONS if role in said}
            beside: dict[str, str] = {role: options.pop(role) for role in ("control", "predictions") if role in options}
            terms = covariate_terms(beside)
            if (found := guess(schema, said)) is None:
                return None
            raw = replace(raw, frame=whole_ids(raw.frame, found))
            if unread := unread_outcomes(schema, found, said):
                remark(unread)
            level_winners(raw.frame, found)
            roles = with_counts(raw.frame, decided(raw.frame, found | options, said), said)
            roles |= beside | control_roles(terms, schema.names(), roles)
            frame = as_comparisons(raw.frame, roles)
            roles = {role: name for role, name in roles.items() if role not in NOTHING.values()}
            if "mirrored" in roles:
                frame = halved(frame, sides=bool(terms))
        return replace(raw, frame=frame, roles=roles)

    def read(self, raw: RawTable, reading: Reading) -> ReadTable:
        """Return votes under the names of the schema; see `TableKind.read`."""
        if reading.one("items"):
            return read_contests(raw, reading)
        found = read_votes(raw, reading)
        if reading.one("mirrored") != "halve":
            return found
        frame = halved(found.table.frame, sides=bool(covariate_terms(found.table.roles)))
        return replace(found, table=replace(found.table, frame=frame))

    def readings(self, raw: RawTable) -> list[ColumnReading]:
        """Return how the first rows may be read as votes; see `TableKind.readings`."""
        return vote_readings(raw)

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        """Return what makes a check; what times are taken for is decided here, see `TableKind.check`."""
        schema = comparisons_schema(raw.schema(), covariate_terms(raw.roles))
        if "count" in schema and not self._many(raw, schema):
            schema = pl.Schema({name: dtype for name, dtype in schema.items() if name != "count"})
        if "time" not in schema:
            return partial(ComparisonsCheck, raw, schema, None)
        with raw.located(raw.roles.get("time", "time")):
            times = time_reading(raw.frame, "time")
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
        columns, name = raw.schema(), raw.roles.get("count", "count")
        if REST in columns:
            what = "a vote whose points are split has two rows, which have no count (--columns count= leaves it out)"
            raise InputError(what, path=raw.path, column=name)
        with raw.located(name):
            votes = votes_counted(raw.frame, LEFT_OUT, "votes")
            if votes > MOST_VOTES and ("weight" in schema or GAMES[0] in columns):
                raise InputError(
                    f"{votes:,} weighted votes, or series, are too many to be counted (at most {MOST_VOTES:,})"
                )
        return votes > MOST_VOTES


def halved(votes: pl.LazyFrame, *, sides: bool) -> pl.LazyFrame:
    """Return votes without repetitions of a vote from the other side.

    Both are about the same items, with the same result, time, query and judge; the later one is left out.

    Parameters
    ----------
    votes : LazyFrame
        As `rankbench.data.tables.column_roles.as_comparisons` returns them.
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
    beside = [pl.col(name) for name in ("query_id", "judge", "time", "weight", "count", SAID) if name in names]
    keys = [out, low, high, *of_sides, *even, *beside]
    # The k-th row from one side is that of the k-th from the other.
    kth = pl.int_range(pl.len()).over(*keys, turned)
    both = pl.min_horizontal(turned.sum().over(*keys), (~turned).sum().over(*keys))
    again = ~out & (kth < both) & ~kth.is_first_distinct().over(*keys, kth)
    if not (count := votes.select(again.sum()).collect().item()):
        raise InputError("mirrored=halve: no row mirrors another row; leave it out")
    remark(f"rankbench leaves out {count_text(count, 'row')}: each mirrors another row")
    found = votes.with_columns((out | again).alias(LEFT_OUT))
    return found if sides else found.drop("first")


_MONTH = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_SHEET_DATE = rf"^\s*(\d{{1,2}}[-. ]{_MONTH}|{_MONTH}[-. ]\d{{1,2}})\s*$"

_UNREAD = {
    "left_score": "are not the scores, two numbers, of {sides}",
    "left_wins": f"do not say how many games {{sides}} won: whole numbers from 0 to {MOST_GAMES:,}",
    "left_won": "does not say which of {sides} won: one of these columns must be 1, the others 0",
    "points": "is none of the left's points, numbers from 0 to 1",
    "preference": "is no preference from 1 to 2, or 0",
    "margin": "is no number that says by how much the left won",
    "left_word": "is none of the words that were said",
    "side": "is neither of the two sides, nor a tie; the sides are {sides} here",
    "winner": "is neither of the two items, nor a tie; the sides are {sides} here",
}
"""Messages for an outcome that cannot be read, by the first of these roles that the log has."""

_NO_CHANCE = (
    "{} is no chance above 0 and below 1. A chance of 0 or 1 that turns out wrong has an infinite log loss: "
    "mend it, or leave the row out with --where"
)

_PERCENTAGE = "{} is no chance above 0 and below 1; divide percentages by 100"

_WORDS = 6
"""Words that say nothing of who won, of those that an error proposes to leave out."""


class ComparisonsCheck(TableCheck):
    """Comparisons: two different items, a positive weight, times of one reading."""

    def __init__(self, raw: RawTable, schema: pl.Schema, times: TimeReading | None) -> None:
        super().__init__(raw, schema)
        self.times = times
        self.kept: pl.Series | None = None
        self.items: list[pl.Series] = []
        roles = dict(raw.roles)
        self.controls = covariate_terms(roles)
        winner = next((roles[role] for role in ("winner", "left_won", "left_wins", "left_score") if role in roles), "")
        tie = roles.get("tie", "")
        self.before: pl.DataFrame | None = None
        self.names = {"query_id": roles.get("query", ""), SAID: winner, CONTRADICTED: winner, MARKED: tie} | roles

    def error(self, message: str, row: int, column: str) -> InputError:
        """Return an error that names the column as the log does."""
        if self.kept is not None and row < len(self.kept):
            row = int(self.kept[row])
        nobody = message in (MISSING, NAMELESS) and column in ("winner", "loser")
        if nobody and self.raw.doubts is not None:
            return blank_cell("", *self.raw.place(self.rows + row + 1), self.names.get(column) or column)
        if message == MISSING and nobody:
            message += "; --columns drop= leaves such rows out"
        if column in (MARKED, "tie"):
            message += "; --columns tie= reads the log without this column"
        return super().error(message, row, self.names.get(column) or column)

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert a batch; see `TableCheck.convert`."""
        self.kept = None
        if LEFT_OUT in frame.columns:
            self.kept, frame = (~frame[LEFT_OUT]).arg_true(), frame.filter(~frame[LEFT_OUT])
        if MARKED in frame.columns:
            self.cast(frame[MARKED], pl.Boolean(), nulls=True)
            marked = short_repr(self.names[MARKED])
            against = f"the winner is {{}}, but the column {marked} says otherwise; mend one of the two"
            self.refuse(frame[CONTRADICTED].is_not_null(), frame[CONTRADICTED], against)
        if SAID in frame.columns and frame[SAID].is_not_null().any():
            self.refuse(frame[SAID].is_not_null(), frame[SAID], self.unread(frame[SAID]))
        columns = [self.cast(frame[name], pl.String()) for name in ComparisonTable.columns]
        winner, loser = columns[1], columns[2]
        if self.raw.doubts is not None:
            self.items = [pl.concat([*self.items, winner.rename(""), loser.rename("")]).unique()]
        self.refuse(winner == loser, winner, f"item {{}} is compared with itself; {self.leaving_out({'self': 'drop'})}")
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
            # Of one chance the other is what is left; of two, what is left is a tie's or a bookmaker's.
            chances = values if len(values) == 2 else [values[0], 1.0 - values[0]]
            values = [(chances[0] / chances[1]).log()]
            values[0] *= -1.0 if parts[0].endswith(".right") else 1.0
        value = values[0] - values[1] if len(values) == 2 else values[0]
        # Sides of winners and losers: the left is whoever stood first.
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
            self.refuse(outside, column, _NO_CHANCE)
            return value
        for name in term.transforms:
            transform = TRANSFORMS[name]
            allowed = transform.defined(value).fill_null(True)
            self.refuse(~allowed, column, f"{term}: {{}} has no {name}, which takes {transform.needs}")
            value = transform.value(value)
        return value

    def unread(self, unknown: pl.Series) -> str:
        """Return the message for a row without a readable winner; ``{}`` stands for the row's text.

        `unknown` holds the texts of all such rows; others are null.
        """
        names = self.names
        if unknown.drop_nulls().str.contains(_SHEET_DATE).any():
            return "{}, or a row below, is a score that a spreadsheet took for a date: export the scores as text"
        sides = f"{short_repr(names['left'])} and {short_repr(names['right'])}"
        role, what = next((role, what) for role, what in _UNREAD.items() if role in names)
        what = what.format(sides=sides)
        if role == "left_wins":
            return f"{{}} {what}"
        if role == "left_won":
            games = {"left_wins": names["left_won"], "right_wins": names["right_won"]}
            columns = columns_text({"left": names["left"], "right": names["right"], **games})
            return f"{{}} {what}; --columns {shlex.quote(columns)} reads numbers of games won"
        roles, cells = {}, self.words()
        if role == "left_score":
            roles = {role: names[role] for role in ("left", "right", "left_score", "right_score")}
            if names["left_score"] != names["right_score"]:
                cells = cells.str.split(" : ").explode()
                cells = cells.filter(pl.select(as_number(pl.lit(cells)).is_null()).to_series())
        more = self.leaving_out(roles | {"drop": self.dropping(cells)})
        if role in ("left_word", "side", "winner"):
            more = f"--columns left_word=WORD,right_word=WORD,tie_word=WORD say what words mean, {more}"
        return f"{{}} {what}; {more}"

    def words(self) -> pl.Series:
        """Return the first words of the whole log that say nothing of who won: a proposal leaves out all of them."""
        rows = self.raw.frame.filter(~pl.col(LEFT_OUT)) if LEFT_OUT in self.raw.schema() else self.raw.frame
        return rows.select(pl.col(SAID).drop_nulls().unique(maintain_order=True).head(_WORDS)).collect()[SAID]

    def leaving_out(self, roles: Mapping[str, str]) -> str:
        """Return what leaves rows out, beside what was said already."""
        again = ["drop", "self", "mirrored"]
        if any(role in self.names for role in WORD_ROLES):
            again += ["left", "right", "winner", *WORD_ROLES]
        columns = {role: self.names[role] for role in again if role in self.names} | dict(roles)
        return f"--columns {shlex.quote(columns_text(columns))} leaves such rows out"

    def dropping(self, cells: pl.Series) -> str:
        """Return the ``drop=`` of some cells, beside those that are left out already."""
        before = [self.names["drop"]] if "drop" in self.names else []
        return "|".join([*before, *cells.str.strip_chars().unique(maintain_order=True)])


def _each_game(votes: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Return the games of series, whose left is the winner so far: those that the left won, the right won, and ties."""
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
