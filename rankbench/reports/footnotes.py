"""What a table has to admit: what equals what, what did not work, and how exact the fits are."""

from __future__ import annotations

import math
from collections.abc import Callable

from rankbench.reports.sample import Arm, Race
from rankbench.stats.contrasts import FEWEST, too_few
from rankbench.store.records import SourceRecord
from rankbench.text import count, literal, markdown, sentence

__all__ = ["footnotes", "troubles"]


def footnotes(race: Race, source: SourceRecord) -> list[str]:
    """Return a Markdown list under the tables of one n, or nothing."""
    lines = [*_equal(race), *_shares(race), *_monte_carlo(race), *_budget(race), *_optimality(race)]
    lines += [*_troubles(race), *_thin(race, source)]
    return ["\n".join(f"- {line}" for line in lines)] if lines else []


def troubles(race: Race) -> list[str]:
    """Return a Markdown list of what did not work, or nothing."""
    lines = _troubles(race)
    return ["\n".join(f"- {line}" for line in lines)] if lines else []


def _equal(race: Race) -> list[str]:
    found: dict[str, list[str]] = {}
    for arm in race.arms:
        if arm.equals:
            found.setdefault(arm.equals, []).append(arm.member.label)
    return [
        f"† {', '.join(markdown(label) for label in labels)}: no query has more judgments than k, so this is the same "
        f"as {markdown(owner)}; counted once in all tests."
        for owner, labels in found.items()
    ]


def _shares(race: Race) -> list[str]:
    found: dict[str, float] = {}
    for arm in race.arms:
        share = arm.info("share_complete")
        order = str(arm.member.config.get("k", arm.member.label))
        if 0 < share < 1:
            found[order] = max(share, found.get(order, 0.0))
    if not found:
        return []
    words = ", ".join(f"{share:.0%} at k = {markdown(order)}" for order, share in found.items())
    return [f"Share of judgments in queries with no more than k of them, where order k means all of them: {words}."]


def _monte_carlo(race: Race) -> list[str]:
    found: dict[str, float] = {}
    for arm in race.arms:
        error = arm.largest("mc_error")
        if error > 0:
            order = _order(arm)
            found[order] = max(error, found.get(order, 0.0))
    if not found:
        return []
    words = ", ".join(f"{markdown(order)} {error:.1e}" for order, error in found.items())
    return [
        f"Monte Carlo error of the solutions for 1 < k < n_q, relative, the largest of all repetitions at each order: "
        f"{words}."
    ]


def _order(arm: Arm) -> str:
    return f"k={arm.member.config['k']}" if "k" in arm.member.config else arm.member.label


def _budget(race: Race) -> list[str]:
    """Say what stochastic contenders were given: steps and floating-point operations."""
    found: dict[tuple[str, str], list[str]] = {}
    for arm in race.arms:
        flops, steps = arm.info("flops"), arm.info("steps")
        steps = arm.info("iterations") if math.isnan(steps) else steps
        if not math.isnan(flops):
            words = "unknown" if math.isnan(steps) else count(round(steps))
            found.setdefault((words, f"{flops:.1e}"), []).append(markdown(arm.member.label))
    if not found:
        return []
    (steps_of_most, flops_of_most), *others = sorted(found, key=lambda budget: -len(found[budget]))
    rest = "; ".join(
        f"{', '.join(found[steps, flops])}: {f'{steps} steps, ' if steps != steps_of_most else ''}{flops}"
        for steps, flops in others
    )
    return [
        f"Budget of the stochastic contenders: {steps_of_most} steps, {flops_of_most} floating-point operations each"
        f"{f' ({rest})' if rest else ''}."
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
            f"All {count(source.pool)} {markdown(source.counts)} that there are, so that every draw is the same: one "
            "repetition, without intervals over draws. Intervals and ranks are over queries alone, for contenders as "
            "they were trained."
        ]
    if len(race.repetitions) == 1:
        return [
            "One repetition: intervals and ranks are over queries alone. They hold for these draws and say nothing "
            "about others."
        ]
    if too_few(len(race.repetitions)):
        return [f"Fewer than {FEWEST} repetitions: no intervals of means, and hardly any contenders can be told apart."]
    return []
