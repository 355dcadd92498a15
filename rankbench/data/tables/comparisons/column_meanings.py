"""Which columns of a log of votes mean what: guessed from the usual names, or given.

Two shapes are known: a column of winners and one of losers; or two columns of items and
one that says which of the two won, by its side (``left``, ``model_a``, ``a``) or by its name, or
that neither did (``tie``, ``draw``, ``both``): `rankbench.data.tables.comparisons.sides`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from rankbench.data.tables.comparisons.sides import of_two_sides
from rankbench.errors import InputError, nearest
from rankbench.text import listed, short_repr

__all__ = ["ROLES", "as_comparisons", "guess", "parse_columns"]

ROLES: dict[str, tuple[str, ...]] = {
    "winner": ("winner", "won", "result", "outcome", "choice", "vote", "preference"),
    "loser": ("loser", "lost"),
    "left": ("left", "model_a", "item_a", "option_a", "player_a", "answer_a", "a", "model_1", "player_1", "item_1"),
    "right": ("right", "model_b", "item_b", "option_b", "player_b", "answer_b", "b", "model_2", "player_2", "item_2"),
    "query": ("query_id", "query", "prompt", "prompt_id", "question_id", "question", "topic", "task"),
    "judge": ("judge", "worker", "worker_id", "annotator", "annotator_id", "rater", "voter", "user", "user_id"),
    "time": ("time", "timestamp", "tstamp", "created_at", "date"),
    "weight": ("weight",),
    "tie": ("tie", "tied"),
    "first": ("first",),
    "side": (),
    "item": (),
}
"""What a column may be, and the names that it usually has, the likeliest first.

``side`` and ``item`` are a winner's column that holds sides, or names of items: they are only given.
"""


def parse_columns(text: str) -> dict[str, str]:
    """Return columns by role from ``left=model_x,right=model_y,winner=choice``.

    A role without a name, ``time=``, is one that no column has, whatever columns are called.

    Raises
    ------
    InputError
        A role that does not exist, one given twice, or no equals sign.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        role, name = role.strip(), name.strip()
        if not equals:
            raise InputError(f"columns are given as role=name, not {part!r}; roles: {', '.join(ROLES)}")
        if role not in ROLES:
            raise InputError(f"there is no role {role!r} of columns{nearest(role, ROLES)}")
        if role in found:
            raise InputError(f"the {role}'s column is given twice")
        found[role] = name
    return found


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
    by_name: dict[str, list[str]] = {}
    for name in columns:
        by_name.setdefault(name.strip().lower(), []).append(name)
    found = dict(given or {})
    for role, name in found.items():
        if name and name not in columns:
            raise InputError(f"there is no column {name!r} for the {role}{nearest(name, columns)}", column=name)
    said = [role for role in ("side", "item") if found.get(role)]
    for role in said:
        if found.setdefault("winner", found[role]) != found[role] or len(said) > 1:
            raise InputError("one column says who won: give it as winner, side or item", column=found[role])
        found["loser"] = ""
    taken = set(found.values())
    alike: dict[str, list[str]] = {}
    for role, usual in ROLES.items():
        if role not in found:
            free = ([column for column in by_name.get(name, ()) if column not in taken] for name in usual)
            match = next(filter(None, free), None)
            if match is not None:
                found[role], alike[role] = match[0], match
    found = {role: name for role, name in found.items() if name}
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


def _unused(found: Mapping[str, str], given: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the roles that a log of votes with these columns does without; None if these are not votes."""
    pair, sides = {"winner", "loser"} <= set(found), {"winner", "left", "right"} <= set(found)
    if pair and sides:
        # Each of the two shapes says who lost; what was given says which one is meant.
        pair, sides = bool(given.get("loser")), bool(given.get("left") or given.get("right"))
        if pair == sides:
            raise InputError(
                f"{short_repr(found['loser'])} says who lost, and {short_repr(found['left'])} and "
                f"{short_repr(found['right'])} who were compared: read the log by its losers (--columns left=,right=), "
                "or by its two items (--columns loser=)"
            )
    if sides:
        if given.get("first"):
            raise InputError("who stood first is known from left and right; leave first out", column=given["first"])
        return ("loser", "first")
    return ("left", "right") if pair else None


def as_comparisons(raw: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Return a log of votes with the columns of the schema of comparisons, checked later.

    A log without queries is one query, called ``all``. Where the log has sides there are, beside
    the schema's columns, ``first``, whether the winner stood on the left, and what
    `rankbench.data.tables.comparisons.sides` wants refused.

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
        kept = ["weight", "judge", "time", "tie", "first"]
    else:
        chosen += of_two_sides(raw, columns)
        kept = ["weight", "judge", "time"]
    chosen += [pl.col(columns[role]).alias(role) for role in kept if role in columns]
    return raw.select(chosen)
