"""Votes are read as a reading says: every cell must fit, and what looks like something else is asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables.cells import EMPTY, says, text_of, with_joined
from rankbench.data.tables.covariates import control_expressions, control_roles, covariate_terms
from rankbench.data.tables.doubts import (
    blank_cell,
    refuse_alike,
    refuse_blanks,
    refuse_code,
    refuse_grouped,
    refuse_third,
)
from rankbench.data.tables.sides import LEFT_OUT
from rankbench.data.tables.vote_outcomes import VoteOutcome, missing_step, outcome_of, outcome_says, with_flag
from rankbench.data.tables.vote_sides import shown_items, with_sides, words_of_sides
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError, Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.row_weights import weightless
from rankbench.interfaces.table_check import RawTable, ReadTable

_LEAD, _OUT = "\0lead", "\0out"
"""Columns beside the columns of the file; no user calls one so."""

_BESIDE = ("judge", "time", "weight", "count")
_FLAGS = {"0", "1", "true", "false", "yes", "no", "w", "l", "win", "loss"}


def read_votes(raw: RawTable, reading: Reading) -> ReadTable:
    """Return votes under the names of the schema of comparisons, with the reading as it was applied.

    Raises
    ------
    InputError
        A column is not there, or a cell does not fit: with its row.
    Unread
        Values speak against the reading.
    """
    said = reading.expanded(raw.schema().names())
    frame, reading = with_joined(raw.frame, said)
    raw, reading = _each_vote(replace(raw, frame=frame), reading)
    votes = _PairVotes if reading.one("loser") else _SidedVotes
    found = votes(raw, reading).read()
    several = {role: names for role, names in said.columns.items() if len(names) > 1}
    return replace(found, reading=found.reading.with_(several))


def _each_vote(raw: RawTable, reading: Reading) -> tuple[RawTable, Reading]:
    """Return a row for each vote of a row: where several columns name winners, each of them is a vote."""
    names = reading.all("winner")
    if len(names) < 2:
        return raw, reading
    if reading.one("loser"):
        raise InputError(f"beside a loser there is one winner, not {listed(list(names))}", path=raw.path)
    winner = ", ".join(names)
    votes = pl.concat_list([text_of(name) for name in names]).alias(winner)
    others = {name for role, some in reading.columns.items() if role != "winner" for name in some}
    frame = raw.frame.with_columns(votes).explode(winner).drop([name for name in names if name not in others])
    each = replace(raw, frame=frame, locate=lambda row: raw.place((row - 1) // len(names) + 1))
    return each, reading.with_({"winner": (winner,)})


@dataclass
class _Votes:
    """Votes while they are read.

    Attributes
    ----------
    raw : RawTable
        With one column for each role.
    reading : Reading
    """

    raw: RawTable
    reading: Reading

    def __post_init__(self) -> None:
        self.notes: list[str] = []

    def read(self) -> ReadTable:
        raise NotImplementedError

    @property
    def sides(self) -> tuple[str, str]:
        """The two columns of items."""
        roles = ("winner", "loser") if self.reading.one("loser") else ("left", "right")
        return self.reading.one(roles[0]), self.reading.one(roles[1])

    def settle(self, *names: str) -> None:
        """Let ids be whole numbers where a program wrote them as floats, in columns that name the same things."""
        beside = ([name] for role in ("judge", "query") if (name := self.reading.one(role)))
        self.raw = replace(self.raw, frame=with_whole_names(self.raw.frame, [*self.sides, *names], *beside))

    def left_out(self) -> dict[str, pl.Expr]:
        """Return which rows are left out, by what is said of them, but for those without an outcome."""
        reading, found = self.reading, dict[str, pl.Expr]()
        for name, words in reading.where.items():
            found[f"whose {short_repr(name)} is not {'|'.join(words)}"] = ~says(text_of(name), words)
        for name, words in reading.unless.items():
            found[f"whose {short_repr(name)} is {'|'.join(filter(None, words))}"] = says(text_of(name), words)
        if missing := reading.words.get("missing"):
            found["without a name of an item"] = pl.any_horizontal(says(text_of(side), missing) for side in self.sides)
        if by := reading.one("by"):
            found[f"with nothing in {short_repr(by)}"] = text_of(by) == ""
        if reading.one("self") == "drop":
            found["of an item against itself"] = text_of(self.sides[0]) == text_of(self.sides[1])
        for role in ("weight", "count"):
            if name := reading.one(role):
                found[f"whose {short_repr(name)} is 0"] = weightless(name)
        return found

    def counted(self, out: pl.Expr, **facts: pl.Expr) -> dict[str, int]:
        """Return sums of facts of the rows that are kept, and note how many rows are left out.

        A fact that ends in ``_row`` is the first row, from 0, where it holds; -1: there is none.
        """
        gone = self.left_out()
        rows = pl.int_range(pl.len())
        sums = [
            (rows.filter(fact).min().fill_null(-1) if name.endswith("_row") else fact.sum()).alias(name)
            for name, fact in ((name, fact.fill_null(value=False) & ~out) for name, fact in facts.items())
        ]
        sums += [rows.fill_null(value=False).sum().alias(f"{_OUT}{at}") for at, rows in enumerate(gone.values())]
        if not sums:
            return {}
        with self.raw.reading():
            found = self.raw.frame.select(sums).collect(engine="streaming").row(0, named=True)
        for at, which in enumerate(gone):
            if count := found.pop(f"{_OUT}{at}"):
                self.notes.append(f"rankbench leaves out {count_text(count, 'row', which)}")
        return found

    def pairs(self, lead: pl.Expr, out: pl.Expr | None) -> pl.DataFrame:
        """Return the different votes of the rows that are kept: two items, who won, and how many rows.

        Texts are few and rows are many: rows are grouped as they are.
        """
        sides = [pl.col(side).alias(name) for side, name in zip(self.sides, ("left", "right"), strict=True)]
        rows = self.raw.frame.select(*sides, lead.alias("lead"), *([] if out is None else [out.alias("out")]))
        rows = rows if out is None else rows.filter(~pl.col("out")).drop("out")
        with self.raw.reading():
            grouped = rows.group_by("left", "right", "lead").len().collect(engine="streaming")
        return grouped.with_columns(text_of("left").alias("left"), text_of("right").alias("right"))

    def refuse_names(self, pairs: pl.DataFrame, out: pl.Expr | None) -> list[str]:
        """Return the names of the items, sorted; names that are empty, alike, or in a third column are asked about."""
        sides = self.sides
        items = pl.concat([pairs["left"], pairs["right"]]).unique().sort().to_list()
        if any(name.lower() in EMPTY for name in items):
            refuse_blanks(self.raw, sides, self.reading, out=out)
        if len(items) > 1 and {name.lower() for name in items} <= _FLAGS:
            raise Unread(
                f"{short_repr(sides[0])} and {short_repr(sides[1])} say {', '.join(items)}: flags, not names of items",
                "--columns left=____,right=____,left_won=____,right_won=____",
                code="flags",
                path=self.raw.path,
            )
        refuse_alike(items, self.reading, self.raw, sides[0])
        refuse_third(self.raw, sides, items, self.reading)
        return items

    def table(self, chosen: Sequence[pl.Expr], out: pl.Expr | None) -> RawTable:
        """Return the votes of some columns, with what goes with a vote beside them."""
        roles = {role: names[0] for role, names in self.reading.columns.items() if names[0]}
        names = self.raw.schema().names()
        terms = covariate_terms(roles)
        roles |= control_roles(terms, names, roles)
        query = pl.col(roles["query"]) if "query" in roles else pl.lit("all")
        columns = [query.alias("query_id"), *chosen]
        columns += [self.beside(role, roles[role]).alias(role) for role in _BESIDE if role in roles]
        columns += control_expressions(roles)
        if out is not None:
            columns.append(out.alias(LEFT_OUT))
        return replace(self.raw, frame=self.raw.frame.select(columns), roles=roles)

    def beside(self, role: str, name: str) -> pl.Expr:
        """Return a column beside the vote; dates are read by their pattern."""
        if role == "time" and (pattern := self.reading.one("dates")):
            return text_of(name).str.to_date(date_format(pattern), strict=False)
        return pl.col(name)


class _PairVotes(_Votes):
    """Votes of a column of winners and one of losers."""

    def read(self) -> ReadTable:
        self.settle()
        reading, (winner, loser) = self.reading, self.sides
        gone = self.left_out()
        out = pl.any_horizontal(rows.fill_null(value=False) for rows in gone.values()) if gone else None
        tie = reading.one("tie")
        pairs = self.pairs(pl.lit(1.0), out)
        items = self.refuse_names(pairs, out)
        if reading.source == "standard names":
            _refuse_sorted_numbers(self.raw, pairs, winner, loser)
        if out is not None:
            self.counted(out)
        chosen = [text_of(winner).alias("winner"), text_of(loser).alias("loser")]
        chosen += [pl.col(tie).alias("tie")] if tie else []
        chosen += [pl.col(reading.one(role)).alias(role) for role in ("first", "rest_of_vote") if reading.one(role)]
        says_pair = f"{winner} beat {loser}" + f", ties by {tie}" * bool(tie)
        return ReadTable(self.table(chosen, out), reading, (says_pair, shown_items(items)), {}, tuple(self.notes))


def _refuse_sorted_numbers(raw: RawTable, pairs: pl.DataFrame, winner: str, loser: str) -> None:
    """Ask where names are numbers, and the winner's is never the lower one: scores, not names."""
    left, right = (pairs[side].cast(pl.Float64, strict=False) for side in ("left", "right"))
    if pairs.height > 4 and bool((left >= right).fill_null(value=False).all()):
        raise Unread(
            f"{short_repr(winner)} is never below {short_repr(loser)}: are they scores, not names of items?",
            "--columns left=____,right=____,left_score=____,right_score=____; or name items by texts",
            code="flags",
            path=raw.path,
        )


