"""`rankbench aggregate --between` answers whether two items differ."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from rankbench.cli.origin import log_sha256
from rankbench.cli.rankings import interval_cell
from rankbench.cli.shown import Answer, Table
from rankbench.core.text import amount_text, number, significant
from rankbench.data.readers.remote import shown_log
from rankbench.ranking.aggregate import Aggregation
from rankbench.ranking.pair_difference import LEVEL


def between_answer(found: Aggregation, log: str) -> Answer:
    """Return the difference of two items, of each category where there are several."""
    if found.between is None:
        raise TypeError("no difference was asked for")
    table = found.between if found.facts["by"] else found.between.drop("query")
    rows = table.to_dicts()
    words = [_difference_words(row, found) for row in rows]
    first = [found.facts["by"]] if found.facts["by"] else []
    cells = (
        [*([row["query"]] if first else []), *_difference_cells(row), text]
        for row, text in zip(rows, words, strict=True)
    )
    item, other = rows[0]["item"], rows[0]["other"]
    unit = f" ({found.facts['unit']})" * bool(found.facts["unit"])
    title = f"{found.method}: {item} less {other}{unit}"
    columns = [*first, "difference", "95% interval", "p", "votes", "more votes", "in words"]
    return Answer(
        lambda: {
            "method": found.method,
            "data": {"sha256": log_sha256(log), "n": found.facts["n"]},
            "intervals": found.facts["intervals"],
            "units": {"score": found.facts["unit"] or None},
            "between": [row | {"words": text} for row, text in zip(rows, words, strict=True)],
            "notes": list(found.notes),
        },
        [Table(columns, cells, (0, len(columns) - 1) if first else (len(columns) - 1,), title)],
        frame=table,
        notes=found.notes,
        below=(title, *found.notes),
        title=f"{item} and {other} in {PurePath(shown_log(log)).name}",
    )


def _difference_cells(row: dict[str, Any]) -> list[str]:
    difference = "—" if row["difference"] is None else number(row["difference"])
    p = "—" if row["p"] is None else significant(row["p"], 2)
    more = "—" if row["more_votes"] is None else amount_text(row["more_votes"])
    return [difference, interval_cell(row), p, f"{row['votes']:,}", more]


def _difference_words(row: dict[str, Any], found: Aggregation) -> str:
    """Return what is known of a difference, in a sentence without the full stop."""
    if row["p"] is None:
        return f"no interval: {row['reason']}"
    ahead, behind = (row["item"], row["other"])[:: 1 if row["difference"] > 0 else -1]
    if row["p"] <= LEVEL:
        return f"{ahead} is better than {behind}"
    said = "the log does not tell the two apart"
    if row["more_votes"] is None:
        return said
    judges = " by proportionally more judges" * found.facts["by_judge"]
    more = f"{amount_text(row['more_votes'])} more votes{judges}"
    return f"{said}; {more} show such a difference at 80% power"
