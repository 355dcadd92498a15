"""The introduction has the question, the data, and the best contender."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from rankbench.core.text import code, count_text, grouped_digits, interval_text, markdown, mean_text, number, sentence
from rankbench.interfaces.cell import RANKING, VOTES, Layout, Split
from rankbench.interfaces.metric import Metric
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.claims_section import claims_counted
from rankbench.reports.document import Bullets, Column, Grid, Image, Node, Paragraph, first_rows
from rankbench.reports.experiment_data import ContenderRuns
from rankbench.reports.figures import DrawnFigure, SampledResults
from rankbench.reports.footnotes import judgments_simulated, stopped_early, thin
from rankbench.reports.leaders import Leaders, best_and_verdict, headline_section, leaders_of, said_of_leaders
from rankbench.reports.over_logs import over_logs
from rankbench.reports.over_page import answer_over_logs
from rankbench.reports.recommendation import joined_words
from rankbench.reports.recommendation_facts import together_level
from rankbench.reports.standings import Standing, best_first
from rankbench.reports.tables import (
    NO_DIFFERENCE,
    RANK_RANGE,
    TOO_FEW,
    difference_verdict,
    item_table,
    may_be_first,
    mean_interval,
    metric_name,
    metric_title,
    rank_text,
)
from rankbench.store.records import SourceRecord

MOST_ITEMS = 10
"""Items of a ranking that stand on the page."""

_CONTROL = "control=true"
"""In specifications of contenders that take the covariates of a log."""

MOST_CONTENDERS = 6
"""Contenders of the first table, the baseline not counted: with it the page's first screen has 24 lines."""

MOST_SENTENCES = 3
"""Sentences that answer a suite's question."""

MOST_EXPERIMENTS = 2
"""Experiments that the answer names."""


def first_screen(analysis: Analysis, kind: str, figures: Sequence[DrawnFigure]) -> list[Node]:
    """Return the answer to the question of a suite: sentences, verdicts of claims, a table and a figure.

    Parameters
    ----------
    analysis : Analysis
    kind : str
        Whether the data are real or simulated, in Markdown.
    figures : sequence of DrawnFigure
    """
    section, record, overs = headline_section(analysis), analysis.record, over_logs(analysis.sections)
    parts, notes = list[Node](), [markdown(text) for text in record.smaller]
    if section is not None and not overs:
        if found := leaders_of(section):
            parts, notes = _contenders(section, found, _results(analysis, section), notes), []
        own = [one for one in figures if one.data is section.data]
        for one in [*(one for one in own if one.short), *own][:1]:
            words = markdown(one.figure.title or section.data.experiment.title)
            parts.append(Image(words, f"figures/{one.figure.file}.svg"))
    asked = " ".join(filter(None, (kind, markdown(sentence(record.asks)) if record.asks else "")))
    said = " ".join(answer_sentences(analysis)[:MOST_SENTENCES])
    answer: list[Node] = [Bullets(answer_over_logs(overs))] if overs else [Paragraph(said)] * bool(said)
    claims = claims_counted(analysis) if any(one.answers for one in analysis.sections) else ""
    texts = [Paragraph(text) for text in (claims, " ".join(notes)) if text]
    return [*[Paragraph(asked)] * bool(asked), *answer, *texts, *parts]


def answer_sentences(analysis: Analysis) -> list[str]:
    """Return sentences on the best of the headline experiment, held-out units first, and on items and series."""
    said, section = [], headline_section(analysis)
    if section is not None:
        found, results = leaders_of(section), _results(analysis, section)
        elsewhere = _elsewhere(analysis, section, found)
        for one in found:
            said.append(f"On {one.split_title} {said_of_leaders(one)}{_worse(section, one, results)}{elsewhere}.")
            elsewhere = ""
    return [*said, *_items_said(analysis)]


def _results(analysis: Analysis, section: Section) -> SampledResults:
    return SampledResults(section.data, together_level(section, analysis))


def _elsewhere(analysis: Analysis, section: Section, leaders: Sequence[Leaders]) -> str:
    """Name the other experiments that compare the best contender and do not confirm it; empty without any.

    An experiment with the same best mean confirms it, unless others may be the best there, and none here.
    """
    first = next((one for one in leaders if one.rows), None)
    if first is None:
        return ""
    best, found = first.rows[0], dict[str, None]()
    for other in (one for one in analysis.sections if one is not section):
        for one in leaders_of(other):
            # Experiments may give one label to different parameters, and one contender different labels.
            compared = best.spec in {row.spec for row in one.rows}
            alike = compared and one.rows[0].spec == best.spec
            if compared and not (alike and (len(one.first) == 1 or not first.sure)):
                found[code(other.data.experiment.name)] = None
    if not found:
        return ""
    left = len(found) - MOST_EXPERIMENTS
    named = joined_words([*list(found)[:MOST_EXPERIMENTS], *([f"{left} more"] if left > 0 else [])])
    return f" (not confirmed by {named}, see *Each experiment*)"


