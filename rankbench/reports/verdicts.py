"""Verdicts of claims: held, did not hold, could not tell, with the contrasts that they rest on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from rankbench.interfaces.cell import Split
from rankbench.interfaces.claim import Bounds, ClaimKind, Evidence
from rankbench.interfaces.suite import Claim

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


@dataclass(frozen=True)
class Finding:
    """One contrast with its intervals, simultaneous over the claim's contrasts unless said otherwise.

    Attributes
    ----------
    text : str
        Compared contenders, in words.
    estimate : float
        A difference or a ratio, as the claim's kind has it.
    lower, upper : float
        Over queries and repetitions; over repetitions for curves, which have no queries.
    lower_draws, upper_draws : float
        Over repetitions alone.
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
        Verdict by the intervals over repetitions alone.
    notes : tuple of str
        Contrasts that were left out, and why.
    against : tuple of str
        If the claim did not hold: the contrasts that lie on the other side, the clearest
        first.
    """

    experiment: str
    claim: Claim
    split: Split | None
    about: Split
    verdict: Verdict = "could not tell"
    by_draws: Verdict = "could not tell"
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


def without_held(answer: JudgedClaim) -> JudgedClaim:
    """Withdraw a verdict that rests on only some of the claim's contrasts."""
    weaker: dict[Verdict, Verdict] = {"held": "could not tell"}
    return replace(
        answer,
        verdict=weaker.get(answer.verdict, answer.verdict),
        by_draws=weaker.get(answer.by_draws, answer.by_draws),
    )


def claim_judged(empty: JudgedClaim, kind: ClaimKind, evidence: Evidence) -> JudgedClaim:
    """Return a claim with its verdicts, and the contrasts that they rest on."""
    against = tuple(evidence.texts[j] for j in clearest_first(kind, evidence.bounds))
    by_both, by_draws = (verdict(kind, bounds) for bounds in (evidence.bounds, evidence.by_draws))
    return replace(empty, verdict=by_both, by_draws=by_draws, findings=_findings(kind, evidence), against=against)


def _findings(kind: ClaimKind, evidence: Evidence) -> tuple[Finding, ...]:
    """Return the contrasts with their intervals, in the unit that is shown."""
    both, draws = evidence.bounds, evidence.by_draws
    columns = (both.estimate, both.lower, both.upper, draws.lower, draws.upper, both.own_lower, both.own_upper)
    shown = [kind.shown(column).tolist() for column in columns]
    return tuple(Finding(text, *row) for text, row in zip(evidence.texts, zip(*shown, strict=True), strict=True))
