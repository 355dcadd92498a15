"""A suite's claims: held, did not hold, or could not tell.

A claim is a set of contrasts. It *held* if the own 95% interval of every contrast lies on
the claimed side; it *did not hold* if one of the intervals that cover all contrasts at
once lies entirely on the other side; otherwise the run could not tell (`verdicts`). The
verdict is that of the intervals over queries and draws; what draws alone would have said
is given beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Split
from rankbench.kinds.suite import Claim
from rankbench.reports.curves import curve_values
from rankbench.reports.resolve import Resolved, resolve
from rankbench.reports.sample import Arm, ArmKey, Sampler
from rankbench.reports.verdicts import Bounds, Verdict, clearest_first, verdict
from rankbench.stats.bootstrap import REPLICATES, Crossed, counts
from rankbench.stats.contrasts import contrasts, contrasts_over_draws
from rankbench.stats.critical import VarianceSources
from rankbench.stats.simultaneous import Intervals, simultaneous
from rankbench.stats.spread import pitman_morgan, sd_ratios

__all__ = ["Answer", "Finding", "answers"]

_Back: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From the scale that is judged to the one that is shown: exponentials of logarithms."""


@dataclass(frozen=True)
class Finding:
    """One contrast with its intervals, simultaneous over the claim's contrasts unless said otherwise.

    Attributes
    ----------
    text : str
        What is compared, in words.
    estimate : float
        A difference; for ``wider`` and ``coincide`` a ratio.
    lower, upper : float
        Over queries and draws; over draws for curves, which have no queries.
    lower_draws, upper_draws : float
        Over draws alone.
    own_lower, own_upper : float
        As `lower` and `upper`, of this contrast alone.
    """

    text: str
    estimate: float
    lower: float
    upper: float
    lower_draws: float
    upper_draws: float
    own_lower: float
    own_upper: float


@dataclass(frozen=True)
class Answer:
    """A claim's verdict on one split.

    Attributes
    ----------
    split : Split or None
        None for claims about curves, which have no losses of units.
    about : Split
        The same; for curves the split that the protocol declares for them.
    by_draws : Verdict
        What the intervals over draws alone say.
    notes : tuple of str
        What was left out, and why.
    against : tuple of str
        If the claim did not hold: the contrasts that lie on the other side, the clearest
        first.
    """

    experiment: str
    claim: Claim
    split: Split | None
    about: Split
    verdict: Verdict
    by_draws: Verdict
    findings: tuple[Finding, ...]
    repetitions: int
    notes: tuple[str, ...]
    against: tuple[str, ...] = ()


def answers(sampler: Sampler) -> list[Answer]:
    """Return the answers to an experiment's claims, on every split."""
    found: list[Answer] = []
    for claim in sampler.experiment.claims:
        resolved, notes, complete = resolve(sampler, claim)
        if claim.kind == "coincide":
            own = [_coincide(sampler, claim, resolved, notes)]
        else:
            own = [_answer(sampler, claim, split, resolved, notes) for split in sampler.source.shown_splits()]
        found.extend(own if complete else (_without_held(answer) for answer in own))
    return found


def _without_held(answer: Answer) -> Answer:
    """Take back a verdict that rests on some of the claim's contrasts only."""
    weaker: dict[Verdict, Verdict] = {"held": "could not tell"}
    return replace(
        answer,
        verdict=weaker.get(answer.verdict, answer.verdict),
        by_draws=weaker.get(answer.by_draws, answer.by_draws),
    )


def _answer(sampler: Sampler, claim: Claim, split: Split, resolved: list[Resolved], notes: tuple[str, ...]) -> Answer:
    arms = _arms(sampler, resolved)
    repetitions = _shared(arms)
    empty = Answer(sampler.experiment.name, claim, split, split, "could not tell", "could not tell", (), 0, notes)
    if not resolved or not repetitions:
        return empty
    column = {arm.key: i for i, arm in enumerate(arms)}
    sample = sampler.sample(arms, sampler.metrics[0], split, repetitions)
    if claim.kind == "wider":
        index = np.array([[column[key] for key, _ in r.weights] for r in resolved])
        both = Bounds.of(lambda some: sd_ratios(sample, index[some]), len(index))
        alone = _spreads(sample, index)
    else:
        matrix = np.zeros((len(arms), len(resolved)))
        for j, contrast in enumerate(resolved):
            for key, weight in contrast.weights:
                matrix[column[key], j] += weight
        both = Bounds.of(lambda some: contrasts(sample, matrix[:, some]), len(resolved))
        alone = Bounds.of(lambda some: contrasts_over_draws(sample, matrix[:, some]), len(resolved))
    backs = np.exp if claim.kind == "wider" else _unchanged
    found = _judged(empty, [r.text for r in resolved], both, alone, backs, len(repetitions))
    if len(repetitions) > 1:
        return found
    note = "one repetition: the interval is over queries alone and says nothing about other draws"
    return replace(found, verdict="could not tell", against=(), notes=(*notes, note))


