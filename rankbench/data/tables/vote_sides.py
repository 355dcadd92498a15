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
from rankbench.data.tables.cells import is_flat, is_nothing, name_of, plain_word_of, refuse_first, says, text_of
from rankbench.data.tables.column_texts import SAMPLED, counted_words
from rankbench.data.tables.doubts import refuse_header
from rankbench.errors import InputError, Unread, nearest, option, options
from rankbench.interfaces.reading import MEANINGS, Reading, names_text
from rankbench.interfaces.table_check import RawTable

TIES = ("tie", "draw")
"""Words, in small letters, that say that neither won."""

_SAMPLE = 1_000
_MOST_COLUMNS = 40
_MOST_WORDS = 12


class SidePair(NamedTuple):
    """Two columns; a winner's column names one of them in every row: by its item, its name, or a part of the name."""

    left: str
    right: str
    hows: tuple[str, ...]
    votes: pl.DataFrame
    """The different cells of the three columns, and how many rows have them."""


def name_words(name: str) -> list[str]:
    """Return the words in a column's name, in small letters: ``[model, a]`` of ``modelA``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", "_", name.strip())
    return [part for part in re.split(r"[\W_]+", split.lower()) if part]


def differing_words(left: str, right: str) -> tuple[str, str] | None:
    """Return the one word that differs between two names of several words: a and b of model_a and model_b."""
    one, other = name_words(left), name_words(right)
    if len(one) != len(other) or len(one) < 2:
        return None
    different = [(x, y) for x, y in zip(one, other, strict=True) if x != y]
    return different[0] if len(different) == 1 else None


def outcome_words(reading: Reading) -> set[str]:
    """Return the words, in small letters, that a column may use for sides and ties; none without sides."""
    left, right = reading.first["left"], reading.first["right"]
    named = (left.strip().lower(), right.strip().lower(), *(differing_words(left, right) or ()))
    return {"left", "right", *named, *TIES} if left and right else set()


def side_of(meaning: str, reading: Reading) -> float | None:
    """Return the side of a meaning of words: 1 for the left, -1 for the right, 0 for a tie; else None."""
    sides = {"tie": 0.0, "left": 1.0, "right": -1.0}
    sides |= dict.fromkeys(reading.all("left"), 1.0) | dict.fromkeys(reading.all("right"), -1.0)
    return sides.get(meaning)


def words_of_sides(reading: Reading) -> dict[str, tuple[str, ...]]:
    """Return the words for columns, by column."""
    return {meaning: words for meaning, words in reading.words.items() if meaning not in MEANINGS[2:]}


def with_sides(raw: RawTable, reading: Reading) -> Reading:
    """Return the reading of a winner's column with its two columns of items, and the words for these.

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
    given = [reading.first["left"], reading.first["right"]]
    names = raw.schema.names()
    if told := words_of_sides(reading):
        if not all(given):
            columns = [name for name in names if name in told]
            if len(columns) != 2 or any(name and name not in columns for name in given):
                raise Unread(
                    "which two columns hold the items is not said",
                    option("columns", f"left=____,right=____,{names_text({'winner': reading.all('winner')})}"),
                    code="sides",
                )
            reading = reading.with_({"left": (columns[0],), "right": (columns[1],)})
        for meaning in told:
            if side_of(meaning, reading) is None:
                known = ["tie", "missing", *reading.all("left"), *reading.all("right")]
                raise InputError(f"words: {meaning!r} is none of the columns of items{nearest(meaning, known)}")
        return reading
    if "name" in reading.words and all(given):
        return reading
    found = list(_pairs(raw, reading, given if all(given) else _candidates(raw, reading)))
    if len(found) > 1:
        both = " or ".join(f"{short_repr(pair.left)} and {short_repr(pair.right)}" for pair in found[:3])
        what = f"{short_repr(reading.first['winner'])} may name one of {both}"
        raise Unread(what, option("columns", "left=____,right=____"), code="sides")
    if not found:
        raise _no_words(raw, reading)
    return _worded(reading, found[0])


def _ties(reading: Reading) -> tuple[str, ...]:
    return (*TIES, *reading.words.get("tie", ()))


def _candidates(raw: RawTable, reading: Reading) -> list[str]:
    """Return the columns that may hold items: columns of single values without another role."""
    taken = {name for role, names in reading.columns.items() if role not in ("left", "right") for name in names}
    schema = raw.schema
    flat = [name for name, dtype in schema.items() if is_flat(dtype)]
    given = [name for name in (reading.first["left"], reading.first["right"]) if name]
    found = [name for name in flat if name not in taken]
    return found if len(found) <= _MOST_COLUMNS else [*given, *found[:_MOST_COLUMNS]]


