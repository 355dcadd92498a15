"""The page about protocols names those that there are, with what competes in them."""

from __future__ import annotations

import re
from pathlib import Path

from rankbench.protocols import rankbench_register

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocols.md"


def test_the_page_lists_the_built_in_protocols() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| (\w+)s \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    found = {cls.name: cls.contender for cls in rankbench_register()}
    assert {name: kind for name, _, kind in rows} == found


def test_data_are_said_where_they_are_taken() -> None:
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| \w+s \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    for cls in rankbench_register():
        assert (rows[cls.name] == "populations of its own") == (cls.table is None)
