"""Sides of a vote: which two columns hold its items, and which of them a winner's column names.

Words name columns, so nobody can turn them: ``home=H`` says that H means the item in the column home. Where nothing is
told, the winner's column must name in every row one of its two items, or one of their two columns, or the part in which
the names of these differ (``a`` of ``model_a`` and ``model_b``), or say that neither won.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import EMPTY, is_flat, is_nothing, name_of, plain_word_of, says, text_of
from rankbench.errors import InputError, Unread, nearest, option
from rankbench.interfaces.reading import MEANINGS, Reading, names_text
from rankbench.interfaces.table_check import RawTable

TIES = ("tie", "draw")
"""Words, in small letters, that say that neither won."""

_SAMPLE = 1_000
_MOST_COLUMNS = 40
_MOST_WORDS = 12
_SHOWN = 6


class SidePair(NamedTuple):
    """Two columns that a winner's column names one of in every row: by items, by columns, or by parts of names."""

    left: str
    right: str
    how: str


def name_words(name: str) -> list[str]:
    """Return the words that a column's name is made of, in small letters: ``[model, a]`` of ``modelA``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", "_", name.strip())
    return [part for part in re.split(r"[\W_]+", split.lower()) if part]


def differing_words(left: str, right: str) -> tuple[str, str] | None:
    """Return the one word in which two names of several words differ: a and b of model_a and model_b."""
    one, other = name_words(left), name_words(right)
    if len(one) != len(other) or len(one) < 2:
        return None
    different = [(x, y) for x, y in zip(one, other, strict=True) if x != y]
    return different[0] if len(different) == 1 else None


def side_of(meaning: str, reading: Reading) -> float | None:
    """Return the side that a meaning of words is: 1 for the left, -1 for the right, 0 for a tie; else None."""
    sides = {"tie": 0.0, "left": 1.0, "right": -1.0}
    sides |= dict.fromkeys(reading.all("left"), 1.0) | dict.fromkeys(reading.all("right"), -1.0)
    return sides.get(meaning)


def words_of_sides(reading: Reading) -> dict[str, tuple[str, ...]]:
    """Return the words that mean columns, by column."""
    return {meaning: words for meaning, words in reading.words.items() if meaning not in MEANINGS[2:]}


def with_sides(raw: RawTable, reading: Reading) -> Reading:
    """Return the reading of a winner's column with its two columns of items, and the words that mean these.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
        Expanded; it has a winner and no loser.

    Raises
    ------
    InputError
        A word means a column that is not one of the two.
    Unread
        No pair of columns fits, or several do.
    """
    given = [reading.one("left"), reading.one("right")]
    names = raw.schema().names()
    if told := words_of_sides(reading):
        if not all(given):
            columns = [name for name in names if name in told]
            if len(columns) != 2 or any(name and name not in columns for name in given):
                raise Unread(
                    "which two columns hold the items is not said",
                    f"{option('columns', 'left=____,right=____,' + names_text({'winner': reading.all('winner')}))}",
                    code="sides",
                    path=raw.path,
                )
            reading = reading.with_({"left": (columns[0],), "right": (columns[1],)})
        for meaning in told:
            if side_of(meaning, reading) is None:
                known = ["tie", "missing", *reading.all("left"), *reading.all("right")]
                raise InputError(
                    f"words: {meaning!r} is none of the columns of items{nearest(meaning, known)}", path=raw.path
                )
        return reading
    if "name" in reading.words and all(given):
        return reading
    found = list(_pairs(raw, reading, given if all(given) else _candidates(raw, reading)))
    if "name" in reading.words:
        found = [pair for pair in found if pair.how == "items"]
    pairs = list(dict.fromkeys((pair.left, pair.right) for pair in found))
    if len(pairs) > 1:
        both = " or ".join(f"{short_repr(x)} and {short_repr(y)}" for x, y in pairs[:3])
        raise Unread(
            f"{short_repr(reading.one('winner'))} may name one of {both}",
            option("columns", "left=____,right=____"),
            code="sides",
            path=raw.path,
        )
    if not pairs:
        raise _no_words(raw, reading)
    return _worded(raw, reading, found)


def _told_words(reading: Reading) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of ties, and the words of rows to leave out."""
    return (*TIES, *reading.words.get("tie", ())), reading.words.get("missing", ())


