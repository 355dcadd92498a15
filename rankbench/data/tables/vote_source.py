"""A table of votes before it is read: judges, weights and times of votes, and rows that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables.cells import (
    EMPTY,
    form_of,
    number_of,
    only_rows,
    rows_left_out,
    says,
    text_of,
    times_of,
)
from rankbench.data.tables.codes import refuse_odd_time
from rankbench.data.tables.covariates import control_expressions, control_roles, covariate_terms
from rankbench.data.tables.doubts import refuse_alike, refuse_blanks, refuse_indices, refuse_third
from rankbench.data.tables.schemas import LEFT_OUT
from rankbench.data.tables.vote_outcomes import VoteOutcome, once_per_cell
from rankbench.data.tables.vote_sides import TIES
from rankbench.data.tables.weights import checked_weights, weight_of
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable

LEAD, OUT, AGAINST = "\0lead", "\0out", "\0against"
"""Columns that are added: the outcome, rows that are left out, and rows in which a second column contradicts it."""

_BESIDE = ("judge", "time", "weight", "count")
_FLAGS = {"0", "1", "true", "false", "yes", "no", "w", "l", "win", "loss"}


_OUTCOMES = ("left", "right", "tie")


@dataclass
class VoteSource:
    """A table of votes before it is read.

    Attributes
    ----------
    raw : RawTable
        With one column for each role.
    reading : Reading
    strip : bool
        Whether names lose blanks around them.
    notes : list of str
    weighed : list of str
        Sums of weights and counts as text.
    """

    raw: RawTable
    reading: Reading
    strip: bool = True
    notes: list[str] = field(default_factory=list)
    weighed: list[str] = field(default_factory=list)

    @property
    def sides(self) -> tuple[str, str]:
        """The two columns of items."""
        roles = ("winner", "loser") if self.reading.first["loser"] else ("left", "right")
        return self.reading.first[roles[0]], self.reading.first[roles[1]]

    def settle(self, *names: str) -> None:
        """Read floats as whole numbers for ids, in columns that name the same things."""
        beside = ([name] for role in ("judge", "query") if (name := self.reading.first[role]))
        said = (
            *TIES,
            *(word.lower() for meaning in ("tie", "missing") for word in self.reading.words.get(meaning, ())),
        )
        frame = with_whole_names(self.raw.frame, [*self.sides, *names], *beside, words=said, notes=self.notes)
        self.raw = replace(self.raw, frame=frame)

    def left_out(self) -> dict[str, pl.Expr]:
        """Return whether a row is left out, by reason, except rows without an outcome."""
        reading, found = self.reading, rows_left_out(self.raw, self.reading)
        if missing := reading.words.get("missing"):
            found["without a name of an item"] = pl.any_horizontal(says(text_of(side), missing) for side in self.sides)
        if by := reading.first["by"]:
            found[f"with nothing in {short_repr(by)}"] = text_of(by) == ""
        if reading.first["self"] == "drop":
            found["of an item against itself"] = text_of(self.sides[0]) == text_of(self.sides[1])
        for role in ("weight", "count"):
            if name := reading.first[role]:
                found[f"whose {short_repr(name)} is 0{' or missing' * bool(missing)}"] = self.number(role) == 0
        return {which: rows.fill_null(value=False) for which, rows in found.items()}

    @property
    def out(self) -> pl.Expr | None:
        """Whether a row is left out; None if all are kept."""
        gone = self.left_out()
        return pl.any_horizontal(*gone.values()) if gone else None

    def with_outcome(self, frame: pl.LazyFrame, outcome: VoteOutcome) -> VoteSource:
        """Return the votes with the outcome as a column, and whether each row is left out.

        Polars takes long to plan a query in which a long expression stands often.
        """
        outcome = once_per_cell(frame, outcome)
        missing = outcome.missing.fill_null(value=False)
        out = (missing if self.out is None else self.out | missing).alias(OUT)
        frame = frame.with_columns(out, outcome.lead.alias(LEAD), outcome.against.alias(AGAINST))
        return replace(self, raw=replace(self.raw, frame=frame))

    def name(self, column: str) -> pl.Expr:
        """Return a column of names: texts without blanks around them, other types unchanged."""
        text = self.strip and self.raw.schema[column] == pl.String
        return pl.col(column).str.strip_chars() if text else pl.col(column)

    def counted(self, *out: pl.Expr, **facts: pl.Expr) -> dict[str, int]:
        """Return sums of facts of rows, and note how many rows are left out, also by `out`.

        A fact that ends in ``_row`` is the first row, from 0, where it holds; -1: there is none. Of outcomes (``left``,
        ``right``, ``tie``) a row is as many votes as its count says.
        """
        gone, numbered = self.left_out(), pl.int_range(pl.len())
        weights = [role for role in ("weight", "count") if self.reading.first[role]]
        kept = ~pl.any_horizontal(pl.lit(value=False), *gone.values(), *out)
        sums = []
        for name, fact in ((name, fact.fill_null(value=False)) for name, fact in facts.items()):
            found_in = numbered.filter(fact).min().fill_null(-1) if name.endswith("_row") else fact.sum()
            if name in _OUTCOMES and "count" in weights:
                found_in = self.number("count").filter(fact).sum().cast(pl.Int64, strict=False).fill_null(0)
            sums.append(found_in.alias(name))
        sums += [left.sum().alias(f"{OUT}{at}") for at, left in enumerate(gone.values())]
        refuse_odd_time(self.raw, self.reading)
        found = self.raw.collect(self.raw.frame.select(sums)).row(0, named=True) if sums else {}
        for at, which in enumerate(gone):
            if count := found.pop(f"{OUT}{at}"):
                self.notes.append(f"rankbench leaves out {count_text(count, 'row', which)}")
        for role in weights:
            weighed = checked_weights(only_rows(self.raw, kept), role, self.reading)
            self.weighed.append(weighed.text(self.reading.first[role], role, "row", "vote"))
        return found

    def number(self, role: str) -> pl.Expr:
        """Return the numbers of the column of a role."""
        return weight_of(self.raw, role, self.reading)

    def refuse_items(self, out: pl.Expr | None, items: Sequence[str]) -> None:
        """Raise a question about names of items that are missing, flags, alike, or in a third column too."""
        with self.raw.located():  # the names are known when the rows have been checked, or counted
            sides, missing = self.sides, {word.lower() for word in self.reading.words.get("missing", ())}
            if any(name.lower() in EMPTY and name.lower() not in missing for name in items):
                refuse_blanks(self.raw, sides, self.reading, out=out)
            if len(items) > 1 and {name.lower() for name in items} <= _FLAGS:
                what = f"{listed(list(map(short_repr, sides)))} say {', '.join(sorted(items))}: flags, not names"
                step = option("columns", "left=____,right=____,left_won=____,right_won=____")
                raise Unread(what, step, code="flags")
            refuse_alike(sorted(items), self.reading, self.raw, sides[0])
            refuse_indices(items, self.reading, self.raw, sides[0])
            refuse_third(self.raw, sides, items, self.reading)

    def table(self, chosen: Sequence[pl.Expr], out: pl.Expr | None) -> RawTable:
        """Return the votes of some columns, with the other columns of the schema."""
        roles = {role: names[0] for role, names in self.reading.columns.items() if names[0] and role != "ignore"}
        names = self.raw.schema.names()
        terms = covariate_terms(roles)
        roles |= control_roles(terms, names, roles)
        query = self.name(roles["query"]) if "query" in roles else pl.lit("all")
        columns = [query.alias("query_id"), *chosen]
        columns += [self.beside(role, roles[role]).alias(role) for role in _BESIDE if role in roles]
        columns += control_expressions(roles)
        if out is not None:
            columns.append(out.alias(LEFT_OUT))
        return replace(self.raw, frame=self.raw.frame.select(columns), roles=roles)

    def beside(self, role: str, name: str) -> pl.Expr:
        """Return a column beside the vote; dates and numbers are read by their patterns."""
        if role == "time":
            return times_of(self.raw, self.reading)
        if role in ("weight", "count") and (form := form_of(self.reading)):
            return number_of(text_of(name), form, errors=False)
        return self.name(name) if role == "judge" else pl.col(name)
