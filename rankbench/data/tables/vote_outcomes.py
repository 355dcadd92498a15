"""Outcomes of votes: who won, by words, points, margins, preferences, scores, places, games, or flags of both items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import form_of, is_nothing, missing_number, number_of, says, text_of
from rankbench.data.tables.schemas import GAMES, MOST_GAMES, SHARE
from rankbench.data.tables.vote_sides import TIES, side_of, words_of_sides
from rankbench.errors import Unread, option, options
from rankbench.interfaces.reading import Reading

OUTCOMES = (
    ("winner", "loser"),
    ("winner",),
    ("points",),
    ("margin",),
    ("preference",),
    ("left_score", "right_score"),
    ("left_place", "right_place"),
    ("left_wins", "right_wins"),
    ("left_won", "right_won"),
)
"""Roles that say who won."""


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
    """

    lead: pl.Expr
    missing: pl.Expr
    columns: tuple[str, ...]
    wrong: str
    numbers: Mapping[str, pl.Expr] = field(default_factory=dict)
    more: Mapping[str, pl.Expr] = field(default_factory=dict)
    lowest: float = 0


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
    roles = outcome_roles(reading)
    return _OF[roles](reading)


def with_numbers(frame: pl.LazyFrame, reading: Reading) -> pl.LazyFrame:
    """Return a table with the outcomes' numbers as columns, for `outcome_of`.

    Polars takes seconds to plan a query in which a long expression stands in others again and again.
    """
    roles = [role for role in (*outcome_roles(reading), "tie", "ties") if reading.one(role) and role != "winner"]
    names = [reading.one(role) for role in roles]
    found = dict[str, pl.Expr]()
    for name in names:
        text = text_of(name)
        if names.count(name) > 1:
            lines = {f"{_number_of(name)}{at}": text.str.extract(_SCORELINE, at) for at in (1, 2)}
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


def _number_of(name: str) -> str:
    """Return the column of a column's numbers."""
    return f"\0number {name}"


def _of_words(reading: Reading) -> VoteOutcome:
    winner = reading.one("winner")
    said, missing = text_of(winner), reading.words.get("missing", ())
    lead = pl.lit(None, pl.Float64)
    if told := words_of_sides(reading):
        for meaning, words in told.items():
            lead = pl.when(says(said, words)).then(side_of(meaning, reading)).otherwise(lead)
    else:
        lead = pl.when(said == text_of(reading.one("left"))).then(1.0).otherwise(lead)
        lead = pl.when(said == text_of(reading.one("right"))).then(-1.0).otherwise(lead)
    for column, words in reading.turned.items():
        lead = pl.when(says(text_of(column), words)).then(-lead).otherwise(lead)
    tied = says(said, reading.words.get("tie", TIES))
    lead = pl.when(tied & lead.is_null()).then(0.0).otherwise(lead)
    if told:
        wrong = f"{{}} is none of the words of {listed(list(told))}: add it to one of them, tie= or missing="
    else:
        sides = f"{short_repr(reading.one('left'))} and {short_repr(reading.one('right'))}"
        wrong = f"{{}} is neither of the two items in {sides}, nor a tie: {option('words', 'tie=____')} or missing=____"
    return VoteOutcome(lead, _is_missing(said, missing), (winner,), wrong)


def _is_missing(text: pl.Expr, words: tuple[str, ...]) -> pl.Expr:
    return says(text, words) if words else pl.lit(value=False)


def _number(name: str, reading: Reading) -> tuple[pl.Expr, pl.Expr]:
    """Return the number of a column, and where it is missing."""
    text, words = text_of(name), reading.words.get("missing", ())
    value = pl.col(_number_of(name))
    return value, missing_number(text, value, words) if words else pl.lit(value=False)


def _of_points(reading: Reading) -> VoteOutcome:
    name = reading.one("points")
    value, missing = _number(name, reading)
    return _graded(name, value, missing, "{} is no share of points of the left, a number from 0 to 1", reading)


