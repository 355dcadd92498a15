"""Column roles tell which columns of votes mean what.

Two shapes are known: a column of winners and one of losers; or two columns of items and
what says which of the two won: one column (`rankbench.data.tables.outcomes`), a column for each of the two
that is 1 where it won, a score of each, or how many games of a series each of them won.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

import polars as pl

from rankbench.core.text import listed, plain_name, short_repr
from rankbench.data.tables.covariates import control_expressions
from rankbench.data.tables.outcome_readings import numbers_reading, shown_vote, word_readings
from rankbench.data.tables.outcomes import MOST_WORDS, name_parts
from rankbench.data.tables.rank_columns import rank_columns
from rankbench.data.tables.sides import LEFT_OUT, WORD_ROLES, OutcomeWords, dropped, of_two_sides
from rankbench.errors import InputError
from rankbench.interfaces.row_weights import NOTHING, counts_called, may_count
from rankbench.interfaces.table import (
    ROWS_SHOWN,
    ColumnReading,
    check_there,
    columns_text,
    said_columns,
    said_roles,
    usual_columns,
)
from rankbench.interfaces.table_check import RawTable

OPTIONS = (*WORD_ROLES, "drop", "by", "mirrored", "self", "control", "predictions")
"""Options beside columns: words of the winner's column, words of rows to leave out, games that stand there twice, rows
of one item. Covariates and predictions have the last two."""

READINGS = ("side", "item", "points", "margin", "preference")
"""Readings of a winner's column: sides, names of items, points of the left, its margin, or preferences. Points go from
0 to 1, preferences from 1, the left won, to 2. Given as a role, or found by `rankbench.data.tables.sides.decided`."""

ROLES: dict[str, tuple[str, ...]] = {
    "winner": (
        *("winner", "won", "chosen_model", "chosen", "preferred", "result", "outcome", "choice", "vote", "preference"),
        *("label", "verdict", "ftr", "ft", "scoreline", "winner_name", "winner_team", "winning_team"),
    ),
    "loser": (
        *("loser", "lost", "rejected_model", "rejected", "dispreferred", "loser_name", "loser_team", "losing_team"),
    ),
    "left": (
        *("left", "model_a", "item_a", "option_a", "player_a", "answer_a", "a", "model_1", "player_1", "item_1"),
        *("team_a", "team_1", "system_a", "system_1", "option_1", "candidate_a", "candidate_1", "generator_1"),
        *("home_team", "home", "white"),
    ),
    "right": (
        *("right", "model_b", "item_b", "option_b", "player_b", "answer_b", "b", "model_2", "player_2", "item_2"),
        *("team_b", "team_2", "system_b", "system_2", "option_2", "candidate_b", "candidate_2", "generator_2"),
        *("away_team", "away", "black"),
    ),
    "left_won": ("winner_model_a", "winner_a", "left_won", "a_won"),
    "right_won": ("winner_model_b", "winner_b", "right_won", "b_won"),
    "left_wins": (
        *("left_wins", "a_wins", "wins_a", "model_a_wins", "wins_1", "win_1", "home_wins", "wins_home"),
        *("white_wins", "wins_left", "win_a", "a_win"),
    ),
    "right_wins": (
        *("right_wins", "b_wins", "wins_b", "model_b_wins", "wins_2", "win_2", "away_wins", "wins_away"),
        *("black_wins", "wins_right", "win_b", "b_win"),
    ),
    "left_score": (
        *("left_score", "score_a", "a_score", "model_a_score", "score_1", "home_score", "home_goals", "home_points"),
        *("fthg", "white_score"),
    ),
    "right_score": (
        *("right_score", "score_b", "b_score", "model_b_score", "score_2", "away_score", "away_goals", "away_points"),
        *("ftag", "black_score"),
    ),
    "query": ("query_id", "query", "prompt", "prompt_id", "question_id", "question", "topic", "task", "instruction"),
    "judge": ("judge", "worker", "worker_id", "annotator", "annotator_id", "rater", "voter", "user", "user_id"),
    "time": ("time", "timestamp", "tstamp", "created_at", "date"),
    "weight": ("weight",),
    "count": ("count",),
    "tie": ("tie", "tied", "winner_tie", "is_tie", "ties", "draw", "drawn", "is_draw", "draws"),
    "first": ("first",),
    "rest_of_vote": ("rest_of_vote",),
    **dict.fromkeys((*READINGS, *OPTIONS), ()),
}
"""Roles of columns, with their usual names, the likeliest first: see `plain_name`."""

OUTCOMES = (("winner",), ("left_won", "right_won"), ("left_wins", "right_wins"), ("left_score", "right_score"))
"""Roles that say which of two items won; the first that is there counts."""

_SIDED = ("left", "right", *(role for roles in OUTCOMES[1:] for role in roles))


def parse_columns(text: str) -> dict[str, str]:
    """Return columns by role from ``left=model_x,right=model_y``.

    A role without a name, ``time=``, is one that no column has, whatever columns are called.

    Raises
    ------
    InputError
        A role that does not exist, one given twice, or no equals sign.
    """
    return said_roles(said_columns(text), ROLES)


def guess(names: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str] | None:
    """Return the columns of a log of votes by role; None if these are not votes.

    Parameters
    ----------
    names : iterable of str
        All columns; capitals and surrounding spaces do not matter for guesses.
    given : mapping of str to str, optional
        Columns by role; they are not guessed. Of an empty name: no column has this role.

    Raises
    ------
    InputError
        A given column is not there, or something else is missing beside what was given; two columns whose names
        differ in capitals alone; a loser beside two items and a winner.
    """
    columns = list(names)
    said = dict(given or {})
    check_there(said, columns)
    readings = [role for role in READINGS if said.get(role)]
    for role in readings:
        if said.setdefault("winner", said[role]) != said[role] or len(readings) > 1:
            raise InputError(
                f"one column says who won: give it as winner, {', '.join(READINGS)}, not as two", column=said[role]
            )
        said["loser"] = ""
    named = usual_columns(columns, ROLES, said)
    found = {role: alike[0] for role, alike in named.items()}
    if (unused := _unused(found, given or {})) is not None:
        found = {role: name for role, name in found.items() if role not in unused}
        for role in found:
            if len(named[role]) > 1:
                raise InputError(
                    f"columns differ in capitals or spaces alone: {listed(named[role])}; say which one is the {role} "
                    f"(--columns {role}=NAME), or that none is (--columns {role}=)"
                )
        return found
    if given:
        raise InputError(
            "votes need a winner and a loser, or two items (left and right) and a winner; "
            f"columns here: {listed(columns)}"
        )
    return None


def unread_outcomes(names: Iterable[str], chosen: Mapping[str, str], given: Mapping[str, str]) -> str:
    """Say which other columns say who won, where one was chosen of several that nobody gave; empty: none."""
    shapes = (("winner", "loser"), *OUTCOMES)
    if any(role in given for roles in shapes for role in roles):
        return ""
    columns = list(names)
    found = {role: alike[0] for role, alike in usual_columns(columns, ROLES, given).items()}
    outcome = next(roles for roles in shapes if set(roles) <= set(chosen))
    beside = [roles for roles in OUTCOMES if roles != outcome and set(roles) <= set(found)]
    others = [found[role] for roles in beside for role in roles if found[role] not in chosen.values()]
    how = ",".join(f"{role}=" for role in outcome)
    if not others:
        others = [name for name in columns if plain_name(name) in ROLES["winner"] and name not in chosen.values()]
        sides = {"left": chosen["winner"], "right": chosen["loser"]} if "loser" in chosen else {}
        how = columns_text({**sides, "winner": others[0]}) if others else ""
    says = listed([chosen[role] for role in outcome])
    reads = f"rankbench reads the winner from {says}, not from {listed(others)} (--columns {how} reads the latter)"
    return reads if others else ""


def _unused(found: Mapping[str, str], given: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the roles that a log of votes with these columns does without; None if these are not votes."""
    there = [roles for roles in OUTCOMES if {"left", "right", *roles} <= set(found)]
    pair, sides = {"winner", "loser"} <= set(found), bool(there)
    if pair and sides:
        # Each of the two shapes says who lost; what was given says which one is meant.
        pair, sides = bool(given.get("loser")), any(given.get(role) for role in _SIDED)
        if pair == sides:
            raise InputError(
                f"{short_repr(found['loser'])} says who lost, {short_repr(found['left'])} and "
                f"{short_repr(found['right'])} who were compared. Read the log by its losers (--columns left=,right=), "
                "or by its two items (--columns loser=)"
            )
    if sides:
        if given.get("first"):
            raise InputError("who stood first is known from left and right; leave first out", column=given["first"])
        outcome = next((roles for roles in there if any(given.get(role) for role in roles)), there[0])
        return ("loser", "first", "rest_of_vote", *(role for roles in OUTCOMES if roles != outcome for role in roles))
    return _SIDED if pair else None


