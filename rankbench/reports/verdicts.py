"""From intervals to a verdict: what held, what did not, and which contrast decided that.

A claim needs all of its contrasts, so its test is an intersection-union test [Berger82]_:
if each contrast is tested at 5%, the claim is called true wrongly in at most 5%, without
any adjustment. That a claim *did not hold* needs one contrast only, the clearest of them:
there the intervals have to cover all at once.

References
----------
.. [Berger82] R. L. Berger, Multiparameter hypothesis testing and acceptance sampling,
   Technometrics 24(4), 1982.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.suite import Claim
from rankbench.stats.equivalence import equivalent, not_equivalent
from rankbench.stats.simultaneous import Intervals

__all__ = ["Bounds", "Verdict", "claimed", "clearest_first", "verdict"]

Verdict: TypeAlias = Literal["held", "did not hold", "could not tell"]


@dataclass(frozen=True)
class Bounds:
    """Intervals of P contrasts: differences, or logarithms of ratios.

    Attributes
    ----------
    estimate : ndarray of float64, shape (P,)
    lower, upper : ndarray of float64, shape (P,)
        Simultaneous: all cover at once at 95%.
    own_lower, own_upper : ndarray of float64, shape (P,)
        Each covers at 95%; inside the simultaneous ones.
    """

    estimate: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    own_lower: NDArray[np.float64]
    own_upper: NDArray[np.float64]

    @classmethod
    def of(cls, intervals: Callable[[NDArray[np.intp]], Intervals], contrasts: int) -> Bounds:
        """Compute the intervals of all contrasts together, and of each alone.

        Parameters
        ----------
        intervals : callable
            Takes the indices of contrasts, returns their simultaneous intervals.
        contrasts : int
            P, at least 1.
        """
        together = intervals(np.arange(contrasts))
        alone = [intervals(np.array([j])) for j in range(contrasts)]
        return cls(
            together.estimate,
            together.lower,
            together.upper,
            np.concatenate([one.lower for one in alone]),
            np.concatenate([one.upper for one in alone]),
        )


def claimed(claim: Claim, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where an interval lies on the claimed side; nan never does."""
    if claim.kind == "less":
        return np.asarray(upper < 0)
    if claim.kind == "wider":
        return np.asarray(lower > 0)
    return equivalent(lower, upper, claim.margin)


def _opposed(claim: Claim, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
    if claim.kind == "less":
        return np.asarray(lower > 0)
    if claim.kind == "wider":
        return np.asarray(upper < 0)
    return not_equivalent(lower, upper, claim.margin)


def verdict(claim: Claim, bounds: Bounds) -> Verdict:
    """Judge a claim: held by each contrast's own interval, refuted by a simultaneous one."""
    if _opposed(claim, bounds.lower, bounds.upper).any():
        return "did not hold"
    return "held" if claimed(claim, bounds.own_lower, bounds.own_upper).all() else "could not tell"


def clearest_first(claim: Claim, bounds: Bounds) -> list[int]:
    """Return the contrasts that lie entirely on the other side, farthest in widths first."""
    margin = claim.margin if claim.kind in ("equivalent", "coincide") else 0.0
    width = bounds.upper - bounds.lower
    past = np.abs(bounds.estimate) - margin
    far = np.divide(past, width, out=np.full(past.shape, np.inf), where=width > 0)
    other = np.flatnonzero(_opposed(claim, bounds.lower, bounds.upper))
    return sorted(other.tolist(), key=lambda j: (-far[j], j))
