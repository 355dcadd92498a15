"""`rankbench aggregate --between` answers whether two items differ, `rank --between` whether two systems do."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from rankbench.cli.rankings import interval_cell
from rankbench.cli.shown import Answer, Table
from rankbench.core.text import amount_text, number, significant
from rankbench.data.readers.remote import shown_log
from rankbench.ranking.aggregate import Aggregation
from rankbench.ranking.pair_difference import LEVEL
from rankbench.systems.score_ranking import ScoreRanking


def between_answer(found: Aggregation, log: str) -> Answer:
    """Return the difference of two items, of each category where there are several."""
    if found.between is None:
        raise TypeError("no difference was asked for")
    table = found.between if found.facts["by"] else found.between.drop("query")
    rows = table.to_dicts()
    judges = " by proportionally more judges" * found.facts["by_judge"]
    words = [_difference_words(row, row["item"], row["other"], "votes", judges) for row in rows]
    first = [found.facts["by"]] if found.facts["by"] else []
    cells = (
        [*([row["query"]] if first else []), *_difference_cells(row, "votes"), text]
        for row, text in zip(rows, words, strict=True)
    )
    item, other = rows[0]["item"], rows[0]["other"]
    unit = f" ({found.facts['unit']})" * bool(found.facts["unit"])
    title = f"{found.method}: {item} less {other}{unit}"
    columns = [*first, "difference", "95% interval", "p", "votes", "more votes", "in words"]
    return Answer(
        lambda: {
            "method": found.method,
            "data": {"sha256": found.sha256(), "n": found.facts["n"]},
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


def systems_difference_answer(found: ScoreRanking) -> Answer:
    """Return the difference of two systems, by each method."""
    if found.between is None:
        raise TypeError("no difference was asked for")
    rows, words = found.between.to_dicts(), []
    for row in rows:
        less = found.facts["methods"][row["method"]]["direction"] == "minimize"
        one, other = ("other", "system") if less else ("system", "other")
        words.append(_difference_words(row, row[one], row[other], "tasks"))
    cells = ([row["method"], *_difference_cells(row, "tasks"), text] for row, text in zip(rows, words, strict=True))
    title = f"{rows[0]['system']} less {rows[0]['other']}"
    columns = ["method", "difference", "95% interval", "p", "tasks", "more tasks", "in words"]
    return Answer(
        lambda: found.as_dict() | {"between": [row | {"words": text} for row, text in zip(rows, words, strict=True)]},
        [Table(columns, cells, (0, len(columns) - 1), title)],
        frame=found.between,
        notes=found.notes,
        below=(title, *found.notes),
        title=title,
    )


def _difference_cells(row: dict[str, Any], what: str) -> list[str]:
    difference = "—" if row["difference"] is None else number(row["difference"])
    p = "—" if row["p"] is None else significant(row["p"], 2)
    more = "—" if row[f"more_{what}"] is None else amount_text(row[f"more_{what}"])
    return [difference, interval_cell(row), p, f"{row[what]:,}", more]


def _difference_words(row: dict[str, Any], one: str, other: str, what: str, how: str = "") -> str:
    """Return what is known of a difference, which is positive where `one` is ahead, without the full stop."""
    if row["p"] is None:
        return f"no interval: {row['reason']}"
    ahead, behind = (one, other)[:: 1 if row["difference"] > 0 else -1]
    if row["p"] <= LEVEL:
        return f"{ahead} is better than {behind}"
    said = f"the {what} do not tell the two apart"
    if row[f"more_{what}"] is None:
        return said
    if row[f"more_{what}"] == 0:
        return f"{said}; so many have 80% power for such a difference by normal theory"
    return f"{said}; {amount_text(row[f'more_{what}'])} more {what}{how} show such a difference at 80% power"
