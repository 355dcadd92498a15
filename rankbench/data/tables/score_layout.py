"""The layout of a score table is a row a cell, a system or a task; names tell it, or the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from rankbench.core.text import cut, first_of, listed, plain_name, short_repr
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.table import (
    ROWS_SHOWN,
    ColumnReading,
    check_there,
    proposed,
    said_columns,
    said_roles,
    usual_columns,
)
from rankbench.interfaces.table_check import RawTable

AS_SCORES = "system="
"""Value of ``columns`` for a table of scores with any names of columns: rankbench guesses all roles."""

ROLE_NAMES: dict[str, tuple[str, ...]] = {
    "system": ("system", "model", "model_name", "model_id", "method", "agent", "submission", "algorithm"),
    "task": ("query_id", "task", "task_name", "dataset", "benchmark", "instance_id", "instance", "problem"),
    "score": ("score", "main_score", "value", "resolved", "accuracy", "result"),
    "seed": ("seed", "iteration", "bootstrap_iteration", "run", "fold", "trial", "repetition"),
}
"""Roles of columns, with their usual names, the likeliest first."""

WITHOUT = "without"
"""Role of a column beside the scores that is left out; several columns may have it."""

MISSING = ("", "na", "n/a", "nan", "null", "-", "\u2013", "\u2014")
"""Texts, in small letters, that say that a cell is missing."""

_NAMED = 5
"""Columns without numbers that are named, with their first cells."""

_NO_TASK = re.compile(
    r"|(row_)?(id|index|number)|(n|num)_(samples|examples|instances|items|tasks|questions|runs|seeds)"
    r"|rank|unnamed_?\d+|(average|avg|mean|overall)(_score)?|(num_|model_)?(params|parameters|size)(_b)?"
    r"|(release_)?year|(higher|lower|more|less)_is_better"
)
"""Names, by `plain_name`, of columns that number the rows of a wide table, sum them up, or describe systems."""

_ERROR = re.compile(r"(.+)_(std|stdev|stddev|sd|se|sem|stderr|err|error|ci|ci_low|ci_high|(?:ci_)?(?:lower|upper))")
"""Names of columns of standard errors, or ends of intervals, beside columns of scores."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:\s*%)?"
_SIGN = r"(?:\u00b1|\+/-|\+-)"
_WITH_ERROR = rf"^\s*({_NUMBER})\s*(?:{_SIGN}\s*{_NUMBER}|\(\s*{_SIGN}?\s*{_NUMBER}\s*\))\s*$"
"""A score and its standard error: ``90 ± 1``, ``0.641 (0.008)``."""


def roles_said(text: str) -> dict[str, str] | None:
    """Return columns by role from ``system=model,task=dataset``; None if none of the roles is one of score tables.

    A role without a name, ``seed=``, is one that no column has; of systems: that they are looked for.

    Raises
    ------
    InputError
        A role that does not exist beside one that does, or one given twice; no equals sign.
    """
    said = [(role, name) for role, name in said_columns(text) if role != WITHOUT]
    if not any(role in ROLE_NAMES for role, _ in said):
        return None
    found = said_roles(said, ROLE_NAMES)
    if not found.get("system"):
        found.pop("system", None)
    return found


def unwanted(text: str) -> frozenset[str]:
    """Return the columns that ``without=average`` leaves out."""
    return frozenset(name for role, name in said_columns(text) if role == WITHOUT) if text else frozenset()


