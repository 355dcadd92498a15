"""Which method to use, in words, with the evidence and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankbench.results.analysis import Analysis, Section
from rankbench.results.standings import Standing, best_first
from rankbench.results.text import code, interval, markdown, number

__all__ = ["recommendations"]


def recommendations(analysis: Analysis) -> list[str]:
    """Return a section for the experiments that ask for a recommendation, or nothing.

    Recommended is, of the contenders that nothing is significantly better than in the
    headline metric, the one with the best mean in the second metric (in the headline, if it is
    the only one): a metric that tells more decides among those that the headline cannot tell
    apart.
    """
    parts = [part for section in analysis.sections for part in _of(section, analysis)]
    return ["## Recommendation", *parts] if parts else []


def _of(section: Section, analysis: Analysis) -> list[str]:
    sampler = section.sampler
    if not sampler.experiment.recommend or not section.rows:
        return []
    last = max(row.n for row in section.rows)
    by_metric = {metric: _ranked(section.rows, metric, last) for metric in sampler.metrics}
    headline = by_metric[sampler.metrics[0]]
    if not headline:
        finished = any(row.status == "done" and row.repetitions for row in section.rows)
        why = "There are no intervals to tell methods apart by" if finished else "No method finished"
        return [f"{why}: nothing can be recommended."]
    unbeaten = [row.contender for row in headline if row.rank_low == 1]
    second = by_metric[sampler.metrics[min(1, len(sampler.metrics) - 1)]]
    chosen = next(row for row in (*second, *headline) if row.contender in unbeaten)
    first = next(row for row in headline if row.contender == chosen.contender)
    lines = [
        f"Use **{markdown(chosen.contender)}** ({code(chosen.spec)}). "
        f"{_evidence(first, section)}" + (f" {_evidence(chosen, section)}" if chosen is not first else "")
    ]
    rivals = [label for label in unbeaten if label != chosen.contender]
    if rivals:
        lines.append(
            f"This log cannot tell it from {_words(rivals)}: nothing is significantly better than any of them in "
            f"{code(first.metric)}. If one of these is in use already, that is no reason to change."
        )
    beaten = [row.contender for row in headline if row.rank_low != 1]
    if beaten:
        lines.append(f"Significantly worse than some other method: {_words(beaten)}.")
    lines += _elsewhere(chosen.contender, section, analysis)
    lines += [f"Bear in mind: {note}" for note in _caveats(first, section)]
    return ["\n".join(f"- {line}" for line in lines)]


def _ranked(rows: Sequence[Standing], metric: str, n: int) -> list[Standing]:
    own = [row for row in rows if row.metric == metric and row.n == n and row.rank_low is not None]
    return best_first(own)


def _evidence(row: Standing, section: Section) -> str:
    source = section.sampler.source
    text = f"Its {code(row.metric)} on {source.counts} that it had not seen is {number(row.mean)}"
    # Over queries too, but for repeated splits of one log, which have no queries.
    split = source.test_share is not None
    lower, upper = (row.lower, row.upper) if split else (row.lower_queries, row.upper_queries)
    if math.isfinite(lower):
        text += f" (95% interval {interval(lower, upper)})"
    baseline = section.sampler.experiment.baseline
    if baseline and baseline != row.contender and math.isfinite(row.difference):
        text += (
            f", {number(row.difference, sign=True)} against {markdown(baseline)} "
            f"({interval(row.difference_lower, row.difference_upper, sign=True)})"
        )
    return text + "."


def _elsewhere(contender: str, section: Section, analysis: Analysis) -> list[str]:
    """Say how the choice fares where folds were cut otherwise."""
    lines = []
    for other in analysis.sections:
        if other is section or other.sampler.source.layout != "race":
            continue
        if other.sampler.source.dataset != section.sampler.source.dataset:
            continue
        metric = section.sampler.metrics[0]
        if metric not in other.sampler.metrics:
            continue
        rows = _ranked(other.rows, metric, max((row.n for row in other.rows), default=0))
        row = next((row for row in rows if row.contender == contender), None)
        if row is None:
            continue
        said = "is not beaten either" if row.rank_low == 1 else f"is beaten: rank {row.rank_low} at best"
        lines.append(f"In {code(other.sampler.experiment.name)} it {said} ({code(metric)} {number(row.mean)}).")
    return lines


def _caveats(row: Standing, section: Section) -> list[str]:
    source = section.sampler.source
    notes = []
    if source.simulated:
        notes.append("these data are simulated.")
    if row.repetitions < row.planned:
        notes.append(f"only {row.repetitions} of {row.planned} runs are done.")
    if source.pool is not None and row.n >= source.pool:
        notes.append(f"all {source.counts} are one draw: what others would have taught is not in the intervals.")
    elif row.repetitions < 10:
        notes.append(f"{row.repetitions} runs tell little; the suite has more without --reps.")
    people = "judges" if source.counts == "votes" else "people"
    notes.append(
        f"it says which method predicts {source.counts} like these, of {people} like these; not that what they prefer "
        "is better."
    )
    return notes


def _words(names: Sequence[str]) -> str:
    shown = [markdown(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
