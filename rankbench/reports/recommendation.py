"""The recommendation names a method to use, with its grounds.

Every sentence rests on the simultaneous intervals of `rankbench.reports.recommendation_facts`, and the grounds print
these intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankbench.core.text import code, interval_text, markdown, mean_text, number, place_range_text, sentence
from rankbench.interfaces.metric import Metric
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.document import Bullets, Column, Grid, Node, Paragraph
from rankbench.reports.recommendation_facts import Case, Evaluation, asking, case_of
from rankbench.reports.standings import Standing
from rankbench.reports.tables import difference_verdict, mean_interval, metric_name
from rankbench.stats.contrasts import FEWEST


def joined_words(parts: Sequence[str], word: str = "and") -> str:
    """Return parts with commas, and a word before the last one."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def metric_names(one: Evaluation, metrics: Sequence[str], word: str = "and") -> str:
    """Return the names of metrics, losses marked as such."""
    return joined_words([metric_name(Metric(metric, one.direction(metric))) for metric in metrics], word)


def difference(one: Evaluation, metric: str, label: str, other: str) -> tuple[str, str]:
    """Return a difference of means and its interval, which holds together with all others of the page."""
    sign = one.sign(metric)
    low, high = sorted(sign * bound for bound in one.interval(metric, label, other))
    return number(sign * one.gap(metric, label, other), sign=True), interval_text(low, high, sign=True)


def against_chance(one: Evaluation, metric: str, label: str) -> str:
    """Return the interval of a mean that decides whether it is better than chance, and the chance level."""
    interval = interval_text(*one.interval_of_mean(metric, label))
    return f"95% interval {interval} with all others of the page at once, chance level {one.chance[metric]:.4g}"


def evidence(case: Case, reference: str) -> list[Node]:
    """Return a table of methods, means, differences from a method and verdicts, and a note on its intervals.

    Of another evaluation the table has the best mean and the method itself.
    """
    lines: list[tuple[str, ...]] = []
    for one in (case.main, *case.others):
        if not one.tables:
            lines.append((code(one.name), *[""] * 7, "too few runs for intervals"))
            continue
        for metric, rows in one.rows.items():
            some = [row for i, row in enumerate(rows) if one is case.main or i == 0 or row.contender == reference]
            lines += [_line(case, one, metric, row, reference) for row in some]
            if one.row(metric, reference) is None:
                why = one.failed.get(reference, "was not run")
                lines.append((code(one.name), metric_names(one, [metric]), markdown(reference), *[""] * 5, why))
    titles = ["experiment", "metric", "method", "mean", "alone", f"minus {markdown(reference)}", "all together"]
    aligned = [Column(title, "left" if i < 3 else "right") for i, title in enumerate(titles)]
    runs = joined_words([f"{one.runs} in {code(one.name)}" for one in (case.main, *case.others)])
    said = (
        f"Means are over held-out {case.counts}, each with a 95% interval *alone*. Ranks and verdicts rest on the 95% "
        f"intervals of all differences between methods in {metric_names(case.main, case.metrics)} of "
        f"{joined_words([code(one.name) for one in case.told_by])}, which hold *all together*. *No significant "
        f"difference* does not mean equal. Runs: {runs}."
    )
    return [Paragraph(said), Grid.from_rows([*aligned, Column("rank", "center"), Column("verdict")], lines)]


def _line(case: Case, one: Evaluation, metric: str, row: Standing, reference: str) -> tuple[str, ...]:
    label, apart, verdict = row.contender, ("baseline", ""), []
    if label != reference:
        apart = difference(one, metric, label, reference)
        verdict = [difference_verdict(*one.interval(metric, label, reference), case.margins.get(metric, 0.0))]
    if metric in one.short_of_chance(label):
        verdict.append(f"not significantly better than chance ({against_chance(one, metric, label)})")
    alone, place = interval_text(*mean_interval(row, one.split)), place_range_text(*one.places(metric, label))
    cells = code(one.name), metric_names(one, [metric]), markdown(label), mean_text(row.mean), alone, *apart, place
    return *cells, "; ".join(verdict)


@dataclass(frozen=True)
class Recommendation:
    """Recommendation of an experiment.

    Attributes
    ----------
    answer : tuple of str
        Sentences in Markdown that stand for themselves.
    grounds : tuple of Node
        The evidence, and cautions.
    """

    answer: tuple[str, ...]
    grounds: tuple[Node, ...] = ()


def recommendations(analysis: Analysis) -> list[Recommendation]:
    """Return a recommendation for each of the experiments that ask for one."""
    return [recommend(case_of(section, analysis), _caveats(section)) for section in asking(analysis)]


def recommend(case: Case, caveats: Sequence[str] = ()) -> Recommendation:
    """Return the method to use, or the reason against any, and the methods that failed."""
    stop = _stop(case)
    failed = [f"**{markdown(label)}** {what} and is not judged." for label, what in case.main.failed.items()]
    answer = (*([f"{stop}: nothing can be recommended."] if stop else _answers(case)), *failed)
    if stop and not case.tables:
        return Recommendation(answer)
    notes = tuple(f"Bear in mind: {caveat}" for caveat in caveats)
    table = evidence(case, case.baseline if stop else case.reference)
    return Recommendation(answer, (*table, *([Bullets(notes)] if notes else [])))


