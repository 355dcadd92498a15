"""The tables of a leaderboard: standings with intervals, exact numbers, or rankings of items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import RANKING
from rankbench.reports.sample import Arm, Race, Sampler
from rankbench.reports.standings import Standing, best_first
from rankbench.store.records import SourceRecord
from rankbench.text import code, count, interval, markdown, number, sentence, significant

__all__ = ["exact_tables", "intervals_tables", "race_title", "ranking_tables"]


def race_title(race: Race, source: SourceRecord) -> str:
    """Return what stands behind an experiment's name: n and how far the repetitions got."""
    have, times = len(race.repetitions), "run" if source.test_share is not None else "repetition"
    done = f", {have} {times}{'s' if have != 1 else ''}"
    if have != race.planned:
        done = f" (partial: {have} of {race.planned} {times}s)"
    drawn = f": n = {count(race.n)}" if source.counts else ""
    return drawn if source.layout != "race" else drawn + done


def intervals_tables(source: SourceRecord, rows: Sequence[Standing], baseline: str) -> list[str]:
    """Return the tables of one n: one for each metric and split, in the plan's order."""
    parts = []
    for (metric, split), group in groupby(rows, key=lambda row: (row.metric, row.split)):
        parts.append(f"**{markdown(source.splits[split])}**, {code(metric)}, {source.metric(metric).better}")
        parts.append(_table(list(group), baseline, source))
    return parts


def _table(rows: Sequence[Standing], baseline: str, source: SourceRecord) -> str:
    resampled = source.test_share is not None
    spread = ["SD", "corrected"] if resampled else ["over draws", "over queries and draws"]
    head = ["rank", "contender", "mean", *spread]
    against = any(row.contender == baseline and row.rank_low is not None for row in rows)
    if against:
        head += [f"minus {markdown(baseline)}", spread[-1], *(["wins"] if resampled else [])]
    marks = "|:-:|---|--:|:-:|:-:|" + ("--:|:-:|" + (":-:|" if resampled else "") if against else "")
    lines = ["| " + " | ".join(head) + " |", marks]
    for row in best_first(rows):
        name = markdown(row.contender) + (" †" if row.equals else "")
        cells = [
            _rank(row),
            f"**{name}**" if row.rank_low == 1 else name,
            number(row.mean),
            number(row.sd) if resampled else interval(row.lower, row.upper),
            interval(row.lower, row.upper) if resampled else interval(row.lower_queries, row.upper_queries),
        ]
        if against and row.contender == baseline:
            cells += ["baseline", *[""] * (len(head) - 6)]
        elif against:
            cells += [
                number(row.difference, sign=True),
                interval(row.difference_lower, row.difference_upper, sign=True),
                *([f"{row.wins:g} of {row.repetitions}" if row.wins == row.wins else ""] if resampled else []),
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rank(row: Standing) -> str:
    if row.rank_low is None:
        return row.status if row.status != "done" else "—"
    return str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low} ... {row.rank_high}"


def exact_tables(sampler: Sampler, race: Race) -> list[str]:
    """Return one table for each metric: a row for each contender, a column for each unit."""
    parts = []
    for metric in sampler.metrics:
        for split in sampler.source.shown_splits():
            units = sampler.source.units[split]
            lines = [
                "| contender | " + " | ".join(markdown(unit) for unit in units) + " |",
                "|---|" + "--:|" * len(units),
            ]
            for arm in race.arms:
                if arm.done:
                    words = sampler.source.metric(metric).words
                    found = [float(value) for value in sampler.values(arm, metric, split)]
                    values = [markdown(words[value]) if value in words else significant(value) for value in found]
                else:
                    values = [arm.status, *[""] * (len(units) - 1)]
                lines.append(f"| {markdown(arm.member.label)} | " + " | ".join(values) + " |")
            parts += [f"**{markdown(sampler.source.splits[split])}**, {code(metric)}", "\n".join(lines)]
    return parts


def ranking_tables(sampler: Sampler, race: Race) -> list[str]:
    """Return one table of items for each contender: the first open, the others to be unfolded."""
    parts: list[str] = []
    for arm in (arm for arm in race.arms if arm.done):
        for split in sampler.source.shown_splits():
            units = sampler.source.units[split]
            score, lower, upper, low, high = (sampler.values(arm, metric, split) for metric in RANKING)
            # Equal scores stand in the order of the names, whatever the order in the log.
            order = sorted(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))
            lines = ["| rank | item | score | 95% interval |", "|:-:|---|--:|:-:|"]
            for i in order:
                places = f"{low[i]:.0f}" if low[i] == high[i] else f"{low[i]:.0f} ... {high[i]:.0f}"
                lines.append(
                    f"| {places} | {markdown(units[i])} | {number(float(score[i]), 3)} "
                    f"| {interval(float(lower[i]), float(upper[i]), 3)} |"
                )
            table = "\n".join([*lines, *_without_interval(lower), *_facts(arm, sampler.source)])
            label = markdown(arm.label)
            if parts:
                parts.append(f"<details><summary>{label}</summary>\n\n{table}\n\n</details>")
            else:
                parts += [f"**{label}**", table]
    return parts


def _facts(arm: Arm, source: SourceRecord) -> list[str]:
    """Return what the protocol has to say about one contender."""
    lines: list[str] = []
    for fact in (fact for fact in source.facts if fact.about == "contender"):
        value = arm.fact(fact)
        if fact.tells(value):
            said = fact.sentence.format(value=value)
            lines += ["", sentence(f"{said[:1].upper()}{said[1:]}")]
    return lines


def _without_interval(lower: NDArray[np.float64]) -> list[str]:
    """Return what the dashes of a ranking mean, if there are any."""
    missing = int(np.isnan(lower).sum())
    if not missing:
        return []
    if missing == len(lower):
        return [
            "",
            "No intervals: resampling does not show how certain these scores are, and any item may hold any place.",
        ]
    return ["", "—: too few votes, or all of them the same, for an interval."]