def _candidates(raw: RawTable, reading: Reading) -> list[str]:
    """Return the columns that may hold items: those without another role, of single values."""
    taken = {name for role, names in reading.columns.items() if role not in ("left", "right") for name in names}
    schema = raw.schema()
    flat = [name for name, dtype in schema.items() if is_flat(dtype)]
    given = [name for name in (reading.one("left"), reading.one("right")) if name]
    found = [name for name in flat if name not in taken]
    return found if len(found) <= _MOST_COLUMNS else [*given, *found[:_MOST_COLUMNS]]


def _pairs(raw: RawTable, reading: Reading, among: Sequence[str]) -> Iterator[SidePair]:
    """Yield the pairs of columns that the winner's column names one of in every row."""
    ties, _ = _told_words(reading)
    said = text_of(reading.one("winner"))
    with raw.reading():
        sample = raw.frame.filter(_says_who(reading)).head(_SAMPLE)
        cells = sample.select(
            name_of(reading.one("winner")).alias("\0said"), *(name_of(name).alias(name) for name in among)
        ).collect()
        words = _words(_cells(raw, reading), said, ties)
    by_word = list(_by_words(words, among, cells))
    columns = {name: cells[name] for name in among}
    says_name = {name: columns[name] == cells["\0said"] for name in among}
    tied = cells["\0said"].str.to_lowercase().is_in([word.lower() for word in ties])
    # So is a side that says nothing.
    blank = {name: columns[name].str.to_lowercase().is_in(list(EMPTY)) for name in among}
    likely = [
        (x, y)
        for x, y in combinations(among, 2)
        if bool((says_name[x] | says_name[y] | tied | blank[x] | blank[y]).all())
        and (reading.has("left", "right") or bool((says_name[x] | says_name[y]).any()))
        and not bool((columns[x] == columns[y]).all())
    ]
    yield from _whole(raw, reading, [*(SidePair(x, y, "items") for x, y in likely), *by_word], ties)


def _says_who(reading: Reading) -> pl.Expr:
    """Return where a winner's cell is no word for missing, and not blank: blanks are asked about later, with a row."""
    said = text_of(reading.one("winner"))
    return ~says(said, _told_words(reading)[1]) & ~is_nothing(said)


def _cells(raw: RawTable, reading: Reading, *beside: str) -> pl.LazyFrame:
    """Return the different cells of the winner's column, which may go with others, and how many rows have each.

    Texts are few and rows are many: words are looked for in the different ones alone.
    """
    columns = dict.fromkeys((reading.one("winner"), *beside))
    return raw.frame.group_by(*columns).agg(pl.len().cast(pl.Int64).alias("\0rows")).filter(_says_who(reading))


def _whole(raw: RawTable, reading: Reading, pairs: Sequence[SidePair], ties: Sequence[str]) -> Iterator[SidePair]:
    """Yield the pairs that fit in all rows, of those that fit in the first."""
    said, rows = name_of(reading.one("winner")), pl.col("\0rows")
    tied = says(text_of(reading.one("winner")), ties)
    for pair in pairs:
        left, right = name_of(pair.left), name_of(pair.right)
        blank = is_nothing(left) | is_nothing(right)
        fits = (said == left) | (said == right) | tied | blank if pair.how == "items" else pl.lit(value=True)
        fact = fits.all() & (rows.filter(blank).sum() * 2 < rows.sum())
        with raw.reading():
            fit = _cells(raw, reading, pair.left, pair.right).select(fact).collect(engine="streaming").item()
        if fit:
            yield pair


