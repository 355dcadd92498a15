"""Footnotes name contenders that a table leaves out, and describe the data."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rankbench.core.text import code, grouped_digits, literal, markdown, sentence
from rankbench.data.cards import card_of
from rankbench.interfaces.metric import Budget
from rankbench.interfaces.protocol import NOBODY, STRETCHES
from rankbench.reports.analysis import Analysis
from rankbench.reports.document import Bullets, Node, Paragraph
from rankbench.reports.experiment_data import MatchedRuns
from rankbench.stats.bootstrap import LAGS
from rankbench.stats.contrasts import FEWEST, too_few
from rankbench.store.records import SourceRecord

STOPPED = "the solver stopped before the minimum, where losses may differ"


def footnotes(matched: MatchedRuns, source: SourceRecord) -> list[str]:
    """Return notes on the tables of one n; without comparisons, on failures alone."""
    lines = troubles(matched)
    if source.layout == "race":
        told = [
            *_equal(matched, source),
            *_facts(matched, source),
            *_budget(matched, source.budget),
            *_optimality(matched),
        ]
        lines = [*told, *lines, *thin(matched, source)]
    if source.layout == "race" and source.judged_on == STRETCHES and len(matched.repetitions) == 1:
        lines.append(
            f"Neighboring stretches may be alike. Standard errors allow for the long-run variance of all differences, "
            f"by {LAGS} neighbors on either side (Newey and West) or by an autoregression."
        )
    return lines


def _equal(matched: MatchedRuns, source: SourceRecord) -> list[str]:
    because = next((fact.because for fact in source.facts if fact.same_as), "")
    found: dict[str, list[str]] = {}
    for runs in (runs for runs in matched.contenders if runs.equals):
        found.setdefault(runs.equals, []).append(markdown(runs.label))
    return [
        f"† {', '.join(labels)}: {because}, so that these equal {markdown(owner)}; tests count them once."
        for owner, labels in found.items()
    ]


def _facts(matched: MatchedRuns, source: SourceRecord) -> list[str]:
    """Return the protocol's facts beside losses: the largest value of contenders that share a place."""
    lines = []
    for fact in (fact for fact in source.facts if fact.about == "race"):
        found: dict[str, tuple[float, str]] = {}
        for runs in matched.contenders:
            value, at = runs.fact(fact), runs.config.get(fact.parameter)
            if fact.tells(value):
                place = str(runs.label if at is None else at)
                said = fact.said_without if at is None else fact.said
                known = max(value, found[place][0]) if place in found else value
                found[place] = known, said.format(value=known, at=markdown(place), label=markdown(place))
        if found:
            lines.append(f"{fact.sentence}: {', '.join(said for _, said in found.values())}.")
    return lines


def _budget(matched: MatchedRuns, budget: Budget | None) -> list[str]:
    """Return the budget of stochastic contenders: steps and their cost."""
    if budget is None:
        return []
    found: dict[tuple[str, str], list[str]] = {}
    for runs in matched.contenders:
        steps = next((value for name in budget.steps if not math.isnan(value := runs.info(name))), math.nan)
        if not math.isnan(cost := runs.info(budget.name)):
            words = "unknown" if math.isnan(steps) else grouped_digits(round(steps))
            found.setdefault((words, f"{cost:.1e}"), []).append(markdown(runs.label))
    if not found:
        return []
    (steps_of_most, cost_of_most), *others = sorted(found, key=lambda one: -len(found[one]))
    rest = "; ".join(
        f"{', '.join(found[steps, cost])}: {f'{steps} steps, ' if steps != steps_of_most else ''}{cost}"
        for steps, cost in others
    )
    return [
        f"{budget.sentence}: {steps_of_most} steps, {cost_of_most} {budget.unit} each{f' ({rest})' if rest else ''}."
    ]


def _optimality(matched: MatchedRuns) -> list[str]:
    if not (known := [runs for runs in matched.contenders if not math.isnan(runs.optimality)]):
        return []
    worst = max(known, key=lambda runs: runs.optimality)
    line = (
        f"Largest distance from its optimum where a fit stopped (gradient norm or duality gap): {worst.optimality:.1e} "
        f"({markdown(worst.label)})."
    )
    return [line, *stopped_early(matched)]


def stopped_early(matched: MatchedRuns) -> list[str]:
    """Name contenders whose solver gave up far from a minimum."""
    labels = [
        markdown(runs.label)
        for runs in matched.contenders
        if any("unfinished" in one.info for one in runs.stored.values())
    ]
    return [f"**{', '.join(labels)}**: {STOPPED}."] if labels else []


