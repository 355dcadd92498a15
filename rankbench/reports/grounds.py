"""The evidence of a recommendation: numbers with their intervals, who is told apart, and who leads elsewhere.

The answer names the intervals of differences; here they are *the same intervals*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rankbench.reports.cases import Case, Told
from rankbench.reports.evaluations import Evaluation
from rankbench.reports.phrases import coin_of, difference, place_range, words
from rankbench.text import code, interval_text, markdown, number

__all__ = ["GROUNDS", "mean_phrases"]


def _evidence(case: Case) -> list[str]:
    """Return the numbers of the winner and of the best mean of each metric."""
    return mean_phrases(case, [case.winner])


def mean_phrases(case: Case, labels: Sequence[str]) -> list[str]:
    """Return means with their intervals, of some contenders and of those with the best mean.

    Where nothing is shown to beat a coin there is no best mean.
    """
    lines = []
    for metric, rows in case.main.rows.items():
        best = [] if case.main.above_nothing(metric) else rows[:1]
        named = [row for row in (case.main.row(metric, label) for label in labels) if row is not None]
        for row in dict.fromkeys((*named, *best)):
            whose = "the best mean, of" if row in best else "of"
            text = f"{code(metric)} on {case.counts} that were held out: {whose} **{markdown(row.contender)}**, "
            text += number(row.mean)
            lower, upper = case.main.interval_of_mean(row)
            if math.isfinite(lower):
                text += f" (95% interval of this mean alone {interval_text(lower, upper)})"
            if case.baseline != row.contender and case.main.row(metric, case.baseline) is not None:
                text += f"; minus {markdown(case.baseline)}: "
                text += difference(case.main, metric, row.contender, case.baseline)
            lines.append(text + ".")
    return lines


def _told_apart(case: Case) -> list[str]:
    """Say of each metric who is told apart from the reference; of the others that they are not, no more."""
    lines = []
    for metric in case.metrics:
        told = case.told(metric)
        within = f"within {case.margins.get(metric, 0):g}"
        said: dict[Told, str] = {
            "worse": "worse",
            "slightly worse": f"worse, but {within}",
            "better": "better",
            "slightly better": f"better, but {within}",
            "within": within,
            "unclear": "not told apart, which is not equal",
        }
        parts = [f"{word}: {words(told[how])}" for how, word in said.items() if how in told]
        if parts:
            lines.append(
                f"Against **{markdown(case.reference)}** in {code(metric)}, by the same intervals: {'; '.join(parts)}."
            )
    return lines


def _beaten(case: Case) -> list[str]:
    """Say who is worse than some method; and who is so by the ranks of one table alone, which may tell more apart."""
    lines = []
    for metric, rows in case.main.rows.items():
        found = [row.contender for row in rows if metric in case.main.worse(row.contender)]
        if found:
            text = ", ".join(f"{markdown(label)} (place {place_range(case.main, metric, label)})" for label in found)
            lines.append(f"Worse than some method in {code(metric)}, by the same intervals: {text}.")
        alone = [row.contender for row in rows if (row.rank_low or 1) > 1 and row.contender not in found]
        if alone:
            at_once = f" in {case.tables} tables at once" if case.tables > 1 else ""
            lines.append(
                f"By the ranks in the table of {code(metric)} worse than some method, too: {words(alone)}. Step-down "
                f"tests of one table tell more apart than intervals of all differences{at_once}."
            )
    return lines


def _elsewhere(case: Case) -> list[str]:
    """Say who leads where the log was cut otherwise, and how the reference fares there."""
    return [line for other in case.others for line in _other(case, other)]


def _other(case: Case, other: Evaluation) -> list[str]:
    runs = f"{other.runs} run{'s' if other.runs != 1 else ''}"
    if not other.tables:
        return [f"In {code(other.name)} ({runs}): too few to tell methods apart by."]
    lines = []
    for metric, rows in ((metric, rows) for metric, rows in other.rows.items() if rows):
        best, own = rows[0], other.row(metric, case.reference)
        text = f"In {code(other.name)} ({runs}), {code(metric)}: "
        if other.above_nothing(metric):
            text += f"no method is shown to be better than a coin's {coin_of(other, [metric])}"
        else:
            text += f"the best mean is that of **{markdown(best.contender)}**, {_mean(other, metric, best.contender)}"
        if own is None:
            why = other.failed.get(case.reference, "was not run")
            text += f"; {markdown(case.reference)} {why} there"
        elif own is not best or other.above_nothing(metric):
            text += f"; {markdown(case.reference)} has {_mean(other, metric, case.reference)}"
        lines.append(text + ".")
    return lines


def _mean(one: Evaluation, metric: str, label: str) -> str:
    row = one.row(metric, label)
    return f"{number(row.mean if row else math.nan)} (place {place_range(one, metric, label)})"


GROUNDS: tuple[Callable[[Case], list[str]], ...] = (_evidence, _told_apart, _beaten, _elsewhere)
"""Numbers with their intervals, in this order."""
