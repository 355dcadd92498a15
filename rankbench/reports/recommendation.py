"""The recommendation tells which method to use, and on what grounds.

The answer names the intervals of differences; here they are *the same intervals*.

A sentence says no more than the interval or test that it names; what was not shown is said to be just that. What is
known comes from `rankbench.reports.recommendation_facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankbench.core.text import code, interval_text, markdown, number, place_range_text, sentence
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.document import Bullets, Column, Grid, Node, Paragraph
from rankbench.reports.recommendation_facts import Case, Evaluation, asking, case_of
from rankbench.reports.standings import Standing
from rankbench.reports.tables import difference_verdict


def joined_words(parts: Sequence[str], word: str = "and") -> str:
    """Return parts with commas, and a word before the last one."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def words(names: Sequence[str]) -> str:
    """Return labels."""
    return joined_words([markdown(name) for name in names])


def codes(names: Sequence[str], word: str = "and") -> str:
    """Return names of metrics or experiments."""
    return joined_words([code(name) for name in names], word)


def shown_by(case: Case) -> str:
    """Name what everything about differences was shown by."""
    where = f"{codes(case.metrics)} of {codes([one.name for one in case.told_by])}"
    return f"by 95% intervals of the differences between all methods in {where}, which hold together"


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
        f"are {shown_by(case)}. *No significant difference* does not mean equal. Runs: {runs}."
    )
    return [Paragraph(said), Grid.from_rows([*aligned, Column("place", "center"), Column("verdict")], lines)]


def _line(case: Case, one: Evaluation, metric: str, row: Standing, reference: str) -> tuple[str, ...]:
    label, apart, verdict = row.contender, ("reference", ""), []
    if label != reference:
        apart = _difference(one, metric, label, reference)
        verdict = [difference_verdict(*one.interval(metric, label, reference), case.margins.get(metric, 0.0))]
    if metric in one.short_of_a_coin(label):
        verdict.append(f"not significantly better than the chance level {one.chance[metric]:.4g}")
    alone, place = interval_text(*one.interval_of_mean(row)), place_range_text(*one.places(metric, label))
    cells = code(one.name), code(metric), markdown(label), number(row.mean), alone, *apart, place
    return *cells, "; ".join(verdict)


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


def recommendations(analysis: Analysis) -> list[Recommendation]:
    """Return a recommendation for each of the experiments that ask for one."""
    return [recommend(case_of(section, analysis), _caveats(section, analysis)) for section in asking(analysis)]


def recommend(case: Case, caveats: Sequence[str] = ()) -> Recommendation:
    """Return what to use and why, or why nothing can be recommended; who failed is said in any case."""
    stop = _stop(case)
    failed = [f"**{markdown(label)}** {what} and is not judged." for label, what in case.main.failed.items()]
    answer = (*([f"{stop}: nothing can be recommended."] if stop else _answers(case)), *failed)
    if stop and not case.tables:
        return Recommendation(answer)
    notes = tuple(f"Bear in mind: {caveat}" for caveat in caveats)
    table = evidence(case, case.baseline if stop else case.reference)
    return Recommendation(answer, (*table, *([Bullets(notes)] if notes else [])))


def _stop(case: Case) -> str:
    """Say why nothing can be recommended; empty where something may be."""
    main = case.main
    if not case.finished:
        return "No method finished"
    if main.few and main.runs > 0:
        return f"{main.runs} run{'s are' if main.runs > 1 else ' is'} too few to tell methods apart by"
    if not main.tables:
        return "There are no intervals to tell methods apart by"
    if case.baseline not in main.labels:
        return f"**{markdown(case.baseline)}**, the baseline, has no intervals to compare with"
    if main.of_chance and all(map(main.above_nothing, main.of_chance)):
        return (
            f"No method is shown to predict these {case.counts} better than a coin, whose mean is "
            f"{coin_of(main, main.of_chance)}, by 95% intervals of all means and differences, which hold together"
        )
    return ""


