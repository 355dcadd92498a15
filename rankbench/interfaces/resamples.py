"""Resamples draw counts again by one or two kinds of units.

References
----------
.. [ET93] B. Efron and R. J. Tibshirani. An introduction to the bootstrap. Chapman & Hall, 1993.

References
----------
.. [Owen07] A. B. Owen. The pigeonhole bootstrap. Annals of Applied Statistics 1(2), 2007.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import resample_entropy
from rankbench.core.system import in_two_threads
from rankbench.errors import InputError
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts

_MOST_DRAWN = 1 << 24
"""Most judgments that are drawn one by one; of more, how often each outcome of a pair is drawn."""

_SAYS_MUCH = 16
"""Most outcomes of pairs a unit on average: with more, resamples are summed pair by pair."""

_AT_ONCE = 8_000_000
"""Bytes of the sums of resamples that are made together, where they are many."""

_AT_MOST = 50_000_000
"""Bytes of the sums of a few resamples that gain by being made together, unless two of them take more."""

_TILE = 4096
"""Pairs whose sums stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class UnitDraws:
    """As many units as a log has, drawn with replacement, some times over.

    Draw r depends on the number of units, the seed and r alone: more draws only add some.

    Attributes
    ----------
    units : int
        G: judgments, judges, ballots or sessions.
    states : ndarray of uint64, shape (B, 4)
        A stream of random numbers for each draw (`rankbench.kernels.random`).
    """

    units: int
    states: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.states)

    def times(self, r: int) -> NDArray[np.int64]:
        """Return the number of times that each unit is drawn, shape (G,); the sum is G."""
        from rankbench.kernels.random import draw_units

        times = np.zeros(self.units, np.int64)
        draw_units(self.states[r].copy(), times)
        return times


def draws_of(units: int, repetitions: int, seed: int) -> UnitDraws:
    """Return draws of a log's units.

    Parameters
    ----------
    units : int
    repetitions : int
        One at least.
    seed : int
        Not negative.
    """
    words = np.random.SeedSequence(resample_entropy(seed, units)).generate_state(4 * repetitions, np.uint64)
    return UnitDraws(units, words.astype(np.uint64, copy=False).reshape(-1, 4))


