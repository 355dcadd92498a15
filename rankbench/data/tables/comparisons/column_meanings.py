"""Which columns of a log of votes mean what: guessed from the usual names, or given.

Two shapes are known: a column of winners and one of losers; or two columns of items and
what says which of the two won: one column (`rankbench.data.tables.comparisons.sides`), a column for each of the two
that is 1 where it won, a score of each, or how many games of a series each of them won.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from rankbench.data.tables.comparisons.controls import control_expressions
from rankbench.data.tables.comparisons.plain_names import plain_name
from rankbench.data.tables.comparisons.sides import LEFT_OUT, WORD_ROLES, dropped, of_two_sides
from rankbench.data.tables.weights import WEIGHTLESS
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError, nearest
from rankbench.kinds.column_readings import said_columns
from rankbench.text import listed, short_repr

__all__ = [
    "OPTIONS",
    "OUTCOMES",
    "READINGS",
    "ROLES",
    "as_comparisons",
    "guess",
    "named_roles",
    "parse_columns",
    "unread_outcomes",
    "whole_ids",
]

ROLES: dict[str, tuple[str, ...]] = {
    "winner": (
        *("winner", "won", "chosen_model", "chosen", "preferred", "result", "outcome", "choice", "vote", "preference"),
        *("label", "verdict", "ftr", "ft", "scoreline"),
    ),
    "loser": ("loser", "lost", "rejected_model", "rejected", "dispreferred"),
    "left": (
        *("left", "model_a", "item_a", "option_a", "player_a", "answer_a", "a", "model_1", "player_1", "item_1"),
        *("team_a", "team_1", "system_a", "system_1", "option_1", "candidate_a", "candidate_1"),
        "generator_1",
        *("home_team", "home", "white"),
    ),
    "right": (
        *("right", "model_b", "item_b", "option_b", "player_b", "answer_b", "b", "model_2", "player_2", "item_2"),
        *("team_b", "team_2", "system_b", "system_2", "option_2", "candidate_b", "candidate_2"),
        "generator_2",
        *("away_team", "away", "black"),
    ),
    "left_won": ("winner_model_a", "winner_a", "left_won", "a_won"),
    "right_won": ("winner_model_b", "winner_b", "right_won", "b_won"),
    "left_wins": (
        *("left_wins", "a_wins", "wins_a", "model_a_wins", "wins_1", "win_1", "home_wins", "wins_home"),
        *("white_wins", "wins_left"),
    ),
    "right_wins": (
        *("right_wins", "b_wins", "wins_b", "model_b_wins", "wins_2", "win_2", "away_wins", "wins_away"),
        *("black_wins", "wins_right"),
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
    "tie": ("tie", "tied", "winner_tie", "ties", "draws"),
    "first": ("first",),
    "rest_of_vote": ("rest_of_vote",),
    "side": (),
    "item": (),
    "points": (),
    "margin": (),
    "preference": (),
    "left_word": (),
    "right_word": (),
    "tie_word": (),
    "drop": (),
    "by": (),
    "mirrored": (),
    "self": (),
    "control": (),
}
"""What a column may be, and the names that it usually has, the likeliest first: see `plain_name`."""

OPTIONS = (*WORD_ROLES, "drop", "by", "mirrored", "self", "control")
"""What is said beside columns: words of the winner's column, those whose rows are left out, games that stand there from
both sides, rows of one item, and covariates."""

READINGS = {
    "side": "sides",
    "item": "names of items",
    "points": "points of the left, from 0 to 1",
    "margin": "by how much the left won",
    "preference": "from 1, the left won, to 2, the right did",
}
"""What a winner's column may hold: given as a role, or found by `rankbench.data.tables.comparisons.sides.decided`."""

OUTCOMES = (("winner",), ("left_won", "right_won"), ("left_wins", "right_wins"), ("left_score", "right_score"))
"""What may say which of two items won, the first of them that is there."""

_SIDED = ("left", "right", *(role for roles in OUTCOMES[1:] for role in roles))


def parse_columns(text: str) -> dict[str, str]:
    """Return columns by role from ``left=model_x,right=model_y,winner=choice``.

    A role without a name, ``time=``, is one that no column has, whatever columns are called.

    Raises
    ------
    InputError
        A role that does not exist, one given twice, or no equals sign.
    """
    found: dict[str, str] = {}
    for role, name in said_columns(text):
        if role not in ROLES:
            raise InputError(f"there is no role {role!r} of columns{nearest(role, ROLES)}")
        if role in found:
            raise InputError(f"the {role}'s column is given twice")
        found[role] = name
    return found


