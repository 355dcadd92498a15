"""Values may speak against a reading: each doubt is a question, and an option that answers it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from unicodedata import combining, normalize

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import (
    EMPTY,
    NUMBER,
    ROW,
    first_row,
    form_of,
    is_flat,
    is_nothing,
    number_of,
    refuse_first,
    says,
    text_of,
)
from rankbench.data.tables.codes import codes_among
from rankbench.data.tables.column_texts import SCORELINE, first_cells, is_fact, looks, shown_columns
from rankbench.errors import Unread, Warned, option
from rankbench.interfaces.reading import Reading, names_text
from rankbench.interfaces.table_check import RawTable

_SHOWN = 6
"""Values of a column that are shown."""

_LIST = r'\[\s*"|\{\s*"'
"""Beginning of lists, or objects, in JSON."""


def refuse_blanks(
    raw: RawTable,
    names: Iterable[str],
    reading: Reading,
    *,
    more: Sequence[str] = (),
    out: pl.Expr | None = None,
    gone: str = "such rows",
) -> None:
    """Raise a question about the first cell that may be missing, in columns of names or of outcomes.

    Parameters
    ----------
    raw : RawTable
    names : iterable of str
        Columns.
    reading : Reading
        Words that it gives a meaning are no blanks.
    more : sequence of str
        Other meanings, beside ``missing``, that such a cell may have: ``tie``, ``last``.
    out : Expr, optional
        Rows that are left out: nothing in them is asked about.
    gone : str
        Words for that which ``missing`` leaves out.

    Raises
    ------
    Unread
        With the row.
    """
    told = [word for words in reading.words.values() for word in words]
    left = pl.lit(value=True) if out is None else ~out
    blank = {name: is_nothing(text_of(name)) & ~says(text_of(name), told) & left for name in names}
    refuse_first(raw, blank, partial(blank_cell, more=more, gone=gone))


def blank_cell(cell: str, column: str, *, more: Sequence[str] = (), gone: str = "such rows") -> Unread:
    """Return the question about a cell that may be missing; see `refuse_blanks`."""
    what = f"{short_repr(cell)} may be a name or a word, or say nothing" if cell else "the cell is empty"
    word = names_text({"": (cell,)}).partition("=")[2]
    others = "".join(f", {option('words', f'{meaning}={word}')} {_MEANS[meaning]}" for meaning in more)
    step = f"{option('words', f'missing={word}')} leaves {gone} out{others}"
    return Unread(what, step, code="blank", column=column)


def missing_steps(cell: str, does: str, *, word: bool = False) -> list[str]:
    """Return the option that calls a cell missing: none for a pattern, nor for a number written otherwise."""
    plain = not re.search("[*?]" if word else r"[*?\d]", cell)
    return [f"{option('words', names_text({'missing': (cell,)}))} {does}"] if plain else []


def number_forms(cell: str, reading: Reading) -> list[str]:
    """Return the options on marks in a number, one for each number that it may be."""
    marked = re.fullmatch(r"[+-]?\d[\d.,'\s]*[.,'\s]\d+%?", cell) and not form_of(reading)
    forms = ("1.234,5", "1,234.5", "1 234,5", "1 234.5", "1'234.5") if marked else ()
    read = dict[float | None, str]()
    for form in forms:
        read.setdefault(pl.select(number_of(pl.lit(cell), form)).item(), option("columns", f'numbers="{form}"'))
    said = ", or ".join(how for number, how in read.items() if number is not None)
    return [f"{said} says how 1234.5 is written"] if said else []


_MEANS = {"tie": "counts them as ties", "last": "places them behind the others"}


def refuse_grouped(raw: RawTable, names: Sequence[str], reading: Reading) -> None:
    """Raise a question if a point or a comma may group thousands: 1.234 beside 987.

    Raises
    ------
    Unread
    """
    if form_of(reading):
        return
    texts = [name for name in names if raw.schema[name] == pl.String]
    facts = []
    for name in texts:
        text = text_of(name)
        for mark in (",", "."):
            grouped = text.str.contains(rf"^[+-]?[1-9]\d{{0,2}}(?:\{mark}\d{{3}})+$")
            whole = text.str.contains(r"^[+-]?\d+$")
            rest = ~grouped & ~is_nothing(text)
            # Where all others are whole numbers, three digits behind each mark are no accident.
            all_whole = (~rest | whole).all() & (whole.any() if mark == "." else pl.lit(value=True))
            facts.append(pl.when(all_whole).then(text.filter(grouped).first()).alias(f"{name} {mark}"))
    if not facts:
        return
    row = raw.collect(raw.frame.select(facts)).row(0)
    for at, cell in enumerate(row):
        if cell is not None:
            raise Unread(
                f"{short_repr(cell)} may be a thousand and more, or below a thousand",
                number_forms(cell, reading)[0],
                code="number-form",
                column=texts[at // 2],
            )


def refuse_header(raw: RawTable, column: str) -> None:
    """Raise a question about a row whose cells are the names of their columns, as in concatenated files.

    Raises
    ------
    Unread
    """
    names = [name for name, dtype in raw.schema.items() if is_flat(dtype) and not name.startswith("\0")]
    repeated = {column: pl.all_horizontal(text_of(name) == name for name in names)}
    what = f"the row repeats the header: remove it, or keep other rows ({option('where')})"
    refuse_first(raw, repeated, lambda _, name: Unread(what, code="header", column=name))


def refuse_alike(names: Iterable[str], reading: Reading, raw: RawTable, column: str) -> None:
    """Raise a question if names differ in capitals, blanks, accents or zeros alone: GPT, gpt; 7, 007; or are lists.

    Raises
    ------
    Unread
    """
    if reading.first["alike"]:
        return
    seen: dict[object, str] = {}
    for name in names:
        if name == column:
            refuse_header(raw, column)
        if re.match(_LIST, name):
            found = first_row(raw, {column: text_of(column) == name})
            what = f"{short_repr(name)} is a list, where one name must stand: write each in a row of its own"
            asked = Unread(f"{what}, or say {option('columns', 'alike=keep')}", code="list", column=column)
            raise raw.at(found[0], asked) if found else asked
        plain = "".join(sign for sign in normalize("NFKD", name) if not combining(sign))
        key: object = " ".join(plain.casefold().split())
        if re.fullmatch(NUMBER, name):
            key = Decimal(name).normalize()
        if (other := seen.setdefault(key, name)) != name:
            raise Unread(
                f"{short_repr(other)} and {short_repr(name)} may be one name or two: write it in one way, or say "
                f"{option('columns', 'alike=keep')}, which keeps them apart",
                code="alike",
                column=column,
            )


def refuse_indices(names: Sequence[str], reading: Reading, raw: RawTable, column: str) -> None:
    """Raise a question if names that are numbers from 0 or 1 may number the entries of a list, or unread columns.

    Raises
    ------
    Unread
    """
    numbers = [[str(at + first) for at in range(len(names))] for first in (0, 1)]
    if "name" in reading.words or len(names) < 2 or sorted(names) not in map(sorted, numbers):
        return
    schema = raw.schema
    texts = first_cells(raw, unread := reading.unread(schema.names()))
    lists = [name for name in unread if isinstance(schema[name], pl.List)]
    lists += [name for name, cells in texts.items() if all(re.match(r"\[.*,.*\]$", cell) for cell in cells)]
    odd = lists or [name for name, cells in texts.items() if not is_fact(cells) and len(set(cells)) > 1]
    if lists or len(odd) >= len(names):
        raise Unread(
            f"{short_repr(column)} holds the numbers {listed(list(names), 6)}: names, or places in {listed(odd)}?",
            f"write names there, or say {option('words', 'name=*')}: the numbers are names",
            code="numbers",
            column=column,
        )


def doubt_unread(raw: RawTable, reading: Reading, roles: Collection[str], words: Collection[str]) -> tuple[str, ...]:
    """Ask about unread numbers, truth values or words for a side: counts, scores, other outcomes.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
    roles : collection of str
        Roles that they may have.
    words : collection of str
        Words for a side, in small letters.

    Returns
    -------
    tuple of str
        A note on other columns whose texts repeat: they may say which rows count. Texts that all differ, as ids, times
        and remarks do, and numbers of rows say nothing of that.

    Raises
    ------
    Unread
    """
    cells = first_cells(raw, reading.unread(raw.schema.names()))
    # A column without a name has no role: it is an index.
    named = {name: texts for name, texts in cells.items() if name.strip()}
    facts = {
        name: looks(texts) + _code_text(texts)
        for name, texts in named.items()
        if is_fact(texts) or _names_sides(texts, words)
    }
    if facts:
        what = "what is this column" if len(facts) == 1 else "what are these columns"
        raise Unread(
            f"{what}, which no role reads?",
            option("columns", names_text({"ignore": tuple(facts)}))
            + " if they say nothing of the result"
            + f"; else ROLE=NAME: {', '.join(f'{role}=____' for role in roles)}" * bool(roles),
            code="unread",
            shown=shown_columns(facts),
        )
    repeat = [name for name, texts in named.items() if any(texts) and len({*texts}) < len(texts)]
    if not repeat:
        return ()
    one = repeat[0] if re.fullmatch(r"[A-Za-z_]\w*", repeat[0]) else f'"{repeat[0]}"'
    ignored = option("columns", names_text({"ignore": tuple(repeat)}))
    note = f"{listed(repeat)} may say which rows count, and {'is' if len(repeat) == 1 else 'are'} not read"
    return (Warned(note, option("where", f"{one} = '____'"), f"keeps rows; {ignored} keeps all"),)


def _names_sides(cells: Sequence[str], words: Collection[str]) -> bool:
    """Return whether a column may hold another judge's outcomes: its cells differ, and all name sides or ties."""
    full = {cell.lower() for cell in cells} - {*EMPTY}
    return len(full) > 1 and full <= set(words)