def refuse_named_sides(raw: RawTable, reading: Reading) -> None:
    """Ask where winners and losers are words that name two other columns: 1 and 2 of ``player1`` and ``player2``.

    Raises
    ------
    Unread
    """
    winner, loser = reading.one("winner"), reading.one("loser")
    among = _candidates(raw, reading.without("left", "right"))
    if "name" in reading.words or len(among) < 2:
        return
    with raw.reading():
        cells = raw.frame.head(_SAMPLE).select(name_of(name).alias(name) for name in (winner, loser, *among)).collect()
        first = {*cells[winner], *cells[loser]}
        if not any(_by_words([*first], among, cells)):  # most files end here, read no further
            return
        said = [_words(raw.frame, text_of(name), TIES) for name in (winner, loser)]
    for pair in _by_words([*said[0], *said[1]], among, cells) if all(said) else ():
        sides = {"loser": ("",), "left": (pair.left,), "right": (pair.right,)}
        raise Unread(
            f"{short_repr(winner)} and {short_repr(loser)} say {listed(said[0])}: names of items, or of the columns "
            f"{short_repr(pair.left)} and {short_repr(pair.right)}?",
            f"{option('columns', f'{names_text(sides)}')} if they name the columns; {option('words', 'name=*')} if "
            "they are names of items",
            code="ambiguous",
            path=raw.path,
            column=winner,
        )


def _words(rows: pl.LazyFrame, said: pl.Expr, ties: Sequence[str]) -> list[str]:
    """Return the words of a column that are no ties, as they are written; none where they are many."""
    found = rows.select(said=said).filter(~says(pl.col("said"), ties)).unique().head(_MOST_WORDS + 1)
    words = found.collect(engine="streaming")["said"].sort().to_list()
    return words if len(words) <= _MOST_WORDS else []


def _by_words(words: Sequence[str], among: Sequence[str], cells: pl.DataFrame) -> Iterator[SidePair]:
    """Yield the pairs of columns whose names, or the part in which these differ, are all words that there are."""
    low = {plain_word_of(word) for word in words}
    if not low:
        return
    for x, y in combinations(among, 2):
        names = {x.strip().lower(), y.strip().lower()}
        alike = bool(set(cells[x]) & set(cells[y]))
        parts = differing_words(x, y)
        # A column that is never named is the other one only where it is called alike or holds the same things.
        if len(names) == 2 and low <= names and (low == names or parts or alike):
            yield SidePair(x, y, "columns")
        if parts is None or not low <= set(parts) or names == set(parts):
            continue
        # Parts of names fit many pairs; two columns of one kind of things are meant.
        if alike:
            yield SidePair(x, y, "parts")


def _worded(raw: RawTable, reading: Reading, found: Sequence[SidePair]) -> Reading:
    """Return the reading with the words that mean the two columns, where they are no names of items."""
    x, y = found[0].left, found[0].right
    hows = {pair.how for pair in found}
    ties, _ = _told_words(reading)
    said = text_of(reading.one("winner"))
    with raw.reading():
        different = _cells(raw, reading).select(said=said).unique().head(_MOST_WORDS + 1)
        words = different.collect(engine="streaming")["said"].to_list()
        own = [word.lower() for word in (*ties, *(words if hows != {"items"} else []), x, y)]
        items = pl.concat(raw.frame.select(pl.col(name)).unique().select(item=name_of(name)) for name in (x, y))
        named = items.select(pl.col("item").str.to_lowercase().is_in(own).any())
        clash = bool(named.collect(engine="streaming").item())
    if "name" not in reading.words and (len(hows) > 1 or clash):
        raise Unread(
            f"the words of {short_repr(reading.one('winner'))} are names of items, and mean columns or ties as well",
            f"{option('words', names_text({x: ('____',), y: ('____',), 'tie': ('____',)}))}; or name=* for names of "
            "items alone",
            code="ambiguous",
            path=raw.path,
            column=reading.one("winner"),
        )
    reading = reading.with_({"left": (x,), "right": (y,)})
    meant: dict[str, tuple[str, ...]] = {}
    how = found[0].how
    if how != "items":
        of = {"columns": (x.strip(), y.strip()), "parts": differing_words(x, y)}[how]
        for side, part in zip((x, y), of or (), strict=True):
            if same := tuple(sorted(word for word in words if plain_word_of(word) == part.lower())):
                meant[side] = same
    tied = tuple(sorted(word for word in words if word.lower() in TIES))
    tied = tuple(dict.fromkeys((*reading.words.get("tie", ()), *tied)))
    return reading.model_copy(update={"words": {**meant, **reading.words, **({"tie": tied} if tied else {})}})


