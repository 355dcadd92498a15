"""Footnotes tell what a table leaves out, and describe the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankbench.core.text import code, grouped_digits, literal, markdown, sentence
from rankbench.interfaces.metric import Budget
from rankbench.interfaces.protocol import STRETCHES
from rankbench.reports.analysis import Analysis
from rankbench.reports.document import Bullets, Column, Grid, Node, Quote
from rankbench.reports.experiment_data import Race
from rankbench.stats.bootstrap import LAGS
from rankbench.stats.contrasts import FEWEST, too_few
from rankbench.store.records import SourceRecord


def footnotes(race: Race, source: SourceRecord) -> list[Node]:
    """Return a list under the tables of one n, or nothing; where nothing is compared, of what did not work alone."""
    lines = _troubles(race)
    if source.layout == "race":
        told = [*_equal(race, source), *_facts(race, source), *_budget(race, source.budget), *_optimality(race)]
        lines = [*told, *lines, *_thin(race, source)]
    if source.layout == "race" and source.judged_on == STRETCHES and len(race.repetitions) == 1:
        lines.append(
            f"Neighboring stretches may be alike: standard errors are those of the long-run variance, with {LAGS} "
            "neighbors on either side (Newey and West) or of an autoregression, of differences of all pairs together."
        )
    return [Bullets(tuple(lines))] if lines else []


def _equal(race: Race, source: SourceRecord) -> list[str]:
    because = next((fact.because for fact in source.facts if fact.same_as), "")
    found: dict[str, list[str]] = {}
    for arm in (arm for arm in race.arms if arm.equals):
        found.setdefault(arm.equals, []).append(markdown(arm.label))
    return [
        f"† {', '.join(labels)}: {because}, so this is the same as {markdown(owner)}; counted once in all tests."
        for owner, labels in found.items()
    ]


def _facts(race: Race, source: SourceRecord) -> list[str]:
    """Tell what the protocol knows beside losses: the largest value of contenders that share a place."""
    lines = []
    for fact in (fact for fact in source.facts if fact.about == "race"):
        found: dict[str, tuple[float, str]] = {}
        for arm in race.arms:
            value, at = arm.fact(fact), arm.config.get(fact.parameter)
            if fact.tells(value):
                place = str(arm.label if at is None else at)
                said = fact.said_without if at is None else fact.said
                known = max(value, found[place][0]) if place in found else value
                found[place] = known, said.format(value=known, at=markdown(place), label=markdown(place))
        if found:
            lines.append(f"{fact.sentence}: {', '.join(said for _, said in found.values())}.")
    return lines


def _budget(race: Race, budget: Budget | None) -> list[str]:
    """Say what stochastic contenders were given: steps and what they cost."""
    if budget is None:
        return []
    found: dict[tuple[str, str], list[str]] = {}
    for arm in race.arms:
        steps = next((value for name in budget.steps if not math.isnan(value := arm.info(name))), math.nan)
        if not math.isnan(cost := arm.info(budget.name)):
            words = "unknown" if math.isnan(steps) else grouped_digits(round(steps))
            found.setdefault((words, f"{cost:.1e}"), []).append(markdown(arm.label))
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


def _optimality(race: Race) -> list[str]:
    known = [arm for arm in race.arms if not math.isnan(arm.optimality)]
    if not known:
        return []
    worst = max(known, key=lambda arm: arm.optimality)
    return [
        f"Farthest from its optimum that any fit stopped (gradient norm or duality gap): {worst.optimality:.1e} "
        f"({markdown(worst.label)})."
    ]


def _troubles(race: Race) -> list[str]:
    """Say what went wrong as it was said: a reason may advise a command, which is copied from here."""
    return [
        f"{markdown(arm.label)} is not ranked: **{arm.status}**, "
        + (f"{arm.times}: {literal(arm.first_reason)}" if arm.first_reason else sentence(arm.times))
        for arm in race.arms
        if arm.status not in ("done", "pending")
    ]


def _thin(race: Race, source: SourceRecord) -> list[str]:
    splits, single = source.shown_splits(), len(race.repetitions) == 1
    if any(source.fixed(split) for split in splits):
        return ["One unit is judged, and it is the same every time: no intervals and no ranks."]
    if single and all(len(source.units[split]) == 1 for split in splits):
        return ["One repetition: no intervals and no ranks."]
    if source.pool is not None and race.n >= source.pool:
        return [
            f"All {grouped_digits(source.pool)} {markdown(source.counts)} that there are, so that every draw is the "
            f"same: one repetition, without intervals over draws. Intervals and ranks are over {source.judged_on} "
            "alone, for contenders as they were trained."
        ]
    if single:
        return [
            f"One repetition: intervals and ranks are over {source.judged_on} alone. They hold for these draws and say "
            "nothing about others."
        ]
    if too_few(len(race.repetitions)):
        return [f"Fewer than {FEWEST} repetitions: no intervals of means, and hardly any contenders can be told apart."]
    return []


@dataclass(frozen=True)
class Group:
    """Sources that say the same of their data, and the experiments made from them.

    Attributes
    ----------
    sources : tuple of SourceRecord
    experiments : tuple of str
    n : tuple of int
        What was drawn, in increasing order.
    """

    sources: tuple[SourceRecord, ...]
    experiments: tuple[str, ...]
    n: tuple[int, ...]

    @property
    def first(self) -> SourceRecord:
        """The source that stands for all."""
        return self.sources[0]


def source_groups(analysis: Analysis) -> list[Group]:
    """Return the groups of a suite's sources, in their order."""
    record = analysis.record
    samplers = [section.sampler for section in analysis.sections]
    drawn = [(sampler.source, race.n) for sampler in samplers if sampler.source.counts for race in sampler.races]
    found: dict[tuple[object, ...], list[SourceRecord]] = {}
    for source in record.sources:
        own = "" if source.dataset else source.protocol
        key = (source.dataset, own, source.simulated, source.assumptions, source.notes)
        found.setdefault(key, []).append(source)
    return [
        Group(
            tuple(sources),
            tuple(name for name, index in record.source_index.items() if record.sources[index] in sources),
            tuple(sorted({n for source, n in drawn if source in sources})),
        )
        for sources in found.values()
    ]


