"""Which method to use, and on what grounds.

The answer names the intervals of differences; here they are *the same intervals*.

A sentence says no more than the interval or test that it names; what was not shown is said to be just that. What is
known comes from `rankbench.reports.recommendation_facts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rankbench.core.text import code, interval_text, markdown, number, place_range_text, sentence
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.document import Bullets, Details, Heading, Node
from rankbench.reports.recommendation_facts import Case, Doubt, Evaluation, Told, asking, case_of


def joined_words(parts: Sequence[str], word: str = "and") -> str:
    """Return parts with commas, and a word before the last one."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def words(names: Sequence[str]) -> str:
    """Return labels."""
    return joined_words([markdown(name) for name in names])


def codes(names: Sequence[str], word: str = "and") -> str:
    """Return names of metrics or experiments."""
    return joined_words([code(name) for name in names], word)


def covered(case: Case) -> str:
    """Say of what intervals hold together."""
    return f"all methods in {codes(case.metrics)} of {codes([one.name for one in case.told_by])}"


def shown_by(case: Case) -> str:
    """Name what everything about differences was shown by."""
    return f"by 95% intervals of the differences between {covered(case)}, which hold together"


def difference(one: Evaluation, metric: str, label: str, other: str) -> str:
    """Return a difference of means, with the interval that holds together with all others of the page."""
    sign = one.sign(metric)
    text = number(sign * one.gap(metric, label, other), sign=True)
    low, high = sorted(sign * bound for bound in one.interval(metric, label, other))
    return f"{text}, interval {interval_text(low, high, sign=True)}" if math.isfinite(low + high) else text


def coin_of(one: Evaluation, metrics: Sequence[str]) -> str:
    """Return what a coin gets, by metric."""
    return joined_words([f"{one.chance[metric]:.4g} in {code(metric)}" for metric in metrics])


def margin_of(case: Case, metrics: Sequence[str]) -> str:
    """Return margins, by metric."""
    return joined_words([f"{case.margins[metric]:g} in {code(metric)}" for metric in metrics])


def place_range(one: Evaluation, metric: str, label: str) -> str:
    """Return the places that a contender may hold."""
    low, high = one.places(metric, label)
    return place_range_text(low, high)


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


def recommended(found: Sequence[Recommendation]) -> list[Node]:
    """Return a section of the leaderboard, or nothing."""
    parts: list[Node] = []
    for one in found:
        parts.append(Bullets(one.answer))
        parts += (
            [Details("What that rests on, and what speaks against it", (Bullets(one.grounds),))] if one.grounds else []
        )
    return [Heading(2, "Recommendation"), *parts] if parts else []


def recommendations(analysis: Analysis) -> list[Recommendation]:
    """Return a recommendation for each of the experiments that ask for one."""
    found = []
    for section in asking(analysis):
        one = recommend(case_of(section, analysis))
        notes = [f"Bear in mind: {note}" for note in _caveats(section, analysis)] if one.grounds else []
        found.append(Recommendation(one.answer, (*one.grounds, *notes)))
    return found


def recommend(case: Case) -> Recommendation:
    """Return all sentences whose conditions hold; the first stop that holds is the whole answer.

    Who failed is said in any case.
    """
    failed = _failed(case)
    stop = next((rule for rule in STOPS if rule.holds(case)), None)
    if stop:
        return Recommendation(
            (stop.says(case), *failed), tuple(mean_phrases(case, [case.baseline])) if case.tables else ()
        )
    answer = tuple(rule.says(case) for rule in ANSWERS if rule.holds(case))
    return Recommendation((*answer, *failed), tuple(line for lines in GROUNDS for line in lines(case)))


NOTHING = "nothing can be recommended"

TOGETHER = "The 95% intervals of all means and differences hold together."


