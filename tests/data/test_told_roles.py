"""Every column that is told has a place in the line of the reading, or a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from amounts import part_of

from rankbench.data.tables.kinds import roles_of, shapes_of, table_kinds
from rankbench.errors import InputError
from rankbench.logs.open import open_log

CELLS: dict[str, Sequence[Any]] = {
    "winner": "xyxz", "loser": "yzzy", "left": "xyzz", "right": "yzxy", "items": "xyzx", "best": "xyzx",
    "worst": "yzxz", "points": (1, 0, 0.5, 1), "margin": (1, -1, 0, 2), "preference": (1, -1, 0, 2),
    "tie": (0, 0, 1, 0),
    "left_score": (3, 1, 2, 2), "right_score": (1, 2, 2, 0), "left_place": (1, 2, 1, 1), "right_place": (2, 1, 2, 3),
    "left_wins": (2, 1, 1, 3), "right_wins": (1, 2, 2, 0), "left_won": (1, 0, 1, 1), "right_won": (0, 1, 0, 0),
    "session": "sstt", "position": (1, 2, 1, 2), "doc": "xyyx", "clicked": (0, 1, 1, 0), "part": "pppp",
    "shown": ("x y", "y x", "x z", "z x"), "ranking": ("x>y", "y>z", "x>z", "z>x"), "ranks": "xyxz",
    "place": (1, 2, 1, 2), "places": (1, 2, 1, 2), "query": "qqrr", "item": "xyxy", "judge": "jkjk",
    "candidates": ("x y z",) * 4,
    "system": "abab", "task": "ttuu", "score": (0.1, 0.2, 0.3, 0.4), "loss": (0.1, 0.2, 0.3, 0.4), "metric": "mmmm",
    "scores": (0.1, 0.2, 0.3, 0.4), "losses": (0.1, 0.2, 0.3, 0.4), "seed": (1, 1, 1, 1), "weight": (1, 2, 1, 1),
    "count": (1, 2, 1, 1), "time": (1, 2, 3, 4), "ties": (0, 0, 1, 0), "first": (1, 0, 1, 1),
    "rest_of_vote": (1, 1, 1, 1), "label": (1, 0, 1, 2), "x": (1, 2, 3, 4), "name": "abcd",
}  # fmt: skip
WAYS = {" ".join(shape): (kind, shape) for kind in table_kinds() for shape in shapes_of(kind) if "cells" not in shape}


@pytest.mark.parametrize("way", part_of(WAYS))
def test_a_role_that_is_told_is_read_or_refused(way: str) -> None:
    kind, shape = WAYS[way]
    for role in sorted(roles_of(kind) - {*shape, "cells"}):
        frame = pl.DataFrame({f"its_{name}": list(CELLS[name]) for name in (*shape, role)}, strict=False)
        told = ",".join(f"{name}=its_{name}" for name in (*shape, role))
        try:
            line = open_log(frame, columns=told).notes[0]
        except InputError:
            continue
        assert f"its_{role}" in line, (way, role)