def troubles(matched: MatchedRuns) -> list[str]:
    """Return failures with their reasons unescaped: readers may copy a command from a reason."""
    return [
        f"{markdown(runs.label)} is not ranked: **{runs.status}**, "
        + (f"{runs.times}: {literal(runs.first_reason)}" if runs.first_reason else sentence(runs.times))
        for runs in matched.contenders
        if runs.status not in ("done", "pending")
    ]


def thin(matched: MatchedRuns, source: SourceRecord) -> list[str]:
    """Return notes on too few repetitions for full intervals; none if they suffice."""
    splits, single = source.shown_splits(), len(matched.repetitions) == 1
    if any(source.fixed(split) for split in splits):
        return ["Every repetition judges the same unit: no intervals and no ranks."]
    if single and all(len(source.units[split]) == 1 for split in splits):
        return ["One repetition: no intervals and no ranks."]
    if source.pool is not None and matched.n >= source.pool:
        return [
            f"Each repetition would use all {grouped_digits(source.pool)} {markdown(source.counts)}, so there is only "
            f"one. Intervals and ranks are over {source.judged_on} alone, and hold for the contenders as trained."
        ]
    if single:
        return [
            f"One repetition: intervals and ranks are over {source.judged_on} alone, for contenders as they were "
            "trained; other repetitions may differ."
        ]
    if too_few(len(matched.repetitions)):
        return [
            f"With fewer than {FEWEST} repetitions, which may agree by chance, means and differences have no "
            "intervals, except of contenders whose repetitions are copies."
        ]
    return []


@dataclass(frozen=True)
class Group:
    """Sources with equal statements on their data, and the experiments made from them.

    Attributes
    ----------
    sources : tuple of SourceRecord
    experiments : tuple of str
    n : tuple of int
        Numbers that were drawn, in increasing order.
    repetitions : tuple of int
        Planned numbers of repetitions, in increasing order; none where nothing is compared.
    """

    sources: tuple[SourceRecord, ...]
    experiments: tuple[str, ...]
    n: tuple[int, ...]
    repetitions: tuple[int, ...]

    @property
    def first(self) -> SourceRecord:
        """The source that represents all."""
        return self.sources[0]


def source_groups(analysis: Analysis) -> list[Group]:
    """Return the groups of a suite's sources, in their order."""
    record = analysis.record
    experiments = [section.data for section in analysis.sections]
    drawn = [(data.source, matched.n) for data in experiments if data.source.counts for matched in data.by_n]
    repeated = [
        (one.source, matched.planned) for one in experiments if one.source.layout == "race" for matched in one.by_n
    ]
    found: dict[tuple[object, ...], list[SourceRecord]] = {}
    for source in record.sources:
        own = "" if source.dataset else source.protocol
        key = (source.dataset, own, source.simulated, source.assumptions, source.notes)
        found.setdefault(key, []).append(source)
    return [
        Group(
            tuple(sources),
            tuple(name for name, index in record.source_index.items() if record.sources[index] in sources),
            *(tuple(sorted({n for source, n in one if source in sources})) for one in (drawn, repeated)),
        )
        for sources in found.values()
    ]


def data_lines(groups: Sequence[Group]) -> list[str]:
    """Return whether data are real or simulated, and their amount: a line for each data set, in Markdown."""
    found: dict[tuple[str, bool, str], list[Group]] = {}
    for group in groups:
        source = group.first
        if source.dataset or source.simulated:
            name = source.dataset or source.protocol.partition(":")[0]
            found.setdefault((name, source.simulated, source.counts), []).append(group)
    return [_data_line(alike, named=len(found) > 1) for alike in found.values()]


def _data_line(groups: Sequence[Group], *, named: bool) -> str:
    first, sources = groups[0].first, [source for group in groups for source in group.sources]
    kind = f"**{kind_of_data(first)}**"
    names = f" ({', '.join(markdown(name) for group in groups for name in group.experiments)})" if named else ""
    titles = list(filter(None, dict.fromkeys(_how_much(source) for source in sources)))
    titles = [one for one in titles if not any(other != one and other.startswith(one) for other in titles)]
    sizes = dict.fromkeys(
        f"{grouped_digits(len(source.units[split]))} {source.short(split)}"
        for source in sources
        if (len(source.shown_splits()) > 1 and source.test_share is None)
        or (source.layout == "ranking" and not titles)
        or (source.layout == "race" and source.judged_on == "queries" and not (source.counts or source.simulated))
        for split in source.shown_splits()
    )
    n = sorted({n for group in groups for n in group.n})
    times = sorted({times for group in groups for times in group.repetitions})
    told = ", ".join(map(markdown, titles))
    if first.dataset:
        told = code(first.dataset) + (f" ({told})" if told else "")
    parts = [told, *sizes]
    if n and (first.simulated or len(n) > 1 or not titles):  # a title tells the size of a log that is used as a whole
        parts.append(f"{_span(n)} {markdown(first.counts)}")
    parts += [f"{_span(times)} repetition{'s' * (times != [1])}"] if times else []
    assumed = " [Assumptions](details.md#the-data)." if first.simulated or judgments_simulated(first) else ""
    return f"{kind}{names}: {'; '.join(filter(None, parts))}.{assumed}"