def as_comparisons(raw: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Return a log of votes with the columns of the schema of comparisons, checked later.

    A log without queries is one query, called ``all``. Where the log has sides there are, beside
    the schema's columns, ``first``, whether the winner stood on the left, and what
    `rankbench.data.tables.sides` wants refused, left out or divided.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        Columns by role, as `rankbench.data.tables.sides.decided` returns them.
    """
    query = pl.col(columns["query"]) if "query" in columns else pl.lit("all")
    chosen = [query.alias("query_id")]
    if "loser" in columns:
        chosen += [pl.col(columns["winner"]).alias("winner"), pl.col(columns["loser"]).alias("loser")]
        kept = ["weight", "count", "judge", "time", "tie", "first", "rest_of_vote"]
    else:
        raw, outcome = of_two_sides(raw, columns)
        chosen += outcome
        kept = ["weight", "count", "judge", "time"]
    chosen += [pl.col(columns[role]).alias(role) for role in kept if role in columns]
    chosen += control_expressions(columns)
    if not {"drop", "by", "self", *NOTHING.values()} & columns.keys():
        return raw.select(chosen)
    votes = raw.select(*chosen, dropped(columns).alias("dropped"))
    own = [LEFT_OUT] if LEFT_OUT in votes.collect_schema() else []
    return votes.with_columns(pl.any_horizontal("dropped", *own).alias(LEFT_OUT)).drop("dropped")


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
    usual = {role: alike[0] for role, alike in usual_columns(cells, ROLES, {}).items()}
    roles = {role: name for role, name in usual.items() if role in ("left", "right", *sum(OUTCOMES, ()))}
    beside = set(usual.values()) - set(roles.values())
    columns = [name for name in cells if name not in beside and any(cells[name]) and not _is_venue(name, cells, roles)]
    if rank_columns(cells)[1]:
        return []  # ballots
    if not cells or len(columns) > _MOST_COLUMNS or not any(cells.values()):
        return []
    texts, few = pl.DataFrame(cells), len(columns) <= 3
    found = [
        reading
        for left, right in _pairs(cells, columns, roles, few=3 if {"left", "right"} <= set(roles) else 0)
        for winner in columns
        if winner not in (left, right) and roles.get("winner", winner) == winner
        if (reading := _word_reading(texts, {"left": left, "right": right, "winner": winner}, few=few)) is not None
    ]
    # Beside two items that one column says all of, another one that says less may be meant.
    pairs = {(reading.roles["left"], reading.roles["right"]) for reading in found if reading.sure}
    if found := [one for one in found if not pairs or (one.roles["left"], one.roles["right"]) in pairs]:
        return [replace(one, rows=(*one.rows, *_unread(one, found))) for one in found]
    sided = {"left", "right"} & set(roles)
    for left, right in _pairs(cells, columns, roles, few=2):
        if roles.get("winner") in (left, right):
            continue
        rest = [roles["winner"]] if "winner" in roles else [name for name in columns if name not in (left, right)]
        found += _own_readings(raw.frame, cells, left, right, rest)
    if sided or (found and "winner" in roles):
        return found
    says = {name for reading in found for name in reading.roles.values()}
    for first, second in _pairs(cells, columns, {}, few=2):
        for winner, loser in ((first, second), (second, first)):
            if loser == roles.get("winner"):
                continue
            rows = zip(cells[winner], cells[loser], strict=True)
            shown = [f"{short_repr(x)} beats {short_repr(y)}" for x, y in list(rows)[:ROWS_SHOWN]]
            if unread := [name for name in columns if name in says - {first, second}]:
                shown.append(f"whatever {listed(unread)} may say")
            found.append(ColumnReading({"winner": winner, "loser": loser}, tuple(shown), sure=False))
    return found


def _unread(reading: ColumnReading, found: Sequence[ColumnReading]) -> list[str]:
    """Return what to say of the columns that say as well who of the same two items won."""
    same = [one for one in found if all(one.roles[side] == reading.roles[side] for side in ("left", "right"))]
    others = [one.roles["winner"] for one in same if one is not reading]
    return [f"whatever {listed(others)} may say (to count both, write a row for each)"] if others else []


def _own_readings(
    raw: pl.LazyFrame, cells: CellsByColumn, left: str, right: str, rest: Sequence[str]
) -> Iterator[ColumnReading]:
    """Yield what other columns may say of two items: words of their own, points, margins, or scores of both."""
    items, numbers, sides = {*cells[left], *cells[right]}, list[str](), {"left": left, "right": right}
    both = sides, {"left": right, "right": left}
    for name in rest:
        words = Counter(filter(None, cells[name]))
        if {word.lower() for word in words} <= {"0", "1", "true", "false"}:
            yield from (numbers_reading(raw, {**one, "points": name}) for one in both)
        elif all(map(_is_number, words)):
            numbers.append(name)
        elif (
            len(words) <= MOST_WORDS
            and not words.keys() & items
            and not any(char.isdigit() for word in words for char in word)
        ):
            yield from word_readings(raw, {**sides, "winner": name}, [word for word, _ in words.most_common()])
    if len(numbers) > 2:
        numbers = [name for name in numbers if not counts_called(name)]  # of two others it may be the sum
    rates = [name for name in numbers if all(0 <= float(x) <= 1 for x in cells[name] if x)]
    others = [name for name in numbers if name not in rates]
    if len(rates) == 1 and len(others) < 2:
        weights = [{"weight": name} for name in others if may_count(cells[name])]
        plain = [] if weights and counts_called(others[0]) else [dict[str, str]()]
        for one, beside in product(both, weights + plain):
            yield numbers_reading(raw, {**one, "points": rates[0], **beside})
    elif len(numbers) == 1 and any(float(x) < 0 for x in cells[numbers[0]] if x):
        yield from (numbers_reading(raw, {**one, "margin": numbers[0]}) for one in both)
    elif len(numbers) == 1 and {"1", "2"} <= {*cells[numbers[0]]} <= {"0", "1", "1.5", "2", ""}:
        yield from (numbers_reading(raw, {**one, "preference": numbers[0]}) for one in both)
    elif len(numbers) == 2 and len(rates) != 1:
        called = frozenset[str]().union(*map(name_parts, numbers))
        what = "wins" if {"wins", "won", "votes", "ballots", "count"} & called else "score"
        if what == "score" and len({counts_called(name) for name in numbers}) > 1:
            return
        if _PLACES & called:
            numbers.reverse()  # the higher place of the other one wins
        yield numbers_reading(raw, sides | dict(zip((f"left_{what}", f"right_{what}"), numbers, strict=True)))


_PLACES = {"rank", "place", "position", "pos"}
"""Words in names of columns whose lowest numbers are best."""

_VENUES = {"home", "away", "neutral", "h", "a", "n"}


def _is_venue(name: str, cells: CellsByColumn, roles: Mapping[str, str]) -> bool:
    """Return whether a column says where the first of two teams played, which is not who won.

    Of teams called home and away its words are sides.
    """
    words = {cell.lower() for cell in cells[name]} - {""}
    at_home = name in roles.values() or any({"home", "host"} & name_parts(other) for other in cells)
    return not at_home and bool(words & {"home", "h"}) and words <= _VENUES


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
        names = len(known) == 2 or not any(_is_number(x.rstrip("stndrh")) for x in {*cells[left], *cells[right]})
        alike = names and (bool(set(cells[left]) & set(cells[right])) or len(columns) <= few)
        fractions = any("." in x and _is_number(x) for row in rows for x in row)
        if differ and alike and not fractions:
            yield left, right


def _word_reading(first: pl.DataFrame, roles: Mapping[str, str], *, few: bool) -> ColumnReading | None:
    """Return the reading of a column that says in most of the first rows which item won, or that neither did."""
    words = OutcomeWords.from_columns(roles)
    parts = (words.left, words.right, words.text, words.side, words.item, words.tied)
    rows = first.select(part.alias(str(at)) for at, part in enumerate(parts)).rows()
    says = [side is not None or item is not None or tied for *_, side, item, tied in rows]
    if all(_is_number(said) for _, _, said, *_ in rows):
        # A column of ones may say anything.
        named = all(item is not None for *_, item, _ in rows)
        if not all(says) or not (named or (few and len({row[2] for row in rows}) > 1)):
            return None
    elif sum(says) <= len(says) / 2 or not any(told and not row[-1] for told, row in zip(says, rows, strict=True)):
        return None
    by_item = any(item is not None and side is None for *_, side, item, _ in rows)
    shown = []
    for left, right, said, side, item, tied in rows[:ROWS_SHOWN]:
        lead = item if by_item else side
        shown.append(shown_vote(left, right, 0 if lead is None and tied else lead, unread=said))
    return ColumnReading(roles, tuple(shown), sure=all(says))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
