"""Data sets: the schema, the same data each time, and who may use them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rankbench.errors import ChecksumError, InputError, LicenseError
from rankbench.spec import Spec
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject

if TYPE_CHECKING:
    import polars as pl


def _rows(it: Any) -> pl.DataFrame:
    """Return the table of a data set.

    Raises
    ------
    CheckSkipped
        The data are not on this machine.
    """
    try:
        frame: pl.DataFrame = it.scan().collect()
    except (ChecksumError, LicenseError):
        raise
    except InputError as error:
        raise CheckSkipped(f"the data are not here: {error}") from error
    return frame


@conformance_check("dataset")
def described(subject: Subject) -> None:
    """It has a title, a licence, and assumptions where nobody ever judged anything."""
    it = subject.it
    for fact in ("title", "licence"):
        if not isinstance(getattr(it, fact, None), str) or not getattr(it, fact).strip():
            raise CheckFailed(f"`{fact}` is empty")
    assumptions = it.assumptions()
    if not isinstance(assumptions, list) or not all(isinstance(text, str) and text for text in assumptions):
        raise CheckFailed("assumptions() is no list of sentences")
    if it.simulated and not assumptions:
        raise CheckFailed("it is simulated, but assumptions() says nothing")


@conformance_check("dataset")
def fingerprint_is_a_sha256(subject: Subject) -> None:
    """The fingerprint is 64 hex digits, the same each time; of a simulator, another one for another seed."""
    it = subject.it
    first = it.fingerprint()
    if not isinstance(first, str) or not re.fullmatch(r"[0-9a-f]{64}", first):
        raise CheckFailed(f"fingerprint() returned {first!r}, not 64 hex digits")
    if it.fingerprint() != first:
        raise CheckFailed("fingerprint() returns another one each time")
    if it.simulated and "seed" in it.parameters():
        other = type(it).from_spec(Spec(it.name, {**it.spec().params, "seed": it.seed + 1}))
        if other.fingerprint() == first:
            raise CheckFailed("another seed has the same fingerprint")


@conformance_check("dataset")
def rows_are_in_the_schema(subject: Subject) -> None:
    """The table is what `table` says, in the schema, its queries standing together."""
    from rankbench.data.tables.recognize import table_of
    from rankbench.data.tables.validate import validate

    it = subject.it
    frame = _rows(it)
    if frame.height == 0:
        raise CheckFailed("it has no rows")
    if (found := table_of(frame.schema).name) != it.table:
        raise CheckFailed(f"its columns make a table of {found}, `table` says {it.table}")
    validate(it.table, frame.lazy(), allow_single=True)


@conformance_check("dataset")
def same_seed_same_rows(subject: Subject) -> None:
    """Scanned twice, it has the same rows; a simulator has others for another seed."""
    it = subject.it
    first = _rows(it)
    if not first.equals(_rows(it)):
        raise CheckFailed("scanned again, it has other rows")
    if it.simulated and "seed" in it.parameters():
        other = type(it).from_spec(Spec(it.name, {**it.spec().params, "seed": it.seed + 1}))
        if first.equals(_rows(other)):
            raise CheckFailed("another seed gives the same rows")
