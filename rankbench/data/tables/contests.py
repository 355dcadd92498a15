"""Contests of several items in a row become votes: the best beats each other, and each other beats the worst.

Items between them are not compared: neither an order nor a tie is known. The votes of a
row are one judgment, and depend on one another; so a row is a judge of its own where the log names no judges, and
intervals that resample judges resample rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.ballot_columns import BallotSource, ballot_source, beside_columns
from rankbench.data.tables.cells import (
    ROW,
    different,
    items_text,
    name_of,
    only_rows,
    refuse_first,
    says,
    text_of,
    without_missing,
)
from rankbench.data.tables.column_texts import counted_words
from rankbench.data.tables.doubts import missing_steps, refuse_alike, refuse_blanks, refuse_third
from rankbench.data.tables.schemas import LEFT_OUT
from rankbench.data.tables.vote_sides import TIES, name_words, words_of_sides
from rankbench.errors import InputError, Unread, nearest, option
from rankbench.interfaces.reading import Reading, names_text
from rankbench.interfaces.row_weights import MOST_VOTES
from rankbench.interfaces.table_check import RawTable, ReadTable

_PLACES = {"best": 0, "worst": 2}
"""Places of items; those that no column names have 1."""


def read_contests(raw: RawTable, reading: Reading) -> ReadTable:
    """Return the votes implied by rows of several items, by a reading: a table of the kind `comparisons`.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
        It has ``items``, and ``best`` or ``worst`` or both. Their cells name an item of the row, or a column of items,
        or the part in which the names of these differ, or are words that mean a column (or a tie of all).

    Raises
    ------
    InputError
        With its row: an item stands twice, or is the best and the worst.
    Unread
        A cell of ``best`` or ``worst`` names no item of its row, or may say nothing.
    """
    source = ballot_source(raw, reading)
    raw, reading, items = source.raw, source.reading, source.reading.all("items")
    picks = [role for role in _PLACES if reading.first[role]]
    if len(items) < 2:
        raise Unread("one item alone is no contest", option("columns", "items=____|____"), code="roles")
    refuse_blanks(raw, [*items, *(reading.first[role] for role in picks)], reading, more=("tie",))
    raw = without_missing(
        raw, [*items, *(reading.first[role] for role in picks)], source.words("missing"), source.notes
    )
    names = {name: text_of(name) for name in items}
    _refuse_same(raw, names, reading)
    if reading.first["self"] == "drop":
        raw = only_rows(raw, ~_same(names))
    named = different(raw, names.values())
    refuse_alike(named, reading, raw, items[0])
    refuse_third(raw, items, named, source.applied)
    source = replace(source, raw=raw)
    how = _how(source, picks, names, named)
    marked = {role: _marked(source, role, names, how) for role in picks}
    _refuse_both(source, marked)
    return _read(source, names, marked, _tied(source, picks), named)


def _same(names: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return whether a row has an item twice."""
    return pl.any_horizontal(one == other for one, other in combinations(names.values(), 2))


def _refuse_same(raw: RawTable, names: Mapping[str, pl.Expr], reading: Reading) -> None:
    """Raise a question about an item that a row has twice."""
    if reading.first["self"] == "drop":
        return
    asked = Unread(
        "an item stands twice in the row",
        f"{option('columns', 'self=drop')} leaves such rows out",
        code="self",
        column=next(iter(names)),
    )
    refuse_first(raw, {next(iter(names)): _same(names)}, lambda *_: asked)


def _own_words(columns: Sequence[str]) -> dict[str, str]:
    """Return the one part of each column's name that the others lack; none if a column has no such part."""
    found = {}
    for name in columns:
        others = {word for other in columns if other != name for word in name_words(other)}
        own = [word for word in name_words(name) if word not in others]
        if len(own) != 1 or own == name_words(name):
            return {}
        found[name] = own[0]
    return found


def _ties(source: BallotSource) -> tuple[str, ...]:
    """Return the words for a tie of all; if cells name items, only words told for it."""
    told = source.words("tie")
    return told if "name" in source.reading.words else (*TIES, *told)


