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
from rankbench.reports.experiment_data import Arm
from rankbench.reports.figures import SampledResults
from rankbench.reports.footnotes import judgments_simulated, stopped_early, thin
from rankbench.reports.leaders import Leaders, best_and_verdict, headline_section, leaders_of, said_of_leaders
from rankbench.reports.recommendation import joined_words
from rankbench.reports.recommendation_facts import together_level
from rankbench.reports.standings import best_first
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
from rankbench.stats.contrasts import FEWER_FIRST
from rankbench.store.records import SourceRecord

MOST_ITEMS = 10
"""Items of a ranking that stand on the page."""

_CONTROL = "control=true"
"""In specifications of contenders that take the covariates of a log."""

MOST_CONTENDERS = 6
"""Contenders of the first table, the baseline not counted: with it the page's first screen has 25 lines."""


MOST_EXPERIMENTS = 3
"""Other experiments that the first screen names."""


def in_short(analysis: Analysis, data: Sequence[str], remarks: Sequence[str]) -> list[Node]:
    """Return the data, the best contender, a table and the figure of the headline experiment, and how to verify them.

    Parameters
    ----------
    analysis : Analysis
    data : sequence of str
        A line for each data set, in Markdown.
    remarks : sequence of str
        Lines on the data that come after the answers.
    """
    section, record = headline_section(analysis), analysis.record
    claims = [claims_counted(analysis)] if any(one.answers for one in analysis.sections) else []
    lines, parts = [*data, *claims], list[Node]()
    if section is not None:
        lines += _compared_with(section.sampler.source)
        results = SampledResults(section.sampler, together_level(section, analysis))
        found = leaders_of(section)
        for one in found:
            lines.append(f"On {one.split_title} {said_of_leaders(one)}.{_best_numbers(section, one, results)}")
        lines += _elsewhere(analysis, section, found)
        for leaders in found[:1]:
            parts += _contenders(section, leaders, results)
        for figure in section.sampler.experiment.figures[:1]:
            words = markdown(figure.title or section.sampler.experiment.title)
            parts.append(Image(words, f"figures/{figure.file}.svg"))
    real = dict.fromkeys(code(source.dataset) for source in record.sources if source.dataset and not source.simulated)
    on = f" on {', '.join(real)}" if real else ""
    how = (
        "Verify: `rankbench verify FOLDER --rerun 2` makes these files again from their rows, and computes two "
        "repetitions again; FOLDER holds this page's `leaderboard.csv`. Reproduce: run the suite "
        f"{code(record.name)}{on} with the seed {code(str(record.seed))}. All tables: [details.md](details.md)."
    )
    lines += [*items_said(analysis), *map(markdown, record.smaller), *remarks]
    return [*([Bullets(tuple(lines))] if lines else []), *parts, Paragraph(how)]


def _elsewhere(analysis: Analysis, section: Section, leaders: Sequence[Leaders]) -> list[str]:
    """Name the other experiments that compare the best contender and do not confirm it; one sentence, or none.

    An experiment with the same best mean confirms it, unless others may be the best there, and none here.
    """
    first = next((one for one in leaders if one.rows), None)
    if first is None:
        return []
    best, found = first.rows[0], []
    for other in (one for one in analysis.sections if one is not section):
        for one in leaders_of(other):
            # Experiments may give one label to different parameters, and one contender different labels.
            compared = best.spec in {row.spec for row in one.rows}
            alike = compared and one.rows[0].spec == best.spec
            if compared and not (alike and (len(one.first) == 1 or not first.sure)):
                name, verdict = best_and_verdict(one)
                found.append(f"{code(other.sampler.experiment.name)} on {one.split_title}, {name} ({verdict})")
    if not found:
        return []
    left = len(found) - MOST_EXPERIMENTS
    more = f"; and {left} more, see *Each experiment*" if left > 0 else ""
    return [
        f"Other experiments do not confirm **{markdown(best.contender)}**: {'; '.join(found[:MOST_EXPERIMENTS])}{more}."
    ]