def facts(group: Group) -> list[Node]:
    """Return all that is to say of the only data of a suite."""
    notes = tuple(markdown(sentence(note)) for note in group.first.notes)
    return [*_simulated(group), _table(group), *([Bullets(notes)] if notes else [])]


def overview(groups: Sequence[Group]) -> list[Node]:
    """Return which experiments of a suite are made from which of several data sets."""
    rows = []
    for group in groups:
        data = code(group.first.dataset) if group.first.dataset else "made by the protocol"
        names = ", ".join(markdown(name) for name in group.experiments)
        rows.append((names, _protocols(group), f"{data}{' (simulated)' if group.first.simulated else ''}"))
    return [Grid.from_rows([Column("experiments"), Column("protocol"), Column("data")], rows)]


def _simulated(group: Group) -> list[Node]:
    source = group.first
    assumed = tuple(markdown(sentence(text)) for text in source.assumptions)
    if not source.simulated:
        return [Quote(assumed)] if assumed else []
    what = code(source.dataset or source.protocol)
    warning = f"**These data are *simulated*** ({what}): no person judged anything."
    return [Quote((warning, "What the simulation assumes:"), assumed) if assumed else Quote((warning,))]


def _table(group: Group) -> Node:
    source = group.first
    rows = [("protocol", _protocols(group))]
    if source.dataset:
        rows.append(("data", f"{code(source.dataset)}{' (simulated)' if source.simulated else ''}"))
        rows.append(("sha256", code(source.fingerprint)))
    sizes = dict.fromkeys(
        f"{grouped_digits(len(s.units[split]))} {s.short(split)}"
        for s in group.sources
        if s.test_share is None
        for split in s.shown_splits()
    )
    if sizes:
        rows.append(("judged on", ", ".join(sizes)))
    if group.n:
        rows.append((f"{markdown(source.counts)} n", ", ".join(grouped_digits(n) for n in group.n)))
    return Grid.from_rows([Column(""), Column("")], rows)


def _protocols(group: Group) -> str:
    return ", ".join(dict.fromkeys(code(source.protocol) for source in group.sources))
