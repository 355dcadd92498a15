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

from typing import Literal, TypeAlias

import numpy as np

from rankbench.kinds.claim import Bounds, ClaimKind

__all__ = ["Verdict", "clearest_first", "verdict"]

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