def _best_numbers(section: Section, leaders: Leaders, results: SampledResults) -> str:
    """Return the mean of the best contender, and its difference from the baseline; of the baseline, from the second."""
    if not leaders.rows:
        return ""
    sampler, n, split, (best, *others) = section.sampler, leaders.n, leaders.split, leaders.rows
    source, metric = sampler.source, sampler.metrics[0]
    interval = interval_text(*mean_interval(best, source.test_share is not None))
    name = f"{metric_name(source.metric(metric))} of **{markdown(best.contender)}**"
    said = f" Mean {name}: {mean_text(best.mean)}" + f", 95% interval {interval}" * (interval != "—")
    ranked = {(row.metric, row.contender) for row in section.rows if (row.n, row.split) == (n, split) and row.rank_low}
    names = [sampler.experiment.baseline, *(row.contender for row in others)]
    other = next((label for label in names if (metric, label) in ranked - {(metric, best.contender)}), None)
    if other is None:
        return f"{said}."
    worse = ""
    for one in sampler.metrics:
        if not {(one, best.contender), (one, other)} <= ranked:
            continue
        gap = results.differences(n, [best.contender], other, one, split, 0.95)
        numbers = f"{number(gap.mean[0], sign=True)}, {interval_text(gap.lower[0], gap.upper[0], sign=True)}"
        if one == metric:
            said += f". Its difference from **{markdown(other)}**: {numbers.replace('—', 'no interval')}"
        elif {best.contender, other} & leaders.unranked:
            continue
        elif max(gap.lower[0], -gap.upper[0]) > 0 and (gap.lower[0] > 0) == (source.direction(one) == "minimize"):
            loser = f"**{markdown(best.contender)}**"
            worse += f" In {metric_name(source.metric(one))} {loser} is significantly worse: {numbers}."
    return f"{said}.{worse}"


def _contenders(section: Section, leaders: Leaders, results: SampledResults) -> list[Node]:
    """Return the first contenders of the headline with a verdict each, and notes on the table."""
    sampler, split, n = section.sampler, leaders.split, leaders.n
    source, base, metric = sampler.source, sampler.experiment.baseline, sampler.metrics[0]
    splits = source.test_share is not None
    rows = best_first([row for row in section.rows if (row.n, row.metric, row.split) == (n, metric, split)])
    shown = [row for i, row in enumerate(rows) if i < MOST_CONTENDERS or row.contender == base]
    columns = [Column("contender"), Column("mean", "right"), Column("95% interval", "center")]
    drawn = f", n = {grouped_digits(n)} {markdown(source.counts)}" if source.counts else ""
    notes = [code(sampler.experiment.name) + drawn, f"judged on {leaders.split_title}"]
    notes.append(metric_title(source.metric(metric)))
    against: dict[str, tuple[str, ...]] = {base: ("baseline", "", "")}
    explained = list[str]()
    compared = [row.contender for row in shown if row.rank_low is not None and row.contender != base]
    if any(row.contender == base and row.rank_low is not None for row in shown):
        columns += [Column(f"minus {markdown(base)}", "right"), Column("95% interval", "center")]
        columns.append(Column(f"against {markdown(base)}"))
        found = results.differences(n, compared, base, metric, split, 0.95)
        sign = -1 if source.direction(metric) == "maximize" else 1
        margin = sampler.experiment.margin.get(metric, 0.0)
        for label, gap, low, high in zip(compared, found.mean, found.lower, found.upper, strict=True):
            verdict = difference_verdict(min(sign * low, sign * high), max(sign * low, sign * high), margin)
            verdict = TOO_FEW if {label, base} & leaders.unranked else verdict
            against[label] = number(gap, sign=True), interval_text(low, high, sign=True), verdict
        notes.append(f"differences: {found.words}")
        if results.together is None:
            notes[-1] += ", each by itself; *may be the best*: comparisons with the best, 95%"
    else:
        columns.append(Column(RANK_RANGE, "center"))
        explained = [FEWER_FIRST] if leaders.narrower else []
        against = {row.contender: (rank_text(row),) for row in shown}
    empty = ("",) * (len(columns) - 3)
    table = [
        (row.shown, mean_text(row.mean), interval_text(*mean_interval(row, splits)), *against.get(row.contender, empty))
        for row in shown
    ]
    if len(rows) > len(shown):
        notes.append(f"{count_text(len(rows) - len(shown), 'more contender')} in [details.md](details.md)")
    race = next(race for race in sampler.races if race.n == n)
    notes += ["an oracle knows the truth, and is no contender for the best"] if leaders.oracles else []
    if leaders.first != leaders.rows[: len(leaders.first)]:
        explained.append("Contenders with a worse mean may be the best where their differences are less certain.")
    explained += [said_of_metric(source.metric(metric)), *said_of_split(source, split)]
    if any(cells[-1] == NO_DIFFERENCE for cells in against.values()):
        explained.append(f"*{NO_DIFFERENCE.capitalize()}* does not mean equal: more data may separate contenders.")
    lines = f"{'; '.join(notes)}.", " ".join([*stopped_early(race), *explained, *thin(race, source)])
    return [Grid.from_rows(columns, table, caption=lines[0]), Bullets(lines)]