def _of_preference(reading: Reading) -> VoteOutcome:
    name = reading.one("preference")
    value, missing = _number(name, reading)
    share = pl.when(value == 0).then(0.5).when((value >= 1) & (value <= 2)).then(2 - value)
    wrong = "{} is no preference: a number from 1, where the left won, to 2, where the right did, or 0"
    return _graded(name, share, missing, wrong, reading, code=False)


def _graded(
    name: str, share: pl.Expr, missing: pl.Expr, wrong: str, reading: Reading, *, code: bool = True
) -> VoteOutcome:
    """Return the outcome of the left's share; between 0 and 1, but for a half, a vote is divided."""
    share = pl.when((share >= 0) & (share <= 1)).then(share)
    graded = pl.when((share > 0) & (share < 1) & (share != 0.5)).then(share)
    numbers = {name: _number(name, reading)[0]} if code else {}
    return VoteOutcome(share - 0.5, missing, (name,), wrong, numbers, {SHARE: graded})


def _of_margin(reading: Reading) -> VoteOutcome:
    name = reading.one("margin")
    value, missing = _number(name, reading)
    wrong = "{} is no number that says by how much the left won"
    return VoteOutcome(value, missing, (name,), wrong, {name: value}, lowest=-math.inf)


def _of_two(kind: str) -> Callable[[Reading], VoteOutcome]:
    def of_two(reading: Reading) -> VoteOutcome:
        names = (reading.one(f"left_{kind}"), reading.one(f"right_{kind}"))
        values, gone = _both(names, reading)
        difference = values[0] - values[1]
        lead = -difference if kind == "place" else difference
        what = "two places" if kind == "place" else "the scores, two numbers,"
        sides = f"{short_repr(reading.one('left'))} and {short_repr(reading.one('right'))}"
        wrong = f"{{}} are not {what} of {sides}"
        columns = tuple(dict.fromkeys(names))
        keys = names if len(columns) == 2 else (names[0], f"{names[0]}\0")
        numbers = dict(zip(keys, values, strict=True))
        return VoteOutcome(lead, gone, columns, wrong, numbers, lowest=int(kind == "place"))

    return of_two


def _both(names: tuple[str, str], reading: Reading) -> tuple[list[pl.Expr], pl.Expr]:
    """Return the number of the left and that of the right: of a column each, or both of one, ``2-1``."""
    if names[0] != names[1]:
        (left, out), (right, gone) = (_number(name, reading) for name in names)
        return [left, right], out | gone
    text, words = text_of(names[0]), reading.words.get("missing", ())
    values = [pl.col(f"{_number_of(names[0])}{at}") for at in (1, 2)]
    out = _is_missing(text, words)
    for value in values:
        out |= missing_number(text, value, words) if words else pl.lit(value=False)
    return values, out


def _of_games(reading: Reading) -> VoteOutcome:
    names = tuple(reading.one(role) for role in ("left_wins", "right_wins", "ties") if reading.one(role))
    names = names if len(names) > 2 or not reading.one("tie") else (*names, reading.one("tie"))
    both = [_number(name, reading) for name in names]
    if names[0] == names[1]:
        values, out = _both((names[0], names[1]), reading)
        both = [*((value, out) for value in values), *both[2:]]
    games = [
        pl.when(value.is_between(0, MOST_GAMES) & (value == value.floor())).then(value).cast(pl.Int64)
        for value, _ in both
    ]
    games += [pl.lit(0, pl.Int64)] * (3 - len(games))
    total = pl.sum_horizontal(*games, ignore_nulls=False)
    out = pl.any_horizontal(*(missing for _, missing in both)) | (total == 0).fill_null(value=False)
    lead = pl.when(total.is_not_null()).then(games[0] - games[1]).cast(pl.Float64)
    numbers = {f"{name}{chr(0) * at}": value for at, (name, (value, _)) in enumerate(zip(names, both, strict=True))}
    wrong = f"{{}} do not say how many games each side won: whole numbers from 0 to {MOST_GAMES:,}"
    return VoteOutcome(lead, out, tuple(dict.fromkeys(names)), wrong, numbers, dict(zip(GAMES, games, strict=True)))


