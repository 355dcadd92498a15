"""Outcomes of votes: who won, by words, points, margins, preferences, scores, places, games, or flags of both items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import form_of, is_nothing, missing_number, number_of, says, text_of
from rankbench.data.tables.schemas import GAMES, MOST_GAMES, SHARE
from rankbench.data.tables.vote_sides import TIES, side_of, words_of_sides
from rankbench.errors import Unread, option, options
from rankbench.interfaces.reading import Reading

_SCORELINE = r"^(-?\d{1,4})\s*[-:\u2010-\u2015\u2212]\s*(-?\d{1,4})$"
"""Two scores in one column; one below 0 may be a code."""


_MOST_CELLS = 1000

_TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True)
class VoteOutcome:
    """The outcome of each row, as expressions.

    Attributes
    ----------
    lead : Expr
        Above 0: the left won; below: the right did; 0: neither; null: the cells do not say.
    missing : Expr
        Rows that are left out, as a word says that the outcome is missing.
    columns : tuple of str
        Columns that say it.
    numbers : mapping of str to Expr
        Numbers by column, among which one may be a code.
    wrong : str
        The message for cells that do not say who won; ``{}`` stands for them.
    more : mapping of str to Expr
        Columns of shares, or of games, of the left, by which a vote is divided.
    lowest : float
        No number is below it, but a code.
    against : Expr
        Rows in which a column of ties contradicts it.
    """

    lead: pl.Expr
    missing: pl.Expr
    columns: tuple[str, ...]
    wrong: str
    numbers: Mapping[str, pl.Expr] = field(default_factory=dict)
    more: Mapping[str, pl.Expr] = field(default_factory=dict)
    lowest: float = 0
    against: pl.Expr = field(default_factory=lambda: pl.lit(value=False))


def outcome_roles(reading: Reading) -> tuple[str, ...]:
    """Return the roles of a reading that hold the outcome.

    Raises
    ------
    Unread
        There are none, or several.
    """
    found = [roles for roles in OUTCOMES if reading.has(*roles)]
    found = [roles for roles in found if roles != ("winner",) or ("winner", "loser") not in found]
    if len(found) == 1:
        return found[0]
    both = listed([" and ".join(roles) for roles in found])
    raise Unread(
        f"{both} each say who won" if found else "no column says who won",
        f"keep one of them, as {option('columns', 'winner=')}" if found else
        f"{options(columns='winner=____', words='left=____,right=____,tie=____')}, or "
        "left_score=____,right_score=____",
        code="roles" if found else "outcome",
    )  # fmt: skip


def outcome_of(reading: Reading) -> VoteOutcome:
    """Return the outcome of votes in a table `with_numbers` and with two columns of items."""
    if (roles := outcome_roles(reading)) != ("winner",):
        return _of_numbers(reading, roles)
    return _with_flag(_of_words(reading), reading) if reading.first["tie"] else _of_words(reading)


def with_numbers(frame: pl.LazyFrame, reading: Reading) -> pl.LazyFrame:
    """Return a table with the outcomes' numbers as columns, for `outcome_of`.

    Polars takes seconds to plan a query in which a long expression stands in others again and again.
    """
    roles = [role for role in (*outcome_roles(reading), "tie", "ties") if reading.first[role] and role != "winner"]
    names = [reading.first[role] for role in roles]
    found = dict[str, pl.Expr]()
    for name in names:
        text = text_of(name)
        if names.count(name) > 1:
            lines = {_number_of(name, at): text.str.extract(_SCORELINE, at) for at in (1, 2)}
            found |= {alias: number_of(part, errors=False) for alias, part in lines.items()}
        else:
            flag = text.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Float64)
            flags = any(role in ("left_won", "right_won", "tie") for role in roles)
            number = number_of(text, form_of(reading), errors=False)
            found[_number_of(name)] = pl.coalesce(flag, number) if flags else number
    return frame.with_columns(value.alias(alias) for alias, value in found.items())


def once_per_cell(frame: pl.LazyFrame, outcome: VoteOutcome) -> VoteOutcome:
    """Return an outcome evaluated once for each different cell, if it is one column of few texts.

    Texts are few and rows are many: what words mean costs ten times as much as to look a cell up.
    """
    names = {*outcome.lead.meta.root_names(), *outcome.missing.meta.root_names()}
    if names != {*outcome.columns} or len(names) > 1 or frame.collect_schema()[outcome.columns[0]] != pl.String:
        return outcome
    cell = pl.col(outcome.columns[0])
    cells = frame.select(cell.alias("cell")).unique().head(_MOST_CELLS + 1).collect(engine="streaming")["cell"]
    if len(cells) > _MOST_CELLS:
        return outcome
    read = cells.to_frame(outcome.columns[0]).select(lead=outcome.lead, missing=outcome.missing)
    lead, missing = (
        cell.replace_strict(cells, read[name], default=None, return_dtype=read.schema[name])
        for name in ("lead", "missing")
    )
    return replace(outcome, lead=lead, missing=missing)


def _number_of(name: str, at: int = 0) -> str:
    """Return the column of a column's numbers; of two in one, ``2-1``, of the first or the second."""
    return f"\0number {name}{at or ''}"