def _code_text(cells: Sequence[str]) -> str:
    """Return a text on a number of a column, or of scores such as 3-1, that may be a code for unplayed games."""
    texts = [re.fullmatch(SCORELINE, cell) for cell in cells]
    parts = [part for match in texts if match for part in match.groups()] or [
        cell for cell in cells if re.fullmatch(NUMBER, cell)
    ]
    odd = codes_among(sorted({float(part) for part in parts}))
    return f"  ({odd[0]:g} stands apart: a code, of rows that do not count?)" if odd else ""


def refuse_twice(
    raw: RawTable,
    rows: pl.LazyFrame,
    named: Mapping[str, str],
    unread: Sequence[str],
    step: Callable[[Sequence[str]], str],
    column: str | None = None,
) -> None:
    """Raise a question if two rows are of one key, naming the columns in which they differ.

    Parameters
    ----------
    raw : RawTable
    rows : LazyFrame
        Keys, with the number of the row in the column `ROW`.
    named : mapping of str to str
        What each column of a key names, for people.
    unread : sequence of str
        Columns that may tell the rows apart.
    step : callable
        Returns the options that answer it, of the columns that differ.
    column : str, optional

    Raises
    ------
    Unread
        With the second row.
    """
    again = raw.collect(rows.group_by(*named).len().filter(pl.col("len") > 1))
    if not again.height:
        return
    pairs = rows.join(again.lazy(), on=[*named], how="semi").group_by(*named).agg(pl.col(ROW).bottom_k(2).sort())
    *key, pair = raw.collect(pairs.sort(pl.col(ROW).list.get(1)).head(1)).row(0)
    one, other = (first_cells(replace(raw, frame=raw.frame.slice(at, 1)), unread) for at in pair)
    differ = [name for name in one if one[name] != other[name]]
    what = ", ".join(f"{word} {short_repr(value)}" for word, value in zip(named.values(), key, strict=True))
    rest = f"the rows differ in {listed(differ, _SHOWN)}" if differ else "no other column tells the rows apart"
    shown = shown_columns({name: looks(texts) for name, texts in first_cells(raw, differ[:_SHOWN]).items()})
    message = f"{what} stands twice: in row {raw.place(pair[0] + 1)[1]}, too; {rest}"
    raise raw.at(pair[1], Unread(message, step(differ), code="twice", shown=shown, column=column))


