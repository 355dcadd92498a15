"""Which method to use, in words, with the evidence and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankbench.results.analysis import Analysis, Section
from rankbench.results.standings import Standing, best_first
from rankbench.results.stats.contrasts import contrasts, too_few
from rankbench.results.text import code, interval, markdown, number, sentence

__all__ = ["Recommendation", "markdown_section", "recommendations"]


@dataclass(frozen=True)
class Recommendation:
    """What to use, for one experiment.

    Attributes
    ----------
    answer : tuple of str
        Sentences in Markdown that stand for themselves.
    grounds : tuple of str
        The evidence, and what speaks against it, in Markdown.
    """

    answer: tuple[str, ...]
    grounds: tuple[str, ...] = ()


def markdown_section(found: Sequence[Recommendation]) -> list[str]:
    """Return a section of the leaderboard, or nothing."""
    parts = ["\n".join(f"- {line}" for line in (*one.answer, *one.grounds)) for one in found]
    return ["## Recommendation", *parts] if parts else []


def recommendations(analysis: Analysis) -> list[Recommendation]:
    """Return a recommendation for each of the experiments that ask for one.

    Recommended is, of the contenders that nothing is significantly better than in the
    headline metric, the one with the best mean in the second metric (in the headline, if it is
    the only one): a metric that tells more decides among those that the headline cannot tell
    apart. What is not told apart is not called equal: that are differences whose interval lies
    within the experiment's margin.
    """
    asking = [section for section in analysis.sections if section.sampler.experiment.recommend and section.rows]
    return [_of(section, analysis) for section in asking]


def _of(section: Section, analysis: Analysis) -> Recommendation:
    sampler = section.sampler
    last = max(row.n for row in section.rows)
    by_metric = {metric: _ranked(section.rows, metric, last) for metric in sampler.metrics}
    headline = by_metric[sampler.metrics[0]]
    if not headline:
        finished = any(row.status == "done" and row.repetitions for row in section.rows)
        why = "There are no intervals to tell methods apart by" if finished else "No method finished"
        return Recommendation((f"{why}: nothing can be recommended.",))
    unbeaten = [row.contender for row in headline if row.rank_low == 1]
    second = by_metric[sampler.metrics[min(1, len(sampler.metrics) - 1)]]
    chosen = next(row for row in (*second, *headline) if row.contender in unbeaten)
    first = next(row for row in headline if row.contender == chosen.contender)
    name = f"**{markdown(chosen.contender)}** ({code(chosen.spec)})"
    baseline = sampler.experiment.baseline
    coin = _no_better_than_a_coin(chosen.contender, name, by_metric, section)
    name += _without_intervals(chosen.contender, analysis)
    rivals = _rivals([label for label in unbeaten if label != chosen.contender], first, section)
    if _shown_better((first, chosen), baseline):
        answer = [*coin, f"Use {name}."]
    else:
        answer = [
            *coin,
            f"No method is shown to be better than **{markdown(baseline)}**.",
            f"Of the methods that none beats, {name} has the best mean {code(chosen.metric)}.",
        ]
        if not coin:
            good = {row.contender for row in second if row.rank_low == 1}
            answer += _any_will_do(chosen, [label for label in rivals.alike if label in good], section)
    lines = [_evidence(row, section) for row in dict.fromkeys((first, chosen))]
    lines += rivals.lines
    beaten = [row.contender for row in headline if row.rank_low != 1]
    if beaten:
        lines.append(f"Significantly worse than some other method: {_words(beaten)}.")
    lines += _elsewhere(chosen.contender, section, analysis)
    lines += [f"Bear in mind: {note}" for note in _caveats(first, section, analysis, len(headline))]
    return Recommendation(tuple(answer), tuple(lines))


def _any_will_do(chosen: Standing, alike: Sequence[str], section: Section) -> list[str]:
    """Say what to use all the same where the choice and the baseline are not told apart in any metric.

    `alike` are the other contenders of which that is true.
    """
    baseline = section.sampler.experiment.baseline
    if baseline not in (chosen.contender, *alike) or not alike:
        return []
    names = _words([chosen.contender, *alike])
    which = f"{names} will both do" if len(alike) == 1 else f"Any of {names} will do"
    runs = f"these {chosen.repetitions} runs show" if chosen.repetitions != 1 else "this run shows"
    return [f"{which}, as far as {runs}: with nothing to choose by, take the baseline, **{markdown(baseline)}**."]


def _without_intervals(contender: str, analysis: Analysis) -> str:
    """Say of a contender that ranks the items in this suite too whether its scores have no intervals."""
    for section in analysis.sections:
        sampler = section.sampler
        if sampler.source.layout != "ranking":
            continue
        arms = [arm for race in sampler.races for arm in race.arms if arm.done and arm.member.label == contender]
        for arm in arms:
            lower = [sampler.values(arm, "lower", split) for split in sampler.source.shown_splits()]
            if np.isnan(np.concatenate(lower)).all():
                return " (its ranking of the items has no intervals)"
    return ""


def _no_better_than_a_coin(
    contender: str, name: str, by_metric: dict[str, list[Standing]], section: Section
) -> list[str]:
    """Say so where a choice, or every method, may predict no better than a coin would.

    A coin is wrong about half of the votes, and its log loss is ln 2. A mean on its side of that says
    it; an interval that reaches a half, or none, leaves open whether it is so.
    """
    coins = {row.contender: False for rows in by_metric.values() for row in rows}
    unclear = dict(coins)
    for row in by_metric.get("log-loss", []):
        coins[row.contender] |= row.mean >= math.log(2) - 1e-12
    for row in by_metric.get("disagreement", []):
        coins[row.contender] |= row.mean >= 0.5
        unclear[row.contender] |= not _interval(row, section)[1] < 0.5
    predict = f"these {section.sampler.source.counts} better than a coin"
    if all(coins.values()):
        return [f"No method predicts {predict}."]
    if all(coins[label] or unclear[label] for label in coins):
        return [f"No method is shown to predict {predict}."]
    return [f"{name} is not shown to predict {predict}."] if coins[contender] or unclear[contender] else []


def _interval(row: Standing, section: Section) -> tuple[float, float]:
    """Return the interval of a mean, over queries too, but for repeated splits of one log, which have none."""
    split = section.sampler.source.test_share is not None
    return (row.lower, row.upper) if split else (row.lower_queries, row.upper_queries)


def _shown_better(rows: Sequence[Standing], baseline: str) -> bool:
    """Return whether a choice is better than the baseline in a metric, by the interval of the difference."""
    if not baseline:
        return True
    if any(row.contender == baseline for row in rows):
        return False
    return any(row.difference_upper < 0 if row.direction == "minimize" else row.difference_lower > 0 for row in rows)


class _Rivals(NamedTuple):
    lines: list[str]
    alike: list[str]
    """Not told apart from the choice, or within the margin of it."""


def _rivals(labels: Sequence[str], chosen: Standing, section: Section) -> _Rivals:
    """Say of methods that nothing beats how they stand to the choice, each by an interval of its own."""
    sampler = section.sampler
    race = next(race for race in sampler.races if race.n == chosen.n)
    margin, metric = sampler.experiment.margin, code(chosen.metric)
    sign = 1 if chosen.direction == "minimize" else -1
    equal: list[str] = []
    unclear: list[str] = []
    worse: list[str] = []
    better: list[str] = []
    for label in labels:
        arms = [arm for arm in (race.arm(label), race.arm(chosen.contender)) if arm is not None]
        sample = sampler.sample(arms, chosen.metric, chosen.split, race.repetitions)
        found = contrasts(sample, np.array([[1.0], [-1.0]]))
        low, high = sorted((sign * float(found.lower[0]), sign * float(found.upper[0])))
        if -margin < low and high < margin:
            equal.append(label)
        elif low > 0:
            worse.append(label)
        elif high < 0:
            better.append(label)
        else:
            unclear.append(label)
    lines = []
    if unclear:
        runs = f"{chosen.repetitions} run{'s were' if chosen.repetitions != 1 else ' was'}"
        lines.append(f"{runs} not enough to tell it from {_words(unclear)} in {metric}.")
    if equal:
        lines.append(
            f"Within {margin:g} of it in {metric}, by the 95% interval of the difference: {_words(equal)}. Who uses "
            f"{'it' if len(equal) == 1 else 'one of these'} already has no reason to change."
        )
    for names, word in ((worse, "Worse"), (better, "Better")):
        if names:
            lines.append(
                f"{word} than it in {metric} by the 95% interval of that difference alone, but not beyond doubt among "
                f"so many comparisons: {_words(names)}."
            )
    return _Rivals(lines, [label for label in labels if label in (*equal, *unclear)])


def _ranked(rows: Sequence[Standing], metric: str, n: int) -> list[Standing]:
    own = [row for row in rows if row.metric == metric and row.n == n and row.rank_low is not None]
    return best_first(own)


def _evidence(row: Standing, section: Section) -> str:
    source = section.sampler.source
    text = f"**{markdown(row.contender)}**: its {code(row.metric)} on {source.counts} that it had not seen is "
    text += number(row.mean)
    lower, upper = _interval(row, section)
    if math.isfinite(lower):
        text += f" (95% interval {interval(lower, upper)})"
    baseline = section.sampler.experiment.baseline
    if baseline and baseline != row.contender and math.isfinite(row.difference):
        text += f", {number(row.difference, sign=True)} against {markdown(baseline)}"
        if math.isfinite(row.difference_lower) and not too_few(row.repetitions):
            text += f" ({interval(row.difference_lower, row.difference_upper, sign=True)})"
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
            lines.append(f"In {code(other.sampler.experiment.name)}: not checked there.")
            continue
        said = "nothing beats it there either" if row.rank_low == 1 else f"beaten there: rank {row.rank_low} at best"
        lines.append(f"In {code(other.sampler.experiment.name)}: {said} ({code(metric)} {number(row.mean)}).")
    return lines


def _caveats(row: Standing, section: Section, analysis: Analysis, contenders: int) -> list[str]:
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
    # What the data did to this experiment alone, as other folds than those that were asked for.
    shared = [set(other.sampler.source.notes) for other in analysis.sections]
    notes += [markdown(sentence(note)) for note in source.notes if not all(note in own for own in shared)]
    if contenders > 1:
        notes.append(f"it is the best of {contenders} contenders on these very data: expect a little worse on others.")
    people = "judges" if source.counts == "votes" else "people"
    notes.append(
        f"it says which method predicts {source.counts} like these, of {people} like these; not that what they prefer "
        "is better."
    )
    return notes


def _words(names: Sequence[str]) -> str:
    shown = [markdown(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