def named_roles(columns: Iterable[str], given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return columns by role, given or named as usual, and for each guessed role the columns that are named alike."""
    by_name: dict[str, list[str]] = {}
    for name in columns:
        by_name.setdefault(plain_name(name), []).append(name)
    found, alike = dict(given), dict[str, list[str]]()
    taken = set(found.values())
    for role, usual in ROLES.items():
        if role not in found:
            free = ([column for column in by_name.get(name, ()) if column not in taken] for name in usual)
            match = next(filter(None, free), None)
            if match is not None:
                found[role], alike[role] = match[0], match
    return {role: name for role, name in found.items() if name}, alike


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
    for role, name in said.items():
        if name and name not in columns:
            raise InputError(f"there is no column {name!r} for the {role}{nearest(name, columns)}", column=name)
    readings = [role for role in READINGS if said.get(role)]
    for role in readings:
        if said.setdefault("winner", said[role]) != said[role] or len(readings) > 1:
            raise InputError(
                f"one column says who won: give it as winner, {', '.join(READINGS)}, not as two", column=said[role]
            )
        said["loser"] = ""
    found, alike = named_roles(columns, said)
    unused = _unused(found, given or {})
    if unused is not None:
        found = {role: name for role, name in found.items() if role not in unused}
        for role in found:
            if len(alike.get(role, ())) > 1:
                raise InputError(
                    f"columns differ in capitals or spaces alone: {listed(alike[role])}; say which one is the {role} "
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
    found, _ = named_roles(names, given)
    if not {"left", "right"} <= set(chosen) or any(given.get(role) for roles in OUTCOMES for role in roles):
        return ""
    outcome = next((roles for roles in OUTCOMES if set(roles) <= set(chosen)), ())
    others = [found[role] for roles in OUTCOMES if roles != outcome and set(roles) <= set(found) for role in roles]
    if not outcome or not others:
        return ""
    without = ",".join(f"{role}=" for role in outcome)
    says = listed([chosen[role] for role in outcome])
    return f"{says} says who won: {listed(others)} are not read, whatever they say (--columns {without} reads them)"


def _unused(found: Mapping[str, str], given: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the roles that a log of votes with these columns does without; None if these are not votes."""
    there = [roles for roles in OUTCOMES if {"left", "right", *roles} <= set(found)]
    pair, sides = {"winner", "loser"} <= set(found), bool(there)
    if pair and sides:
        # Each of the two shapes says who lost; what was given says which one is meant.
        pair, sides = bool(given.get("loser")), any(given.get(role) for role in _SIDED)
        if pair == sides:
            raise InputError(
                f"{short_repr(found['loser'])} says who lost, and {short_repr(found['left'])} and "
                f"{short_repr(found['right'])} who were compared: read the log by its losers (--columns left=,right=), "
                "or by its two items (--columns loser=)"
            )
    if sides:
        if given.get("first"):
            raise InputError("who stood first is known from left and right; leave first out", column=given["first"])
        outcome = next((roles for roles in there if any(given.get(role) for role in roles)), there[0])
        return ("loser", "first", "rest_of_vote", *(role for roles in OUTCOMES if roles != outcome for role in roles))
    return _SIDED if pair else None


def whole_ids(raw: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Return a log of votes whose ids are no floats, as `with_whole_names` does; itself if none is.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        Columns by role, as `guess` returns them.
    """
    sides = ("winner", "loser") if "loser" in columns else ("left", "right")
    beside = ([columns[role]] for role in ("judge", "query") if role in columns)
    winner = "" if "loser" in columns else columns.get("winner", "")
    return with_whole_names(raw, [columns[side] for side in sides], *beside, winner=winner)


def as_comparisons(raw: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Return a log of votes with the columns of the schema of comparisons, checked later.

    A log without queries is one query, called ``all``. Where the log has sides there are, beside
    the schema's columns, ``first``, whether the winner stood on the left, and what
    `rankbench.data.tables.comparisons.sides` wants refused, left out or divided.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        Columns by role, as `rankbench.data.tables.comparisons.sides.decided` returns them.
    """
    query = pl.col(columns["query"]) if "query" in columns else pl.lit("all")
    chosen = [query.alias("query_id")]
    if "loser" in columns:
        chosen += [pl.col(columns["winner"]).alias("winner"), pl.col(columns["loser"]).alias("loser")]
        kept = ["weight", "judge", "time", "tie", "first", "rest_of_vote"]
    else:
        chosen += of_two_sides(raw, columns)
        kept = ["weight", "judge", "time"]
    chosen += [pl.col(columns[role]).alias(role) for role in kept if role in columns]
    chosen += control_expressions(columns)
    if not {"drop", "by", "self", WEIGHTLESS} & columns.keys():
        return raw.select(chosen)
    votes = raw.select(*chosen, dropped(columns).alias("dropped"))
    own = [LEFT_OUT] if LEFT_OUT in votes.collect_schema() else []
    return votes.with_columns(pl.any_horizontal("dropped", *own).alias(LEFT_OUT)).drop("dropped")
