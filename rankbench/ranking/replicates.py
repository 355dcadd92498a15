"""Bootstrap replicates of any aggregator, from pair counts: no judgment is looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.davidson import Davidson
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
from rankbench.aggregators.likelihood.davidson import fit_davidson
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import ClusterCounts, PairCounts
from rankbench.kinds.queries import Comparisons

__all__ = [
    "LARGEST_SCORE",
    "comparisons_of",
    "finite_scores",
    "replicates",
    "resampled",
    "scores_from_counts",
    "solved_on_counts",
]


LARGEST_SCORE = 1e100
"""Larger scores have differences, or squares of them, that are not finite."""


def comparisons_of(counts: PairCounts) -> Comparisons:
    """Return at most three comparisons a pair with the counts' sums, ties as ties."""
    cells = np.column_stack([counts.forward, counts.backward, counts.ties])
    pair, cell = np.nonzero(cells)
    low, high = counts.low[pair], counts.high[pair]
    back = cell == 1
    return Comparisons(
        np.array([0, len(pair)], dtype=np.int64),
        np.where(back, high, low).astype(np.int32),
        np.where(back, low, high).astype(np.int32),
        cells[pair, cell],
        cell == 2,
    )


def finite_scores(scores: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """Return scores of shape (m,) that are finite, as are their differences and the squares of these.

    Raises
    ------
    ContenderDiverged
        They are not, or are beyond `LARGEST_SCORE`.
    SpecError
        They are of another shape.
    """
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (m,):
        raise SpecError(f"scores have shape {found.shape}, not ({m},)")
    if not np.isfinite(found).all():
        raise ContenderDiverged("scores are not one finite number an item")
    if (np.abs(found) > LARGEST_SCORE).any():
        most = float(np.abs(found).max())
        raise ContenderDiverged(
            f"scores are too far apart, or from 0: one is {most:.1e}, at most {LARGEST_SCORE:g} may be"
        )
    return found


def solved_on_counts(aggregator: Aggregator) -> bool:
    """Return whether `scores_from_counts` has a solver of its own; not for what a plugin derives from these."""
    return type(aggregator) in (BradleyTerry, Davidson)


def scores_from_counts(aggregator: Aggregator, counts: PairCounts) -> NDArray[np.float64]:
    """Return what an aggregator makes of a log that it needs the sums by pair of, shape (m,).

    `bradley-terry` and `davidson` are solved on the observed pairs (`fit_bradley_terry`,
    `fit_davidson`), however many items there are; the other ones are their own solvers.

    Parameters
    ----------
    aggregator : Aggregator
        Of comparisons; it must not depend on their order.
    counts : PairCounts

    Raises
    ------
    ContenderDiverged
        There are no finite scores.
    SpecError
        More items than the aggregator can rank.
    """
    if type(aggregator) is BradleyTerry:
        return fit_bradley_terry(counts, ridge=aggregator.ridge).scores
    if type(aggregator) is Davidson:
        return fit_davidson(counts, ridge=aggregator.ridge).scores
    aggregator.check_size(counts.m)
    return finite_scores(aggregator.from_comparisons(comparisons_of(counts), counts.m), counts.m)


def resampled(data: PairCounts | ClusterCounts, repetitions: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield the cells, shape (P, 3), of resamples of as many units as the log has.

    Units are judgments of `PairCounts`, whole clusters of `ClusterCounts`.

    Raises
    ------
    InputError
        `PairCounts` of weighted judgments: what a unit is, is not known any more.
    """
    rng = np.random.default_rng([seed, 5])
    if isinstance(data, ClusterCounts):
        groups = len(data)
        cluster = np.repeat(np.arange(groups), np.diff(data.starts))
        for _ in range(repetitions):
            times = np.bincount(rng.integers(groups, size=groups), minlength=groups)[cluster]
            rows = data.cells * times[:, None]
            yield np.column_stack([np.bincount(data.pair, rows[:, c], len(data.counts)) for c in range(3)])
        return
    if data.weighted:
        raise InputError("weighted judgments are summed up: count them by cluster (each its own, if need be)")
    cells = np.column_stack([data.forward, data.backward, data.ties])
    chances = cells.ravel() / cells.sum()
    for _ in range(repetitions):
        yield rng.multinomial(data.judgments, chances).reshape(cells.shape).astype(np.float64)


def replicates(
    aggregator: Aggregator,
    data: PairCounts | ClusterCounts,
    *,
    repetitions: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return the scores of resamples, shape (repetitions, m); rows of nan where there are none.

    Parameters
    ----------
    aggregator : Aggregator
        Of comparisons; it must not depend on their order.
    data : PairCounts or ClusterCounts
    repetitions, seed : int

    Raises
    ------
    InputError
        See `resampled`.
    """
    counts = data.counts if isinstance(data, ClusterCounts) else data
    drawn = np.full((repetitions, counts.m), np.nan)
    for row, cells in zip(drawn, resampled(data, repetitions, seed), strict=True):
        try:
            forward, backward, ties = np.ascontiguousarray(cells.T)
            row[:] = scores_from_counts(aggregator, replace(counts, forward=forward, backward=backward, ties=ties))
        except (ContenderDiverged, InputError):
            continue
    return drawn