def _answers(case: Case) -> Iterator[str]:
    """Yield what is shown of the winner, of those that are as good, and of other evaluations."""
    main, base, reference = case.main, markdown(case.baseline), markdown(case.reference)
    if case.winner:
        short, doubts = main.short_of_a_coin(case.winner), _doubts(case)
        if short:
            yield (
                f"{_name(case)} is not shown to predict these {case.counts} better than a coin: the interval of its "
                f"mean does not lie below a coin's {coin_of(main, short)}. {TOGETHER} {_shown(case)}"
            )
        elif doubts:
            yield (
                f"{_name(case)} is better than **{base}** in {code(main.name)}, but that is not confirmed: "
                f"{'; '.join(doubts)}. {_shown(case)}"
            )
        else:
            yield f"{f'To {case.purpose}, use' if case.purpose else 'Use'} {_name(case)}. {_shown(case)}"
    if any(map(main.above_nothing, case.metrics)):
        yield " ".join([*(_beside_a_coin(main, metric) for metric in main.of_chance), TOGETHER])
    if case.better and not case.winner:
        each = [f"{markdown(label)} ({codes(metrics)})" for label, metrics in case.better.items()]
        yield (
            f"No method leads in every metric. Better than **{base}** in one, but worse than some method in one: "
            f"{joined_words(each)} ({shown_by(case)})."
        )
    if not case.better:
        yield (
            f"No method is shown to be better than **{base}**, the baseline, in {codes(case.metrics, 'or')} "
            f"({shown_by(case)})."
        )
    near, alike = case.near(), case.alike()
    opposed = {label: names for label in alike if (names := case.contradicted(label))}
    if good := [label for label in alike if label not in opposed]:
        yield (
            f"As good as **{reference}**: {words(good)}. The intervals of their differences from it lie within "
            f"{margin_of(case, case.metrics)}."
        )
    if opposed:
        each = [f"{markdown(label)} ({codes(names)})" for label, names in opposed.items()]
        yield (
            f"As good as **{reference}** in {code(main.name)}, within {margin_of(case, case.metrics)}, but worse than "
            f"some method elsewhere: {joined_words(each)}."
        )
    if apart := [label for label in near if label not in alike]:
        yield f"Told apart from **{reference}**, but within {margin_of(case, case.metrics)} of it: {words(apart)}."
    if not case.better and not near:
        known = all(case.margins.get(metric) for metric in case.metrics)
        within = f": no method is shown to be as good either, within {margin_of(case, case.metrics)}" if known else ""
        yield f"That does not make them equal{within}."
    if elsewhere := _leading_elsewhere(case):
        yield " ".join(elsewhere)
    if case.views and case.others and (views := _views(case)):
        best = "; ".join(f"that of **{markdown(label)}** in {codes(names)}" for label, names in views.items())
        yield f"The best mean {code(case.metrics[0])}: {best}. {markdown(sentence(case.views))}"


TOGETHER = "The 95% intervals of all means and differences hold together."


def _beside_a_coin(one: Evaluation, metric: str) -> str:
    """Say who is shown to be better than a coin in a metric."""
    better = [row.contender for row in one.rows[metric] if one.beats_coin(metric, row.contender)]
    level = f"a coin's {one.chance[metric]:.4g}"
    if better:
        return f"In {code(metric)} better than {level}: {words(better)}."
    return f"In {code(metric)} no method is shown to be better than {level}: no interval of a mean lies below it."


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


def _doubts(case: Case) -> list[str]:
    """Say what does not confirm the winner: a mean that is worse than the baseline's, and other evaluations."""
    found = [
        f"its mean {code(metric)} is worse than that of the baseline "
        f"({difference(case.main, metric, case.winner, case.baseline)}), and it is not shown to be as good"
        for metric in case.metrics
        if case.main.gap(metric, case.winner, case.baseline) > 0
        and not case.within(case.main, metric, case.winner, case.baseline)
    ]
    return [*found, *filter(None, (_doubt(case, other) for other in case.confirming))]


def _doubt(case: Case, other: Evaluation) -> str:
    """Say why another evaluation does not confirm the winner; empty if it does.

    The winner, or the baseline, was not run there; some method is better there; its mean is not better than the
    baseline's where it is in the main evaluation; or it is not shown to be better than a coin.
    """
    name = code(other.name)
    if case.winner not in other.labels:
        return f"it {other.failed.get(case.winner, 'was not run')} in {name}"
    if case.baseline not in other.labels:
        return f"**{markdown(case.baseline)}** was not run in {name}"
    if other.worse(case.winner):
        return f"in {name} some method is shown to be better than it"
    for metric in (metric for metric in other.rows if metric in case.better[case.winner]):
        if not other.gap(metric, case.winner, case.baseline) < 0:
            return f"in {name} its mean {code(metric)} is not better than that of the baseline"
    short = other.short_of_a_coin(case.winner)
    return f"in {name} it is not shown to be better than a coin in {code(short[0])}" if short else ""


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


def _caveats(section: Section, analysis: Analysis) -> list[str]:
    source, race = section.sampler.source, section.sampler.races[-1]
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
