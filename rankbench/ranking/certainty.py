"""What is certain about scores: intervals, and the places that an item may hold."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.units import ENOUGH, Units
from rankbench.errors import InputError
from rankbench.kinds.aggregator import MOST_DENSE
from rankbench.kinds.metric import RIDGE, UNPENALIZED

if TYPE_CHECKING:
    from rankbench.kinds.aggregator import Aggregator

__all__ = [
    "FEW",
    "LARGEST",
    "MANY",
    "check_size",
    "item_rank_ranges",
    "judged_enough",
    "ridge_of",
    "score_intervals",
    "shrunk",
    "too_thin",
    "unpenalized",
    "without_penalty",
]

FEW = 30
"""With fewer units a bootstrap of a maximum is too coarse: Bonferroni instead."""

LARGEST = 4000
"""Most items whose differences are compared: matrices of 128 MB."""

MANY = 500
"""With more items the maximum over all pairs takes long, and gains little over Holm's levels."""

_FEWEST = 3.0
"""Fewer units have no spread to speak of: one degree of freedom, or none."""

_ZERO = 1e-9


def check_size(m: int) -> None:
    """Refuse more items than intervals can compare, before anything is allocated.

    Raises
    ------
    InputError
        There are more than `LARGEST`.
    """
    if m > LARGEST:
        raise InputError(
            f"intervals compare all pairs of items: {m:,} are too many (at most {LARGEST:,}); leave them out"
        )


def shrunk(ridge: float) -> str:
    """Say what intervals of scores with a ridge are intervals of; empty without one."""
    return RIDGE.sentence.format(value=ridge) if ridge > 0 else ""


def ridge_of(aggregator: Aggregator) -> float:
    """Return the penalty on an aggregator's scores, its parameter ``ridge``; 0 if it has none, or another penalty."""
    said = aggregator.config()
    return float(said.get("ridge", 0.0)) if said.get("penalty", "ridge") == "ridge" else 0.0


def unpenalized(aggregator: Aggregator, m: int) -> bool:
    """Return whether Firth's penalty, an aggregator's parameter ``penalty``, is left out as there are so many items."""
    return aggregator.config().get("penalty") == "firth" and m > MOST_DENSE


def without_penalty(aggregator: Aggregator, m: int) -> str:
    """Say that so many items have no penalty, where they were to have one; else empty."""
    return UNPENALIZED.sentence.format(value=m) if unpenalized(aggregator, m) else ""


def score_intervals(
    scores: NDArray[np.float64], se: NDArray[np.float64], units: Units, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the items' own intervals by Student's t, shapes (m,); nan where nothing is known.

    Degrees of freedom are one fewer than the effective number of units behind the item's variance.
    An item has no interval if fewer than ten votes (or three units) judged it, or if its score is
    the same in all resamples: what always happened in a few votes need not always happen.
    """
    from scipy.special import stdtrit

    known = judged_enough(units) & (se > _unit(scores))
    half = np.where(known, -stdtrit(_freedom(units.of_variance), (1 - level) / 2) * se, np.nan)
    return scores - half, scores + half


def item_rank_ranges(
    scores: NDArray[np.float64],
    covariance: NDArray[np.float64],
    scales: NDArray[np.int64],
    units: Units,
    deviations: NDArray[np.float64] | None = None,
    level: float = 0.95,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst place of each item, shapes (m,): all ranges hold at once.

    1 + the number of items that are significantly better, to m - the number that are
    significantly worse, by step-down tests of all ordered pairs within scales [MWR24]_.
    Critical values have the degrees of freedom of the item whose variance fewer units show. A
    difference without any spread is significant if so many units would hardly ever agree by
    chance; items that fewer than ten votes (or three units) judged may hold any place.

    Parameters
    ----------
    scores : ndarray of float64, shape (m,)
    covariance : ndarray of float64, shape (m, m)
    scales : ndarray of int, shape (m,)
    units : Units
        What is independent behind the covariance.
    deviations : ndarray of float64, shape (B, m), optional
        Of replicates from the scores: max-t intervals. Without, or with fewer than 30
        units, or more than 500 items: Holm's levels.
    level : float, in (0, 1)
    """
    from scipy.special import stdtrit

    from rankbench.stats.columns import AllPairs
    from rankbench.stats.step_down import told_apart

    m = len(scores)
    first, second = np.triu_indices(m, 1)
    variance, judged = np.diag(covariance), judged_enough(units)
    compared = (scales[first] == scales[second]) & judged[first] & judged[second]
    count = int(compared.sum())
    if not count:
        return np.ones(m, dtype=np.int64), np.full(m, m, dtype=np.int64)
    unit = _unit(scores)
    se = np.sqrt(np.maximum(variance[first] + variance[second] - 2 * covariance[first, second], 0))
    live = compared & (se > unit)
    se[~live] = 0.0
    lead = scores[first] - scores[second]
    fewer = np.minimum(units.items[first], units.items[second])
    freedom = _freedom(np.minimum(units.of_variance[first], units.of_variance[second]))
    largest = None
    if deviations is not None and units.effective >= FEW and m <= MANY:
        columns, centre = AllPairs(m).contrast_rows(deviations), np.zeros(len(se))
        largest = partial(columns.largest, centre, se)
    signs = told_apart(lead, se, lambda local: -stdtrit(freedom, local / 2), largest, level, 2 * count)
    # No spread at all: n units agree by chance with probability 2^(1 - n).
    agreed = compared & ~live & (np.abs(lead) > unit) & (2.0 ** (1 - fewer) <= (1 - level) / count)
    signs[agreed] = np.sign(lead[agreed])
    better = np.concatenate([first[signs > 0], second[signs < 0]])
    worse = np.concatenate([second[signs > 0], first[signs < 0]])
    return 1 + np.bincount(worse, minlength=m), m - np.bincount(better, minlength=m)


def judged_enough(units: Units) -> NDArray[np.bool_]:
    """Return which items ten votes and three units at least are about, shape (m,)."""
    known: NDArray[np.bool_] = (units.votes >= ENOUGH) & (units.items >= _FEWEST)
    return known


def too_thin(units: Units) -> list[str]:
    """Return a sentence on the items without intervals; none if all have them."""
    thin = int((~judged_enough(units)).sum())
    if not thin:
        return []
    return [
        f"{thin} of {len(units.votes):,} items have fewer than {ENOUGH:.0f} votes, or those of fewer than "
        f"{_FEWEST:.0f} equal judges: too few for an interval, and they may hold any place (a row of the log is one "
        "vote here, whatever it weighs)"
    ]


def _freedom(units: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(units - 1, 1.0)


def _unit(scores: NDArray[np.float64]) -> float:
    """Return what counts as zero beside these scores."""
    return _ZERO * max(1.0, float(np.abs(scores).max(initial=0.0)))