def _pairs(raw: RawTable, reading: Reading, among: Sequence[str]) -> Iterator[SidePair]:
    """Yield the pairs of columns one of which the winner's column names in every row.

    The first rows tell which pairs may fit. Texts are few and rows are many: all rows are grouped once for each such
    pair, and words are looked for in the groups.
    """
    winner, tied = reading.first["winner"], says(pl.col("\0said"), _ties(reading))
    cells = _first_votes(raw, reading, [winner, *among]).select(
        text_of(winner).alias("\0said"), name_of(winner).alias("\0name"), *(name_of(name).alias(name) for name in among)
    )
    named = cells.select(pl.col(name) == pl.col("\0name") for name in among)
    # So is a side that says nothing.
    fits = cells.select((pl.col(name) == pl.col("\0name")) | is_nothing(pl.col(name)) | tied for name in among)
    words = [] if "name" in reading.words else _words(cells.filter(~tied)["\0said"])
    for x, y in combinations(among, 2):
        by_item = bool((fits[x] | fits[y]).all() and not (cells[x] == cells[y]).all())
        by_item &= reading.has("left", "right") or bool((named[x] | named[y]).any())
        if not (by_item or _named_by(words, x, y, cells)):
            continue
        grouped = raw.frame.group_by(*dict.fromkeys((winner, x, y))).agg(pl.len().cast(pl.Int64).alias("\0rows"))
        votes = raw.collect(grouped).filter(_says_who(reading))
        said, left, right, rows = name_of(winner), name_of(x), name_of(y), pl.col("\0rows")
        blank, is_tie = is_nothing(left) | is_nothing(right), says(text_of(winner), _ties(reading))
        all_items = ((said == left) | (said == right) | is_tie | blank).all()
        whole, full = votes.select(all_items, full=rows.filter(blank).sum() * 2 < rows.sum()).row(0)
        how = _named_by(words and _words(votes.filter(~is_tie).select(text_of(winner)).to_series()), x, y, cells)
        hows = (*["items"] * (by_item and whole), *[how] * bool(how))
        if hows and full:
            yield SidePair(x, y, hows, votes)


def _says_who(reading: Reading) -> pl.Expr:
    """Return whether a winner's cell is neither a word for missing nor blank; blanks raise a question later."""
    said = text_of(reading.first["winner"])
    return ~says(said, reading.words.get("missing", ())) & ~is_nothing(said)


def _first_votes(raw: RawTable, reading: Reading, names: Sequence[str]) -> pl.DataFrame:
    """Return some columns of the first rows with an outcome; also later ones, if all of these are ties."""
    frame, said = raw.frame.select(names), _says_who(reading)
    first = frame.head(SAMPLED).filter(said).head(_SAMPLE).collect()
    decisive = said & ~says(text_of(names[0]), _ties(reading))
    if first.filter(decisive).height:
        return first
    return pl.concat([first, raw.collect(frame.filter(decisive).head(_SAMPLE))])


def refuse_named_sides(raw: RawTable, reading: Reading) -> None:
    """Raise a question if winners and losers are words for two other columns: 1 and 2 of ``player1`` and ``player2``.

    Raises
    ------
    Unread
    """
    winner, loser = reading.first["winner"], reading.first["loser"]
    among = _candidates(raw, reading.without("left", "right"))
    if "name" in reading.words or len(among) < 2:
        return
    cells = raw.frame.head(_SAMPLE).select(name_of(name).alias(name) for name in (winner, loser, *among)).collect()
    first = [*cells[winner].unique(), *cells[loser].unique()]
    pairs = [pair for pair in combinations(among, 2) if _named_by(first, *pair, cells)]
    if not pairs:  # most files end here, read no further
        return
    said = [_words(raw.collect(raw.frame.select(text_of(name)).unique()).to_series()) for name in (winner, loser)]
    said = [[word for word in words if word.lower() not in TIES] for words in said]
    for x, y in pairs:
        if all(said) and _named_by([*said[0], *said[1]], x, y, cells):
            sides = {"loser": ("",), "left": (x,), "right": (y,)}
            raise Unread(
                f"{short_repr(winner)} and {short_repr(loser)} say {listed(said[0])}: names of items, or of the "
                f"columns {short_repr(x)} and {short_repr(y)}?",
                f"{option('columns', names_text(sides))} if they name the columns; {option('words', 'name=*')} if they "
                "are names of items",
                code="ambiguous",
                column=winner,
            )


def _words(said: pl.Series) -> list[str]:
    """Return different words, sorted; none if they are many."""
    words = said.unique().sort().to_list()
    return words if len(words) <= _MOST_WORDS else []