def _worse(section: Section, leaders: Leaders, results: SampledResults) -> str:
    """Return a note on the other metrics in which the best contender is significantly worse than a rival."""
    data, n, split = section.data, leaders.n, leaders.split
    ranked = {(row.metric, row.contender) for row in section.rows if (row.n, row.split) == (n, split) and row.rank_low}
    best = leaders.rows[0].contender if leaders.rows else ""
    names = [data.experiment.baseline, *(row.contender for row in leaders.rows[1:])]
    other = next((one for one in names if (data.metrics[0], one) in ranked and one != best), None)
    if other is None or {best, other} & leaders.unranked:
        return ""
    said = ""
    for one in (one for one in data.metrics[1:] if {(one, best), (one, other)} <= ranked):
        gap = results.differences(n, [best], other, one, split, 0.95)
        less = data.source.direction(one) == "minimize"
        if gap.lower[0] > 0 if less else gap.upper[0] < 0:
            numbers = f"{number(gap.mean[0], sign=True)}, {interval_text(gap.lower[0], gap.upper[0], sign=True)}"
            metric = metric_name(data.source.metric(one))
            said += f"; in {metric} it is significantly worse than **{markdown(other)}**: {numbers}"
    return said


def _contenders(
    section: Section, leaders: Sequence[Leaders], results: SampledResults, others: Sequence[str]
) -> list[Node]:
    """Return the first contenders of the headline on each split, a note on the table, and others."""
    data, n = section.data, leaders[0].n
    source, base, metric = data.source, data.experiment.baseline, data.metrics[0]
    every = [row for row in section.rows if (row.n, row.metric) == (n, metric)]
    first = best_first([row for row in every if row.split == leaders[0].split])
    shown = [row for at, row in enumerate(first) if at < MOST_CONTENDERS or row.contender == base]
    columns, cells, words = [Column("contender")], [[row.shown] for row in shown], dict[str, None]()
    for one in leaders:
        rows = {row.contender: row for row in every if row.split == one.split}
        own = [rows[row.contender] for row in shown]
        against = _against(section, one, own, results, words)
        columns += [Column(markdown(one.split_title), "right")]
        columns += [Column(f"minus {markdown(base)}" if against else RANK_RANGE, "right" if against else "center")]
        for line, row in zip(cells, own, strict=True):
            ends = interval_text(*mean_interval(row, source.test_share is not None))
            mean = mean_text(row.mean) + f" {ends}" * (ends != "—")
            line += [mean, against.get(row.contender, "") if against else rank_text(row)]
    drawn = f", n = {grouped_digits(n)} {markdown(source.counts)}" if source.counts else ""
    notes = [code(data.experiment.name) + drawn, metric_title(source.metric(metric)), "in brackets 95% intervals"]
    notes += [f"differences: {one}" for one in words]
    caption = f"{'; '.join(notes)}."
    left = len(first) - len(shown)
    more = [f"{count_text(left, 'more contender')}: [details](details.md)."] if left else []
    matched = next(matched for matched in data.by_n if matched.n == n)
    said = [caption, *more, *stopped_early(matched), *thin(matched, source), *others]
    return [Grid.from_rows(columns, cells, caption=caption), Paragraph(" ".join(said))]


def _against(
    section: Section, leaders: Leaders, rows: Sequence[Standing], results: SampledResults, words: dict[str, None]
) -> dict[str, str]:
    """Return the difference of each contender from the baseline with its verdict; empty without a baseline."""
    data, base = section.data, section.data.experiment.baseline
    source, metric = data.source, data.metrics[0]
    if base not in {row.contender for row in rows if row.rank_low is not None}:
        return {}
    labels = [row.contender for row in rows if row.status == "done" and row.contender != base]
    found = results.differences(leaders.n, labels, base, metric, leaders.split, 0.95)
    sign, margin = -1 if source.direction(metric) == "maximize" else 1, data.experiment.margin.get(metric, 0.0)
    words[found.words] = None
    said = {base: "baseline"}
    for label, gap, low, high in zip(labels, found.mean, found.lower, found.upper, strict=True):
        verdict = difference_verdict(min(sign * low, sign * high), max(sign * low, sign * high), margin)
        verdict = TOO_FEW if {label, base} & leaders.unranked else verdict.replace(NO_DIFFERENCE, "")
        ends = interval_text(low, high, sign=True).replace("—", "")
        said[label] = " ".join(filter(None, (number(gap, sign=True), ends, verdict)))
    return said