def refuse_third(
    raw: RawTable, sides: Sequence[str], items: Collection[str], reading: Reading, role: str = "items"
) -> None:
    """Raise a question if an unread column names the same items, and others than those of its row.

    Parameters
    ----------
    raw : RawTable
    sides : sequence of str
        The columns of items that are read.
    items : collection of str
    reading : Reading
    role : {"items", "ranks"}
        The role that all of them may have.

    Raises
    ------
    Unread
    """
    if not (unread := reading.unread(raw.schema.names())):
        return
    cells = first_cells(raw, [*sides, *unread])
    if not all(side in cells for side in sides):
        return
    names, third = set(items), list[str]()
    for name in unread:
        texts = cells.get(name, [])
        full = {text for text in set(texts) if text.lower() not in EMPTY}
        if len(full) < 2 or len(full & names) * 2 < len(full) or all(re.fullmatch(NUMBER, text) for text in full):
            continue
        rows = zip(texts, *(cells[side] for side in sides), strict=True)
        if any(text and text not in others for text, *others in rows):
            third.append(name)
    if third:
        verb, it = ("names", "it") if len(third) == 1 else ("name", "them")
        why = ": are there more than two items in a row, or two pairs?" if role == "items" else ": is it a rank?"
        every = names_text({role: (*sides, *third)}) + ",best=____" * (role == "items")
        raise Unread(
            f"{listed(third)} {verb} the same items as {listed(list(sides[:3]))}, and no role reads {it}{why}",
            f"{option('columns', every)} for all; {names_text({'ignore': tuple(third)})} to leave {it} out",
            code="third",
            column=third[0],
        )
