"""A suite's claims: held, did not hold, or could not tell.

A claim is a set of contrasts. It *held* if the own 95% interval of every contrast lies on
the claimed side; it *did not hold* if one of the intervals that cover all contrasts at
once lies entirely on the other side; otherwise the run could not tell (`verdicts`). The
verdict is that of the intervals over queries and draws; what draws alone would have said
is given beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Split
from rankbench.kinds.claim import ClaimKind, Compared, Evidence, NoEvidenceError, WeightedContrast
from rankbench.kinds.suite import Claim
from rankbench.plugin.suite_kinds import claim_kind
from rankbench.reports.claim_arms import resolve
from rankbench.reports.curve_steps import curve_values
from rankbench.reports.sample import Arm, ArmKey, Sampler
from rankbench.reports.verdicts import Verdict, clearest_first, verdict
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrasts import FEWEST, too_few

__all__ = ["Answer", "Finding", "answers"]


@dataclass(frozen=True)
class Finding:
    """One contrast with its intervals, simultaneous over the claim's contrasts unless said otherwise.

    Attributes
    ----------
    text : str
        What is compared, in words.
    estimate : float
        A difference or a ratio, as the claim's kind has it.
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


class _Arms(Compared):
    """Arms of an experiment, compared on the repetitions that all of them have finished."""

    def __init__(
        self,
        sampler: Sampler,
        contrasts: Sequence[WeightedContrast],
        arms: Sequence[Arm],
        split: Split,
        repetitions: tuple[int, ...],
    ) -> None:
        self._sampler, self._arms = sampler, tuple(arms)
        self.contrasts, self.contenders = tuple(contrasts), tuple(arm.key for arm in arms)
        self.metric, self.split = sampler.metrics[0], split
        self.direction = sampler.source.direction(self.metric)
        self.repetitions, self.seed = repetitions, sampler.seed

    @cached_property
    def sample(self) -> Crossed:
        """Means of the contenders, and resampled."""
        return self._sampler.sample(self._arms, self.metric, self.split, self.repetitions)

    def curve(self, contender: ArmKey, metric: str, steps: Sequence[int]) -> NDArray[np.float64] | None:
        """Return a contender's curve at `steps`."""
        arm = self._arms[self.contenders.index(contender)]
        return curve_values(self._sampler, arm, metric, steps, self.repetitions)


def answers(sampler: Sampler) -> list[Answer]:
    """Return the answers to an experiment's claims, on every split."""
    found: list[Answer] = []
    for claim in sampler.experiment.claims:
        kind = claim_kind(claim)
        contrasts, notes, complete = resolve(sampler, claim)
        if kind.on_splits:
            empty = [_empty(sampler, claim, split, split, notes) for split in sampler.source.shown_splits()]
        else:
            about, _ = sampler.source.curve(kind.curve_metric())
            empty = [_empty(sampler, claim, None, about, notes)]
        own = [_answer(sampler, kind, contrasts, one) for one in empty]
        found.extend(own if complete else (_without_held(answer) for answer in own))
    return found


def _empty(sampler: Sampler, claim: Claim, split: Split | None, about: Split, notes: tuple[str, ...]) -> Answer:
    name = sampler.experiment.name
    return Answer(name, claim, split, about, "could not tell", "could not tell", (), 0, notes)


def _without_held(answer: Answer) -> Answer:
    """Take back a verdict that rests on some of the claim's contrasts only."""
    weaker: dict[Verdict, Verdict] = {"held": "could not tell"}
    return replace(
        answer,
        verdict=weaker.get(answer.verdict, answer.verdict),
        by_draws=weaker.get(answer.by_draws, answer.by_draws),
    )


def _answer(sampler: Sampler, kind: ClaimKind, contrasts: Sequence[WeightedContrast], empty: Answer) -> Answer:
    arms = _arms(sampler, contrasts)
    repetitions = _shared(arms)
    if not contrasts or not repetitions:
        return empty
    try:
        evidence = kind.evidence(_Arms(sampler, contrasts, arms, empty.about, repetitions))
    except NoEvidenceError as why:
        return replace(empty, notes=(*empty.notes, str(why)))
    found = _judged(empty, kind, evidence, len(repetitions))
    if too_few(len(repetitions)) and found.verdict == "held":
        note = f"fewer than {FEWEST} repetitions: too few to see how draws differ, and to call a claim held"
        return replace(_without_held(found), notes=(*empty.notes, note))
    if len(repetitions) > 1 or not kind.on_splits:
        return found
    note = "one repetition: the interval is over queries alone and says nothing about other draws"
    return replace(found, verdict="could not tell", against=(), notes=(*empty.notes, note))


def _judged(empty: Answer, kind: ClaimKind, evidence: Evidence, repetitions: int) -> Answer:
    return replace(
        empty,
        verdict=verdict(kind, evidence.bounds),
        by_draws=verdict(kind, evidence.by_draws),
        findings=_findings(kind, evidence),
        repetitions=repetitions,
        against=tuple(evidence.texts[j] for j in clearest_first(kind, evidence.bounds)),
    )


def _findings(kind: ClaimKind, evidence: Evidence) -> tuple[Finding, ...]:
    both, draws = evidence.bounds, evidence.by_draws
    columns = (both.estimate, both.lower, both.upper, draws.lower, draws.upper, both.own_lower, both.own_upper)
    shown = [kind.shown(column) for column in columns]
    return tuple(Finding(text, *(float(column[j]) for column in shown)) for j, text in enumerate(evidence.texts))


def _arms(sampler: Sampler, contrasts: Sequence[WeightedContrast]) -> list[Arm]:
    keys = dict.fromkeys(key for contrast in contrasts for key, _ in contrast.weights)
    found = (sampler.arm(key) for key in sorted(keys))
    return [arm for arm in found if arm is not None]


def _shared(arms: list[Arm]) -> tuple[int, ...]:
    if not arms:
        return ()
    return tuple(sorted(frozenset.intersection(*(arm.done for arm in arms))))