STOPS: tuple[Rule, ...] = (
    Rule(
        lambda case: not case.finished,
        lambda case: f"No method finished: {NOTHING}.",
    ),
    Rule(
        lambda case: case.main.few and case.main.runs > 0,
        lambda case: (
            f"{case.main.runs} run{'s are' if case.main.runs > 1 else ' is'} too few to tell methods apart by: "
            f"{NOTHING}."
        ),
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
        lambda case: _coins(case) == {"no better"},
        lambda case: (
            f"No method predicts these {case.counts} better than a coin: no interval of a mean has anything below a "
            f"coin's {coin_of(case.main, case.main.of_chance)}. {TOGETHER} {NOTHING.capitalize()}."
        ),
    ),
    Rule(
        lambda case: bool(_coins(case)) and "better" not in _coins(case),
        lambda case: (
            f"No method is shown to predict these {case.counts} better than a coin: no interval of a mean lies below "
            f"a coin's {coin_of(case.main, case.main.of_chance)}. {TOGETHER} {NOTHING.capitalize()}."
        ),
    ),
)
"""The first that holds is the whole answer."""


ANSWERS: tuple[Rule, ...] = (
    Rule(
        lambda case: bool(case.winner) and not _short(case) and not case.doubts(),
        lambda case: f"{_use(case)} {_name(case)}. {_shown(case)}",
    ),
    Rule(
        lambda case: bool(case.winner) and not _short(case) and bool(case.doubts()),
        lambda case: (
            f"{_name(case)} is better than **{markdown(case.baseline)}** in {code(case.main.name)}, but that is not "
            f"confirmed: {_doubts(case)}. {_shown(case)}"
        ),
    ),
    Rule(
        lambda case: bool(case.winner) and bool(_short(case)),
        lambda case: (
            f"{_name(case)} is not shown to predict these {case.counts} better than a coin: the interval of its mean "
            f"does not lie below a coin's {coin_of(case.main, _short(case))}. {TOGETHER} {_shown(case)}"
        ),
    ),
    Rule(
        lambda case: any(case.main.above_nothing(metric) for metric in case.metrics),
        lambda case: " ".join(_by_metric(case)),
    ),
    Rule(
        lambda case: not case.winner and bool(case.better),
        lambda case: (
            f"No method leads in every metric. Better than **{markdown(case.baseline)}** in one, but worse than some "
            f"method in one: {_each(case)} ({shown_by(case)})."
        ),
    ),
    Rule(
        lambda case: not case.better,
        lambda case: (
            f"No method is shown to be better than **{markdown(case.baseline)}**, the baseline, in "
            f"{codes(case.metrics, 'or')} ({shown_by(case)})."
        ),
    ),
    Rule(
        lambda case: bool(_unopposed(case)),
        lambda case: (
            f"As good as **{markdown(case.reference)}**: {words(_unopposed(case))}. The intervals of their differences "
            f"from it lie within {margin_of(case, case.metrics)}."
        ),
    ),
    Rule(
        lambda case: len(_unopposed(case)) < len(case.alike()),
        lambda case: (
            f"As good as **{markdown(case.reference)}** in {code(case.main.name)}, within "
            f"{margin_of(case, case.metrics)}, but worse than some method elsewhere: {_opposed(case)}."
        ),
    ),
    Rule(
        lambda case: bool(case.slightly()),
        lambda case: (
            f"Told apart from **{markdown(case.reference)}**, but within {margin_of(case, case.metrics)} of it: "
            f"{words(case.slightly())}."
        ),
    ),
    Rule(
        lambda case: not case.better and not case.alike() and not case.slightly(),
        lambda case: (
            "That does not make them equal: no method is shown to be as good either, within "
            f"{margin_of(case, case.metrics)}."
            if all(case.margins.get(metric) for metric in case.metrics)
            else "That does not make them equal."
        ),
    ),
    Rule(
        lambda case: bool(_leading_elsewhere(case)),
        lambda case: " ".join(_leading_elsewhere(case)),
    ),
    Rule(
        lambda case: bool(case.views and case.others and _views(case)),
        lambda case: f"The best mean {code(case.metrics[0])}: {_viewed(case)}. {markdown(sentence(case.views))}",
    ),
)
"""All that hold make the answer, in this order, unless a stop comes before."""


def _coins(case: Case) -> set[str]:
    """Return what is known of any contender in any metric against a coin."""
    return {found for metric in case.metrics for found in case.main.coins(metric).values()}


