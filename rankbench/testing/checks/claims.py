"""Claims: two sides that exclude each other."""

from __future__ import annotations

import numpy as np

from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.subjects import Subject


def _intervals() -> tuple[np.ndarray, np.ndarray]:
    edges = np.array([-20.0, -1.0, -0.01, 0.0, 0.01, 1.0, 20.0])
    lower, upper = np.triu_indices(len(edges))
    return edges[lower], edges[upper]


@conformance_check("claim")
def sides_exclude_each_other(subject: Subject) -> None:
    """No interval lies on the claimed side and on the other one; where there is none, it lies on neither."""
    lower, upper = _intervals()
    claimed, opposed = (np.asarray(side(lower, upper)) for side in (subject.it.claimed, subject.it.opposed))
    if claimed.shape != lower.shape or opposed.shape != lower.shape:
        raise CheckFailed(f"of {len(lower)} intervals the sides have shapes {claimed.shape} and {opposed.shape}")
    both = np.flatnonzero(claimed & opposed)
    if len(both):
        raise CheckFailed(f"[{lower[both[0]]:g}, {upper[both[0]]:g}] lies on both sides")
    missing = np.full(2, np.nan)
    if subject.it.claimed(missing, missing).any() or subject.it.opposed(missing, missing).any():
        raise CheckFailed("an interval that is not known, nan, lies on a side")


@conformance_check("claim")
def shorter_intervals_stay_on_their_side(subject: Subject) -> None:
    """An interval inside one that lies on the claimed side lies there too."""
    lower, upper = _intervals()
    claimed = np.asarray(subject.it.claimed(lower, upper))
    inside = (lower[:, None] <= lower) & (upper <= upper[:, None])
    outer, inner = np.nonzero(inside & claimed[:, None] & ~claimed[None, :])
    if len(outer):
        i, j = outer[0], inner[0]
        raise CheckFailed(
            f"[{lower[i]:g}, {upper[i]:g}] lies on the claimed side, [{lower[j]:g}, {upper[j]:g}] inside it does not"
        )


@conformance_check("claim")
def tells_what_is_measured(subject: Subject) -> None:
    """It says in a sentence what its intervals are of."""
    said = subject.it.measured()
    if not isinstance(said, str) or not said.strip().endswith("."):
        raise CheckFailed(f"`measured()` is no sentence: {said!r}")