def _spreads(sample: Crossed, index: NDArray[np.intp]) -> Bounds:
    """Return the logarithms of sd ratios over draws alone; Bonferroni makes them simultaneous."""
    levels = (1 - 0.05 / len(index), 0.95)
    found = [[pitman_morgan(sample.draws[:, a], sample.draws[:, b], level) for a, b in index] for level in levels]
    together, own = (np.log(np.array(rows)) for rows in found)
    return Bounds(together[:, 0], together[:, 1], together[:, 2], own[:, 1], own[:, 2])


def _coincide(sampler: Sampler, claim: Claim, resolved: list[Resolved], notes: tuple[str, ...]) -> Answer:
    """Compare mean curves by their ratio at given steps, over draws."""
    arms = _arms(sampler, resolved)
    repetitions = _shared(arms)
    about, _ = sampler.source.curve(claim.metric)
    empty = Answer(sampler.experiment.name, claim, None, about, "could not tell", "could not tell", (), 0, notes)
    if not resolved or not repetitions:
        return empty
    values: dict[ArmKey, NDArray[np.float64]] = {}
    for arm in arms:
        found = curve_values(sampler, arm, claim.metric, claim.steps, repetitions)
        if found is None:
            why = f"{arm.member.label} at n = {arm.member.n:,} has no curve {claim.metric!r}"
            return replace(empty, notes=(*notes, why))
        if (found.mean(axis=0) <= 0).any():
            why = f"the mean of {claim.metric} of {arm.member.label} is not positive at some step: there is no ratio"
            return replace(empty, notes=(*notes, why))
        values[arm.key] = found
    logs: list[NDArray[np.float64]] = []
    texts: list[str] = []
    for contrast in resolved:
        (a, _), (b, _) = contrast.weights
        # log of a mean, to first order: the influence of each draw, around the log itself
        logs.append(_log_mean(values[a]) - _log_mean(values[b]))
        texts.extend(f"{contrast.text}, step {step:,}" for step in claim.steps)
    draws = np.concatenate(logs, axis=1)
    bounds = Bounds.of(lambda some: _over_draws(draws[:, some], sampler), len(texts))
    return _judged(empty, texts, bounds, bounds, _power, len(repetitions))


def _log_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = values.mean(axis=0)
    return np.asarray(np.log10(mean) + (values / mean - 1) / math.log(10))


def _over_draws(draws: NDArray[np.float64], sampler: Sampler) -> Intervals:
    count = len(draws)
    weights = counts(np.random.default_rng([sampler.seed, 0]), REPLICATES, count) / max(count - 1, 1)
    return simultaneous(
        draws.mean(axis=0),
        weights @ draws,
        VarianceSources.only(draws.shape[1], count - 1.0),
        units=count,
        spread=count > 1,
        se=draws.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else None,
    )


def _judged(empty: Answer, texts: list[str], both: Bounds, alone: Bounds, backs: _Back, repetitions: int) -> Answer:
    claim = empty.claim
    return replace(
        empty,
        verdict=verdict(claim, both),
        by_draws=verdict(claim, alone),
        findings=_findings(texts, both, alone, backs),
        repetitions=repetitions,
        against=tuple(texts[j] for j in clearest_first(claim, both)),
    )


def _findings(texts: list[str], both: Bounds, alone: Bounds, backs: _Back) -> tuple[Finding, ...]:
    columns = (both.estimate, both.lower, both.upper, alone.lower, alone.upper, both.own_lower, both.own_upper)
    shown = [backs(column) for column in columns]
    return tuple(Finding(text, *(float(column[j]) for column in shown)) for j, text in enumerate(texts))


def _unchanged(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values


def _power(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(10**values)


def _arms(sampler: Sampler, resolved: list[Resolved]) -> list[Arm]:
    keys = dict.fromkeys(key for contrast in resolved for key, _ in contrast.weights)
    found = (sampler.arm(key) for key in sorted(keys))
    return [arm for arm in found if arm is not None]


def _shared(arms: list[Arm]) -> tuple[int, ...]:
    if not arms:
        return ()
    return tuple(sorted(frozenset.intersection(*(arm.done for arm in arms))))