def usual_roles(names: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return columns by role: those that are given, and those that are named as usual."""
    return {role: named[0] for role, named in usual_columns(names, ROLE_NAMES, given or {}).items()}


def laid_out(raw: RawTable, given: Mapping[str, str]) -> RawTable:
    """Return a score table with the columns of the schema; cells side by side are a struct ``score``.

    Parameters
    ----------
    raw : RawTable
        Its unwanted columns are cells without scores.
    given : mapping of str to str
        Columns by role; others are guessed.

    Raises
    ------
    InputError
        A given column is not there, several readings are possible, or none is.
    """
    names = list(raw.schema())
    check_there(given, names)
    roles = _decided(raw, usual_roles(names, given), given)
    chosen = [pl.col(roles[role]).alias(column) for role, column in _COLUMN_OF.items() if role in roles]
    scores = [roles["score"]] if "score" in roles else []
    if "score" not in roles:
        beside = [name for name in names if name and name not in roles.values()]
        wanted = [name for name in beside if name not in raw.unwanted]
        numbers = _numeric(raw, wanted)
        plain = {name: plain_name(name).strip("_") for name in numbers}
        of = {name: plain_name(match[1]) for name, words in plain.items() if (match := _ERROR.fullmatch(words))}
        no_task = [name for name in numbers if _NO_TASK.fullmatch(plain[name]) or of.get(name) in plain.values()]
        scores = [name for name in numbers if name not in no_task]
        cells = [
            pl.lit(None, pl.Float64).alias(name) if name in raw.unwanted else pl.col(name)
            for name in beside
            if name in raw.unwanted or name in scores
        ]
        if not cells:
            raise InputError(
                f"no column has numbers beside {listed(sorted([*roles.values(), *no_task]))}: where are the scores? "
                f"(columns here: {listed(names)}; say --columns system=NAME,task=NAME,score=NAME)"
            )
        side = "query_id" if "system" in roles else "system"
        chosen += [pl.lit("").alias(side), pl.struct(cells).alias("score")]
        _say_left_out(raw, [name for name in wanted if name not in numbers], no_task, side)
    if errors := _some(raw, {name: pl.col(name).str.contains(_WITH_ERROR).any() for name in _texts(raw, scores)}):
        remark(f"rankbench reads numbers in brackets or after \u00b1 as standard errors, not scores: {listed(errors)}")
    percent = _some(raw, {name: pl.col(name).str.contains("%", literal=True).any() for name in _texts(raw, scores)})
    if percent and len(percent) < len(scores):
        remark(f"rankbench reads 78% as 78, beside tasks without such a sign: {listed(percent)}")
    named = ([roles[role]] for role in ("system", "task", "seed") if role in roles)
    return replace(raw, frame=with_whole_names(raw.frame, *named).select(chosen), roles=roles)


def without_errors(text: pl.Expr) -> pl.Expr:
    """Return texts without spaces around them, and standard errors behind their scores: ``90`` of ``90 ± 1``."""
    return text.str.strip_chars().str.replace(_WITH_ERROR, "$1")


def _say_left_out(raw: RawTable, texts: list[str], no_task: list[str], side: str) -> None:
    """Remark which columns of a wide table are not read, and why."""
    what = "task" if side == "query_id" else "system"
    if texts:
        with raw.reading():
            first = raw.frame.select(pl.col(texts).drop_nulls().first()).collect(engine="streaming").row(0)
        cells = [f"{short_repr(name)} ({short_repr(cell)})" for name, cell in zip(texts, first, strict=True)]
        remark(f"rankbench leaves out columns whose cells do not read as numbers: {first_of(cells, _NAMED)}")
    if no_task:
        remark(f"rankbench leaves out columns by their names: {listed(no_task)} (rename a column that is a {what})")


_COLUMN_OF = {"task": "query_id", "system": "system", "score": "score", "seed": "seed"}


def _decided(raw: RawTable, found: dict[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of one reading: with a score a row is a cell, else a row is what has a role."""
    names = list(raw.schema())
    if "score" in given and given["score"] == "":
        found.pop("score", None)
    if "system" in found and "task" in found:
        if "score" in found:
            return found
        numbers = _numeric(raw, [name for name in names if name not in {*found.values(), *raw.unwanted}])
        if len(numbers) == 1 and "score" not in given:
            return found | {"score": numbers[0]}
        if "score" in given or not numbers:
            raise InputError(f"a row has a system and a task, but no score: {listed(names)}; say --columns score=NAME")
        raise InputError(
            f"several columns may be the score: {listed(numbers)}; "
            + _proposed(raw, [found | {"score": name} for name in numbers[:ROWS_SHOWN]])
        )
    if "system" in found or "task" in found:
        if given.get("score"):
            other = "task" if "system" in found else "system"
            raise InputError(f"no column says the {other}; say --columns {other}=NAME (columns here: {listed(names)})")
        found.pop("score", None)
        return found
    found.pop("score", None)
    texts = [name for name in names if name not in _numeric(raw, names)]
    if "" in texts:  # the index that pandas writes
        return found | {"system": ""}
    if not texts:
        raise InputError(f"no column names the systems; say --columns system=NAME (columns here: {listed(names)})")
    readings = [{"system": texts[0]}, {"task": texts[0]}]
    if len(texts) > 1:
        numbers = [name for name in names if name not in texts]
        one = {"score": numbers[0]} if len(numbers) == 1 else {}
        readings = [{"system": texts[0], "task": texts[1]} | one, {"system": texts[1], "task": texts[0]} | one]
        if not one:
            readings = [{"system": name} for name in texts[:ROWS_SHOWN]]
    raise InputError(f"which column names the systems is not clear; {_proposed(raw, readings)}")


def _proposed(raw: RawTable, readings: list[dict[str, str]]) -> str:
    """Return each reading as what to say, with the first three rows as they would be read."""
    with raw.reading():
        rows = raw.frame.head(ROWS_SHOWN).collect().to_dicts()
    return proposed(ColumnReading(reading, tuple(_shown(row, reading) for row in rows)) for reading in readings)


def _shown(row: Mapping[str, object], reading: Mapping[str, str]) -> str:
    if "score" in reading:
        return f"{row[reading['system']]!r} on {row[reading['task']]!r}: {row[reading['score']]}"
    role = "system" if "system" in reading else "task"
    others = [name for name in row if name not in reading.values()]
    cells = ", ".join(f"{short_repr(name)}: {cut(str(row[name]))}" for name in others[:ROWS_SHOWN])
    return f"the {role} {short_repr(row[reading[role]])} with {cells}{', ...' if len(others) > ROWS_SHOWN else ''}"


def _numeric(raw: RawTable, names: list[str]) -> list[str]:
    """Return the columns that have numbers, or nothing at all: what is wrong in them is found by the check."""
    schema = raw.schema()
    facts = {}
    for name in names:
        dtype, column = schema[name], pl.col(name)
        if dtype == pl.String:
            text = without_errors(column.str.to_lowercase())
            plain = text.str.strip_suffix("%").str.strip_chars_end().cast(pl.Float64, strict=False)
            some = plain.is_not_null() | text.is_in(["true", "false"])
            empty = column.is_null() | text.is_in(list(MISSING))
            facts[name] = some.any() | empty.all()
        else:
            facts[name] = pl.lit(dtype.is_numeric() or dtype in (pl.Boolean, pl.Null))
    return _some(raw, facts)


def _texts(raw: RawTable, names: list[str]) -> list[str]:
    schema = raw.schema()
    return [name for name in names if schema[name] == pl.String]


def _some(raw: RawTable, facts: Mapping[str, pl.Expr]) -> list[str]:
    """Return the columns with a true fact, in one pass."""
    if not facts:
        return []
    with raw.reading():
        row = raw.frame.select(fact.alias(str(at)) for at, fact in enumerate(facts.values())).head(1)
        found = row.collect(engine="streaming").row(0)
    return [name for name, true in zip(facts, found, strict=True) if true]
