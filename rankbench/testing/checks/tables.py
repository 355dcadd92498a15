"""Kinds of tables: their own example, recognized, read in pieces, and damaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankbench.errors import InputError
from rankbench.kinds.guard import reason
from rankbench.kinds.table import QUERY
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject

if TYPE_CHECKING:
    import polars as pl


def _example(subject: Subject) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(dict(subject.it.example()))


def _read(subject: Subject, frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Return a table in the schema, fed in pieces."""
    import polars as pl

    from rankbench.kinds.table_check import RawTable

    one = subject.it.check(RawTable(pl.concat(frames).lazy()))()
    fed = [one.feed(frame) for frame in frames]
    one.end()
    found: pl.DataFrame = pl.concat(fed)
    if found.schema != one.schema:
        raise CheckFailed(f"its rows come out as {dict(found.schema)}, and its check's schema is {dict(one.schema)}")
    return found


@conformance_check("table")
def example_is_recognized(subject: Subject) -> None:
    """Columns of its example make a table of this kind, beside all others that are registered."""
    from rankbench.data.tables.recognize import recognized, table_kinds

    it, names = subject.it, _example(subject).columns
    if missing := it.missing(names):
        raise CheckFailed(f"its example has not the columns {', '.join(missing)}")
    others = [kind for kind in table_kinds() if kind.name != it.name]
    found = recognized(names, [*others, it])
    if found != it:
        raise CheckFailed(f"the columns of its example make a table of {found}; name in `marks` what only it has")


@conformance_check("table")
def example_is_read_in_any_pieces(subject: Subject) -> None:
    """Its example becomes a table in the schema, at once or row by row, with the query first, the same each time."""
    import polars as pl

    example = _example(subject)
    whole = _read(subject, [example])
    if whole.height != example.height or whole.columns[:1] != [QUERY] or whole.schema[QUERY] != pl.String:
        raise CheckFailed(f"its example's {example.height} rows become {whole.height}, of {dict(whole.schema)}")
    if not whole.equals(_read(subject, [example])):
        raise CheckFailed("read again, the example has other rows")
    if not whole.equals(_read(subject, [example[row] for row in range(example.height)])):
        raise CheckFailed("row by row, the example has other rows than at once")


@conformance_check("table")
def damaged_columns_are_errors_or_tables(subject: Subject) -> None:
    """With any column emptied, or full of something else, it is read, or refused with the column or row."""
    example = _example(subject)
    for what, damaged in _damages(example):
        try:
            _read(subject, [damaged])
        except InputError as error:
            if error.column is None and error.row is None:
                raise CheckFailed(f"{what}: the error names neither row nor column: {error}") from error
        except CheckFailed:
            raise
        except Exception as error:
            raise CheckFailed(f"{what} raised {reason(error)} instead of InputError") from error


def _damages(example: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    import polars as pl

    others: dict[str, list[Any]] = {
        "texts": ["?!"],
        "numbers": [float("nan")],
        "numbers below zero": [-1],
        "lists": [[["a"]]],
        "truth values": [True],
        "dates": [None],
    }
    types = {"dates": pl.Date()}
    for name in example.columns:
        emptied = pl.when(pl.int_range(pl.len()) > 0).then(pl.col(name)).alias(name)
        yield f"column {name!r} without its first value", example.with_columns(emptied)
        for what, value in others.items():
            column = pl.Series(name, value * example.height, dtype=types.get(what))
            yield f"column {name!r} of {what}", example.with_columns(column)


@conformance_check("table")
def facts_are_plain(subject: Subject) -> None:
    """`facts` are numbers and texts by name, and not what is counted of every table."""
    found = subject.it.facts(_read(subject, [_example(subject)]).lazy())
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and isinstance(value, int | float | str) for name, value in found.items()
    ):
        raise CheckFailed(f"facts() returned {found!r}, not numbers and texts by name")
    if taken := {"table", "rows", "queries", "rows_per_query"} & set(found):
        raise CheckFailed(f"facts() has {', '.join(sorted(taken))}, which `data describe` counts itself")


@conformance_check("table")
def what_it_names_is_there(subject: Subject) -> None:
    """The suite that asks which method suits it and the aggregator that ranks it are registered, and fit it."""
    from rankbench.kinds.aggregator import Aggregator
    from rankbench.plugin.kinds import SUITE
    from rankbench.plugin.manager import get, names

    it = subject.it
    if not it.suite and not it.method:
        raise CheckSkipped("it names neither a suite nor a method")
    if it.suite and it.suite not in names(SUITE):
        raise CheckFailed(f"`suite` is {it.suite!r}, which no plugin brings")
    if it.method and get(Aggregator, it.method).judgments not in it.judgments:
        raise CheckFailed(f"`method` is {it.method!r}, which aggregates none of its `judgments`")
    if not it.words:
        raise CheckFailed("`words` is empty: what are its rows called?")


@conformance_check("table")
def rows_are_the_judgments_that_it_says(subject: Subject) -> None:
    """Where it has `judgments`, `as_judgments` makes a table of them, the first, of its example."""
    from rankbench.data.tables.checks import judgments_of
    from rankbench.data.tables.recognize import built_in

    it = subject.it
    if not it.judgments:
        raise CheckSkipped("it has no judgments")
    kind, rows = judgments_of(it, _read(subject, [_example(subject)]).lazy())
    if kind.row != it.row:
        raise CheckFailed(f"`judgments` begins with {it.judgments[0]!r}, and `as_judgments` makes a table of {kind}")
    if kind == it and any(other.missing(rows.collect_schema()) for other in built_in().values() if other.row == it.row):
        raise CheckFailed("`as_judgments` returns the table itself, which has not the columns of a built-in kind")
    if not rows.collect().height:
        raise CheckFailed("`as_judgments` makes no judgment of its example")
