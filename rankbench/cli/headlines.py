"""Headlines answer a question in a sentence, in the words of the person who asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rankbench.core.text import amount_text, count_text, first_of, number, percent_text
from rankbench.errors import option
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.ranking.aggregation import Aggregation
from rankbench.ranking.over_time import ScoresOverTime
from rankbench.ranking.pictures import judgments_text
from rankbench.ranking.ranking_table import LEVEL
from rankbench.systems.read_scores import ScoresRead
from rankbench.systems.score_ranking import ScoreRanking

_NAMED = 2
"""Names of those that share the first place."""


def ranking_headline(found: Aggregation) -> str:
    """Return a sentence on the first item, and on others that may be first."""
    if "query" in found.table.columns:
        return categories_headline(found)
    facts, one_scale = found.facts, found.table.filter(scale=1)
    where = " of scale 1" * (one_scale.height < found.table.height)
    among = count_text(one_scale.height, "item", where.strip())
    if "winners" in facts:
        return f"{found.method} elects {first_of(facts['winners'], _NAMED)} of {among}."
    best = _best(one_scale, "item")
    control = f"Without the effects of {first_of(facts['control'], _NAMED)}, " if "control" in facts else ""
    if not facts["intervals"]:
        said = f"{control}{_highest(best, among)} in {_votes_text(facts)}"
        return f"{said}; {option('intervals')} shows how certain that is."
    return control + _certain(best, facts["may_be_first"], among, _votes_text(facts))


def _best(table: pl.DataFrame, name: str) -> list[str]:
    """Return the names of the rows with the first row's score."""
    return table.filter((pl.col("score") - pl.col("score").first()).abs() <= 1e-9)[name].to_list()


def _highest(best: Sequence[str], among: str, what: str = "highest score") -> str:
    names = " and ".join(best) if len(best) == _NAMED else first_of(best, _NAMED)
    return f"{names} {'share' if len(best) > 1 else 'has'} the {what} of {among}"


def _certain(best: Sequence[str], first: Sequence[str], among: str, data: str, what: str = "highest score") -> str:
    """Return a sentence on the first; if the data leave others open, with their number."""
    if len(first) == 1 and first[0] == best[0]:
        return f"{first[0]} is first of {among}: {data} leave no other open (95%)."
    return f"{_highest(best, among, what)}, but {len(first):,} may be first: {data} do not decide."


def _votes_text(facts: dict[str, Any]) -> str:
    """Return the numbers of votes and judges behind a ranking as text."""
    votes = count_text(facts["n"], "vote") if facts["votes"] == "votes" else judgments_text(facts)
    return f"{votes} of {count_text(facts['judges'], 'judge')}" if facts["judges"] else votes


def categories_headline(found: Aggregation) -> str:
    """Return a sentence on the leading items of categories, and, if pooled, on the test of categories."""
    by, parts = found.facts["by"], found.table.partition_by("query", maintain_order=True)
    led = Counter(name for part in parts for name in _best(part.filter(scale=1), "item"))
    (name, times), *others = led.most_common()
    what = count_text(len(parts), "query") if by == "query" else count_text(len(parts), "value", f"of {by}")
    said = f"{name} has the highest score in {times:,} of {what}"
    if others:
        said += f", {others[0][0]} in {others[0][1]:,}"
    if times == 1 and others:
        said = f"No item has the highest score in two of {what}"
    if "pool" not in found.facts:
        return f"{said}."
    matters = "matters" if found.facts["pool"]["p"] <= LEVEL else "shows no significant effect"
    return f"{said}; {by} {matters}."


def effects_headline(effects: pl.DataFrame) -> str:
    """Return a sentence on the largest of the effects."""
    rows = effects.to_dicts()
    row = max(rows, key=lambda one: abs(one["effect"] * one["unit"]))
    where = f"In {row['query']}, " if len({one.get("query") for one in rows}) > 1 else ""
    return f"{where}{row['covariate']}: {row['words']}."