def _compared_with(source: SourceRecord) -> list[str]:
    """Return the assumption about losses of `Protocol.assumptions`."""
    found = [text for text in source.assumptions if text.startswith("Losses ")]
    return [markdown(sentence(text.partition(". ")[0])) for text in found]


def who_is_best(section: Section | None) -> list[str]:
    """Say which contender is best in an experiment, if there is one, a sentence for each split."""
    if section is None:
        return []
    sampler, lines = section.sampler, []
    for leaders in leaders_of(section):
        metric = sampler.source.metric(sampler.metrics[0])
        how = f"by {metric_name(metric)} in {code(sampler.experiment.name)}"
        if sampler.source.counts and len(sampler.races) > 1:
            how += f", n = {grouped_digits(leaders.n)}"
        if leaders.oracles:
            several, names = len(leaders.oracles) > 1, ", ".join(map(markdown, leaders.oracles))
            how += f"; not counted: {names}, {'oracles, which know' if several else 'an oracle, which knows'} the truth"
        lines.append(f"On {leaders.split_title} {said_of_leaders(leaders)} ({how}).")
    return lines


def at_a_glance(analysis: Analysis) -> list[Node]:
    """Return a table of the best contender of each experiment, at its largest n, by its headline."""
    rows, units = [], dict[str, None]()
    for section in analysis.sections:
        source, experiment = section.sampler.source, section.sampler.experiment
        data = code(source.dataset.partition(":")[0]) if source.dataset else "made by the protocol"
        data += " (simulated)" * source.simulated + " (judgments simulated)" * judgments_simulated(source)
        for leaders in leaders_of(section):
            n = grouped_digits(leaders.n) if source.counts else ""
            metric = section.sampler.metrics[0]
            how = metric_title(source.metric(metric))
            rows.append((markdown(experiment.name), data, n, leaders.split_title, how, *best_and_verdict(leaders)))
            if source.test_share is None:
                units[source.judged_on] = None
    if not rows:
        return []
    titles = ("experiment", "data", "n", "judged on", "by", "best mean", "verdict")
    columns = [Column(title, "right" if title == "n" else "left") for title in titles]
    allowance = "correct for data that repetitions share"
    if units:
        allowance = f"allow for new {joined_words(list(units))}, not only for new repetitions"
    note = (
        "*Significant*: the contender is better than every other one of the table. Tests of all pairs at once (95%) "
        f"{allowance}. *Not significant* does not mean equal: the "
        "data may be too few."
    )
    said = [*(f"{one}." for one in named_otherwise(analysis, "label")), *_judged_by(analysis)]
    return [Grid.from_rows(columns, rows), Paragraph(note), Bullets(tuple(said))]


def named_otherwise(analysis: Analysis, by: Literal["label", "spec"]) -> list[str]:
    """Say where experiments give one label to several contenders, or one contender several labels; without periods."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for section in (one for one in analysis.sections if one.sampler.source.layout == "race"):
        for arm in (arm for race in section.sampler.races for arm in race.arms):
            label, spec = f"**{markdown(arm.label)}**", code(arm.spec)
            one, other = (label, spec) if by == "label" else (spec, label)
            found.setdefault(one, {}).setdefault(other, {})[markdown(section.sampler.experiment.name)] = None
    lines = []
    for one, others in found.items():
        first, *more = (f"{other} in {joined_words([*names])}" for other, names in others.items())
        lines += [f"{one} is {first}, but {joined_words(more)}"] if more else []
    return lines


def _judged_by(analysis: Analysis) -> list[str]:
    """Return sentences about the metrics and the splits of the table."""
    samplers = [section.sampler for section in analysis.sections]
    said = [said_of_metric(one.source.metric(one.metrics[0])) for one in samplers if one.source.layout == "race"]
    splits = [(one.source, split) for one in samplers for split in one.source.shown_splits()]
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
    """Return the explanation in the parentheses of a split's title, as a sentence; nothing without parentheses."""
    found = re.fullmatch(r"(.+?) \((.+)\)", source.splits.get(split, ""))
    return [f"*{markdown(found[1][:1].lower() + found[1][1:])}*: {markdown(found[2])}."] if found else []