def _how(
    source: BallotSource, picks: Sequence[str], names: Mapping[str, pl.Expr], items: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the words that mean each column; none if cells name items.

    Raises
    ------
    InputError
        A word means a column that is none of the items', or two columns.
    Unread
        Not all cells fit, or they fit in several ways.
    """
    raw, reading = source.raw, source.reading
    if told := words_of_sides(reading):
        _refuse_words(source, picks, names, told)
        return told
    ties, cells = _ties(source), [reading.first[role] for role in picks]
    every = pl.concat([raw.frame.select(word=name_of(cell)).unique() for cell in cells]).unique()
    words = raw.collect(every.filter(~says(pl.col("word"), ties)).head(len(names) + 1))["word"]
    fit = [says(text_of(cell), ties) | pl.any_horizontal(_is_item(cell, names)) for cell in cells]
    by_item = all(raw.facts(*(one.all() for one in fit))) and len(words) > 0
    ways = {} if "name" in reading.words else _column_words(list(names), {word.lower() for word in words.to_list()})
    own = {word.lower() for word in (*ties, *(word for some in ways.values() for word in some))}
    if (ways and by_item) or ((ways or by_item) and any(item.lower() in own for item in items)):
        raise Unread(
            f"the words of {listed(cells)} are names of items, and mean columns or ties as well",
            f"{option('words', names_text({name: ('____',) for name in names}))}; or name=* if all are names of items",
            code="ambiguous",
            column=cells[0],
        )
    if not ways and not by_item:
        raise _no_words(source, cells, names)
    return ways


def _column_words(columns: Sequence[str], words: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the word of each column, its name or the differing part of it, if all words are such."""
    for meant in ({name: name.strip() for name in columns}, _own_words(columns)):
        if words and words <= {word.lower() for word in meant.values()}:
            return {name: (word,) for name, word in meant.items()}
    return {}


def _is_item(cell: str, names: Mapping[str, pl.Expr]) -> list[pl.Expr]:
    """Return whether a column names each of the row's items."""
    return [(text == text_of(cell)) | (text == name_of(cell)) for text in names.values()]


def _refuse_words(
    source: BallotSource, picks: Sequence[str], names: Iterable[str], told: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise a question about the first word that was not told; refuse words of two columns, or of no items' column."""
    for name in told:
        if name not in names:
            what = f"words: {name!r} is none of the columns of items{nearest(name, [*names, 'tie', 'missing'])}"
            raise InputError(what)
    known = [word for words in (*told.values(), _ties(source)) for word in words]
    if twice := [word for word in known if [other.lower() for other in known].count(word.lower()) > 1]:
        raise InputError(f"words: {twice[0]!r} means several columns, or a tie")
    cases = {source.reading.first[role]: ~says(text_of(source.reading.first[role]), known) for role in picks}

    def no_word(cell: str, column: str) -> Unread:
        step = "; ".join(missing_steps(cell, "leaves such rows out", word=True))
        return Unread(f"{short_repr(cell)} is none of the words {', '.join(known)}", step, code="word", column=column)

    refuse_first(source.raw, cases, no_word)


def _no_words(source: BallotSource, cells: Sequence[str], names: Mapping[str, pl.Expr]) -> Unread:
    """Return the question about the words for the best and the worst."""
    raw = source.raw
    said = pl.concat([raw.frame.select(word=text_of(cell)) for cell in cells])
    shown = counted_words(raw, said, pl.col("word"))
    return Unread(
        f"{listed(cells)} say {shown}: neither names of the items of a row, nor of their columns; or capitals differ",
        option("words", names_text(dict.fromkeys((*names, "tie", "missing"), ("____",)))),
        code="words",
        column=cells[0],
    )


def _marked(
    source: BallotSource, role: str, names: Mapping[str, pl.Expr], how: Mapping[str, tuple[str, ...]]
) -> list[pl.Expr]:
    """Return whether each item is the one that a column names."""
    cell = source.reading.first[role]
    if how:
        return [says(name_of(cell), how.get(name, ())) for name in names]
    return _is_item(cell, names)


def _tied(source: BallotSource, picks: Sequence[str]) -> pl.Expr:
    """Return whether all items of a row are tied by each column that is read."""
    return pl.all_horizontal(says(text_of(source.reading.first[role]), _ties(source)) for role in picks)


def _refuse_both(source: BallotSource, marked: Mapping[str, list[pl.Expr]]) -> None:
    """Refuse a row whose best item is its worst, too."""
    if len(marked) > 1:
        both = pl.any_horizontal(best & worst for best, worst in zip(*marked.values(), strict=True))
        what = "the best item is the worst, too"
        cases = {source.reading.first["worst"]: both}
        refuse_first(source.raw, cases, lambda cell, at: InputError(f"{what}: {short_repr(cell)}", column=at))


def _read(
    source: BallotSource,
    names: Mapping[str, pl.Expr],
    marked: Mapping[str, list[pl.Expr]],
    tied: pl.Expr,
    items: Sequence[str],
) -> ReadTable:
    """Return the votes: the best against each other, each other against the worst.

    Parameters
    ----------
    source : BallotSource
    names : mapping of str to Expr
        Names of the items by column.
    marked : mapping of str to list of Expr
        Whether each item is the best, or the worst.
    tied : Expr
        Whether all items are tied.
    items : sequence of str
    """
    beside, weighed, gone = beside_columns(source)
    beside = {"query_id" if role == "query" else role: column for role, column in beside.items()}
    count, pairs = beside.pop("count", None), list(combinations(range(len(names)), 2))
    raw, place = source.raw, source.raw.place
    frame, unit = raw.frame.with_row_index(ROW), pl.format("row {}", pl.col(ROW) + 1)
    if count is None:
        raw = replace(raw, locate=lambda row: place((row - 1) // len(pairs) + 1))
    else:
        _refuse_many(source, count)
        raw = replace(raw, locate=lambda _: (raw.path, None))
        frame = frame.with_columns(pl.int_ranges(count.cast(pl.UInt32)).alias("\0times"))
        frame = frame.filter(pl.col("\0times").list.len() > 0).explode("\0times")
        unit = pl.format("row {}.{}", pl.col(ROW) + 1, pl.col("\0times") + 1)
    if len(pairs) > 1 and "judge" not in beside:
        beside["judge"] = unit
        source.notes.append(
            "votes of one row depend on one another: each row is a judge of its own, and is resampled as a whole"
        )
    out = pl.lit(value=False) if gone is None else gone.fill_null(value=False)
    columns = dict[str, pl.Expr]()
    for at, text in enumerate(names.values()):
        step = pl.lit(1, pl.Int8)
        for role, some in marked.items():
            step = pl.when(some[at]).then(pl.lit(_PLACES[role], pl.Int8)).otherwise(step)
        columns |= {f"\0name{at}": text, f"\0place{at}": step}
    frame = frame.select(**beside, **columns, tie=tied, out=out)
    facts = frame.select((~pl.col("out")).sum().alias("rows"), (~pl.col("out") & pl.col("tie")).sum().alias("ties"))
    votes = []
    for x, y in pairs:
        first, second, one, other = (pl.col(f"\0{what}{at}") for what in ("place", "name") for at in (x, y))
        winner, loser = (pl.when(first <= second).then(a).otherwise(b) for a, b in ((one, other), (other, one)))
        left_out = pl.col("out") | ((first == second) & ~pl.col("tie"))
        votes.append(pl.struct(winner.alias("winner"), loser.alias("loser"), left_out.alias(LEFT_OUT)))
    rows = frame.select(*beside, "tie", pl.concat_list(votes).alias("vote")).explode("vote").unnest("vote")
    roles = {role: name for role in ("query", "judge", "weight", "time") if (name := source.applied.first[role])}
    what = " and ".join(f"{source.reading.first[role]} is the {role}" for role in marked)
    line = (f"{what} of {', '.join(names)}", items_text(items), *weighed)
    counts = raw.collect(facts).row(0, named=True)
    return ReadTable(replace(raw, frame=rows, roles=roles), source.applied, line, counts, tuple(source.notes))


def _refuse_many(source: BallotSource, count: pl.Expr) -> None:
    """Raise if counts imply more rows than can be held one by one."""
    if (total := source.raw.facts(count.sum())[0]) > MOST_VOTES:
        what = f"counts add up to {total:,.0f} rows of several items, and at most {MOST_VOTES:,} are read"
        raise InputError(what, column=source.applied.first["count"])
