"""Which kind of table some columns make: every registered kind is asked, and none by its name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankbench.data.tables import rankbench_register
from rankbench.errors import InputError, PluginError, SpecError, nearest
from rankbench.kinds.table import QUERY, TableKind
from rankbench.plugin import manager
from rankbench.plugin.blocked import VARIABLE
from rankbench.text import exception_text, listed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["built_in", "clear", "default_of", "not_judged", "recognized", "table_kind", "table_kinds", "table_of"]


def built_in() -> dict[str, TableKind]:
    """Return the built-in kinds by name, also while plugins are loaded."""
    return {kind.name: kind() for kind in rankbench_register()}


def table_kind(name: str) -> TableKind:
    """Return the kind of table of that name.

    Raises
    ------
    SpecError
        There is none; the message has the nearest.
    """
    return manager.get(TableKind, name)


def table_kinds() -> list[TableKind]:
    """Return all kinds in the order in which they are asked: the built-in ones, then those of plugins by name."""
    ours = list(built_in())
    theirs = [name for name in manager.names(TableKind.kind) if name not in ours]
    return [table_kind(name) for name in (*ours, *theirs)]


def recognized(names: Collection[str], kinds: Sequence[TableKind] | None = None) -> TableKind | None:
    """Return the kind that some columns are meant for; None if no column marks one.

    The first whose columns are all there, unless those of another one are too and are the same and more; or else
    the first that is marked.

    Parameters
    ----------
    names : collection of str
    kinds : sequence of TableKind, optional
        Those to choose from, in the order in which they are asked; by default `table_kinds`.
    """
    claiming = [kind for kind in (table_kinds() if kinds is None else kinds) if _claims(kind, names)]
    whole = [kind for kind in claiming if not kind.missing(names)]
    for kind in whole:
        if not any(set(kind.columns) < set(other.columns) for other in whole):
            return kind
    return claiming[0] if claiming else None


def _claims(kind: TableKind, names: Collection[str]) -> bool:
    try:
        return kind.claims(names)
    # Every file is shown to every kind, so one that fails would be in the way of all others' files too.
    except Exception as error:
        raise PluginError(
            f"the kind of table {kind.name!r} cannot say whether a file is one of its own: {exception_text(error)}; "
            f"mend it, or leave its distribution out with {VARIABLE}"
        ) from error


def clear(names: Collection[str], kind: TableKind | None = None) -> bool:
    """Return whether columns have the usual names of some kind of table, other than `kind`."""
    return QUERY in names and any(
        _claims(other, names) for other in table_kinds() if kind is None or other.name != kind.name
    )


def table_of(schema: pl.Schema, path: Path | None = None) -> TableKind:
    """Return the kind of table that these columns make.

    Raises
    ------
    InputError
        None: the missing column is named, of the kind that is nearest, with the nearest one that is there; where
        not even queries are named, all kinds are.
    """
    names = schema.names()
    if not names:
        raise InputError("there are no columns: the table is empty", path=path)
    kind = recognized(names)
    if kind is None and QUERY not in names:
        known = "; ".join(f"{k.words or k.name} ({', '.join(k.columns[1:])})" for k in table_kinds())
        raise InputError(
            f"these columns are of no table that is known: {listed(names)}. Known are {known}; --columns says what "
            "columns mean, as winner=NAME,loser=NAME or left=NAME,right=NAME,winner=NAME, or with a row for each place "
            "in a race, or rank by a voter, query=NAME,item=NAME,place=NAME, or with a row for each result shown "
            "session=NAME,doc=NAME,position=NAME,clicked=NAME; score tables of any layout are for rankbench rank",
            path=path,
        )
    if kind is None:
        ours = list(built_in())
        # Items are the last of ours, and what is left where columns tell nothing.
        kinds = sorted(table_kinds(), key=lambda k: -ours.index(k.name) if k.name in ours else 1)
        kind = max(kinds, key=lambda k: 1 - len(k.missing(names)) / len(k.columns))
    # Files may do without queries: what else is missing is the nearer cause.
    for name in sorted(kind.missing(names), key=QUERY.__eq__):
        near = nearest(name, names)
        raise InputError(
            f"column {name!r} is missing, which {kind} must have"
            f"{near if near.startswith('; did') else ''} (columns here: {listed(names)})",
            path=path,
        )
    return kind


def default_of(kind: TableKind, fact: Literal["method", "history", "suite"]) -> str:
    """Return a kind of table's method (or that of scores over time) or suite: its own, or of the kind of its rows."""
    own = getattr(kind, fact)
    if own or not kind.judgments:
        return str(own)
    return next((getattr(k, fact) for k in built_in().values() if k.row == kind.row), "")


def not_judged(what: str, kind: TableKind, wanted: Literal["judgments", "method", "suite"]) -> SpecError:
    """Return the error of a table of another kind than those that aggregators, or a suite for logs, can be given."""
    # Score tables have a verb of their own.
    kinds = [other for other in table_kinds() if "measurements" not in other.judgments]
    words = [other.words or other.name for other in kinds if getattr(other, wanted)]
    those = " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
    return SpecError(f"{what} holds {kind}, not judgments: {those}")
