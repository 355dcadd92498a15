"""Claims get verdicts from intervals.

A claim needs all of its contrasts, so its test is an intersection-union test [Berger82]_:
if each contrast is tested at 5%, the claim is called true wrongly in at most 5%, without
any adjustment. That a claim *did not hold* needs one contrast only, the clearest of them:
there the intervals have to cover all at once.

References
----------
.. [Berger82] R. L. Berger, Multiparameter hypothesis testing and acceptance sampling,
   Technometrics 24(4), 1982.

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
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.cell import Split
from rankbench.interfaces.claim import Bounds, ClaimKind, Compared, Evidence, NoEvidenceError, WeightedContrast
from rankbench.interfaces.suite import Claim, Contrast
from rankbench.plugin.manager import claim_kind
from rankbench.reports.experiment_data import Arm, ArmKey, Race, Sampler
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrasts import FEWEST, too_few


def resolve(sampler: Sampler, claim: Claim) -> tuple[list[WeightedContrast], tuple[str, ...], bool]:
    """Turn labels into arms.

    Returns
    -------
    contrasts : list of WeightedContrast
        No two of them the same.
    notes : tuple of str
        What is left out, and why.
    complete : bool
        Whether all that the claim needs is there.
    """
    found: dict[tuple[tuple[ArmKey, float], ...], str] = {}
    notes: list[str] = []
    complete = True
    for contrast in claim.contrasts:
        cells = _places(sampler, contrast)
        if not cells:
            complete = False
            notes.append(f"{contrast.a} vs {contrast.b}: not in this run")
        for text, weights in cells:
            missing = _missing(sampler, weights)
            owners = tuple((_owner(sampler, key), weight) for key, weight in weights)
            if missing:
                complete = False
                notes.append(f"{text}: left out, {missing}")
            elif _cancels(owners):
                notes.append(f"{text}: left out, no query has so many judgments and the two are the same")
            elif owners in found:
                twin = found[owners]
                why = "no query has so many judgments and this is" if text != twin else "named twice:"
                notes.append(f"{text}: left out, {why} the same as {twin}")
            else:
                found[owners] = text
    return [WeightedContrast(text, weights) for weights, text in found.items()], tuple(notes), complete


def _missing(sampler: Sampler, weights: tuple[tuple[ArmKey, float], ...]) -> str:
    """Say which arm cannot be compared, if one cannot."""
    for key, _ in weights:
        arm = sampler.arm(key)
        if arm is None or not arm.racing:
            status = "not in this run" if arm is None else arm.status
            return f"{key[1]} at n = {key[0]:,} is {status}"
    return ""


def _owner(sampler: Sampler, key: ArmKey) -> ArmKey:
    """Return the arm of order infinity that an arm equals, if that one is in the race; else `key`."""
    arm = sampler.arm(key)
    owner = None if arm is None or not arm.equals else sampler.arm((key[0], arm.equals))
    return key if owner is None or not owner.racing else owner.key


def _cancels(weights: tuple[tuple[ArmKey, float], ...]) -> bool:
    """Whether a and b are one cell, at every n of the contrast."""
    return all(sum(w for k, w in weights if k == key) == 0 for key, _ in weights)


def _places(sampler: Sampler, contrast: Contrast) -> list[tuple[str, tuple[tuple[ArmKey, float], ...]]]:
    """Return the words and the weighted arms of a contrast: a, b[, a, b]."""
    a, b = contrast.a, contrast.b
    declared = {race.n_declared: race for race in sampler.races}
    if contrast.n_a is not None or contrast.n_b is not None:
        races = [declared.get(n) if n is not None else None for n in (contrast.n_a, contrast.n_b)]
        if races[0] is None or races[1] is None:
            return []
        n_a, n_b = races[0].n, races[1].n
        return [(f"{a} at n = {n_a:,} vs {b} at n = {n_b:,}", (((n_a, a), 1.0), ((n_b, b), -1.0)))]
    races_of_both: list[Race] = [race for race in sampler.races if race.arm(a) and race.arm(b)]
    if not races_of_both:
        return []
    first, last = races_of_both[0].n, races_of_both[-1].n
    if contrast.at == "last-first":
        if first == last:
            return []
        text = f"({a} vs {b}) at n = {last:,}, less the same at n = {first:,}"
        return [(text, (((last, a), 1.0), ((last, b), -1.0), ((first, a), -1.0), ((first, b), 1.0)))]
    at = {"each": [race.n for race in races_of_both], "first": [first], "last": [last]}[contrast.at]
    return [(f"{a} vs {b}, n = {n:,}", (((n, a), 1.0), ((n, b), -1.0))) for n in at]


Verdict: TypeAlias = Literal["held", "did not hold", "could not tell"]


def verdict(kind: ClaimKind, bounds: Bounds) -> Verdict:
    """Judge a claim: held by each contrast's own interval, refuted by a simultaneous one."""
    if kind.opposed(bounds.lower, bounds.upper).any():
        return "did not hold"
    return "held" if kind.claimed(bounds.own_lower, bounds.own_upper).all() else "could not tell"


