"""Ballots are read as a reading says: a column of rankings, a column for each rank, or places.

No word and no name is guessed: a cell that may say nothing, a count within a name, or a sign between names that is
none of a ranking is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables.ballot_columns import (
    BallotSource,
    a_row_each,
    ballot_source,
    with_empty,
)
from rankbench.data.tables.cells import (
    ROW,
    different,
    is_nothing,
    items_text,
    number_of,
    only_rows,
    refuse_first,
    refuse_no_names,
    says,
    text_of,
)
from rankbench.data.tables.codes import refuse_code
from rankbench.data.tables.doubts import blank_cell, refuse_alike, refuse_blanks, refuse_indices, refuse_third
from rankbench.data.tables.placed_ballots import of_matrix, of_placed_rows
from rankbench.data.tables.schemas import NO_NAMES
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.reading import Reading, names_text
from rankbench.interfaces.table_check import RawTable, ReadTable

_FORMS = ("ranking", "ranks", "items", "places", "place", "points")
_SIGNS = "[>=]"
_OTHER_SIGNS = r"[,;|]"
_COUNT_FIRST = r"^\d+(?:\.\d+)?\s*(?:[:*\u00d7)]\s*|x\s+|\s+)"
_COUNT_LAST = r"\s*(?:[/:*\u00d7(]\s*|\s+x?\s*|\s*,\s*)\d+(?:\.\d+)?\)?$"


def read_ballots(raw: RawTable, reading: Reading) -> ReadTable:
    """Return the ballots of a table by a reading: a table of the kind `orders`.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
        It has ``ranking``; or ``ranks``; or ``items`` and ``cells``; or ``item``, ``query`` or ``judge``, and one of
        ``place``, ``points`` and ``places``.

    Raises
    ------
    InputError
        With its row: a cell that is none of its role.
    Unread
        The meaning of a cell is unknown, or values contradict it.
    """
    source = ballot_source(raw, reading)
    forms = [role for role in _FORMS if source.applied.first[role]]
    if len(forms) != 1:
        several = (
            f"{listed(forms)} are several ways to read ballots" if forms else "no column says how items are ranked"
        )
        raise Unread(
            several,
            f"{option('columns', 'ranking=____')}, or ranks=____|____, or items=____|____,cells=place, or "
            "query=____,item=____ with place=____ (less is better) or points=____ (more is better)",
            code="roles",
        )
    form = forms[0]
    if form == "ranking":
        return of_rankings(source)
    if form == "ranks":
        return of_rank_columns(source)
    return of_matrix(source) if form == "items" else of_placed_rows(source, form)


def of_rankings(source: BallotSource) -> ReadTable:
    """Return the ballots of a column of rankings.

    Raises
    ------
    InputError, Unread
    """
    raw, reading = source.raw, source.reading
    name = reading.first["ranking"]
    if isinstance(raw.schema[name], pl.String):
        refuse_blanks(raw, [name], reading)
        blank = says(text_of(name), source.words("missing")) & is_nothing(text_of(name))
        raw = only_rows(raw, ~blank)
    elif not isinstance(raw.schema[name], pl.List):
        raise InputError(f"the column holds {raw.schema[name]}, not rankings", column=name)
    names = ranked_names(raw, name)
    _refuse_nameless(raw, name, names, source)
    words = [word.lower() for word in source.words("missing")]
    left = names.list.eval(pl.element().filter(~pl.element().str.to_lowercase().is_in(words))) if words else names
    found = _items(raw, left)
    refuse_alike(found, reading, raw, name)
    if isinstance(raw.schema[name], pl.String):
        _refuse_signs(raw, name, found)
    _refuse_counted(raw, name, found, reading)
    refuse_indices(found, source.applied, raw, name)
    # A list is one, however short: a text of one name may be several, with a sign between them that is not known.
    is_list = pl.col(name).str.starts_with("[") if raw.schema[name] == pl.String else pl.lit(value=True)
    facts = raw.frame.select((is_list | (left.list.len() > 1)).any(), (left.list.len() == 0).sum().alias("empty"))
    ranked, empty = raw.collect(facts).row(0)
    if not ranked:
        raise Unread(
            "no cell ranks two items",
            "a ranking is a>b=c, the best first and = between tied ones, or JSON; "
            f"{option('columns', 'ranks=____|____')} reads a column for each rank",
            code="ranking",
            column=name,
        )
    if empty:
        source.notes.append(f"rankbench leaves out {count_text(empty, 'empty ballot')}")
    said = [name, items_text(found)]
    ballots = [pl.col(name).alias("ranking"), pl.lit(pl.Series([words], dtype=pl.List(pl.String))).alias(NO_NAMES)]
    return a_row_each(replace(source, raw=raw), ballots, left.list.len() == 0, {"ranking": name}, said)


def ranked_names(raw: RawTable, name: str) -> pl.Expr:
    """Return the names that each cell of a column of rankings has, in order, as lists of texts."""
    dtype = raw.schema[name]
    if isinstance(dtype, pl.List):
        tied = isinstance(dtype.inner, pl.List)
        flat = pl.element().list.explode(keep_nulls=True, empty_as_null=False) if tied else pl.element()
        return pl.col(name).list.eval(flat.cast(pl.String).str.strip_chars().fill_null("")).fill_null([])
    text = text_of(name)
    quoted = text.str.extract_all(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?').list.eval(
        pl.element().str.strip_prefix('"').str.strip_suffix('"').str.replace_all('\\"', '"', literal=True)
    )
    signs = text.str.replace_all("=", ">", literal=True).str.split(">").list.eval(pl.element().str.strip_chars())
    return pl.when(text.str.contains(r'^["\[]')).then(quoted).when(text != "").then(signs).otherwise([])


def _refuse_nameless(raw: RawTable, name: str, names: pl.Expr, source: BallotSource) -> None:
    """Raise a question about the first name of a ranking that may be a missing value."""
    told = [word for words in source.reading.words.values() for word in words]
    nameless = names.list.eval(pl.element().filter(is_nothing(pl.element()) & ~says(pl.element(), told)))
    first = replace(raw, frame=raw.frame.with_columns(nameless.list.first().alias("\0name")))

    def no_name(cell: str, _: str) -> Unread:
        step = f"{option('words', 'missing=')} leaves such places out"
        unnamed = Unread("a place of the ranking has no name: write a>b=c", step, code="ranking", column=name)
        return blank_cell(cell, name, gone="it") if cell else unnamed

    refuse_first(first, {"\0name": pl.col("\0name").is_not_null()}, no_name)


def _items(raw: RawTable, names: pl.Expr) -> list[str]:
    """Return the different names in lists of them, sorted."""
    rows = raw.frame.select(item=names).explode("item", empty_as_null=False).unique().drop_nulls()
    return raw.collect(rows)["item"].sort().to_list()


def _refuse_signs(raw: RawTable, name: str, items: Sequence[str]) -> None:
    """Raise a question if a comma, a semicolon or a bar may separate names."""
    text, known = text_of(name), set(items)
    several = [item for item in items if known & {part.strip() for part in re.split(_OTHER_SIGNS, item)} - {item}]
    bare = ~text.str.contains(r'^["\[]') & ~text.str.contains(_SIGNS) & text.str.contains(_OTHER_SIGNS)
    beside = raw.frame.filter(text.str.contains(_SIGNS)).select(item=ranked_names(raw, name))
    named = raw.collect(beside.explode("item", empty_as_null=False).unique())["item"].to_list()
    odd = ranked_names(raw, name).list.eval(pl.element().is_in(several)).list.any() | (bare & ~text.is_in(named))
    how = 'write a>b=c, the best first and = between tied items, or JSON as ["a", ["b", "c"]]'

    def no_ranking(cell: str, _: str) -> Unread:
        return Unread(f"{short_repr(cell)} is no ranking: {how}", code="ranking", column=name)

    refuse_first(raw, {name: odd}, no_ranking)


def _refuse_counted(raw: RawTable, name: str, items: Sequence[str], reading: Reading) -> None:
    """Raise a question if names have a count at one end, as ``42:Mem`` and ``Knox * 42`` beside ``Mem``, ``Knox``."""
    if reading.first["alike"]:
        return
    known, odd = set(items), ""
    for end in (_COUNT_FIRST, _COUNT_LAST):
        some = [item for item in items if (bare := re.sub(end, "", item)) != item and bare in known]
        if len(some) > 1 or (some and len(known) < 5):
            odd = some[0]
    if not odd and isinstance(raw.schema[name], pl.String):
        text = text_of(name)
        ends = (r"^\d+(?:\.\d+)?\s*[:*\u00d7]", r"[:*\u00d7]\s*\d+(?:\.\d+)?$")
        every = [text.str.contains(end).all().alias(end) for end in ends]
        facts = raw.collect(raw.frame.select(*every, text.first().alias(ROW))).row(0)
        odd = facts[2] if facts[2] and any(facts[:2]) else ""
    if odd:
        raise Unread(
            f"is the number in {short_repr(odd)} a count of ballots?",
            f"write counts in a column of their own ({option('columns', 'count=____')}), or "
            f"{option('columns', 'alike=keep')} if it is part of the name",
            code="counted",
            column=name,
        )


def of_rank_columns(source: BallotSource) -> ReadTable:
    """Return the ballots of a column for each rank, whose cells name items.

    Empty ranks close up, and an item that is listed a second time is left out.

    Raises
    ------
    InputError, Unread
    """
    raw, reading, missing = source.raw, source.reading, source.words("missing")
    ranks = reading.all("ranks")
    if len(ranks) < 2:
        raise Unread(
            "ranks are two columns at least", option("columns", "ranks=____|____"), code="roles", column=ranks[0]
        )
    refuse_blanks(raw, ranks, with_empty(reading), gone="such ranks")  # ranks behind the last are empty
    refuse_no_names(raw, ranks)
    cells = [f"\0rank {name}" for name in ranks]
    named = [pl.when((text != "") & ~says(text, missing)).then(text) for text in map(text_of, ranks)]
    found = different(raw, named)
    refuse_alike(found, reading, raw, ranks[0])
    if found and all(re.fullmatch(r"-?\d+", item) for item in found):
        _refuse_numbers(source, ranks)
    refuse_third(raw, ranks, found, source.applied, "ranks")
    frame = raw.frame.with_columns(text.alias(cell) for text, cell in zip(named, cells, strict=True))
    frame = frame.with_columns(pl.concat_list(cells).list.drop_nulls().alias("\0named"))
    frame = frame.with_columns(pl.col("\0named").list.unique(maintain_order=True).alias("\0ranking"))
    source = replace(source, raw=(raw := replace(raw, frame=frame)))
    last = pl.max_horizontal(pl.when(pl.col(cell).is_not_null()).then(at + 1) for at, cell in enumerate(cells))
    known, ranked = (pl.col(name).list.len() for name in ("\0named", "\0ranking"))
    facts = {
        "closes up": (last - known).sum(),
        "repeated item": (known - ranked).sum(),
        "empty ballot": (ranked == 0).sum(),
    }
    frame = raw.frame.select(fact.alias(noun) for noun, fact in facts.items())
    counts = raw.collect(frame).row(0, named=True)
    parts = [f"leaves out {count_text(n, noun)}" for noun, n in counts.items() if n and noun != "closes up"]
    if gaps := counts["closes up"]:
        parts.insert(0, f"closes up {count_text(gaps, 'rank', 'without a name')}")
    if parts:
        source.notes.append(f"rankbench {', '.join(parts)}")
    said = [f"{' > '.join(ranks[:4])}{' > ..' if len(ranks) > 4 else ''}", items_text(found)]
    ballots = [pl.col("\0ranking").alias("ranking"), pl.lit(pl.Series([[]], dtype=pl.List(pl.String))).alias(NO_NAMES)]
    return a_row_each(source, ballots, ranked == 0, {"ranking": ranks[0]}, said)


def _refuse_numbers(source: BallotSource, ranks: Sequence[str]) -> None:
    """Raise a question about an outlying number among names, and about numbers as names."""
    numbers = {name: number_of(text_of(name)) for name in ranks}
    refuse_code(source.raw, numbers, source.reading, lowest=1)
    if source.reading.source.startswith("standard names"):
        raise Unread(
            f"{listed(ranks[:3])} hold numbers: names of items, or places?",
            f"{option('columns', names_text({'ranks': tuple(ranks)}))} if they are names; items=____|____,cells=place "
            "if each column is an item",
            code="numbers",
            column=ranks[0],
        )