def kind_of_data(source: SourceRecord) -> str:
    """Return whether data are real or simulated, as pages begin."""
    if judgments_simulated(source):
        return "REAL features and labels, SIMULATED judgments"
    return "SIMULATED" if source.simulated else "REAL"


def kinds_of_data(groups: Sequence[Group]) -> str:
    """Return which kinds of data a suite has, in Markdown; empty where it has none."""
    kinds = dict.fromkeys(kind_of_data(one.first) for one in groups if one.first.dataset or one.first.simulated)
    return f"**{' and '.join(kinds)}.**" if kinds else ""


def judgments_simulated(source: SourceRecord) -> bool:
    """Return whether judgments are simulated, but items and labels are real."""
    return not source.simulated and any(text.startswith(NOBODY) for text in source.assumptions)


def _how_much(source: SourceRecord) -> str:
    """Return the title of a data set with a card, or the beginning of the first assumption of a simulator."""
    if source.simulated:
        said = re.split(r"[,;:.](?: |$)| \(", source.assumptions[0])[0] if source.assumptions else ""
        return re.sub(r"\d{4,}", lambda found: grouped_digits(int(found[0])), said)
    card = card_of(source.fingerprint)
    return card.title if card else ""


def _span(counts: Sequence[int]) -> str:
    return " to ".join(map(grouped_digits, dict.fromkeys((counts[0], counts[-1]))))


def data_remarks(groups: Sequence[Group]) -> list[str]:
    """Return the assumptions on real judgments, as on the reading of columns: a line for each group with some."""
    real = [group.first for group in groups if not (group.first.simulated or judgments_simulated(group.first))]
    told = [[sentence(text) for text in source.assumptions if not text.startswith("Losses ")] for source in real]
    return [*dict.fromkeys(markdown(" ".join(texts)) for texts in told if texts)]


def data_facts(groups: Sequence[Group]) -> list[Node]:
    """Return the data of each experiment, and the assumptions on them, each sentence once."""
    parts: list[Node] = []
    told: dict[str, list[str]] = {}
    cited = set[str]()
    for group in groups:
        for text in dict.fromkeys((*group.first.assumptions, *group.first.notes)):
            told.setdefault(text, []).append(", ".join(group.experiments))
    for group in groups:
        names = ", ".join(group.experiments)
        simulated = ["***SIMULATED***: no person judged anything"] if group.first.simulated else []
        parts.append(Paragraph(f"**{markdown(names)}**: {'; '.join([*simulated, *_sizes(group)])}."))
        own = [(text, others) for text, (first, *others) in told.items() if first == names]
        also = [f" *(Also: {markdown(', '.join(others))}.)*" if others else "" for _, others in own]
        lines = [f"{markdown(sentence(text))}{more}" for (text, _), more in zip(own, also, strict=True)]
        card = card_of(group.first.fingerprint)
        if card and card.name not in cited:
            lines.append(f"Licence of the data: {markdown(sentence(card.licence))} Cite: {markdown(card.citation)}")
            cited.add(card.name)
        parts += [Bullets(tuple(lines))] if lines else []
    return parts


def _sizes(group: Group) -> list[str]:
    source = group.first
    parts = [f"protocol {', '.join(dict.fromkeys(code(one.protocol) for one in group.sources))}"]
    if source.dataset:
        parts.append(f"data {code(source.dataset)}, sha256 {code(source.fingerprint)}")
    sizes = dict.fromkeys(
        f"{grouped_digits(len(s.units[split]))} {s.short(split)}"
        for s in group.sources
        if s.test_share is None
        for split in s.shown_splits()
    )
    parts += [f"judged on {', '.join(sizes)}"] if sizes else []
    return parts + ([f"{markdown(source.counts)} n = {'; '.join(map(grouped_digits, group.n))}"] if group.n else [])