def clearest_first(kind: ClaimKind, bounds: Bounds) -> list[int]:
    """Return the contrasts that lie entirely on the other side, farthest in widths first."""
    width = bounds.upper - bounds.lower
    past = kind.excess(bounds.estimate)
    far = np.divide(past, width, out=np.full(past.shape, np.inf), where=width > 0)
    other = np.flatnonzero(kind.opposed(bounds.lower, bounds.upper))
    return sorted(other.tolist(), key=lambda j: (-far[j], j))


def curve_steps(sampler: Sampler, arm: Arm, metric: str) -> NDArray[np.int64]:
    """Return the steps that an arm's curve was recorded at, shape (P,); empty without one."""
    for repetition in sorted(arm.done):
        curve = sampler.results.curves(arm.cells[repetition]).get(metric)
        if curve is not None:
            return curve.steps
    return np.empty(0, dtype=np.int64)


def curve_values(
    sampler: Sampler, arm: Arm, metric: str, steps: Sequence[int], repetitions: Sequence[int]
) -> NDArray[np.float64] | None:
    """Return a curve's values at `steps`, shape (R, len(steps)), or None if one is missing.

    Between two recorded steps the value is interpolated linearly in log(step), outside
    of them it is that of the nearest one.
    """
    rows = []
    for repetition in repetitions:
        curve = sampler.results.curves(arm.cells[repetition]).get(metric)
        if curve is None or not len(curve.steps):
            return None
        at, recorded = np.log(np.asarray(steps, dtype=np.float64)), np.log(curve.steps.astype(np.float64))
        rows.append(np.interp(at, recorded, curve.values))
    return np.stack(rows)


def in_windows(
    steps: NDArray[np.int64], values: NDArray[np.float64], per_decade: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return means of a curve over windows of its steps, so many a decade, at the geometric means of the steps.

    Parameters
    ----------
    steps : ndarray of int64, shape (P,)
        Above 0, rising.
    values : ndarray of float64, shape (R, P)
    per_decade : int

    Returns
    -------
    (ndarray of int64, shape (W,), ndarray of float64, shape (R, W))
    """
    window = np.floor(np.log10(steps) * per_decade + 1e-9).astype(np.int64)
    # The last step begins a window that nothing else is in: it belongs to the one before.
    if len(window) > 1 and window[-1] != window[-2]:
        window[-1] = window[-2]
    _, starts = np.unique(window, return_index=True)
    sizes = np.diff([*starts, len(steps)])
    middle = np.exp(np.add.reduceat(np.log(steps), starts) / sizes)
    return np.rint(middle).astype(np.int64), np.add.reduceat(values, starts, axis=1) / sizes


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
class JudgedClaim:
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


def answers(sampler: Sampler) -> list[JudgedClaim]:
    """Return the answers to an experiment's claims, on every split."""
    found: list[JudgedClaim] = []
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


def _empty(sampler: Sampler, claim: Claim, split: Split | None, about: Split, notes: tuple[str, ...]) -> JudgedClaim:
    name = sampler.experiment.name
    return JudgedClaim(name, claim, split, about, "could not tell", "could not tell", (), 0, notes)


def _without_held(answer: JudgedClaim) -> JudgedClaim:
    """Take back a verdict that rests on some of the claim's contrasts only."""
    weaker: dict[Verdict, Verdict] = {"held": "could not tell"}
    return replace(
        answer,
        verdict=weaker.get(answer.verdict, answer.verdict),
        by_draws=weaker.get(answer.by_draws, answer.by_draws),
    )


def _answer(
    sampler: Sampler, kind: ClaimKind, contrasts: Sequence[WeightedContrast], empty: JudgedClaim
) -> JudgedClaim:
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


def _judged(empty: JudgedClaim, kind: ClaimKind, evidence: Evidence, repetitions: int) -> JudgedClaim:
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