def _by_metric(case: Case) -> list[str]:
    """Say of each metric who predicts better than a coin, where the metrics do not agree on that."""
    lines = []
    for metric in case.main.of_chance:
        found = case.main.coins(metric)
        better = [label for label, coin in found.items() if coin == "better"]
        level = f"a coin's {case.main.chance[metric]:.4g}"
        if better:
            text = f"In {code(metric)} better than {level}: {words(better)}."
        elif set(found.values()) == {"no better"}:
            text = f"In {code(metric)} no method is better than {level}: no interval of a mean has anything below it."
        else:
            text = (
                f"In {code(metric)} no method is shown to be better than {level}: no interval of a mean lies below it."
            )
        lines.append(text)
    return [*lines, TOGETHER]


def _short(case: Case) -> list[str]:
    return case.main.short_of_a_coin(case.winner)


def _use(case: Case) -> str:
    return f"To {case.purpose}, use" if case.purpose else "Use"


def _name(case: Case) -> str:
    text = f"**{markdown(case.winner)}** ({code(case.specs.get(case.winner, case.winner))})"
    return f"{text} (its ranking of the items has no intervals)" if case.winner in case.no_intervals else text


def _shown(case: Case) -> str:
    """Say in what a winner is better, with the interval."""
    parts = [
        f"{code(metric)} ({difference(case.main, metric, case.winner, case.baseline)})"
        for metric in case.better[case.winner]
    ]
    return (
        f"It is shown to be better than **{markdown(case.baseline)}** in {joined_words(parts)}, and no method to be "
        f"better than it, {shown_by(case)}."
    )


DOUBTS: dict[Doubt, str] = {
    "absent": "it was not run in {name}",
    "failed": "it {failed} in {name}",
    "no baseline": "**{baseline}** was not run in {name}",
    "worse": "in {name} some method is shown to be better than it",
    "not better": "in {name} its mean {metric} is not better than that of the baseline",
    "coin": "in {name} it is not shown to be better than a coin in {metric}",
    "mean": "its mean {metric} is worse than that of the baseline ({distance}), and it is not shown to be as good",
}


def _doubts(case: Case) -> str:
    parts = []
    for other, why, metric in case.doubts():
        facts = {"name": code(other.name), "baseline": markdown(case.baseline), "metric": code(metric)}
        facts["failed"] = other.failed.get(case.winner, "")
        facts["distance"] = difference(other, metric, case.winner, case.baseline) if metric else ""
        parts.append(DOUBTS[why].format(**facts))
    return "; ".join(parts)


def _failed(case: Case) -> list[str]:
    """Say who is not judged, and why."""
    return [f"**{markdown(label)}** {what} and is not judged." for label, what in case.main.failed.items()]


def _each(case: Case) -> str:
    return joined_words([f"{markdown(label)} ({codes(metrics)})" for label, metrics in case.better.items()])


def _unopposed(case: Case) -> list[str]:
    return [label for label in case.alike() if not case.contradicted(label)]


def _opposed(case: Case) -> str:
    found = {label: case.contradicted(label) for label in case.alike()}
    return joined_words([f"{markdown(label)} ({codes(names)})" for label, names in found.items() if names])


def _leading_elsewhere(case: Case) -> list[str]:
    """Return what says that another evaluation has a winner, which the main one has not."""
    lines = []
    for other in case.others:
        for label in other.leaders(case.baseline)[:1]:
            if label == case.winner:
                continue
            metrics = other.better(label, case.baseline)
            found = joined_words([f"{code(m)} ({difference(other, m, label, case.baseline)})" for m in metrics])
            short = other.short_of_a_coin(label)
            coin = f", but not better than a coin in {codes(short, 'or')}" if short else ""
            lines.append(
                f"In {code(other.name)} **{markdown(label)}** is shown to be better than "
                f"**{markdown(case.baseline)}** in {found}{coin}, by the same intervals: {code(case.main.name)} does "
                "not say so."
            )
    return lines


def _views(case: Case) -> dict[str, list[str]]:
    """Return in which evaluations each method has the best mean of the headline, as far as any is above a coin."""
    metric, found = case.metrics[0], dict[str, list[str]]()
    for one in (case.main, *case.others):
        rows = one.rows.get(metric)
        if rows and not one.above_nothing(metric):
            found.setdefault(rows[0].contender, []).append(one.name)
    return found


def _viewed(case: Case) -> str:
    parts = [f"that of **{markdown(label)}** in {codes(names, 'and')}" for label, names in _views(case).items()]
    return "; ".join(parts)


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
