"""Which method to use, in words: a list of sentences, each with the condition on which it is said.

A sentence says no more than the interval or test that it names; what was not shown is said to be just that. What is
known comes from `rankbench.results.cases`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rankbench.results.analysis import Analysis, Section
from rankbench.results.cases import COINS, Case, Evaluation, case_of, interval_of
from rankbench.results.standings import Standing
from rankbench.results.stats.contrasts import too_few
from rankbench.results.text import code, interval, markdown, number, sentence

__all__ = ["ANSWERS", "GROUNDS", "STOPS", "Recommendation", "Rule", "markdown_section", "recommendations", "said"]


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


class Rule(NamedTuple):
    """A sentence, and when it is said."""

    holds: Callable[[Case], bool]
    says: Callable[[Case], str]


def markdown_section(found: Sequence[Recommendation]) -> list[str]:
    """Return a section of the leaderboard, or nothing."""
    parts = ["\n".join(f"- {line}" for line in (*one.answer, *one.grounds)) for one in found]
    return ["## Recommendation", *parts] if parts else []


def recommendations(analysis: Analysis) -> list[Recommendation]:
    """Return a recommendation for each of the experiments that ask for one."""
    asking = [section for section in analysis.sections if section.sampler.experiment.recommend and section.rows]
    found = []
    for section in asking:
        one = said(case_of(section, analysis))
        notes = [f"Bear in mind: {note}" for note in _caveats(section, analysis)] if one.grounds else []
        found.append(Recommendation(one.answer, (*one.grounds, *notes)))
    return found


def said(case: Case) -> Recommendation:
    """Return all sentences whose conditions hold; the first stop that holds is the whole answer."""
    stop = next((rule for rule in STOPS if rule.holds(case)), None)
    if stop:
        return Recommendation((stop.says(case),), tuple(_numbers(case, [case.baseline])) if case.main.tables else ())
    answer = tuple(rule.says(case) for rule in ANSWERS if rule.holds(case))
    return Recommendation(answer, tuple(line for lines in GROUNDS for line in lines(case)))


NOTHING = "nothing can be recommended"


STOPS: tuple[Rule, ...] = (
    Rule(
        lambda case: not case.finished,
        lambda case: f"No method finished: {NOTHING}.",
    ),
    Rule(
        lambda case: too_few(case.main.runs),
        lambda case: f"{case.main.runs} runs are too few to tell methods apart by: {NOTHING}.",
    ),
    Rule(
        lambda case: not case.main.tables,
        lambda case: f"There are no intervals to tell methods apart by: {NOTHING}.",
    ),
    Rule(
        lambda case: case.baseline not in case.main.labels,
        lambda case: f"**{markdown(case.baseline)}**, the baseline, has no intervals to compare with: {NOTHING}.",
    ),
    Rule(
        lambda case: bool(case.coins) and set(case.coins.values()) == {"no better"},
        lambda case: (
            f"No method predicts these {case.counts} better than a coin: of each, the 95% interval of "
            f"{_or(case.metrics)} has nothing below a coin's {_coins(case)}. {NOTHING.capitalize()}."
        ),
    ),
    Rule(
        lambda case: bool(case.coins) and "better" not in case.coins.values(),
        lambda case: (
            f"No method is shown to predict these {case.counts} better than a coin: no method's 95% intervals lie "
            f"below a coin's {_coins(case)}. {NOTHING.capitalize()}."
        ),
    ),
)
"""The first that holds is the whole answer."""


ANSWERS: tuple[Rule, ...] = (
    Rule(
        lambda case: bool(case.winner) and _beats_a_coin(case) and not case.doubts(),
        lambda case: f"{_use(case)} {_name(case)}. {_shown(case)}",
    ),
    Rule(
        lambda case: bool(case.winner) and _beats_a_coin(case) and bool(case.doubts()),
        lambda case: (
            f"{_name(case)} is better than **{markdown(case.baseline)}** in {code(case.main.name)}, but that is not "
            f"confirmed: {_doubts(case)}. {_shown(case)}"
        ),
    ),
    Rule(
        lambda case: bool(case.winner) and not _beats_a_coin(case),
        lambda case: (
            f"{_name(case)} is not shown to predict these {case.counts} better than a coin: its 95% intervals do not "
            f"all lie below a coin's {_coins(case)}. {_shown(case)}"
        ),
    ),
    Rule(
        lambda case: not case.winner and bool(case.better),
        lambda case: (
            f"No method leads in every metric. Better than **{markdown(case.baseline)}** in one, but worse than some "
            f"method in one: {_each(case)} ({_tests(case)})."
        ),
    ),
    Rule(
        lambda case: not case.better,
        lambda case: (
            f"No method is shown to be better than **{markdown(case.baseline)}**, the baseline, in "
            f"{_or(case.metrics)} ({_tests(case)})."
        ),
    ),
    Rule(
        lambda case: bool(_unopposed(case)),
        lambda case: (
            f"As good as **{markdown(case.reference)}**: {_words(_unopposed(case))}. The 95% intervals of their "
            f"differences from it, which hold for all methods of a table together, lie within {_margins(case)}."
        ),
    ),
    Rule(
        lambda case: len(_unopposed(case)) < len(case.alike()),
        lambda case: (
            f"As good as **{markdown(case.reference)}** in {code(case.main.name)}, within {_margins(case)}, but worse "
            f"than some method elsewhere: {_opposed(case)}."
        ),
    ),
    Rule(
        lambda case: not case.winner and not case.better and not case.alike(),
        lambda case: (
            f"That does not make them equal: no method is shown to be as good either, within {_margins(case)}."
            if all(case.margins.get(metric) for metric in case.metrics)
            else "That does not make them equal."
        ),
    ),
    Rule(
        lambda case: bool(_leading_elsewhere(case)),
        lambda case: " ".join(_leading_elsewhere(case)),
    ),
)
"""All that hold make the answer, in this order, unless a stop comes before."""


def _beats_a_coin(case: Case) -> bool:
    return case.coins.get(case.winner, "better") == "better"


def _use(case: Case) -> str:
    return f"To {case.purpose}, use" if case.purpose else "Use"


def _name(case: Case) -> str:
    text = f"**{markdown(case.winner)}** ({code(case.specs.get(case.winner, case.winner))})"
    return f"{text} (its ranking of the items has no intervals)" if case.winner in case.no_intervals else text


def _tests(case: Case) -> str:
    return "tests of all methods, metrics and evaluations of this page together, at 5%"


def _shown(case: Case) -> str:
    """Say in what a winner is better, with the interval."""
    parts = []
    for metric in case.better[case.winner]:
        row = case.main.row(metric, case.winner)
        if row is not None:
            parts.append(f"{code(metric)} ({_difference(row)}, p {_p(row.p_holm * case.tables)})")
    return f"It is shown to be better than **{markdown(case.baseline)}** in {_and(parts)}; {_tests(case)}."


def _p(value: float) -> str:
    return f"= {value:.2g}" if value >= 1e-4 else "< 0.0001"


def _difference(row: Standing) -> str:
    text = number(row.difference, sign=True)
    if math.isfinite(row.difference_lower):
        text += f", 95% interval {interval(row.difference_lower, row.difference_upper, sign=True)}"
    return text


def _doubts(case: Case) -> str:
    words = {
        "absent": "it was not run in {}",
        "worse": "in {} some method is shown to be better than it",
        "not better": "in {} its mean is not better than that of the baseline",
    }
    return "; ".join(words[why].format(code(other.name)) for other, why in case.doubts())


def _each(case: Case) -> str:
    parts = [f"{markdown(label)} ({_and([code(m) for m in metrics])})" for label, metrics in case.better.items()]
    return _and(parts)


def _margins(case: Case) -> str:
    return _and([f"{case.margins[metric]:g} in {code(metric)}" for metric in case.metrics])


def _unopposed(case: Case) -> list[str]:
    return [label for label in case.alike() if not case.contradicted(label)]


def _opposed(case: Case) -> str:
    found = {label: case.contradicted(label) for label in case.alike()}
    return _and([f"{markdown(label)} ({_and([code(n) for n in names])})" for label, names in found.items() if names])


def _leading_elsewhere(case: Case) -> list[str]:
    """Return what says that another evaluation has a winner, which the main one has not."""
    lines = []
    for other in case.others:
        for label in other.leaders(case.tables)[:1]:
            if label == case.winner:
                continue
            metrics = other.better(label, case.tables)
            rows = [row for row in (other.row(metric, label) for metric in metrics) if row is not None]
            found = _and([f"{code(row.metric)} ({_difference(row)})" for row in rows])
            lines.append(
                f"In {code(other.name)} **{markdown(label)}** is shown to be better than "
                f"**{markdown(case.baseline)}** in {found}, by the same tests: {code(case.main.name)} does not say so."
            )
    return lines


def _coins(case: Case) -> str:
    return _and([f"{COINS[metric]:.4g} in {code(metric)}" for metric in case.metrics if metric in COINS])


def _evidence(case: Case) -> list[str]:
    """Return the numbers of the winner and of the best mean of each metric."""
    return _numbers(case, [case.winner])


def _numbers(case: Case, labels: Sequence[str]) -> list[str]:
    """Return means with their intervals, of some contenders and of those with the best mean.

    Where nothing beats a coin there is no best mean.
    """
    lines = []
    for metric, rows in case.main.rows.items():
        best = rows[:1] if "better" in case.coins.values() or not case.coins else []
        named = [row for row in (case.main.row(metric, label) for label in labels) if row is not None]
        for row in dict.fromkeys((*named, *best)):
            of = "the best mean, of" if row in best else "of"
            text = f"{code(metric)} on {case.counts} that were held out: {of} **{markdown(row.contender)}**, "
            text += number(row.mean)
            lower, upper = interval_of(row, case.main.split)
            if math.isfinite(lower):
                text += f" (95% interval {interval(lower, upper)})"
            if case.baseline != row.contender and math.isfinite(row.difference):
                text += f"; minus {markdown(case.baseline)}: {_difference(row)}"
            lines.append(text + ".")
    return lines


def _told_apart(case: Case) -> list[str]:
    """Say of each metric who is told apart from the reference; of the others that they are not, no more."""
    lines = []
    for metric in case.metrics:
        told = case.told(metric)
        within = f"within {case.margins.get(metric, 0):g}"
        words = ("worse", "better", within, "not told apart, which is not equal")
        parts = [f"{word}: {_words(labels)}" for word, labels in zip(words, told, strict=True) if labels]
        if parts:
            lines.append(
                f"Against **{markdown(case.reference)}** in {code(metric)}, by 95% intervals of the differences that "
                f"hold for all together: {'; '.join(parts)}."
            )
    return lines


def _beaten(case: Case) -> list[str]:
    lines = []
    for metric, rows in case.main.rows.items():
        found = [f"{markdown(row.contender)} ({_places(row)})" for row in rows if row.rank_low != 1]
        if found:
            lines.append(f"Worse than some method in {code(metric)}, by the ranges of ranks: {_and(found)}.")
    return lines


def _places(row: Standing) -> str:
    return f"{row.rank_low}" if row.rank_low == row.rank_high else f"{row.rank_low} ... {row.rank_high}"


def _elsewhere(case: Case) -> list[str]:
    """Say who leads where the log was cut otherwise, and how the reference fares there."""
    return [line for other in case.others for line in _other(case, other)]


def _other(case: Case, other: Evaluation) -> list[str]:
    runs = f"{other.runs} run{'s' if other.runs != 1 else ''}"
    if not other.tables:
        return [f"In {code(other.name)} ({runs}): too few to tell methods apart by."]
    lines = []
    for metric, rows in other.rows.items():
        best, own = rows[0], other.row(metric, case.reference)
        text = f"In {code(other.name)} ({runs}), {code(metric)}: the best mean is that of "
        text += f"**{markdown(best.contender)}**, {number(best.mean)} (rank {_places(best)})"
        if own is None:
            text += f"; {markdown(case.reference)} was not run there"
        elif own is not best:
            text += f"; {markdown(case.reference)} has {number(own.mean)} (rank {_places(own)})"
        lines.append(text + ".")
    return lines


GROUNDS: tuple[Callable[[Case], list[str]], ...] = (_evidence, _told_apart, _beaten, _elsewhere)
"""Numbers with their intervals, in this order."""


def _caveats(section: Section, analysis: Analysis) -> list[str]:
    source, race = section.sampler.source, max(section.sampler.races, key=lambda race: race.n)
    notes = [sentence(text) for text in section.sampler.experiment.caveats]
    if source.simulated:
        notes.append("these data are simulated.")
    if len(race.repetitions) < race.planned:
        notes.append(f"only {len(race.repetitions)} of {race.planned} runs are done.")
    if source.pool is not None and race.n >= source.pool:
        notes.append(f"all {source.counts} are one draw: what others would have taught is not in the intervals.")
    elif len(race.repetitions) < 10:
        notes.append(f"{len(race.repetitions)} runs tell little; the suite has more without --reps.")
    # What the data did to this experiment alone, as other folds than those that were asked for.
    shared = [set(other.sampler.source.notes) for other in analysis.sections]
    notes += [markdown(sentence(note)) for note in source.notes if not all(note in own for own in shared)]
    if len(race.racing) > 1:
        notes.append(
            f"the best mean of {len(race.racing)} contenders is the best on these very data: expect a little worse on "
            "others."
        )
    people = "judges" if source.counts == "votes" else "people"
    notes.append(
        f"it says which method predicts {source.counts} like these, of {people} like these; not that what they prefer "
        "is better."
    )
    return notes


def _words(names: Sequence[str]) -> str:
    return _and([markdown(name) for name in names])


def _and(parts: Sequence[str], word: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _or(metrics: Sequence[str]) -> str:
    return _and([code(metric) for metric in metrics], "or")