def _of_words(reading: Reading) -> VoteOutcome:
    winner = reading.first["winner"]
    said, missing = text_of(winner), reading.words.get("missing", ())
    lead = pl.lit(None, pl.Float64)
    if told := words_of_sides(reading):
        for meaning, words in told.items():
            lead = pl.when(says(said, words)).then(side_of(meaning, reading)).otherwise(lead)
    else:
        lead = pl.when(said == text_of(reading.first["left"])).then(1.0).otherwise(lead)
        lead = pl.when(said == text_of(reading.first["right"])).then(-1.0).otherwise(lead)
    for column, words in reading.turned.items():
        lead = pl.when(says(text_of(column), words)).then(-lead).otherwise(lead)
    tied = says(said, reading.words.get("tie", TIES))
    lead = pl.when(tied & lead.is_null()).then(0.0).otherwise(lead)
    if told:
        wrong = f"{{}} is none of the words of {listed(list(told))}: add it to one of them, tie= or missing="
    else:
        sides = f"{short_repr(reading.first['left'])} and {short_repr(reading.first['right'])}"
        wrong = f"{{}} is neither of the two items in {sides}, nor a tie: {option('words', 'tie=____')} or missing=____"
    return VoteOutcome(lead, says(said, missing) if missing else pl.lit(value=False), (winner,), wrong)


def _of_numbers(reading: Reading, roles: tuple[str, ...]) -> VoteOutcome:
    """Return the outcome that columns of numbers say."""
    way, words = NUMBERS[roles], reading.words.get("missing", ())
    beside = [name for role in way.beside if (name := reading.first[role])]
    names = [*(reading.first[role] for role in roles), *beside[:1]]
    values = [pl.col(_number_of(name, at if names.count(name) > 1 else 0)) for at, name in enumerate(names, 1)]
    missing = pl.lit(value=False)
    for name, value in zip(names, values, strict=True) if words else ():
        missing |= missing_number(text_of(name), value, words)
    # Two numbers of one column have two keys.
    numbers = {f"{name}{chr(0) * at}": values[at] for at, name in enumerate(names) if way.lowest is not None}
    sides = f"{short_repr(reading.first['left'])} and {short_repr(reading.first['right'])}"
    wrong, columns = way.wrong.replace("{sides}", sides), tuple(dict.fromkeys(names))
    outcome = VoteOutcome(pl.lit(None), missing, columns, wrong, numbers, lowest=way.lowest or 0)
    return way.read(outcome, *values)


def _of_share(outcome: VoteOutcome, share: pl.Expr) -> VoteOutcome:
    """Return the outcome of the left's share; between 0 and 1, but for a half, a vote is divided."""
    share = pl.when((share >= 0) & (share <= 1)).then(share)
    graded = pl.when((share > 0) & (share < 1) & (share != 0.5)).then(share)
    return replace(outcome, lead=share - 0.5, more={SHARE: graded})


def _of_preference(outcome: VoteOutcome, value: pl.Expr) -> VoteOutcome:
    return _of_share(outcome, pl.when(value == 0).then(0.5).when((value >= 1) & (value <= 2)).then(2 - value))


def _of_games(outcome: VoteOutcome, *values: pl.Expr) -> VoteOutcome:
    games = [
        pl.when(value.is_between(0, MOST_GAMES) & (value == value.floor())).then(value).cast(pl.Int64)
        for value in values
    ]
    games += [pl.lit(0, pl.Int64)] * (3 - len(games))
    total = pl.sum_horizontal(*games, ignore_nulls=False)
    lead = pl.when(total.is_not_null()).then(games[0] - games[1]).cast(pl.Float64)
    missing = outcome.missing | (total == 0).fill_null(value=False)
    return replace(outcome, lead=lead, missing=missing, more=dict(zip(GAMES, games, strict=True)))