def _named_by(words: Sequence[str], x: str, y: str, cells: pl.DataFrame) -> str:
    """Return ``columns`` if all words name two columns, ``parts`` if they are their differing parts, else ``""``."""
    low = {plain_word_of(word) for word in words}
    names, parts = {x.strip().lower(), y.strip().lower()}, set(differing_words(x, y) or ())
    if not low or len(names) < 2 or not (low <= names or low <= parts):
        return ""
    # Parts of names fit many pairs, and a column may never be named: two columns of one kind of things are meant.
    alike = bool(set(cells[x]) & set(cells[y])) or low <= {name.lower() for name in (*cells[x], *cells[y])}
    if low <= names and (low == names or parts or alike):
        return "columns"
    return "parts" if low <= parts and alike else ""


def _worded(reading: Reading, pair: SidePair) -> Reading:
    """Return the reading with the words for the two columns, unless the words are names of items."""
    winner, sides, how = reading.first["winner"], (pair.left, pair.right), pair.hows[-1]
    words = pair.votes.select(text_of(winner)).to_series().unique().sort().to_list()
    own = [word.lower() for word in (*_ties(reading), *(words if how != "items" else []), *sides)]
    items = pl.concat(pair.votes.select(name_of(side).str.to_lowercase().alias("")) for side in sides)
    if "name" not in reading.words and (len(pair.hows) > 1 or items.to_series().is_in(own).any()):
        raise Unread(
            f"the words of {short_repr(winner)} are names of items, and mean columns or ties as well",
            option("words", names_text(dict.fromkeys((*sides, "tie"), ("____",)))) + "; or name=* if all name items",
            code="ambiguous",
            column=winner,
        )
    named = {"items": (), "columns": [side.strip() for side in sides], "parts": differing_words(*sides)}[how]
    meant = {
        side: tuple(word for word in words if plain_word_of(word) == part.lower())
        for side, part in zip(sides, named or (), strict=False)
    }
    tied = dict.fromkeys((*reading.words.get("tie", ()), *(word for word in words if word.lower() in TIES)))
    found = {meaning: words for meaning, words in (*meant.items(), ("tie", tuple(tied))) if words}
    reading = reading.with_({"left": (pair.left,), "right": (pair.right,)})
    return reading.model_copy(update={"words": {**reading.words, **found}})


def _no_words(raw: RawTable, reading: Reading) -> Unread:
    """Return, or raise, the question about the words of a winner's column."""
    winner, sides = reading.first["winner"], [reading.first["left"], reading.first["right"]]
    said = text_of(winner)
    refuse_header(raw, winner)
    there = ~says(said, reading.words.get("missing", ()))
    if all(sides):
        _refuse_capitals(raw, there, winner, sides)
        _refuse_other_words(raw, there, winner, sides)
    shown = counted_words(raw, raw.frame.filter(there), said)
    blanks = {side or role: ("____",) for side, role in zip(sides, ("left", "right"), strict=True)}
    which = {} if all(sides) else {"columns": "left=____,right=____"}
    return Unread(
        f"the column says {shown}: neither names of the two items of a row, nor of their columns",
        options(**which, words=names_text({**blanks, "tie": ("____",), "missing": ("____",)})),
        code="words",
        column=winner,
    )


def _refuse_other_words(raw: RawTable, there: pl.Expr, winner: str, sides: Sequence[str]) -> None:
    """Raise a question about words beside names of items, unless most rows do not name one of their items."""
    said, items = name_of(winner), [name_of(side) for side in sides]
    odd = there & pl.all_horizontal(said != item for item in items) & ~says(text_of(winner), TIES)
    others = said.filter(odd).implode()
    count, rows, *named = raw.facts(odd.sum(), there.sum(), *(item.is_in(others).any() for item in items))
    if count * 2 > rows:
        return
    what = f"beside names of items the column says {counted_words(raw, raw.frame.filter(odd), said)}"
    # A name of an item of other rows may be a word for a column: 2 of 1, 2 and 3.
    blanks = dict.fromkeys([*(sides if any(named) else ()), "tie", "missing"], ("____",))
    asked = Unread(what, option("words", names_text(blanks)), code="words", column=winner)
    refuse_first(raw, {winner: odd}, lambda *_: asked)


def _refuse_capitals(raw: RawTable, there: pl.Expr, winner: str, sides: Sequence[str]) -> None:
    """Raise a question about a winner whose name differs from an item's in capitals."""
    said, items = text_of(winner), [name_of(side) for side in sides]
    near = pl.any_horizontal(said.str.to_lowercase() == item.str.to_lowercase() for item in items)
    odd = there & near & pl.all_horizontal(said != item for item in items)

    def capitals(cell: str, column: str) -> Unread:
        what = f"{short_repr(cell)} is in {listed(list(sides))} in other capitals: write each name in one way"
        return Unread(what, code="capitals", column=column)

    refuse_first(raw, {winner: odd}, capitals)
