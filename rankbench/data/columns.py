"""Which columns of a log of votes mean what: guessed from the usual names, or given.

Two shapes are known: a column of winners and one of losers; or two columns of items and
one that says which of the two won, by its side (``left``, ``model_a``, ``a``) or by its name, or
that neither did (``tie``, ``draw``, ``both``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from rankbench.data.shown import listed
from rankbench.errors import InputError, nearest

__all__ = ["ROLES", "SAID", "as_comparisons", "guess", "parse_columns"]

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
}
"""What a column may be, and the names that it usually has, the likeliest first."""

LEFT = ("left", "a", "model_a", "item_a", "player_a", "first", "1")
RIGHT = ("right", "b", "model_b", "item_b", "player_b", "second", "2")
TIED = (
    "tie",
    "tied",
    "ties",
    "draw",
    "both",
    "neither",
    "equal",
    "same",
    "tie (bothbad)",
    "bothbad",
    "both_bad",
    "0.5",
)
"""What a winner's column may say instead of a name, in small letters."""

SAID = "said"
"""Column of what the winner's column said, where that is neither of the two items nor a tie."""


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
        A given column is not there, or something else is missing beside what was given.
    """
    columns = list(names)
    by_name: dict[str, str] = {}
    for name in columns:
        by_name.setdefault(name.strip().lower(), name)
    found = dict(given or {})
    for role, name in found.items():
        if name and name not in columns:
            raise InputError(f"there is no column {name!r} for the {role}{nearest(name, columns)}", column=name)
    taken = set(found.values())
    for role, usual in ROLES.items():
        if role not in found:
            free = (by_name[name] for name in usual if name in by_name and by_name[name] not in taken)
            match = next(free, None)
            if match is not None:
                found[role] = match
    found = {role: name for role, name in found.items() if name}
    if "winner" in found and "loser" in found:
        return {role: name for role, name in found.items() if role not in ("left", "right")}
    if {"winner", "left", "right"} <= set(found):
        return {role: name for role, name in found.items() if role not in ("loser", "tie", "first")}
    if given:
        raise InputError(
            "votes need a winner and a loser, or two items (left and right) and a winner; "
            f"columns here: {listed(columns)}"
        )
    return None


def as_comparisons(raw: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Return a log of votes with the columns of the schema of comparisons, checked later.

    A log without queries is one query, called ``all``. Where the log has sides there are, beside
    the schema's columns, ``first``, whether the winner stood on the left, and `SAID`.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        Columns by role, as `guess` returns them.
    """
    query = pl.col(columns["query"]) if "query" in columns else pl.lit("all")
    chosen = [query.alias("query_id")]
    if "loser" in columns:
        chosen += [pl.col(columns["winner"]).alias("winner"), pl.col(columns["loser"]).alias("loser")]
        kept = ["weight", "judge", "time", "tie", "first"]
    else:
        left, right, said = (pl.col(columns[role]).cast(pl.String) for role in ("left", "right", "winner"))
        word = said.str.strip_chars().str.to_lowercase()
        side = (
            pl.when(said == left)
            .then(pl.lit("left"))
            .when(said == right)
            .then(pl.lit("right"))
            .when(word.is_in([*LEFT, columns["left"].lower()]))
            .then(pl.lit("left"))
            .when(word.is_in([*RIGHT, columns["right"].lower()]))
            .then(pl.lit("right"))
            .when(word.is_in(list(TIED)))
            .then(pl.lit("tie"))
        )
        chosen += [
            pl.when(side.is_in(["left", "tie"])).then(left).when(side == "right").then(right).alias("winner"),
            pl.when(side.is_in(["left", "tie"])).then(right).when(side == "right").then(left).alias("loser"),
            (side == "tie").fill_null(False).alias("tie"),
            (side != "right").fill_null(False).alias("first"),
            pl.when(side.is_null()).then(said.fill_null("")).alias(SAID),
        ]
        kept = ["weight", "judge", "time"]
    chosen += [pl.col(columns[role]).alias(role) for role in kept if role in columns]
    return raw.select(chosen)