def _of_flags(outcome: VoteOutcome, won: pl.Expr, lost: pl.Expr, *tie: pl.Expr) -> VoteOutcome:
    half = (won == 0.5) & (lost == 0.5)
    tied = tie[0] if tie else ((won == 0) & (lost == 0)).cast(pl.Float64)
    one = (won + lost + tied == 1) & pl.all_horizontal(value.is_in([0.0, 1.0]) for value in (won, lost, *tie))
    return replace(outcome, lead=pl.when(half).then(0.0).when(one).then(won - lost))


class NumberOutcome(NamedTuple):
    """How columns of numbers say who won.

    Attributes
    ----------
    read : callable
        Returns an outcome with the lead, of one without it and of the numbers.
    wrong, says : str
        See `VoteOutcome.wrong`; a text on the numbers, for people.
    lowest : float, optional
        See `VoteOutcome.lowest`; None: no number is a code.
    beside : tuple of str
        Roles of which one may stand beside.
    """

    read: Callable[..., VoteOutcome]
    wrong: str
    says: str
    lowest: float | None = 0
    beside: tuple[str, ...] = ()


NUMBERS: dict[tuple[str, ...], NumberOutcome] = {
    ("points",): NumberOutcome(
        _of_share,
        "{} is no share of points of the left, a number from 0 to 1",
        "is the share of points of the first",
    ),
    ("margin",): NumberOutcome(
        lambda outcome, value: replace(outcome, lead=value),
        "{} is no number that says by how much the left won",
        "is by how much the first won",
        -math.inf,
    ),
    ("preference",): NumberOutcome(
        _of_preference,
        "{} is no preference: a number from 1, where the left won, to 2, where the right did, or 0",
        "is 1 where the first won, 2 where the second did",
        None,
    ),
    ("left_score", "right_score"): NumberOutcome(
        lambda outcome, left, right: replace(outcome, lead=left - right),
        "{} are not the scores, two numbers, of {sides}",
        "more is better",
    ),
    ("left_place", "right_place"): NumberOutcome(
        lambda outcome, left, right: replace(outcome, lead=right - left),
        "{} are not two places of {sides}",
        "less is better",
        1,
    ),
    ("left_wins", "right_wins"): NumberOutcome(
        _of_games,
        f"{{}} do not say how many games each side won: whole numbers from 0 to {MOST_GAMES:,}",
        "games won",
        beside=("ties", "tie"),
    ),
    ("left_won", "right_won"): NumberOutcome(
        _of_flags,
        "{} do not say who won: one of them is 1, the others 0, or both are 0 of a tie",
        "flags",
        None,
        ("tie",),
    ),
}
"""Roles of numbers that say who won."""

OUTCOMES = (("winner", "loser"), ("winner",), *NUMBERS)
"""Roles that say who won."""


def _with_flag(outcome: VoteOutcome, reading: Reading) -> VoteOutcome:
    """Return an outcome by words with a column of ties."""
    name = reading.first["tie"]
    flag = pl.col(_number_of(name)) == 1
    said = text_of(outcome.columns[0])
    blank = (said == "") | said.str.to_lowercase().is_in(["null", "none", "nan", "na"])
    against = ((flag & (outcome.lead != 0)) | (~flag & (outcome.lead == 0))).fill_null(value=False)
    lead = pl.when(flag & (blank | outcome.lead.is_null())).then(0.0).otherwise(outcome.lead)
    return replace(outcome, lead=lead, against=against)


def no_flag(reading: Reading) -> pl.Expr:
    """Return whether the column of ties beside a winner is neither true, false nor empty."""
    name = reading.first["tie"]
    return ~is_nothing(text_of(name)) & ~pl.col(_number_of(name)).is_in([0.0, 1.0]).fill_null(value=False)


def outcome_says(reading: Reading, counts: Mapping[str, int]) -> str:
    """Return the part of the line on outcomes, with the number of rows of each."""
    roles = outcome_roles(reading)
    left, right = reading.first["left"], reading.first["right"]
    if roles == ("winner",) and (told := words_of_sides(reading)):
        words = {**told, "tie": reading.words.get("tie", TIES)}
        by_side = {1.0: counts["left"], -1.0: counts["right"], 0.0: counts["tie"]}
        parts = [
            f"{'|'.join(given)} = {meaning} {by_side[side_of(meaning, reading) or 0.0]:,}"
            for meaning, given in words.items()
            if meaning != "tie" or counts["tie"]
        ]
        return f"{reading.first['winner']}: {', '.join(parts)}"
    names = list(dict.fromkeys(reading.first[role] for role in roles))
    how = NUMBERS[roles].says if roles in NUMBERS else "names the item that won"
    ties = f", ties {counts['tie']:,}" if counts["tie"] else ""
    return f"{', '.join(names)} ({how}): {left} {counts['left']:,}, {right} {counts['right']:,}{ties}"
