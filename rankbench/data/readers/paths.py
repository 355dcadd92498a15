"""Rows of nested JSON: a path names where they are, as ``results.*task.*metric``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_CELLS = 16
"""Entries of a list that become columns; a longer one is no row's own value."""


def rows_at(value: Any, path: str, beside: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows at a path, each with the values beside the path.

    Parameters
    ----------
    value : object
        A value of JSON.
    path : str
        Steps with dots between them: a key; ``*name``, each entry of an object or a list, whose key or number is the
        column of that name; ``key!``, a text of JSON, which is parsed.
    beside : mapping of str to object
        Columns of all rows.

    Yields
    ------
    dict of str to object
        Objects within a row have their own columns: ``score.ft.0`` is the first entry of a list ``ft`` in ``score``.
    """
    if not path:
        yield {**beside, **(flattened(value) if isinstance(value, dict) else {"value": value})}
        return
    step, _, rest = path.partition(".")
    if step.startswith("*"):
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, one in entries:
            yield from rows_at(one, rest, {**beside, step[1:]: str(key)})
        return
    key = step.removesuffix("!")
    if isinstance(value, dict) and key in value:
        beside = {**beside, **{name: one for name, one in value.items() if not isinstance(one, dict | list)}}
        yield from rows_at(json.loads(value[key]) if step.endswith("!") else value[key], rest, beside)


def flattened(value: Mapping[str, Any], prefix: str = "", most: int = _MOST_CELLS) -> dict[str, Any]:
    """Return an object with the values of the objects, and of lists of `most` entries, in it, by names with dots.

    Longer lists are left out; with a negative number no list is.
    """
    found: dict[str, Any] = {}
    for key, one in value.items():
        inner = dict(enumerate(one)) if isinstance(one, list) and len(one) <= most else one
        if isinstance(inner, dict):
            found |= flattened({str(k): v for k, v in inner.items()}, f"{prefix}{key}.", most)
        elif most < 0 or not isinstance(one, list):
            found[prefix + key] = one
    return found


def shape_of(value: Any, depth: int = 2) -> str:
    """Return an object's shape as a short text: ``{results: {arc: {..}, ..}, model: oak}``."""
    if isinstance(value, dict):
        inner = [f"{key}: {shape_of(one, depth - 1)}" for key, one in list(value.items())[:3]] if depth else [".."]
        return "{" + ", ".join([*inner, *([".."] if len(value) > 3 and depth else [])]) + "}"
    if isinstance(value, list):
        return f"[{shape_of(value[0], depth - 1) if value and depth else '..'}, ..]"
    return str(value)[:20]
