"""Cells of score tables are looked at once: which are no numbers, and how numbers and names are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import NUMBER, ROW, form_of, is_nothing, missing_number, number_of, text_of
from rankbench.data.tables.column_texts import first_cells, looks, shown_columns
from rankbench.data.tables.doubts import missing_steps, number_forms, refuse_grouped
from rankbench.data.tables.score_roles import COLUMN_OF, SHOWN, ScoreLayout
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import names_text
from rankbench.interfaces.table_check import RawTable

_SIGN = r"[\u00b1(]|\+/-|\+-"


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts on the cells of a score table, found in two passes.

    Attributes
    ----------
    rows : int
    simple : frozenset of str
        Columns whose cells are empty, or numbers without anything beside them.
    by_column : dict of str to dict
        Facts by column. Of names: ``fixed``, whether all are one. Of scores: the first row, from 0, of a cell that is
        no number (``bad``), of one with a percent sign, or with another unit than the first (``signed``), and of one
        without (``plain``); ``numbers``, and cells that a word calls missing (``gone``); whether all are true and false
        (``truth``), some have a standard error (``errors``), or a point, and others none (``mixed``).
    """

    rows: int
    simple: frozenset[str]
    by_column: dict[str, dict[str, Any]]

    @classmethod
    def found(cls, raw: RawTable, layout: ScoreLayout) -> Facts:
        """Look at a table."""
        simple = _simple(raw, layout)
        facts = {name: _cell_facts(name, layout, simple) for name in layout.cells}
        facts |= {name: {"fixed": text_of(name).n_unique() < 2} for name in layout.columns(*COLUMN_OF)}
        of = [pl.struct([value.alias(fact) for fact, value in own.items()]) for own in facts.values()]
        wanted = [value.alias(str(at)) for at, value in enumerate(of)]
        rows, *values = raw.collect(raw.frame.with_row_index(ROW).select(pl.len().alias("rows"), *wanted)).row(0)
        return cls(rows, simple, dict(zip(facts, values, strict=True)))

    def refuse(self, raw: RawTable, layout: ScoreLayout) -> None:
        """Refuse cells that are no numbers, columns without any, and signs that some cells have.

        Raises
        ------
        Unread
        """
        grouped = [name for name in layout.cells if name not in self.simple or self.by_column[name].get("mixed")]
        refuse_grouped(raw, grouped, layout.reading)
        texts = tuple(name for name in layout.cells if name in layout.wild and not self.by_column[name]["numbers"])
        bad = [name for name in texts if self.by_column[name].get("bad") is not None]
        if bad and len(texts) < len(layout.cells):
            shown = {name: looks(cells) for name, cells in first_cells(raw, texts).items()}
            raise Unread(
                f"{listed(texts[:SHOWN])}: no numbers stand there",
                f"{option('columns', names_text({'ignore': texts}))}",
                code="number",
                shown=shown_columns(shown),
                column=texts[0],
            )
        rows = [(row, name) for name, own in self.by_column.items() if (row := own.get("bad")) is not None]
        if rows:
            _refuse_number(raw, layout, *min(rows, key=lambda one: one[0]))
        for name in layout.cells:
            signed, plain = self.by_column[name].get("signed"), self.by_column[name].get("plain")
            if signed is not None and plain is not None:
                message = "cells of the column have different units, or a percent sign or none: write them in one way"
                step = f"{option('columns', names_text({'ignore': (name,)}))} leaves the column out"
                raise raw.at(max(signed, plain), Unread(message, step, code="number-form", column=name))
            if not self.by_column[name]["numbers"] and self.rows:
                step = f"{option('columns', names_text({'ignore': (name,)}))} leaves it out"
                raise Unread("the column has no score at all", step, code="blank", column=name)

    def notes(self, layout: ScoreLayout) -> list[str]:
        """Return notes on how names and numbers are written."""
        found = []
        for role in layout.rows():
            names = layout.reading.all(role)
            if fixed := [name for name in names if len(names) > 1 and self.by_column[name]["fixed"]]:
                found.append(f"{listed(fixed)} is the same in all rows, and no part of the {role}'s name")
        if errors := [name for name in layout.cells if self.by_column[name].get("errors")]:
            found.append(
                "rankbench reads numbers in brackets or after \u00b1 as standard errors, not scores: "
                f"{listed(errors[:SHOWN])}"
            )
        percent = [name for name in layout.cells if self.by_column[name].get("signed") is not None]
        if percent and len(percent) < len(layout.cells):
            found.append(f"rankbench reads 78% as 78, beside columns without such a sign: {listed(percent[:SHOWN])}")
        return found

    def missing(self) -> dict[str, int]:
        """Return the number of cells with a word for missing."""
        count = sum(own.get("gone", 0) for own in self.by_column.values())
        return {"missing": count} if count else {}


