"""Votes whose columns have names that nobody knows: what they mean is looked for in the first rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from rankbench.data.tables.comparisons.column_meanings import OUTCOMES, named_roles
from rankbench.data.tables.comparisons.side_words import MOST_WORDS, side_words, tie_words, word_readings
from rankbench.data.tables.orders.ranks import rank_columns
from rankbench.kinds.column_readings import ROWS_SHOWN, ColumnReading
from rankbench.kinds.table_check import BOOLEANS, RawTable
from rankbench.text import listed, short_repr

__all__ = ["vote_readings"]

_MOST_COLUMNS = 12
"""Columns beyond which pairs of them are no more tried."""

CellsByColumn = Mapping[str, Sequence[str]]


def vote_readings(raw: RawTable) -> list[ColumnReading]:
    """Return how a table may be read as votes: each reading that its first rows allow.

    Two items and who won are sought first, the latter by words that say so: sides, ties, names of the two. If there
    are none, a column beside two that name the same items may say who won in words of its own, or in numbers; and the
    two may be winner and loser, or loser and winner.

    Parameters
    ----------
    raw : RawTable
    """
    cells = raw.first_cells()
    usual, _ = named_roles(cells, {})
    roles = {role: name for role, name in usual.items() if role in ("left", "right", *sum(OUTCOMES, ()))}
    beside = set(usual.values()) - set(roles.values())
    columns = [name for name in cells if name not in beside and any(cells[name])]
    if rank_columns(cells)[1]:
        return []  # ballots
    if not cells or len(columns) > _MOST_COLUMNS or not any(cells.values()):
        return []
    found = [
        ColumnReading(
            {"left": left, "right": right, "winner": winner},
            tuple(_shown(cells, left, right, winner)),
            sure=share == 1,
        )
        for left, right in _pairs(cells, columns, roles, few=3 if {"left", "right"} <= set(roles) else 0)
        for winner in columns
        if winner not in (left, right)
        and roles.get("winner", winner) == winner
        and (share := _says_who_won(cells, left, right, winner, few=len(columns) <= 3)) > 0
    ]
    # Beside two items that one column says all of, another one that says less may be meant.
    pairs = {(reading.roles["left"], reading.roles["right"]) for reading in found if reading.sure}
    found = [one for one in found if not pairs or (one.roles["left"], one.roles["right"]) in pairs]
    if found:
        return [replace(one, rows=(*one.rows, *_unread(one, found))) for one in found]
    sided = {"left", "right"} & set(roles)
    for left, right in _pairs(cells, columns, roles, few=2):
        if roles.get("winner") in (left, right):
            continue
        rest = [roles["winner"]] if "winner" in roles else [name for name in columns if name not in (left, right)]
        found += _own_readings(cells, left, right, rest)
    if sided or (found and "winner" in roles):
        return found
    says = {name for reading in found for name in reading.roles.values()}
    for first, second in _pairs(cells, columns, {}, few=2):
        for winner, loser in ((first, second), (second, first)):
            rows = zip(cells[winner], cells[loser], strict=True)
            shown = [f"{short_repr(x)} beats {short_repr(y)}" for x, y in list(rows)[:ROWS_SHOWN]]
            if unread := [name for name in columns if name in says - {first, second}]:
                shown.append(f"whatever {listed(unread)} may say")
            found.append(ColumnReading({"winner": winner, "loser": loser}, tuple(shown)))
    return found


def _unread(reading: ColumnReading, found: Sequence[ColumnReading]) -> list[str]:
    """Return what to say of the columns that say as well who of the same two items won."""
    same = [one for one in found if all(one.roles[side] == reading.roles[side] for side in ("left", "right"))]
    others = [one.roles["winner"] for one in same if one is not reading]
    return [f"whatever {listed(others)} may say (to count both, write a row for each)"] if others else []


def _own_readings(cells: CellsByColumn, left: str, right: str, rest: Sequence[str]) -> Iterator[ColumnReading]:
    """Yield what other columns may say of two items: words of their own, points, margins, or scores of both."""
    items, numbers = {*cells[left], *cells[right]}, []
    for name in rest:
        words = Counter(filter(None, cells[name]))
        if words.keys() <= {"0", "1"} or all(word.lower() in BOOLEANS for word in words):
            yield from (_counted(cells, x, y, {"points": name}) for x, y in ((left, right), (right, left)))
        elif all(map(_is_number, words)):
            numbers.append(name)
        elif (
            len(words) <= MOST_WORDS
            and not words.keys() & items
            and not any(char.isdigit() for word in words for char in word)
        ):
            rows = list(zip(cells[left], cells[right], cells[name], strict=True))
            commonest = [word for word, _ in words.most_common()]
            yield from word_readings({"left": left, "right": right, "winner": name}, rows, commonest)
    if len(numbers) == 1 and any(float(x) < 0 for x in cells[numbers[0]] if x):
        yield _counted(cells, left, right, {"margin": numbers[0]})
    if len(numbers) == 2:
        yield _counted(cells, left, right, dict(zip(("left_score", "right_score"), numbers, strict=True)))


def _counted(cells: CellsByColumn, left: str, right: str, says: Mapping[str, str]) -> ColumnReading:
    """Return a reading of numbers: points or a margin of the left, or scores of both."""
    shown = []
    for at in range(min(ROWS_SHOWN, len(cells[left]))):
        texts = [cells[name][at].lower() for name in says.values()]
        x, y = short_repr(cells[left][at]), short_repr(cells[right][at])
        if not all(texts):
            shown.append(f"nothing of {x} and {y}")
            continue
        one, *other = [float(BOOLEANS.get(text, text)) for text in texts]
        lead = one - (other[0] if other else 0.5 if "points" in says else 0.0)
        shown.append(f"{x} {'beats' if lead > 0 else 'ties with'} {y}" if lead >= 0 else f"{y} beats {x}")
    return ColumnReading({"left": left, "right": right, **says}, tuple(shown), sure=False)


def _pairs(
    cells: CellsByColumn, columns: Sequence[str], roles: Mapping[str, str], *, few: int
) -> Iterator[tuple[str, str]]:
    """Yield pairs of columns that may name the two items of a vote, in the table's order.

    They name some items in common, unless there are `few` columns at most; and of unknown columns, those that have
    numbers name no items: they may be anything.
    """
    known = [roles[role] for role in ("left", "right") if role in roles]
    for left, right in combinations(columns, 2):
        if not set(known) <= {left, right}:
            continue
        if roles.get("right") == left or roles.get("left") == right:
            left, right = right, left
        rows = list(zip(cells[left], cells[right], strict=True))
        differ = all(x and y and x != y for x, y in rows)
        names = len(known) == 2 or not any(map(_is_number, {*cells[left], *cells[right]}))
        alike = names and (bool(set(cells[left]) & set(cells[right])) or len(columns) <= few)
        fractions = any("." in x and _is_number(x) for row in rows for x in row)
        if differ and alike and not fractions:
            yield left, right


def _says_who_won(cells: CellsByColumn, left: str, right: str, winner: str, *, few: bool) -> float:
    """Return in what share of the rows a column says which item won, or that neither did; 0 unless in most."""
    sides = {word for words in side_words(left, right) for word in words}
    ties = set(tie_words(left, right))
    rows = list(zip(cells[left], cells[right], cells[winner], strict=True))
    says = [w in (x, y) or w.lower() in sides | ties for x, y, w in rows]
    share = sum(says) / len(says)
    if all(_is_number(w) for _, _, w in rows):
        # A column of ones may say anything.
        named = all(w in (x, y) for x, y, w in rows)
        return share if share == 1 and (named or (few and len(set(cells[winner])) > 1)) else 0
    decisive = any(told and w.lower() not in ties for told, (_, _, w) in zip(says, rows, strict=True))
    return share if share > 0.5 and decisive else 0


def _shown(cells: CellsByColumn, left: str, right: str, winner: str) -> Iterator[str]:
    on_left, on_right = side_words(left, right)
    ties = tie_words(left, right)
    rows = list(zip(cells[left], cells[right], cells[winner], strict=True))
    named = any(w in (x, y) and w.lower() not in {*on_left, *on_right} for x, y, w in rows)
    for x, y, w in rows[:ROWS_SHOWN]:
        won = w == x if named else w.lower() in on_left
        lost = w == y if named else w.lower() in on_right
        first, second = (y, x) if lost else (x, y)
        if not (won or lost or w.lower() in ties):
            yield f"{short_repr(w) if w else 'nothing'} of {short_repr(x)} and {short_repr(y)}"
            continue
        yield f"{short_repr(first)} {'beats' if won or lost else 'ties with'} {short_repr(second)}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