def compared_with(source: SourceRecord) -> list[str]:
    """Return the assumption about losses of `Protocol.assumptions`."""
    found = [text for text in source.assumptions if text.startswith("Losses ")]
    return [markdown(sentence(text.partition(". ")[0])) for text in found]


def at_a_glance(analysis: Analysis) -> list[Node]:
    """Return a table of the best contender of each experiment, at its largest n, by its headline."""
    rows, units, shared = [], dict[str, None](), False
    for section in analysis.sections:
        source, experiment = section.data.source, section.data.experiment
        data = code(source.dataset.partition(":")[0]) if source.dataset else "made by the protocol"
        data += " (simulated)" * source.simulated + " (judgments simulated)" * judgments_simulated(source)
        for leaders in leaders_of(section):
            n = grouped_digits(leaders.n) if source.counts else ""
            metric = section.data.metrics[0]
            how = metric_title(source.metric(metric))
            rows.append((markdown(experiment.name), data, n, leaders.split_title, how, *best_and_verdict(leaders)))
            shared |= source.test_share is not None
            if source.test_share is None:
                units[source.judged_on] = None
    if not rows:
        return []
    titles = ("experiment", "data", "n", "judged on", "by", "best mean", "verdict")
    columns = [Column(title, "right" if title == "n" else "left") for title in titles]
    allowance = overlap = "correct for data that repetitions share"
    if units:
        named = joined_words(list(units))
        allowance = f"allow for new {named}, not only for new repetitions"
        if shared:
            allowance = f"allow for new {named} where contenders are judged on these, and elsewhere {overlap}"
    note = (
        f"*The best*: by comparisons with the best (95%), which {allowance}. *Not significant* does not mean equal: "
        "the data may be too few."
    )
    said = [*(f"{one}." for one in named_otherwise(analysis, "label")), *_judged_by(analysis)]
    return [Grid.from_rows(columns, rows), Paragraph(note), Bullets(tuple(said))]


def named_otherwise(analysis: Analysis, by: Literal["label", "spec"]) -> list[str]:
    """Return notes on labels of several contenders, and on contenders of several labels; without periods."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for section in (one for one in analysis.sections if one.data.source.layout == "race"):
        for runs in (runs for matched in section.data.by_n for runs in matched.contenders):
            label, spec = f"**{markdown(runs.label)}**", code(runs.spec)
            one, other = (label, spec) if by == "label" else (spec, label)
            found.setdefault(one, {}).setdefault(other, {})[markdown(section.data.experiment.name)] = None
    lines = []
    for one, others in found.items():
        first, *more = (f"{other} in {joined_words([*names])}" for other, names in others.items())
        lines += [f"{one} is {first}, but {joined_words(more)}"] if more else []
    return lines


def _judged_by(analysis: Analysis) -> list[str]:
    """Return sentences about the metrics and the splits of the table."""
    experiments = [section.data for section in analysis.sections]
    said = [said_of_metric(one.source.metric(one.metrics[0])) for one in experiments if one.source.layout == "race"]
    splits = [(one.source, split) for one in experiments for split in one.source.shown_splits()]
    said += [text for source, split in splits for text in said_of_split(source, split)]
    return [*dict.fromkeys(said)]


def said_of_metric(metric: Metric) -> str:
    """Return a sentence about a metric, with its chance level."""
    text = metric.sentence or f"{code(f'rankbench info {metric.name}')} describes it."
    chance = "none declared"
    if metric.chance is not None:
        chance = f"{metric.chance:.4g}"
    elif metric.jumps:
        chance = "not constant; it depends on the true labels or preferences"
    name = metric_name(metric)
    return f"{name}: {text[:1].lower()}{text[1:]} Chance level: {chance}."


def said_of_split(source: SourceRecord, split: Split) -> list[str]:
    """Return the explanation in the parentheses of a split's title, as a sentence, if any."""
    found = re.fullmatch(r"(.+?) \((.+)\)", source.splits.get(split, ""))
    return [f"*{markdown(found[1][:1].lower() + found[1][1:])}*: {markdown(found[2])}."] if found else []


