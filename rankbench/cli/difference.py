"""`rankbench aggregate --between` answers whether two items differ, `rank --between` whether two systems do."""

from __future__ import annotations

from typing import Any

from rankbench.cli.headlines import decimal_text, decimals_of
from rankbench.cli.rankings import interval_cell, record_of
from rankbench.cli.shown import Answer, Table
from rankbench.core.text import amount_text, sentence, significant
from rankbench.ranking.aggregation import Aggregation
from rankbench.ranking.ranking_table import LEVEL
from rankbench.systems.score_ranking import ScoreRanking


def between_answer(found: Aggregation) -> Answer:
    """Return the difference of two items, of each category if there are several."""
    if found.between is None:
        raise TypeError("no difference was asked for")
    table = found.between if found.facts["by"] else found.between.drop("query")
    rows = table.to_dicts()
    judges = " by proportionally more judges" * found.facts["by_judge"]
    words = [_difference_words(row, row["item"], row["other"], "votes", judges) for row in rows]
    first = [found.facts["by"]] if found.facts["by"] else []
    decimals = decimals_of(rows, "difference")
    cells = (
        [*([row["query"]] if first else []), *_difference_cells(row, "votes", decimals), *[text] * bool(first)]
        for row, text in zip(rows, words, strict=True)
    )
    item, other = rows[0]["item"], rows[0]["other"]
    unit = f" ({found.facts['unit']})" * bool(found.facts["unit"])
    said = f"Difference: {item} less {other}{unit}, by {found.method}."
    columns = [*first, "difference", "95% interval", "p", "votes", "more votes", *["in words"] * bool(first)]
    return Answer(
        lambda: record_of(found, intervals=found.facts["intervals"], between=_with_words(rows, words)),
        between_headline(rows, words, found.facts["by"]),
        [Table(columns, cells, (0, len(columns) - 1) if first else ())],
        footnotes=[said],
        frame=table,
    ).noted(found.notes)


def between_headline(rows: list[dict[str, Any]], words: list[str], by: str | None) -> str:
    """Return a sentence on the difference of two items, or on the number of categories with one."""
    if by is None or len(rows) == 1:
        return sentence(words[0])
    sure = [row["difference"] > 0 for row in rows if row["p"] is not None and row["p"] <= LEVEL]
    item, other = rows[0]["item"], rows[0]["other"]
    said = f"{item} is better than {other} in {sum(sure):,} of {len(rows):,} categories of {by}"
    return f"{said}, and worse in {len(sure) - sum(sure):,}; {len(rows) - len(sure):,} do not tell."


def systems_difference_answer(found: ScoreRanking) -> Answer:
    """Return the difference of two systems, by each method."""
    if found.between is None:
        raise TypeError("no difference was asked for")
    rows, words = found.between.to_dicts(), []
    for row in rows:
        less = found.facts["methods"][row["method"]]["direction"] == "minimize"
        one, other = ("other", "system") if less else ("system", "other")
        words.append(_difference_words(row, row[one], row[other], "tasks"))
    cells = (
        [row["method"], *_difference_cells(row, "tasks", decimals_of([row], "difference")), text]
        for row, text in zip(rows, words, strict=True)
    )
    columns = ["method", "difference", "95% interval", "p", "tasks", "more tasks", "in words"]
    return Answer(
        lambda: found.as_dict() | {"between": _with_words(rows, words)},
        sentence(f"{words[0]}, by {rows[0]['method']}"),
        [Table(columns, cells, (0, len(columns) - 1))],
        footnotes=[f"Difference: {rows[0]['system']} less {rows[0]['other']}."],
        frame=found.between,
    ).noted(found.notes)


def _with_words(rows: list[dict[str, Any]], words: list[str]) -> list[dict[str, Any]]:
    return [row | {"words": text} for row, text in zip(rows, words, strict=True)]


def _difference_cells(row: dict[str, Any], what: str, decimals: int) -> list[str]:
    difference = "—" if row["difference"] is None else decimal_text(row["difference"], decimals)
    p = "—" if row["p"] is None else significant(row["p"], 2)
    more = "—" if row[f"more_{what}"] is None else amount_text(row[f"more_{what}"])
    return [difference, interval_cell(row, decimals), p, f"{row[what]:,}", more]


def _difference_words(row: dict[str, Any], one: str, other: str, what: str, how: str = "") -> str:
    """Return a text on a difference, positive if `one` is ahead, without the full stop."""
    if row["p"] is None:
        return f"No interval: {row['reason']}"
    ahead, behind = (one, other)[:: 1 if row["difference"] > 0 else -1]
    if row["p"] <= LEVEL:
        return f"{ahead} is better than {behind}"
    said = f"The {what} do not tell {one} and {other} apart"
    if row[f"more_{what}"] is None:
        return said
    if row[f"more_{what}"] == 0:
        return f"{said}; so many have 80% power for such a difference by normal theory"
    return f"{said}; {amount_text(row[f'more_{what}'])} more {what}{how} show such a difference at 80% power"