def _simple(raw: RawTable, layout: ScoreLayout) -> frozenset[str]:
    """Return the columns of scores that need no further checks: most tables have no others, and may be large."""
    names = [name for name in layout.cells if not _is_text(layout.schema[name])]
    if not (layout.reading.first["cells"] or form_of(layout.reading)):
        texts = [name for name in layout.cells if name not in names]
        odd = [
            (~text_of(name).cast(pl.Float64, strict=False).is_finite()).fill_null(text_of(name) != "") for name in texts
        ]
        row = raw.collect(raw.frame.select(one.any().alias(str(at)) for at, one in enumerate(odd)))
        names += [name for name, some in zip(texts, row.row(0) if texts else (), strict=True) if not some]
    return frozenset(names)


def _cell_facts(name: str, layout: ScoreLayout, simple: frozenset[str]) -> dict[str, pl.Expr]:
    """Return the facts of a column of scores: see `Facts`."""
    dtype, row = layout.schema[name], pl.col(ROW)
    value, gone = score_of(name, layout, simple)
    there = value.is_not_null() & ~gone
    facts = {"numbers": there.sum(), "gone": gone.sum(), "truth": pl.lit(value=dtype == pl.Boolean)}
    if not _is_text(dtype):
        return facts | ({"bad": row.filter(pl.col(name).is_infinite() & ~gone).min()} if dtype.is_float() else {})
    text = text_of(name)
    if name in simple:
        pointed = text.str.contains(".", literal=True)
        return facts | {"mixed": pointed.any() & (there & ~pointed).any()}
    facts["truth"] = (~there | text.str.to_lowercase().is_in(["true", "false"])).all() & there.any()
    facts["bad"] = row.filter(value.is_null() & ~is_nothing(text) & ~gone).min()
    sign = text.str.contains("%", literal=True)
    if layout.reading.first["cells"]:
        unit = text.str.extract(rf"^{NUMBER}\s*(%|\pL+)")
        first = unit.drop_nulls().first()
        sign = (unit != first).fill_null(first == "%")
    facts["signed"], facts["plain"] = row.filter(there & sign).min(), row.filter(there & ~sign).min()
    facts["errors"] = (there & text.str.contains(_SIGN)).any()
    return facts


def _is_text(dtype: pl.DataType) -> bool:
    """Return whether cells of a type are texts."""
    return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


def score_of(name: str, layout: ScoreLayout, simple: frozenset[str]) -> tuple[pl.Expr, pl.Expr]:
    """Return the numbers of a column, null if there is none, and whether a word calls a cell missing."""
    words, text = layout.reading.words.get("missing", ()), text_of(name)
    if name in simple:
        value = (text if _is_text(layout.schema[name]) else pl.col(name)).cast(pl.Float64, strict=False)
        value = pl.when(value.is_finite()).then(value)
    else:
        value = number_of(text, "first" if layout.reading.first["cells"] == "first" else form_of(layout.reading))
    gone = missing_number(text, value, words) & (text != "") if words else pl.lit(value=False)
    return value, gone


def _refuse_number(raw: RawTable, layout: ScoreLayout, at: int, name: str) -> None:
    """Raise a question about a cell that is no number."""
    cell = str(raw.collect(raw.frame.slice(at, 1).select(pl.col(name).cast(pl.String).str.strip_chars())).item())
    steps = missing_steps(cell, "if it says that the score is missing")
    if forms := number_forms(cell, layout.reading):
        steps = forms
    elif re.fullmatch(rf"{NUMBER}\D+", cell) and not layout.reading.first["cells"]:
        steps = [f"{option('columns', 'cells=first')} reads the number that a cell begins with"]
    if layout.side:
        steps.append(f"{option('columns', names_text({'ignore': (name,)}))} leaves the column out")
    step = "; ".join(steps or ["write it as a number"])
    raise raw.at(at, Unread(f"{short_repr(cell)} is not a number", step, code="number", column=name))
