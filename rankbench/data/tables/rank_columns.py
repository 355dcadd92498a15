"""Ballots may have a column for each rank, as in ranked-choice elections, or a row for each place, as in races."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from rankbench.core.text import count_text, plain_name, short_repr
from rankbench.data.tables.schemas import RANKS, SAYS_NOTHING
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.row_weights import without_counts
from rankbench.interfaces.table import check_there
from rankbench.interfaces.table_check import RawTable

_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_MEDALS = ("gold", "silver", "bronze")
_SKIPPED = ("", "skipped", "undervote", "blank", "none", "na", "n/a", "nan", "null", "-")
_OVERVOTES = ("overvote", "overvoted")

_NEARLY = r"^\W*[A-Za-z]?\d"
"""Texts that say a place, or a time, in another way: T3, =2, 1st, 12:03.4."""


def rank_columns(cells: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], bool]:
    """Return the columns of ranks by role, two at least, and whether their names leave no doubt.

    Two columns called choice 1 and choice 2 may be what a question offered; numbers are no names of items.

    Parameters
    ----------
    cells : mapping of str to sequence of str
        The first rows by column.
    """
    named = [
        name for name, texts in cells.items() if any(not text.replace(".", "").isdigit() for text in texts if text)
    ]
    by_name = {plain_name(name): name for name in reversed(named)}
    found, sure = dict[str, str](), True
    for k, role in enumerate(RANKS, 1):
        ending = "th" if 10 <= k % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
        ordinals = [f"{k}{ending}", *_WORDS[k - 1 : k]]
        usual = [f"{n}_{what}" for n in ordinals for what in ("choice", "preference", "rank")]
        usual += [f"{what}_{k}" for what in ("rank", "choice", "preference", "pref")]
        bare = [*ordinals, *(f"{n}_place" for n in ordinals), f"place_{k}", f"vote_{k}", *_MEDALS[k - 1 : k]]
        if (name := next((by_name[one] for one in [*usual, *bare] if one in by_name), None)) is None:
            break
        found[role] = name
        sure = sure and plain_name(name) in usual
    sure = sure and (len(found) > 2 or not any(plain_name(name).startswith("choice") for name in found.values()))
    return (found, sure) if len(found) > 1 else ({}, False)


def of_ranks(raw: pl.LazyFrame, roles: Mapping[str, str]) -> list[pl.Expr]:
    """Return the rankings of columns of ranks, and which ballots say nothing; a remark counts what was not read.

    Skipped ranks close up, overvotes and items that were ranked before are left out.
    """
    cells = [pl.col(roles[role]).cast(pl.String).fill_null("").str.strip_chars() for role in RANKS if role in roles]
    words = [cell.str.to_lowercase() for cell in cells]
    named = [pl.when(~word.is_in([*_SKIPPED, *_OVERVOTES])).then(cell) for cell, word in zip(cells, words, strict=True)]
    whole = pl.concat_list(named).list.drop_nulls()
    ranking = whole.list.unique(maintain_order=True)
    blank = [word.is_in(list(_SKIPPED)) for word in words]
    # Ranks behind the last that is filled in are no skipped ones.
    gaps = [
        pl.all_horizontal(gap, pl.any_horizontal(~one for one in blank[k + 1 :])) for k, gap in enumerate(blank[:-1])
    ]
    facts = raw.select(
        pl.sum_horizontal(gaps).sum().alias("skipped rank"),
        pl.sum_horizontal(word.is_in(list(_OVERVOTES)) for word in words).sum().alias("overvote"),
        (whole.list.len() - ranking.list.len()).sum().alias("repeated item"),
        (ranking.list.len() == 0).sum().alias("empty ballot"),
    )
    counts = facts.collect(engine="streaming").row(0, named=True)
    acts = {"skipped rank": "closes up"}
    if said := [f"{acts.get(noun, 'leaves out')} {count_text(n, noun)}" for noun, n in counts.items() if n]:
        remark(f"rankbench {', '.join(said)}")
    return [ranking.alias("ranking"), (ranking.list.len() == 0).alias(SAYS_NOTHING)]


def of_places(raw: RawTable, given: Mapping[str, str]) -> RawTable:
    """Return the ballots of a table whose rows are an item's place each."""
    schema = raw.schema()
    if set(given) != {"query", "item", "place"}:
        raise InputError("places are ballots by three columns: --columns query=NAME,item=NAME,place=NAME")
    check_there(given, schema)
    without_counts(schema, given)
    with raw.located():
        frame = with_whole_names(raw.frame, [given["item"]], [given["query"]])
    text = pl.col(given["place"]).cast(pl.String).str.strip_chars()
    place = text.cast(pl.Float64, strict=False)
    columns = {"query_id": pl.col(given["query"]), "item": pl.col(given["item"]).cast(pl.String), "place": place}
    rows = frame.select(**columns)
    nearly = text.filter(place.is_null() & text.str.contains(_NEARLY)).first()
    behind, odd = frame.select(place.is_null().sum().alias("behind"), nearly).collect(engine="streaming").row(0)
    if odd is not None:
        what = "is no number: write places as 1, 2, ..., and words for items without a place"
        raise InputError(f"{short_repr(odd)} {what}", path=raw.path, column=given["place"])
    if behind:
        remark(f"rankbench ties {count_text(behind, 'row', 'without a number as place')} behind the others of a query")
    first = rows.group_by("query_id").agg(pl.col("place").min()).filter(pl.col("place") != 1)
    if late := first.select(pl.len()).collect(engine="streaming").item():
        remark(
            f"rankbench takes the lowest number for the best in {count_text(late, 'query', 'whose lowest is not 1')}"
        )
    tied = rows.group_by("query_id", "place", maintain_order=True).agg("item")
    tied = tied.sort("place", nulls_last=True, maintain_order=True)
    ballots = tied.group_by("query_id", maintain_order=True).agg(pl.col("item").alias("ranking"))
    # A row of the table is one of several of the file.
    return replace(raw, frame=ballots, roles=given, locate=lambda row: (raw.path, None))