def matrix_headline(counts: PairCounts, first: str) -> str:
    """Return a sentence on the number of items that the first one beats."""
    at = counts.items.index(first)
    ahead = np.where(counts.low == at, 1, -1) * (counts.forward - counts.backward)
    met = ((counts.low == at) | (counts.high == at)) & (counts.forward + counts.backward + counts.ties > 0)
    beaten = int((ahead[met] > 0).sum())
    return (
        f"{first} wins more often than it loses against {beaten:,} of {count_text(int(met.sum()), 'item')} that it met."
    )


def systems_headline(found: ScoreRanking, table: pl.DataFrame) -> str:
    """Return a sentence on the first system by a method, and on others that may be first."""
    n, method = found.facts["n"], table["method"][0]
    less = found.facts["methods"][method]["direction"] == "minimize"
    among, data = count_text(table.height, "system"), count_text(n["tasks"], "task")
    if table.height == 1:
        row = table.row(0, named=True)
        return f"{row['system']} is alone: its {method} has no rank."
    first = table.filter("may_be_first")["system"].to_list()
    return _certain(_best(table, "system"), first, among, data, f"{'lowest' if less else 'highest'} {method}")


def tasks_headline(found: ScoresRead) -> str:
    """Return a sentence on the system that is best on the most tasks."""
    table, tasks = found.table, count_text(len(found.table.tasks), "task")
    seeds = (~np.isnan(table.better)).sum(axis=0)
    means = np.where(seeds, np.nansum(table.better, axis=0) / np.maximum(seeds, 1), -np.inf)
    best = ((means == means.max(axis=1, keepdims=True)) & (seeds > 0)).sum(axis=0)
    return f"{table.systems[best.argmax()]} has the best score on {best.max():,} of {tasks}."


def history_headline(found: ScoresOverTime) -> str:
    """Return a sentence on the first item now, and on the number of changes."""
    facts, ranked = found.facts, found.now.drop_nulls("rank_low")
    first = ranked.filter("may_be_first")["item"].to_list()
    known = found.now.drop_nulls("change")
    changed = int((known["p"] <= LEVEL).sum())
    said = _certain(_best(ranked, "item"), first, count_text(ranked.height, "item"), count_text(facts["n"], "vote"))
    return f"{said[:-1]}; {changed:,} of {known.height:,} changed since {facts['then']}."


def decimal_text(value: float, decimals: int, *, sign: bool = False) -> str:
    """Return a number of a column for people: all have the same decimals; a dash for nan."""
    return number(value, decimals, sign=sign) if abs(value) >= 1e-12 or math.isnan(value) else f"{0:.{decimals}f}"


def share_text(row: dict[str, Any]) -> str:
    """Return the share of its votes that an item won."""
    return percent_text(row["wins"] / row["votes"]) if row["votes"] else "—"


def decimals_of(rows: Sequence[dict[str, Any]], name: str = "score") -> int:
    """Return the decimals of a column of numbers for people: they show two digits of a typical interval's half.

    Without intervals they show two digits of the largest number. There are two at least, of numbers below 100.
    """
    values = [abs(row[name]) for row in rows if row[name] is not None and math.isfinite(row[name])]
    halves = sorted((row["upper"] - row["lower"]) / 2 for row in rows if row.get("lower") is not None)
    halves = [half for half in halves if half > 0 and math.isfinite(half)]
    top = max(values, default=0.0)
    size = halves[len(halves) // 2] if halves else top
    digits = 1 - math.floor(math.log10(size)) if size > 0 else 0
    return min(max(digits, 2 if top < 100 else 0), 12)


def more_text(shown: int, every: int) -> list[str]:
    """Return a note on the number of rows that ``--top`` leaves out, if any."""
    return [f"{amount_text(every - shown)} more: a larger {option('top')}"] * (shown < every)