class _SidedVotes(_Votes):
    """Votes of two columns of items, and what says which of them won."""

    def read(self) -> ReadTable:
        if self.reading.one("winner"):
            self.reading = with_sides(self.raw, self.reading)
        reading = self.reading
        if not reading.has("left", "right"):
            raise Unread("which two columns hold the items is not said", "--columns left=____,right=____", code="sides")
        self.settle(*([] if words_of_sides(reading) else reading.all("winner")))
        outcome = outcome_of(reading)
        against = None
        if reading.one("tie") and reading.one("winner"):
            outcome, against = with_flag(outcome, reading)
        gone = [rows.fill_null(value=False) for rows in self.left_out().values()]
        out = pl.any_horizontal(*gone, outcome.missing.fill_null(value=False))
        refuse_grouped(self.raw, list(outcome.columns) if outcome.numbers else [], reading)
        lead = outcome.lead
        facts = {"left": lead > 0, "right": lead < 0, "tie": lead == 0, "unread_row": lead.is_null()}
        facts |= {} if against is None else {"against_row": against}
        counts = self.counted(out, **facts)
        self.refuse_unread(outcome, counts.pop("unread_row"), counts.pop("against_row", -1))
        if outcome.numbers:
            kept = replace(self.raw, frame=self.raw.frame.filter(~out))
            refuse_code(kept, outcome.numbers, reading, places=outcome.places)
        counts["missing"] = self.missing(outcome, gone)
        if counts["missing"]:
            words = [word or "an empty cell" for word in reading.words.get("missing", ())]
            which = f"without an outcome ({', '.join(words)})" if words else "without a game"
            self.notes.append(f"rankbench leaves out {count_text(counts['missing'], 'row', which)}")
        pairs = self.pairs(lead.sign(), out)
        items = self.refuse_names(pairs, out)
        self.refuse_mirrored(pairs)
        decisive = counts["left"] + counts["right"]
        if decisive > 5 and not (counts["left"] and counts["right"]):
            side = self.sides[0 if counts["left"] else 1]
            self.notes.append(f"all {decisive:,} decisive votes are won by the item in {short_repr(side)}")
        says_all = (f"{self.sides[0]} against {self.sides[1]}", outcome_says(reading, counts), shown_items(items))
        return ReadTable(self.sided_table(outcome, out), reading, says_all, counts, tuple(self.notes))

    def sided_table(self, outcome: VoteOutcome, out: pl.Expr) -> RawTable:
        """Return the votes with winner, loser, tie and side."""
        left, right = (text_of(side) for side in self.sides)
        # A column of its own: Polars takes long to plan a query in which a long expression stands often.
        raw = replace(self.raw, frame=self.raw.frame.with_columns(outcome.lead.fill_null(0.0).alias(_LEAD)))
        first = pl.col(_LEAD) >= 0
        chosen = [
            pl.when(first).then(left).otherwise(right).alias("winner"),
            pl.when(first).then(right).otherwise(left).alias("loser"),
            (pl.col(_LEAD) == 0).alias("tie"),
            first.alias("first"),
            *(more.alias(name) for name, more in outcome.more.items()),
        ]
        return replace(self, raw=raw).table(chosen, out)

    def missing(self, outcome: VoteOutcome, gone: Sequence[pl.Expr]) -> int:
        """Return how many rows have no outcome, as a word or a series without a game says."""
        alone = outcome.missing.fill_null(value=False) & ~pl.any_horizontal(pl.lit(value=False), *gone)
        with self.raw.reading():
            return int(self.raw.frame.select(alone.sum()).collect(engine="streaming").item())

    def refuse_unread(self, outcome: VoteOutcome, unread: int, against: int) -> None:
        """Refuse the first row whose cells do not say who won, or whose column of ties says otherwise."""
        rows = [row for row in (unread, against) if row >= 0]
        if not rows:
            return
        first = min(rows)
        with self.raw.reading():
            texts = self.raw.frame.slice(first, 1).select(text_of(name) for name in outcome.columns).collect().row(0)
        path, row = self.raw.place(first + 1)
        column = outcome.columns[0]
        if first == against:
            what = f"the column {short_repr(self.reading.one('tie'))} says otherwise than {short_repr(texts[0])}"
            raise InputError(f"{what}; --columns tie= reads the log without it", path=path, row=row, column=column)
        named = bool(self.reading.one("winner"))
        if any(text.lower() in EMPTY for text in texts):
            more = ("tie",) if named else ()
            raise blank_cell(next(text for text in texts if text.lower() in EMPTY), path, row, column, more=more)
        shown = " and ".join(short_repr(text) for text in texts)
        odd = next((text for text in texts if not re.fullmatch(r"[+-]?[\d.]+", text)), texts[0])
        step = f"{missing_step(odd)} leaves such rows out"
        code = "word" if named else "number"
        raise Unread(outcome.wrong.replace("{}", shown, 1), step, code=code, path=path, row=row, column=column)

    def refuse_mirrored(self, pairs: pl.DataFrame) -> None:
        """Ask where each row has one that says the same from the other side."""
        if self.reading.one("mirrored") or pairs["len"].sum() < 4:
            return
        turned = pl.col("left") > pl.col("right")
        even = pairs.group_by(
            pl.min_horizontal("left", "right").alias("low"),
            pl.max_horizontal("left", "right").alias("high"),
            pl.when(turned).then(-pl.col("lead")).otherwise(pl.col("lead")).alias("lead"),
        ).agg(pl.col("len").filter(turned).sum().alias("one"), pl.col("len").filter(~turned).sum().alias("other"))
        if bool((even["one"] == even["other"]).all()):
            raise Unread(
                "each row has a row that says the same from the other side",
                "--columns mirrored=halve counts each game once, mirrored=keep twice",
                code="mirrored",
                path=self.raw.path,
            )


_DATES: Mapping[str, str] = {
    "2024": "%Y", "24": "%y", "December": "%B", "Dec": "%b", "12": "%m", "31": "%d",
}  # fmt: skip


def date_format(pattern: str) -> str:
    """Return the format of dates that are written as 31 December 2024 is in the pattern: ``31/12/24``.

    Raises
    ------
    InputError
        The pattern is not that day.
    """
    found = re.sub("|".join(_DATES), lambda part: _DATES[part[0]], pattern)
    if not {"%d"} <= set(re.findall("%.", found)) or not re.search("%[Yy]", found) or not re.search("%[mbB]", found):
        raise InputError(f"dates={pattern}: write 31 December 2024 as the dates are written, as dates=31/12/24")
    return found