def _no_words(raw: RawTable, reading: Reading) -> Unread:
    """Return the question of what the words of a winner's column mean."""
    winner, sides = reading.one("winner"), [reading.one("left"), reading.one("right")]
    said = text_of(winner)
    with raw.reading():
        rows = raw.frame.filter(~says(said, reading.words.get("missing", ())))
        counted = rows.group_by(said.alias("said")).len().sort("len", "said", descending=[True, False]).head(_SHOWN + 1)
        words = counted.collect(engine="streaming").rows()
    if all(sides) and (odd := _capitals(raw, rows, winner, sides)) is not None:
        return odd
    if all(sides) and (other := _other_words(raw, rows, winner, sides)) is not None:
        return other
    shown = ", ".join(f"{short_repr(word)} {count:,}" for word, count in words[:_SHOWN])
    more = ", .." if len(words) > _SHOWN else ""
    blanks = {side or role: ("____",) for side, role in zip(sides, ("LEFT", "RIGHT"), strict=True)}
    which = "" if all(sides) else f"{option('columns', 'left=LEFT,right=RIGHT')} "
    return Unread(
        f"the column says {shown}{more}: neither names of the two items of a row, nor of their columns",
        f"{which}{option('words', names_text({**blanks, 'tie': ('____',), 'missing': ('____',)}))}",
        code="words",
        path=raw.path,
        column=winner,
    )


def _other_words(raw: RawTable, rows: pl.LazyFrame, winner: str, sides: Sequence[str]) -> Unread | None:
    """Return the question of what words beside names of items mean; None: most rows do not name one of their items."""
    said = name_of(winner)
    odd = (said != name_of(sides[0])) & (said != name_of(sides[1])) & ~says(text_of(winner), TIES)
    with raw.reading():
        counted = rows.group_by(said.alias("said"), odd.alias("odd")).len().collect(engine="streaming")
    words = counted.filter("odd").sort("len", "said", descending=[True, False])
    if words["len"].sum() * 2 > counted["len"].sum():
        return None
    first = words.select("said", "len").head(_SHOWN).rows()
    shown = ", ".join(f"{short_repr(word)} {count:,}" for word, count in first)
    what = f"beside names of items the column says {shown}{', ..' if words.height > _SHOWN else ''}"
    step = f"{option('words', names_text({'tie': ('____',), 'missing': ('____',)}))}"
    return Unread(what, step, code="words", path=raw.path, column=winner)


def _capitals(raw: RawTable, rows: pl.LazyFrame, winner: str, sides: Sequence[str]) -> Unread | None:
    """Return the question of a winner who is one of the two items in other capitals; None: there is none."""
    said, left, right = text_of(winner), name_of(sides[0]), name_of(sides[1])
    low = said.str.to_lowercase()
    near = (low == left.str.to_lowercase()) | (low == right.str.to_lowercase())
    odd = rows.filter((said != left) & (said != right) & near)
    with raw.reading():
        found = odd.select(said.alias("said"), left.alias("left"), right.alias("right")).head(1).collect().rows()
    for text, x, y in found:
        what = f"{short_repr(text)} is neither {short_repr(x)} nor {short_repr(y)}: capitals differ"
        return Unread(f"{what}; write each name in one way", code="capitals", path=raw.path, column=winner)
    return None


def shown_items(items: Sequence[str]) -> str:
    """Return how many items there are, and the first of them."""
    return f"{len(items):,} items ({listed(list(items), 4)})"
