"""What a table has to admit: what equals what, what did not work, and how exact the fits are."""

from __future__ import annotations

import math
from collections.abc import Callable

from rankbench.kinds.metric import Budget
from rankbench.kinds.protocol import STRETCHES
from rankbench.reports.document.tree import Bullets, Node
from rankbench.reports.sample import Arm, Race
from rankbench.stats.contrasts import FEWEST, too_few
from rankbench.stats.in_order import LAGS
from rankbench.store.records import SourceRecord
from rankbench.text import grouped_digits, literal, markdown, sentence

__all__ = ["footnotes", "troubles"]


def footnotes(race: Race, source: SourceRecord) -> list[Node]:
    """Return a list under the tables of one n, or nothing."""
    lines = [*_equal(race, source), *_facts(race, source), *_budget(race, source.budget), *_optimality(race)]
    lines += [*_troubles(race), *_thin(race, source)]
    if source.judged_on == STRETCHES and len(race.repetitions) == 1:
        lines.append(
            f"Neighboring stretches may be alike: standard errors are those of the long-run variance, with {LAGS} "
            "neighbors on either side (Newey and West) or of an autoregression, of differences of all pairs together."
        )
    return [Bullets(tuple(lines))] if lines else []


def troubles(race: Race) -> list[Node]:
    """Return a list of what did not work, or nothing."""
    lines = _troubles(race)
    return [Bullets(tuple(lines))] if lines else []


def _equal(race: Race, source: SourceRecord) -> list[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for fact in (fact for fact in source.facts if fact.same_as):
        for arm in race.arms:
            if arm.equals:
                found.setdefault((fact.because, arm.equals), []).append(arm.label)
    return [
        f"† {', '.join(markdown(label) for label in labels)}: {why}, so this is the same as {markdown(owner)}; counted "
        "once in all tests."
        for (why, owner), labels in found.items()
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
    found: dict[tuple[str, str], list[str]] = {}
    for arm in race.arms:
        if budget is None:
            break
        cost = arm.info(budget.name)
        steps = next((value for name in budget.steps if not math.isnan(value := arm.info(name))), math.nan)
        if not math.isnan(cost):
            words = "unknown" if math.isnan(steps) else grouped_digits(round(steps))
            found.setdefault((words, f"{cost:.1e}"), []).append(markdown(arm.label))
    if not found or budget is None:
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
    arm, worst = _largest(race, lambda arm: arm.optimality)
    if arm is None:
        return []
    return [
        f"Farthest from its optimum that any fit stopped (gradient norm or duality gap): {worst:.1e} "
        f"({markdown(arm.member.label)})."
    ]


def _largest(race: Race, value: Callable[[Arm], float]) -> tuple[Arm | None, float]:
    known = [(value(arm), -i, arm) for i, arm in enumerate(race.arms) if not math.isnan(value(arm))]
    worst, _, arm = max(known, default=(math.nan, 0, None), key=lambda entry: entry[:2])
    return arm, worst


def _troubles(race: Race) -> list[str]:
    return [
        f"{markdown(arm.member.label)} is not ranked: **{arm.status}**, {_reason(arm)}"
        for arm in race.arms
        if arm.status not in ("done", "pending")
    ]


def _reason(arm: Arm) -> str:
    """Say what went wrong as it was said: a reason may advise a command, which is copied from here."""
    return f"{arm.times}: {literal(arm.first_reason)}" if arm.first_reason else sentence(arm.times)


def _thin(race: Race, source: SourceRecord) -> list[str]:
    splits = source.shown_splits()
    if any(source.fixed(split) for split in splits):
        return ["One unit is judged, and it is the same every time: no intervals and no ranks."]
    if len(race.repetitions) == 1 and all(len(source.units[split]) == 1 for split in splits):
        return ["One repetition: no intervals and no ranks."]
    if source.pool is not None and race.n >= source.pool:
        return [
            f"All {grouped_digits(source.pool)} {markdown(source.counts)} that there are, so that every draw is the "
            f"same: one repetition, without intervals over draws. Intervals and ranks are over {source.judged_on} "
            "alone, for contenders as they were trained."
        ]
    if len(race.repetitions) == 1:
        return [
            f"One repetition: intervals and ranks are over {source.judged_on} alone. They hold for these draws and say "
            "nothing about others."
        ]
    if too_few(len(race.repetitions)):
        return [f"Fewer than {FEWEST} repetitions: no intervals of means, and hardly any contenders can be told apart."]
    return []