def _of_flags(reading: Reading) -> VoteOutcome:
    names = tuple(reading.one(role) for role in ("left_won", "right_won", "tie") if reading.one(role))
    words = reading.words.get("missing", ())
    values = [pl.col(_number_of(name)) for name in names]
    won, lost = values[:2]
    half = (won == 0.5) & (lost == 0.5)
    tied = values[2] if len(values) > 2 else ((won == 0) & (lost == 0)).cast(pl.Float64)
    one = (won + lost + tied == 1) & pl.all_horizontal(value.is_in([0.0, 1.0]) for value in values)
    lead = pl.when(half).then(0.0).when(one).then(won - lost)
    out = pl.any_horizontal(_is_missing(text_of(name), words) for name in names)
    return VoteOutcome(
        lead, out, names, "{} do not say who won: one of them is 1, the others 0, or both are 0 of a tie"
    )


_OF: dict[tuple[str, ...], Callable[[Reading], VoteOutcome]] = {
    ("winner",): _of_words,
    ("points",): _of_points,
    ("margin",): _of_margin,
    ("preference",): _of_preference,
    ("left_score", "right_score"): _of_two("score"),
    ("left_place", "right_place"): _of_two("place"),
    ("left_wins", "right_wins"): _of_games,
    ("left_won", "right_won"): _of_flags,
}


def with_flag(outcome: VoteOutcome, reading: Reading) -> tuple[VoteOutcome, pl.Expr]:
    """Return an outcome by words with a column of ties, and whether the two contradict each other."""
    name = reading.one("tie")
    flag = pl.col(_number_of(name)) == 1
    said = text_of(outcome.columns[0])
    blank = (said == "") | said.str.to_lowercase().is_in(["null", "none", "nan", "na"])
    against = ((flag & (outcome.lead != 0)) | (~flag & (outcome.lead == 0))).fill_null(value=False)
    lead = pl.when(flag & (blank | outcome.lead.is_null())).then(0.0).otherwise(outcome.lead)
    found = VoteOutcome(lead, outcome.missing, outcome.columns, outcome.wrong, outcome.numbers, outcome.more)
    return found, against


def no_flag(reading: Reading) -> pl.Expr:
    """Return whether the column of ties beside a winner is neither true, false nor empty."""
    name = reading.one("tie")
    return ~is_nothing(text_of(name)) & ~pl.col(_number_of(name)).is_in([0.0, 1.0]).fill_null(value=False)


def outcome_says(reading: Reading, counts: Mapping[str, int]) -> str:
    """Return the part of the line on outcomes, with the number of rows of each."""
    roles = outcome_roles(reading)
    left, right = reading.one("left"), reading.one("right")
    if roles == ("winner",) and (told := words_of_sides(reading)):
        words = {**told, "tie": reading.words.get("tie", TIES)}
        by_side = {1.0: counts["left"], -1.0: counts["right"], 0.0: counts["tie"]}
        parts = [
            f"{'|'.join(given)} = {meaning} {by_side[side_of(meaning, reading) or 0.0]:,}"
            for meaning, given in words.items()
            if meaning != "tie" or counts["tie"]
        ]
        return f"{reading.one('winner')}: {', '.join(parts)}"
    names = list(dict.fromkeys(reading.one(role) for role in roles))
    how = {
        "winner": "names the item that won",
        "points": "is the share of points of the first",
        "margin": "is by how much the first won",
        "preference": "is 1 where the first won, 2 where the second did",
        "left_score": "more is better",
        "left_place": "less is better",
        "left_wins": "games won",
        "left_won": "flags",
    }[roles[0]]
    ties = f", ties {counts['tie']:,}" if counts["tie"] else ""
    return f"{', '.join(names)} ({how}): {left} {counts['left']:,}, {right} {counts['right']:,}{ties}"
