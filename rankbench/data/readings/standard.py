"""Standard names: columns named as roles have these roles, if every cell fits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rankbench.core.text import listed
from rankbench.data.readings.formats import formats_for
from rankbench.data.tables.doubts import doubt_unread
from rankbench.data.tables.kinds import applied, beside_of, complete_shapes, roles_of, table_kinds
from rankbench.data.tables.schemas import REST
from rankbench.data.tables.vote_sides import outcome_words
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import NO_COLUMNS, SEVERAL, Names, Reading, fits, names_text
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import RawTable, ReadTable

STANDARD = "standard names"

_ROLES_OF = {"query_id": ("query", "task"), "session_id": ("session",)}
"""Names of the schema's columns, and the roles that they have."""

_RANKS = tuple(f"rank{k}" for k in range(1, 31))


def names_by_role(names: Collection[str], roles: Collection[str]) -> Names:
    """Return the columns named as roles, in any capitals; ranks are ``rank1, rank2, ...``."""
    found: dict[str, list[str]] = {}
    for name in names:
        plain = name.strip().lower()
        role = next((role for role in (plain, *_ROLES_OF.get(plain, ())) if role in roles), "")
        if role and role not in SEVERAL | NO_COLUMNS:
            found.setdefault(role, []).append(name)
    if "ranks" in roles:
        ranks = {name.strip().lower(): name for name in names}
        columns = [ranks[rank] for rank in _RANKS if rank in ranks]
        if len(columns) > 1 and columns == [ranks.get(rank) for rank in _RANKS[: len(columns)]]:
            found["ranks"] = columns
    return {role: tuple(columns) for role, columns in found.items()}


def are_known(names: Collection[str]) -> bool:
    """Return whether names are columns of a table: the roles of a kind, or all that a known format needs."""
    kinds = table_kinds()
    for kind in kinds:
        if complete_shapes(names_by_role(names, roles_of(kind)), [kind]):
            return True
    return bool(formats_for(names))


def standard_reading(raw: RawTable, told: Reading, kinds: Sequence[TableKind]) -> tuple[TableKind, Reading] | None:
    """Return kind and reading of a table whose columns have the names of roles, or None.

    Parameters
    ----------
    raw : RawTable
    told : Reading
        Meanings that were said; they add to the standard names.
    kinds : sequence of TableKind

    Raises
    ------
    Unread
        Two columns are called alike, or as two tables need it.
    """
    found: list[tuple[TableKind, tuple[str, ...], Names]] = []
    taken = {name for role, names in told.columns.items() if role not in NO_COLUMNS for name in names}
    beside = {role for kind in kinds for role in kind.beside}
    other = [
        role for role, names in told.columns.items() if role not in NO_COLUMNS and (role in beside or not any(names))
    ]
    called = names_by_role([name for name in raw.schema.names() if name not in taken], other)
    # A column that is called as a role is none where the role is said to have none, or, beside a row, another one.
    ignored = (*told.columns.get("ignore", ()), *(name for names in called.values() for name in names))
    free = [name for name in raw.schema.names() if name not in taken and not any(fits(name, i) for i in ignored)]
    for kind in kinds:
        usual = {role: names for role, names in names_by_role(free, roles_of(kind)).items() if role not in told.columns}
        own = {**usual, **{role: names for role, names in told.columns.items() if any(names)}}
        found += [(kind, shape, usual) for _, shape in complete_shapes(own, [kind])]
    found = [one for one in found if not any(set(one[1]) < set(other[1]) for other in found)]
    # Of two sets of roles that are all read at once, as a query's and a judge's, either will do.
    kept = [one for one in found if set(one[1]) <= {*found[0][1], *beside_of(found[0][0])} and one[0] is found[0][0]]
    found = found[:1] if len(kept) == len(found) else found
    if len(found) > 1:
        shapes = " or ".join(f"{kind.words or kind.name} by {', '.join(shape)}" for kind, shape, _ in found)
        one = option("columns", f"{found[-1][1][-1]}=")
        step = f"{option('columns', 'ROLE=')} for the one that is not meant, as {one}"
        raise Unread(f"the columns may be read in several ways: {shapes}", step, code="roles")
    if not found:
        return None
    kind, shape, usual = found[0]
    chosen = {role: names for role, names in usual.items() if role in shape or role in beside_of(kind)}
    _refuse_twice(raw, chosen, shape)
    unused = {role: names for role, names in usual.items() if role not in chosen and role not in shape}
    if unused:
        names = tuple(name for columns in unused.values() for name in columns)
        raise Unread(
            f"columns are called as roles, and are not read beside {' and '.join(shape)}: {listed(list(names))}",
            f"{option('columns', names_text({'ignore': names}))} leaves them out",
            code="roles",
        )
    source = f"{STANDARD}, {told.source}" if told else STANDARD
    ignore = {"ignore": ignored} if ignored else {}
    return kind, told.with_({**chosen, **told.columns, **ignore}, source=source)


def _refuse_twice(raw: RawTable, chosen: Mapping[str, Sequence[str]], shape: Sequence[str]) -> None:
    for role, names in chosen.items():
        if len(names) > 1 and role not in SEVERAL:
            raise Unread(
                f"the columns {listed(list(names))} may each be the {role}",
                f"{option('columns', f'{role}=____')}" + ("" if role in shape else f", or {role}= for none"),
                code="twice-named",
            )


def by_standard_names(raw: RawTable, told: Reading, kinds: Sequence[TableKind]) -> ReadTable | None:
    """Return a table whose columns have the names of roles, or None.

    Raises
    ------
    InputError
        A cell does not fit its role.
    Unread
        Values speak against it; or numbers, or true and false, stand in columns that no role reads.
    """
    found = standard_reading(raw, told, kinds)
    if found is None:
        return None
    kind, reading = found
    read = applied(raw, reading, [kind])
    if not kind.features:
        known = (*read.reading.known, *sorted(read.columns()))
        free = [role for role in (*kind.beside, "metric") if role in roles_of(kind) - {REST, *read.reading.columns}]
        words = set() if "winner" in told.columns else outcome_words(read.reading)
        whole = read.reading.model_copy(update={"known": known})
        read = replace(read, notes=(*read.notes, *doubt_unread(raw, whole, free, words)))
    return read