def top_items(analysis: Analysis) -> list[Node]:
    """Return the first items of each ranking of items, by the first contender that finished."""
    parts: list[Node] = []
    for section, arm, split in _rankings(analysis):
        count = len(section.sampler.source.units[split])
        more = " `rankbench aggregate --control` takes their effects out." if _without_covariates(analysis, arm) else ""
        more += f" The first {MOST_ITEMS}:" if count > MOST_ITEMS else ""
        items = first_rows(item_table(section.sampler, arm, split), MOST_ITEMS, "units.csv")
        parts += [Paragraph(f"{_first_item(analysis, section, arm, split)}{more}"), *items]
        first, low = may_be_first(section.sampler, arm, split), section.sampler.values(arm, RANKING[3], split)
        parts += [Paragraph(FEWER_FIRST)] if first is not None and ((first == 0) & (low == 1)).any() else []
    return parts


def items_said(analysis: Analysis) -> list[str]:
    """Return the first item of each ranking of items, and the last stretch of each series, a sentence for each."""
    first = [_first_item(analysis, *ranking) for ranking in _rankings(analysis)]
    return [*(_last_stretch(*series) for series in _rankings(analysis, "series")), *first]


def _rankings(analysis: Analysis, layout: Layout = "ranking") -> Iterator[tuple[Section, Arm, Split]]:
    for section in analysis.sections:
        sampler = section.sampler
        if sampler.source.layout == layout and sampler.races:
            arm = next((arm for arm in sampler.races[-1].arms if arm.done), None)
            if arm is not None:
                yield from ((section, arm, split) for split in sampler.source.shown_splits())


def _last_stretch(section: Section, arm: Arm, split: Split) -> str:
    """Return the score of the last stretch of time, and how many stretches have one that is not the chance level."""
    sampler = section.sampler
    source, units = sampler.source, sampler.source.units[split]
    score, lower, upper = (sampler.values(arm, metric, split) for metric in RANKING[:3])
    unit = next((str(figure.options["unit"]) for figure in sampler.experiment.figures if "unit" in figure.options), "")
    last = f"{number(float(score[-1]), 3)}{f' {markdown(unit)}' * bool(unit)}"
    ends = interval_text(float(lower[-1]), float(upper[-1]), 3)
    said = f"{markdown(sampler.experiment.title)}. Latest, **{markdown(units[-1])}**: {last}, 95% interval {ends}."
    chance = source.metric(RANKING[0]).chance
    if chance is None:
        return said
    above, below = int((lower > chance).sum()), int((upper < chance).sum())
    of = f"{above} of {grouped_digits(len(units))} {source.short(split)}"
    return f"{said} Own 95% intervals lie above {chance:g} in {of}, and below it in {below}."


def _without_covariates(analysis: Analysis, arm: Arm) -> bool:
    """Return whether contenders of other experiments take covariates of the log, and this one takes none."""
    races = [race for section in analysis.sections for race in section.sampler.races]
    return _CONTROL not in arm.spec and any(_CONTROL in other.spec for race in races for other in race.arms)


def _first_item(analysis: Analysis, section: Section, arm: Arm, split: Split) -> str:
    """Say which item has the highest score, of those with enough judgments, if any has."""
    sampler = section.sampler
    units, least = sampler.source.units[split], sampler.experiment.least_judgments
    score, _, _, low, high = (sampler.values(arm, metric, split) for metric in RANKING)
    judged = sampler.values(arm, VOTES, split) if VOTES in sampler.metrics else np.full(len(units), np.inf)
    chosen = np.flatnonzero(judged >= least)
    named = f" with at least {grouped_digits(least)} {markdown(sampler.source.counts)}"
    if len(chosen) in (0, len(units)):
        chosen, named = np.arange(len(units)), ""
    best = min(chosen.tolist(), key=lambda i: (-round(float(score[i]), 9), units[i]))
    others = int((score[chosen].round(9) == round(float(score[best]), 9)).sum()) - 1
    has = f"and {count_text(others, 'other')} have" if others else "has"
    who = f"**{markdown(units[best])}** {has} the highest score of {grouped_digits(len(chosen))} items{named}"
    first = may_be_first(sampler, arm, split)
    by = f"{markdown(arm.label)}{' without covariates' * _without_covariates(analysis, arm)}"
    if first is not None and np.isnan(first).all():
        return f"By {by}, {who}."
    near, how = int((low[chosen] == 1).sum()), "95%, all places at once"
    told = f"{who}; {near} of them may be first"
    if low[best] == high[best] == 1:
        told = f"{who}, significantly higher than each other one"
    elif first is not None:
        near, how = int(first[chosen].sum()), r"marked \* in the tables; comparisons with the best, 95%"
        told = f"{who}, and alone of them may be first" if near == 1 else f"{who}; {near} of them may be first"
    return f"By {by}, {told} ({how})."