def _stop(case: Case) -> str:
    """Return the reason why nothing can be recommended, or ``""``."""
    main = case.main
    if not main.tables:
        few = f"{main.runs} finished run{' gives' if main.runs == 1 else 's give'} no intervals"
        return f"{few}, and at least {FEWEST} are needed" if main.few else few
    if case.baseline not in main.labels:
        return f"**{markdown(case.baseline)}**, the baseline, has no intervals"
    if main.at_chance and main.at_chance == main.of_chance:
        levels = [f"{main.chance[metric]:.4g} in {metric_names(main, [metric])}" for metric in main.at_chance]
        return f"No method is significantly better than the chance level, {joined_words(levels)}"
    return ""


def _answers(case: Case) -> Iterator[str]:
    """Yield sentences about the winner, about equivalent methods, and about other evaluations."""
    main, base, metrics = case.main, f"**{markdown(case.baseline)}**", metric_names(case.main, case.metrics, "or")
    equivalent = [_equivalent(case, label) for label in case.equivalent()]
    if case.winner:
        name = f"**{markdown(case.winner)}** ({code(case.specs.get(case.winner, case.winner))})"
        use = f"{f'To {case.purpose}, use' if case.purpose else 'Use'} {name}"
        doubts = _doubts(case)
        lead = f"{name} leads, but that is not confirmed: {'; '.join(doubts)}" if doubts else use
        parts = [
            f"{metric_names(main, [metric])} ({_with_interval(main, metric, case.winner, case.baseline)})"
            for metric in case.better[case.winner]
        ]
        yield (
            f"{lead}. It is significantly better than {base} in {joined_words(parts)}; no method is significantly "
            "better than it."
        )
    elif case.better:
        each = [f"{markdown(label)} ({metric_names(main, found)})" for label, found in case.better.items()]
        yield (
            "No method leads in every metric. Some are significantly better than "
            f"{base} in one metric, and worse than some method in another: {joined_words(each)}."
        )
    else:
        equal = "" if equivalent else "; this does not show that they are equal"
        yield f"No method is significantly better than {base}, the baseline, in {metrics}{equal}."
    for metric in main.at_chance:
        level = f"{main.chance[metric]:.4g}"
        yield f"In {metric_names(main, [metric])} no method is significantly better than the chance level {level}."
    if equivalent:
        margins = [f"{case.margins[metric]:g} in {metric_names(main, [metric])}" for metric in case.metrics]
        reference = f"**{markdown(case.reference)}**"
        yield f"Equivalent to {reference}, within {joined_words(margins)}: {joined_words(equivalent)}."
    for other in case.others:
        for label in other.leaders(case.baseline)[:1]:
            if label != case.winner:
                yield f"In {code(other.name)} **{markdown(label)}** leads, significantly better than {base}."
    if case.views and case.others:
        yield markdown(sentence(case.views))


def _with_interval(one: Evaluation, metric: str, label: str, other: str) -> str:
    return ", interval ".join(difference(one, metric, label, other))


def _equivalent(case: Case, label: str) -> str:
    """Return a method that is equivalent to the reference, with reservations."""
    of_main = [case.main.interval(metric, label, case.reference) for metric in case.metrics]
    notes = ["significantly different"] if any(low > 0 or high < 0 for low, high in of_main) else []
    notes += [f"worse than some method in {code(name)}" for name in case.contradicted(label)]
    return f"{markdown(label)} ({'; '.join(notes)})" if notes else markdown(label)


def _doubts(case: Case) -> list[str]:
    """Return reasons against the winner: chance, a mean that is worse than the baseline's, or other evaluations."""
    main, winner, base = case.main, case.winner, case.baseline
    found = [
        f"its mean {metric_names(main, [metric])} is worse than that of the baseline "
        f"({_with_interval(main, metric, winner, base)})"
        for metric in case.metrics
        if main.gap(metric, winner, base) > 0 and not case.within(main, metric, winner, base)
    ]
    for one in (main, *case.confirming):
        name, spec = code(one.name), next((row.spec for metric in one.rows if (row := one.row(metric, winner))), "")
        if spec and spec != case.specs.get(winner, spec):
            name += f" (there {code(spec)})"
        if not {winner, base} <= set(one.labels):
            found.append(f"{name} does not compare it with **{markdown(base)}**")
        elif one.worse(winner):
            found.append(f"some method is significantly better in {name}")
        elif short := one.short_of_chance(winner):
            each = [f"{metric_names(one, [metric])} ({against_chance(one, metric, winner)})" for metric in short]
            found.append(f"in {name} it is not significantly better than chance by {joined_words(each, 'or')}")
        elif not all(one.gap(metric, winner, base) < 0 for metric in case.better[winner] if metric in one.rows):
            found.append(f"in {name} its mean is not better than that of the baseline")
    return found


def _caveats(section: Section) -> list[str]:
    source, matched = section.data.source, section.data.by_n[-1]
    notes = [sentence(text) for text in section.data.experiment.caveats]
    if len(matched.compared) > 1:
        notes.append(
            f"the best mean of {len(matched.compared)} contenders is the best on these very data: expect a little "
            "worse on others."
        )
    people = "judges" if source.counts == "votes" else "people"
    return [
        *notes,
        f"the recommendation names the method that predicts such {source.counts} of such {people}. It does not say "
        "that their preferences are right.",
    ]