Crossing: TypeAlias = tuple[UnitDraws, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Resamples:
    """Resamples of counted comparisons; iterating yields what `sums` returns for each.

    Only they make counts of units that are drawn again, a few at a time.

    Where units say much, as judges of long logs do, each sum is added up unit by unit in their order; else unit by unit
    as they are drawn. The two are equal to the bit where weights are whole numbers.

    Attributes
    ----------
    counts : PairCounts
        The log.
    draws : UnitDraws
        Units of each resample, with their numbers.
    starts : ndarray of int64, shape (G + 1,) or (0,)
        Unit u is ``weights[e]`` in cell ``cells[e]`` for ``e = starts[u] .. starts[u + 1] - 1``. Empty: unit
        u is one judgment, in cell ``cells[u]``.
    cells : ndarray of int32
        Three times the pair, plus 0 where `low` won, 1 where `high` did, 2 for a tie. Empty: the units are
        judgments, too many to be held one by one.
    weights : ndarray of float64
        Weight of each judgment, or sum of a unit's weights in a cell.
    crossed : (UnitDraws, ndarray, ndarray, ndarray, ndarray), optional
        Draws of a second kind of units, and of each vote its first and its second unit, its cell and its weight: a
        vote's count is the product of the draws of its two units [Owen07]_. `cells` and `starts` are empty then.
    """

    counts: PairCounts
    draws: UnitDraws
    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    weights: NDArray[np.float64]
    crossed: Crossing | None = None

    def __len__(self) -> int:
        return len(self.draws)

    def __iter__(self) -> Iterator[PairCounts]:
        for some in self._parts():
            sums = self._room(some)
            self._sum(some, sums)
            for r in range(len(sums)):
                yield self._counts(sums[r])
            # Before the next ones are made.
            del sums

    def sums(self, r: int) -> PairCounts:
        """Return the counts of resample r, of the pairs that were drawn."""
        some = slice(r, r + 1)
        sums = self._room(some)
        self._sum(some, sums)
        return self._counts(sums[0])

    def _counts(self, sums: NDArray[np.float64]) -> PairCounts:
        forward, backward, ties = sums
        return replace(self.counts, forward=forward, backward=backward, ties=ties).observed()

    def batches(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the number of a first resample, and the sums of it and some after it, made together.

        Sums have shape (b, 3, P): of each resample where `low` won, where `high` did, and of ties. The next ones
        take their place in memory.
        """
        room = np.zeros(0)
        for some in self._parts():
            if not len(room):
                room = self._room(some)
            sums = room[: some.stop - some.start]
            self._sum(some, sums)
            yield some.start, sums

    def _parts(self) -> Iterator[slice]:
        """Yield ranges of resamples that are summed together."""
        from rankbench.kernels.random import LANES

        one = 24 * len(self.counts) + 4 * self.draws.units * self._says_much
        most = max(2, _AT_ONCE // max(one, 1), min(LANES, _AT_MOST // max(one, 1)))
        most -= most % LANES if most > LANES else 0
        for first in range(0, len(self), most):
            yield slice(first, min(first + most, len(self)))

    def _room(self, some: slice) -> NDArray[np.float64]:
        return np.empty((some.stop - some.start, 3, len(self.counts)))

    @property
    def _says_much(self) -> bool:
        return len(self.starts) > 0 and len(self.cells) > _SAYS_MUCH * self.draws.units

    def _sum(self, some: slice, sums: NDArray[np.float64]) -> None:
        """Write the sums of some resamples, shape (b, 3, P); two threads."""
        states, units, pairs = self.draws.states[some].copy(), self.draws.units, len(self.counts)
        if self.crossed is not None:
            others, first, second, cell, weight = self.crossed
            for r, row in enumerate(sums, some.start):
                product = self.draws.times(r)[first] * others.times(r)[second]
                row[:] = np.bincount(cell, product * weight, 3 * pairs).reshape(-1, 3).T
            return
        if not len(self.cells):
            counted = _cells_of(self.counts)
            for state, row in zip(states, sums, strict=True):
                drawn = np.random.default_rng(state).multinomial(units, counted / counted.sum())
                row[:] = drawn.reshape(-1, 3).T
            return
        from rankbench.kernels.random import LANES, draw_cells, draw_lanes, sum_lanes

        if not self._says_much:

            def draw(part: slice) -> None:
                work = np.empty(3 * pairs)
                draw_cells(states[part], units, self.starts, self.cells, self.weights, work, sums[part])

            in_two_threads(draw, len(states))
            return
        times = np.zeros(-(-len(states) // LANES) * LANES * units, np.float32)
        draw_lanes(states, units, times)

        def add(part: slice) -> None:
            place, tile = np.empty(units, np.int64), np.empty(3 * LANES * min(_TILE, pairs))
            sum_lanes(part.start, part.stop, times, self.starts, self.cells, self.weights, place, tile, sums)

        in_two_threads(add, pairs)


def resamples_of(data: PairCounts | ClusterCounts, repetitions: int, seed: int) -> Resamples:
    """Return resamples of counted judgments, of as many units as the log has.

    Units are judgments of `PairCounts`, whole clusters of `ClusterCounts`.

    Parameters
    ----------
    data : PairCounts or ClusterCounts
    repetitions, seed : int
        See `draws_of`.

    Raises
    ------
    InputError
        `PairCounts` of weighted judgments, which no longer name their units. See `draws_of`, too.
    """
    none, one_each = np.zeros(0, np.int64), np.zeros(0)
    counts = data.counts if isinstance(data, ClusterCounts) else data
    if isinstance(data, ClusterCounts):
        draws = draws_of(len(data.clusters), repetitions, seed)
        return Resamples(counts, draws, data.starts, data.cells, data.weights)
    if data.weighted:
        raise InputError("weighted judgments are summed up: count them by cluster (each its own, if need be)")
    each = _cells_of(data).astype(np.int64)
    judgments = int(each.sum())
    draws = draws_of(judgments, repetitions, seed)
    if judgments > _MOST_DRAWN:
        return Resamples(counts, draws, none, none.astype(np.int32), one_each)
    return Resamples(counts, draws, none, np.repeat(np.arange(len(each), dtype=np.int32), each), one_each)


def _cells_of(counts: PairCounts) -> NDArray[np.float64]:
    return np.column_stack([counts.forward, counts.backward, counts.ties]).ravel()


_APART = 1 << 32
"""Offset of the seed for the second kind of units: as many of both kinds are not drawn alike."""


def crossed_resamples(
    counts: PairCounts,
    units: tuple[NDArray[np.int32], NDArray[np.int32]],
    cell: NDArray[np.int32],
    weight: NDArray[np.float64],
    repetitions: int,
    seed: int,
) -> Resamples:
    """Return resamples of a log's votes by two kinds of units.

    Parameters
    ----------
    counts : PairCounts
        Of all votes.
    units : (ndarray, ndarray)
        Units of each vote, shapes (n,), numbered from 0.
    cell : ndarray of int32, shape (n,)
        Three times the pair of each vote, plus 0 where `low` won, 1 where `high` did, 2 for a tie.
    weight : ndarray of float64, shape (n,)
    repetitions, seed : int
        See `draws_of`.
    """
    first, second = units
    draws = draws_of(int(first.max()) + 1, repetitions, seed)
    others = draws_of(int(second.max()) + 1, repetitions, seed + _APART)
    none = np.zeros(0, np.int64)
    crossed = others, first, second, cell, weight
    return Resamples(counts, draws, none, none.astype(np.int32), np.zeros(0), crossed)