def top_items(analysis: Analysis) -> list[Node]:
    """Return the results of series, and the first items of each ranking, by the first contender that finished."""
    series = [*(_last_stretch(*one) for one in _rankings(analysis, "series")), *_stretches_beyond_chance(analysis)]
    parts: list[Node] = [Bullets(tuple(series))] if series else []
    for section, runs, split in _rankings(analysis):
        count = len(section.data.source.units[split])
        more = (
            " `rankbench aggregate --control` takes their effects out." if _without_covariates(analysis, runs) else ""
        )
        more += f" The first {MOST_ITEMS}:" if count > MOST_ITEMS else ""
        items = first_rows(item_table(section.data, runs, split), MOST_ITEMS, "units.csv")
        parts += [Paragraph(f"{_first_item(analysis, section, runs, split)}{more}"), *items]
    return parts


def _items_said(analysis: Analysis) -> list[str]:
    """Return the first item of each ranking of items, and the last stretch of each series, a sentence for each."""
    first = [_first_item(analysis, *ranking) for ranking in _rankings(analysis)]
    return [*(_last_stretch(*series) for series in _rankings(analysis, "series")), *first]


def _rankings(analysis: Analysis, layout: Layout = "ranking") -> Iterator[tuple[Section, ContenderRuns, Split]]:
    for section in analysis.sections:
        data = section.data
        if data.source.layout == layout and data.by_n:
            runs = next((runs for runs in data.by_n[-1].contenders if runs.done), None)
            if runs is not None:
                yield from ((section, runs, split) for split in data.source.shown_splits())


def _last_stretch(section: Section, runs: ContenderRuns, split: Split) -> str:
    """Return the score of the last stretch of time."""
    data = section.data
    units = data.source.units[split]
    score, lower, upper = (data.values(runs, metric, split) for metric in RANKING[:3])
    unit = next((str(figure.options["unit"]) for figure in data.experiment.figures if "unit" in figure.options), "")
    last = f"{number(float(score[-1]), 3)}{f' {markdown(unit)}' * bool(unit)}"
    ends = interval_text(float(lower[-1]), float(upper[-1]), 3)
    return f"{markdown(data.experiment.title)}: latest, **{markdown(units[-1])}**, {last}, 95% interval {ends}."


def _stretches_beyond_chance(analysis: Analysis) -> list[str]:
    """Return a sentence for each series on the number of stretches whose score differs from the chance level."""
    said = []
    for section, runs, split in _rankings(analysis, "series"):
        source = section.data.source
        _, lower, upper = (section.data.values(runs, metric, split) for metric in RANKING[:3])
        if (chance := source.metric(RANKING[0]).chance) is not None:
            of = f"{int((lower > chance).sum())} of {grouped_digits(len(lower))} {source.short(split)}"
            what = f"{markdown(section.data.experiment.title)}: own 95% intervals lie above {chance:g} in {of}"
            said.append(f"{what}, and below it in {int((upper < chance).sum())}.")
    return said


def _without_covariates(analysis: Analysis, runs: ContenderRuns) -> bool:
    """Return whether contenders of other experiments take covariates of the log, and this one takes none."""
    by_n = [matched for section in analysis.sections for matched in section.data.by_n]
    return _CONTROL not in runs.spec and any(_CONTROL in other.spec for matched in by_n for other in matched.contenders)


def _first_item(analysis: Analysis, section: Section, runs: ContenderRuns, split: Split) -> str:
    """Return a sentence on the item with the highest score, among items with enough judgments, if any."""
    data = section.data
    units, least = data.source.units[split], data.experiment.least_judgments
    score, _, _, low, high = (data.values(runs, metric, split) for metric in RANKING)
    judged = data.values(runs, VOTES, split) if VOTES in data.metrics else np.full(len(units), np.inf)
    chosen = np.flatnonzero(judged >= least)
    named = f" with at least {grouped_digits(least)} {markdown(data.source.counts)}"
    if len(chosen) in (0, len(units)):
        chosen, named = np.arange(len(units)), ""
    best = min(chosen.tolist(), key=lambda i: (-round(float(score[i]), 9), units[i]))
    others = int((score[chosen].round(9) == round(float(score[best]), 9)).sum()) - 1
    has = f"and {count_text(others, 'other')} have" if others else "has"
    name, among = f"**{markdown(units[best])}**", f"of {grouped_digits(len(chosen))} items{named}"
    who = f"{name} {has} the highest score {among}"
    first = may_be_first(data, runs, split)
    by = f"{markdown(runs.label)}{' without covariates' * _without_covariates(analysis, runs)}"
    if first is not None and np.isnan(first).all():
        return f"By {by}, {who}."
    how = "95%, all places at once" if first is None else r"marked \* in the tables; comparisons with the best, 95%"
    if low[best] == high[best] == 1:
        return f"By {by}, {name} is first {among} ({how})."
    near = int((low[chosen] == 1).sum())
    alone = near == 1 and low[best] == 1
    return f"By {by}, {who}{', and alone' if alone else f'; {near}'} of them may be first ({how})."
