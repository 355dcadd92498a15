"""The recommendation tells which method to use, and on what grounds.

The answer names the intervals of differences; here they are *the same intervals*.

A sentence says no more than the interval or test that it names; what was not shown is said to be just that. What is
known comes from `rankbench.reports.recommendation_facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rankbench.core.text import code, interval_text, markdown, number, place_range_text, sentence
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.document import Bullets, Column, Details, Grid, Heading, Node, Paragraph
from rankbench.reports.recommendation_facts import Case, Doubt, Evaluation, Told, asking, case_of
from rankbench.reports.standings import Standing


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
    text, interval = _difference(one, metric, label, other)
    return text if interval == "—" else f"{text}, interval {interval}"


def _difference(one: Evaluation, metric: str, label: str, other: str) -> tuple[str, str]:
    """Return a difference of means and its interval, in digits."""
    sign = one.sign(metric)
    low, high = sorted(sign * bound for bound in one.interval(metric, label, other))
    return number(sign * one.gap(metric, label, other), sign=True), interval_text(low, high, sign=True)


def coin_of(one: Evaluation, metrics: Sequence[str]) -> str:
    """Return what a coin gets, by metric."""
    return joined_words([f"{one.chance[metric]:.4g} in {code(metric)}" for metric in metrics])


def margin_of(case: Case, metrics: Sequence[str]) -> str:
    """Return margins, by metric."""
    return joined_words([f"{case.margins[metric]:g} in {code(metric)}" for metric in metrics])


VERDICTS: dict[Told, str] = {
    "worse": "worse",
    "slightly worse": "worse, but within {margin:g}",
    "better": "better",
    "slightly better": "better, but within {margin:g}",
    "within": "within {margin:g}",
    "unclear": "not told apart",
}


def evidence(case: Case, reference: str) -> list[Node]:
    """Return a table of methods, means, differences from a method and verdicts; and by what it goes.

    Of another evaluation it has the best mean and the method itself; where no method is shown to beat a coin there is
    no best mean.
    """
    lines: list[tuple[str, ...]] = []
    for one in (case.main, *case.others):
        if not one.tables:
            lines.append((code(one.name), *[""] * 7, "too few runs to tell methods apart by"))
            continue
        for metric, rows in one.rows.items():
            best = [] if one.above_nothing(metric) else rows[:1]
            some = [row for row in rows if row in best or row.contender == reference]
            lines += [_line(case, one, metric, row, reference) for row in (rows if one is case.main else some)]
            if one.row(metric, reference) is None:
                why = one.failed.get(reference, "was not run")
                lines.append((code(one.name), code(metric), markdown(reference), *[""] * 5, why))
    titles = ["experiment", "metric", "method", "mean", "alone", f"minus {markdown(reference)}", "all together"]
    aligned = [Column(title, "left" if i < 3 else "right") for i, title in enumerate(titles)]
    runs = joined_words([f"{one.runs} in {code(one.name)}" for one in (case.main, *case.others)])
    said = (
        f"Means are over {case.counts} that were held out, and each has a 95% interval *alone*. Places and verdicts "
        f"are {shown_by(case)}. *Not told apart* does not mean equal. Runs: {runs}."
    )
    return [Paragraph(said), Grid.from_rows([*aligned, Column("place", "center"), Column("verdict")], lines)]


def _line(case: Case, one: Evaluation, metric: str, row: Standing, reference: str) -> tuple[str, ...]:
    label, apart, verdict = row.contender, ("reference", ""), []
    if label != reference:
        apart = _difference(one, metric, label, reference)
        told = case.stands(one, metric, label, reference)
        verdict = [VERDICTS[told].format(margin=case.margins.get(metric, 0))]
    if one.coins(metric).get(label, "better") != "better":
        verdict.append(f"not shown to be better than a coin's {one.chance[metric]:.4g}")
    alone, place = interval_text(*one.interval_of_mean(row)), place_range_text(*one.places(metric, label))
    cells = code(one.name), code(metric), markdown(label), number(row.mean), alone, *apart, place
    return *cells, "; ".join(verdict)


def _by_ranks(case: Case) -> list[str]:
    """Say who is worse than some method by the ranks of one table alone, which may tell more apart."""
    lines = []
    for metric, rows in case.main.rows.items():
        alone = [r.contender for r in rows if (r.rank_low or 1) > 1 and metric not in case.main.worse(r.contender)]
        if alone:
            at_once = f" in {case.tables} tables at once" if case.tables > 1 else ""
            lines.append(
                f"By the ranks in the table of {code(metric)} worse than some method, too: {words(alone)}. Step-down "
                f"tests of one table tell more apart than intervals of all differences{at_once}."
            )
    return lines


@dataclass(frozen=True)
class Recommendation:
    """What to use, for one experiment.

    Attributes
    ----------
    answer : tuple of str
        Sentences in Markdown that stand for themselves.
    grounds : tuple of Node
        The evidence, and what speaks against it.
    """

    answer: tuple[str, ...]
    grounds: tuple[Node, ...] = ()


class Rule(NamedTuple):
    """A sentence, and when it is said."""

    holds: Callable[[Case], bool]
    says: Callable[[Case], str]


def recommended(found: Sequence[Recommendation]) -> list[Node]:
    """Return a section of the leaderboard, or nothing."""
    parts: list[Node] = []
    for one in found:
        parts.append(Bullets(one.answer))
        if one.grounds:
            parts.append(Details("What that rests on, and what speaks against it", one.grounds))
    return [Heading(2, "Recommendation"), *parts] if parts else []


def recommendations(analysis: Analysis) -> list[Recommendation]:
    """Return a recommendation for each of the experiments that ask for one."""
    return [recommend(case_of(section, analysis), _caveats(section, analysis)) for section in asking(analysis)]


def recommend(case: Case, caveats: Sequence[str] = ()) -> Recommendation:
    """Return all sentences whose conditions hold; the first stop that holds is the whole answer.

    Who failed is said in any case.
    """
    stop = next((rule for rule in STOPS if rule.holds(case)), None)
    rules = [stop] if stop else [rule for rule in ANSWERS if rule.holds(case)]
    answer = (*(rule.says(case) for rule in rules), *_failed(case))
    if stop and not case.tables:
        return Recommendation(answer)
    notes = (*_by_ranks(case), *(f"Bear in mind: {caveat}" for caveat in caveats))
    table = evidence(case, case.baseline if stop else case.reference)
    return Recommendation(answer, (*table, *([Bullets(notes)] if notes else [])))


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
