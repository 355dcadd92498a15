"""A log cut into times: votes of one time are predicted together, from the votes before.

Votes of one time are sorted by their own contents alone, so that the order in which a log holds
them means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import count_text
from rankbench.errors import SpecError
from rankbench.interfaces.covariate_aggregator import CovariateAggregator, Covariates, CovariateVotes
from rankbench.interfaces.pair_counts import PairCounts, numbered_pairs
from rankbench.interfaces.protocol import pack, unpack
from rankbench.interfaces.queries import Comparisons
from rankbench.logs.votes import Votes

WARM_UP = 0.2
"""Share of the votes, the first ones, that are learned from and not judged."""

MOMENTS = 100
"""At so many moments, at most, is a method fitted again that does not learn from one time after the other."""

FEWEST_MOMENTS = 10
"""At so many moments, at least, where there are as many times."""

REFITTED_PAIRS = 10_000_000
"""All refits of a method together go through so many compared pairs, at most, unless `FEWEST_MOMENTS` are more."""

BLOCKS = 25
"""Stretches of time that differences are resampled by, at most."""

_GROWTH = 1.1
"""Parameters and links are chosen anew where the votes became so many times more."""

_FEWEST = 4
"""Least number of stretches for significant differences."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Votes by time, and the times of predictions and choices.

    Only they say which votes a method has seen when it predicts one.

    Attributes
    ----------
    m : int
        Number of items.
    first, second : ndarray of int32, shape (n,)
        The smaller and the larger item of each vote.
    outcome : ndarray of int8, shape (n,)
        1 where the first won, -1 where the second did, 0 for a tie.
    weights : ndarray of float64, shape (n,)
    starts : ndarray of int64, shape (T + 1,)
        Votes of time t are ``starts[t]:starts[t + 1]``.
    moments : ndarray of int64
        Times before which refitted methods are fitted; the first one ends the votes that are not predicted.
    asks : ndarray of int64
        Times at which methods that keep a state predict all votes up to the next one; the first is 0.
    choices : ndarray of int64
        Times before which parameters and links are chosen; the first one ends the warm-up.
    blocks : ndarray of int32, shape (T,)
        Of each time: which stretch it is in, -1 in the warm-up.
    whole : ndarray of bool, shape (n,)
        False where a row is the rest of a vote whose points are split.
    covariates : Covariates, optional
        Of the first item less the second.
    """

    m: int
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    outcome: NDArray[np.int8]
    weights: NDArray[np.float64]
    starts: NDArray[np.int64]
    moments: NDArray[np.int64]
    asks: NDArray[np.int64]
    choices: NDArray[np.int64]
    blocks: NDArray[np.int32]
    whole: NDArray[np.bool_]
    covariates: Covariates | None = None

    def __len__(self) -> int:
        return len(self.first)

    @property
    def count(self) -> int:
        """Number of stretches."""
        return int(self.blocks.max()) + 1

    @property
    def tested(self) -> slice:
        """The votes that are judged."""
        return slice(int(self.starts[self.choices[0]]), len(self))

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The pairs that are ever compared, and that of each vote."""
        return numbered_pairs(self.first, self.second, self.m)

    def up_to(self, stretches: int) -> Steps:
        """Return the votes of the warm-up and of the first stretches of time."""
        times = int(np.searchsorted(self.blocks, stretches))
        rows = int(self.starts[times])
        by_vote = {name: getattr(self, name)[:rows] for name in ("first", "second", "outcome", "weights", "whole")}
        covariates = None if self.covariates is None else replace(self.covariates, values=self.covariates.values[:rows])
        reached = {name: getattr(self, name)[getattr(self, name) < times] for name in ("moments", "asks", "choices")}
        starts, of_time = self.starts[: times + 1], self.blocks[:times]
        return replace(self, starts=starts, blocks=of_time, covariates=covariates, **by_vote, **reached)

    def votes_before(self, row: int) -> int:
        """Return the number of votes that begin before a row."""
        return int(np.count_nonzero(self.whole[:row]))

    def block_of_vote(self) -> NDArray[np.int32]:
        """Return the stretch of each vote that is judged."""
        return np.repeat(self.blocks, np.diff(self.starts))[self.tested]

    def comparisons(self, begin: int, end: int) -> Comparisons:
        """Return the votes of the times from `begin` to before `end`."""
        rows = slice(int(self.starts[begin]), int(self.starts[end]))
        first, second, outcome = self.first[rows], self.second[rows], self.outcome[rows]
        swapped = outcome < 0
        return Comparisons(
            np.array([0, len(first)], dtype=np.int64),
            np.where(swapped, second, first),
            np.where(swapped, first, second),
            np.array(self.weights[rows]),
            outcome == 0,
        )

    def with_covariates(
        self, aggregator: CovariateAggregator, begin: int, end: int, items: list[str]
    ) -> CovariateVotes:
        """Return the votes of the times from `begin` to before `end`, with the aggregator's covariates, a row each.

        Raises
        ------
        SpecError
            The log was asked for no covariates that it reads.
        """
        rows = slice(int(self.starts[begin]), int(self.starts[end]))
        outcomes = np.stack([self.outcome[rows] == said for said in (1, -1, 0)], axis=1) * self.weights[rows, None]
        known = self.covariates and replace(self.covariates, values=np.array(self.covariates.values[rows]))
        covariates = aggregator.shown(known)
        weighted = bool((self.weights != 1).any())
        return CovariateVotes(items, self.first[rows], self.second[rows], outcomes, covariates, weighted=weighted)

    def counts(self, cells: NDArray[np.float64], votes: int, items: list[str]) -> PairCounts:
        """Return sums by pair and outcome, shape (P, 3), of so many votes, as counts."""
        weighted = bool((self.weights != 1).any())
        return PairCounts.from_cells(items, self.pairs[0], cells, votes, weighted).observed()

    def cells(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return the sums by pair and outcome of the times from `begin` to before `end`, shape (P, 3)."""
        pairs, pair = self.pairs
        rows = slice(int(self.starts[begin]), int(self.starts[end]))
        slot = 3 * pair[rows].astype(np.int64) + np.where(self.outcome[rows] == 0, 2, self.outcome[rows] < 0)
        return np.bincount(slot, self.weights[rows], 3 * len(pairs)).astype(np.float64).reshape(-1, 3)

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays of a `Prepared`."""
        names = ("first", "second", "outcome", "weights", "starts", "moments", "asks", "choices", "blocks", "whole")
        arrays = {name: getattr(self, name) for name in names}
        return pack("steps", m=np.array([self.m]), **arrays, **arrays_of(self.covariates))


def arrays_of(covariates: Covariates | None) -> dict[str, NDArray[Any]]:
    """Return covariates as arrays for `rankbench.interfaces.protocol.pack`; none of None."""
    if covariates is None:
        return {}
    # Names have no line ends: terms are columns of a file.
    controls = np.frombuffer("\n".join(covariates.names).encode(), dtype=np.uint8)
    return {"covariates": covariates.values, "controls": controls}


def covariates_of(arrays: dict[str, NDArray[Any]]) -> Covariates | None:
    """Remove the result of `arrays_of` from unpacked arrays and return it as covariates; None without it."""
    if "controls" not in arrays:
        return None
    names = tuple(arrays.pop("controls").tobytes().decode().split("\n"))
    return Covariates(names, (1.0,) * len(names), arrays.pop("covariates"))


def unpack_steps(arrays: Mapping[str, NDArray[Any]]) -> Steps:
    """Return the steps packed by `Steps.packed`."""
    of = unpack(arrays, "steps")
    return Steps(int(of.pop("m")[0]), covariates=covariates_of(of), **of)


def cut_steps(votes: Votes, place: NDArray[np.int32], blocks: int = BLOCKS, *, shared: bool = False) -> Steps:
    """Return votes by time, with the times of predictions and choices.

    Parameters
    ----------
    votes : Votes
        In the order of time.
    place : ndarray of int32, shape (n,)
        Number of the time of each vote, from 0, not decreasing.
    blocks : int
    shared : bool
        Methods that keep a state predict from what they knew at the moments of refits.

    Raises
    ------
    SpecError
        The log has too few times.
    """
    low, high = np.minimum(votes.winners, votes.losers), np.maximum(votes.winners, votes.losers)
    outcome = np.where(votes.ties, 0, np.where(votes.winners < votes.losers, 1, -1)).astype(np.int8)
    said = votes.weights > 0
    order = np.lexsort((votes.weights, outcome, high, low, place))
    order = order[said[order]]
    place = place[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(place)) + 1, [len(order)]]).astype(np.int64)
    times, n = len(starts) - 1, len(order)
    warm = max(int(np.searchsorted(starts, WARM_UP * n)), 2)
    if times - warm < _FEWEST:
        raise SpecError(
            f"the log has {count_text(times, 'time')}, {max(times - warm, 0)} of them after its first fifth: at "
            f"least {_FEWEST} are needed to predict one after the other"
        )
    count = moments_of(votes)
    moments = np.searchsorted(starts, np.arange(1, count) * (n / count)) if times > count else np.arange(1, times)
    moments = np.unique(np.append(moments, [1, warm] if moments[0] >= warm else [warm]))
    moments = moments[moments < times].astype(np.int64)
    reached = starts[warm] * _GROWTH ** np.arange(np.log(n / starts[warm]) / np.log(_GROWTH))
    choices = np.unique(np.append(np.searchsorted(starts, reached), warm))
    at = (starts[:-1] - starts[warm]) * min(blocks, times - warm) // (n - starts[warm])
    of_time = np.full(times, -1, np.int32)
    of_time[warm:] = np.unique(at[warm:], return_inverse=True)[1].reshape(-1)
    covariates = votes.covariates
    if covariates is not None:
        signs = np.where(votes.winners < votes.losers, 1, -1).astype(covariates.values.dtype)
        covariates = replace(covariates, values=(covariates.values * signs[:, None])[order])
    steps = Steps(
        len(votes.items),
        low[order],
        high[order],
        outcome[order],
        np.array(votes.weights[order], np.float64),
        starts,
        moments,
        np.append(0, moments) if shared else np.arange(times),
        choices[choices < times].astype(np.int64),
        of_time,
        np.ones(len(order), np.bool_) if votes.rest is None else ~votes.rest[order],
        covariates,
    )
    decisive = np.bincount(steps.block_of_vote(), steps.outcome[steps.tested] != 0, steps.count)
    if np.count_nonzero(decisive) < _FEWEST:
        raise SpecError(
            f"decisive votes stand in {np.count_nonzero(decisive)} stretches of time after the first fifth of the log: "
            f"at least {_FEWEST} are needed to compare methods"
        )
    return steps


def moments_of(votes: Votes) -> int:
    """Return the largest number of refits of a method: fewer for more compared pairs."""
    pairs = len(votes.pairs()[0])
    return min(MOMENTS, max(FEWEST_MOMENTS, REFITTED_PAIRS // pairs))


def stretch_names(times: pl.Series, steps: Steps) -> tuple[str, ...]:
    """Return begin and end of each stretch, given the times themselves, shape (T,)."""
    begins = np.searchsorted(steps.blocks, np.arange(steps.count))
    ends = np.searchsorted(steps.blocks, np.arange(steps.count), side="right") - 1
    firsts, lasts = times.gather(begins).to_list(), times.gather(ends).to_list()
    return tuple(
        f"{number + 1}: {_plain(begin)} to {_plain(end)}"
        for number, (begin, end) in enumerate(zip(firsts, lasts, strict=True))
    )


def _plain(time: object) -> str:
    return time.isoformat() if isinstance(time, date) else str(time)
