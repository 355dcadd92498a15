"""Covariate aggregators estimate effects of covariates beside scores, from votes with covariates."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.system import in_two_threads
from rankbench.errors import SpecError, option
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.pair_counts import PairCounts, Scales, numbered_pairs

PREDICTION = "prediction: "
"""Prefix of covariates that are the log-odds of a prediction; the rest is its column."""

_FEW = 64
"""Most different rows of covariates for which votes are summed up."""

_LOOKED_AT = 10_000


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates of n votes, each of the winner less the loser: they change sign as the two change places.

    Attributes
    ----------
    names : tuple of str, length p
        As they were asked for, as ``log(length)``.
    scales : tuple of float
        Divisor of each: its root mean square over the votes, so that an effect is that of a typical
        difference. It is not centered, as 0 is "no difference". 1 where it was left as it is.
    values : ndarray of float64 or float32, shape (n, p)
        Divided already.
    """

    names: tuple[str, ...]
    scales: tuple[float, ...]
    values: NDArray[np.floating]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class CovariateVotes:
    """Votes on m items with covariates: R rows, each one vote, or all that are alike.

    Only they hold sums of votes beside their covariates.

    Attributes
    ----------
    items : list of str, length m
    first, second : ndarray of int32, shape (R,)
        The two items of each row.
    outcomes : ndarray of float64, shape (R, 3)
        Weight of the votes that the first won, that the second won, and of ties.
    covariates : Covariates
        Of the first item less the second.
    clusters : ndarray of int32, shape (R,), optional
        Judges, if votes of one judge are not independent.
    weighted : bool
        Whether a row is one vote of any weight; else weights are numbers of votes.
    """

    items: list[str]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    outcomes: NDArray[np.float64]
    covariates: Covariates
    clusters: NDArray[np.int32] | None = None
    weighted: bool = False

    def __len__(self) -> int:
        return len(self.first)

    @property
    def m(self) -> int:
        """Number of items."""
        return len(self.items)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> CovariateVotes:
        """Return some rows."""
        inner = self.covariates
        return replace(
            self,
            first=self.first[rows],
            second=self.second[rows],
            outcomes=self.outcomes[rows],
            covariates=replace(inner, values=inner.values[rows]),
            clusters=None if self.clusters is None else self.clusters[rows],
        )

    def counts(self) -> PairCounts:
        """Return the sums by pair, without covariates."""
        return self.numbered()[0]

    def numbered(self) -> tuple[PairCounts, NDArray[np.int32]]:
        """Return the sums by pair, and the number of the pair of each row, shape (R,)."""
        from rankbench.kernels.pairs import sum_rows

        first, second = (np.ascontiguousarray(each, np.int32) for each in (self.first, self.second))
        outcomes = np.ascontiguousarray(self.outcomes)
        pairs, pair = numbered_pairs(first, second, self.m)
        halves = dict[int, NDArray[np.float64]]()

        def add(rows: slice) -> None:
            halves[rows.start] = np.zeros((3, len(pairs)))
            sum_rows(first, second, pair, outcomes, rows.start, rows.stop, halves[rows.start])

        in_two_threads(add, len(self))
        cells, *others = (halves[start] for start in sorted(halves))
        for other in others:
            cells += other
        judgments = len(self) if self.weighted else round(float(sum(outcome.sum() for outcome in cells)))
        counts = PairCounts.from_cells(self.items, pairs, cells.T, judgments, self.weighted)
        return counts, pair

    def summed(self) -> CovariateVotes:
        """Return votes of equal pair, judge and covariates summed to one row, if few rows remain.

        Votes with weights are left as they are: their squares would not be known any more. So are votes
        if nearly each has covariates of its own.
        """
        values = self.covariates.values
        if self.weighted or not values.shape[1]:
            return self
        if len(np.unique(values[:_LOOKED_AT], axis=0)) > _FEW:
            return self
        turned = self.first > self.second
        signs = np.where(turned, -1, 1).astype(values.dtype)
        # 0.0 and -0.0 are alike.
        flat = values * signs[:, None] + 0
        code, codes = np.zeros(len(self), np.int64), 1
        for column in flat.T:
            known, of = np.unique(column, return_inverse=True)
            code = code * len(known) + of.reshape(-1)
            code, codes = _dense(code)
            if codes > len(self) // 2:
                return self
        key = np.minimum(self.first, self.second).astype(np.int64) * self.m + np.maximum(self.first, self.second)
        key = key * codes + code
        if self.clusters is not None:
            key, many = _dense(key)
            key = self.clusters.astype(np.int64) * many + key
        keys, where, group = np.unique(key, return_index=True, return_inverse=True)
        if len(keys) > len(self) // 2:
            return self
        forward, backward = self.outcomes[:, 0], self.outcomes[:, 1]
        sums = [
            np.bincount(group.reshape(-1), one, len(keys)).astype(np.float64)
            for one in (np.where(turned, backward, forward), np.where(turned, forward, backward), self.outcomes[:, 2])
        ]
        return CovariateVotes(
            self.items,
            np.minimum(self.first[where], self.second[where]),
            np.maximum(self.first[where], self.second[where]),
            np.ascontiguousarray(np.stack(sums, axis=1)),
            replace(self.covariates, values=np.ascontiguousarray(flat[where])),
            None if self.clusters is None else self.clusters[where],
        )


def _dense(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the place of each key among the different ones, and how many these are."""
    known, of = np.unique(keys, return_inverse=True)
    return of.reshape(-1), len(known)


@dataclass(frozen=True, eq=False)
class ControlledFit:
    """Scores of items and effects of covariates.

    Attributes
    ----------
    scores : ndarray of float64, shape (m,)
        They sum to zero on every scale.
    effects : ndarray of float64, shape (p,)
        Margin that a covariate of 1 adds for a vote's first item.
    scales : Scales
        Items that can be compared.
    extra : ndarray of float64, shape (e,)
        Further parameters of the model, as the log of Davidson's nu; none of most.
    step : float
        Largest change of a number in the last step.
    iterations : int
    """

    scores: NDArray[np.float64]
    effects: NDArray[np.float64]
    scales: Scales
    extra: NDArray[np.float64]
    step: float
    iterations: int

    def margins(self, votes: CovariateVotes) -> NDArray[np.float64]:
        """Return the predicted margin of the first item of each row, shape (R,)."""
        lead = self.scores[votes.first] - self.scores[votes.second]
        return np.asarray(lead + votes.covariates.values @ self.effects)


class CovariateAggregator(Aggregator):
    """Base of aggregators that protocols show covariates of votes."""

    @abstractmethod
    def reads(self, covariate: str) -> bool:
        """Return whether it reads a covariate of this name."""

    @abstractmethod
    def fit_controlled(self, votes: CovariateVotes) -> ControlledFit:
        """Return scores and effects.

        Raises
        ------
        ContenderDiverged
            There is no maximum: covariates, or items, separate the votes.
        """

    def shown(self, covariates: Covariates | None) -> Covariates:
        """Return the covariates of a log that it reads.

        Raises
        ------
        SpecError
            The log was asked for none.
        """
        kept = [] if covariates is None else [k for k, name in enumerate(covariates.names) if self.reads(name)]
        if covariates is None or not kept:
            what, name = ("a prediction", "predictions") if self.stated else ("covariates", "control")
            raise SpecError(f"it takes {what}, and the log was asked for none: name them with {option(name)}")
        if len(kept) == len(covariates.names):
            return covariates
        names, scales = tuple(covariates.names[k] for k in kept), tuple(covariates.scales[k] for k in kept)
        return Covariates(names, scales, np.ascontiguousarray(covariates.values[:, kept]))


class ControlledAggregator(CountAggregator, CovariateAggregator):
    r"""Base of aggregators of comparisons that estimate effects of covariates beside the scores.

    The margin of a vote is :math:`s_i - s_j + x^T \beta`, with x the covariates of the first item less those of
    the second. With ``control=true`` an aggregator is shown `CovariateVotes` (`fit_controlled`) wherever the log has
    covariates, ``--control``; without it is one like any other, made of counts.
    """

    control: bool = Field(default=False, description="Use the log's covariates that control names.")

    def reads(self, covariate: str) -> bool:
        """Return whether it reads a covariate of this name: any but predictions."""
        return not covariate.startswith(PREDICTION)

    @abstractmethod
    def controlled_covariance(self, votes: CovariateVotes, fit: ControlledFit) -> NDArray[np.float64]:
        """Return a robust covariance of scores and effects (a sandwich, by cluster if given), (m + p, m + p).

        Raises
        ------
        InputError
            One vote, one cluster, or more items than fit into a matrix.
        """

    def refuse_unidentified(self, votes: CovariateVotes) -> None:
        """Refuse covariates whose effects the votes do not identify, beside items and other covariates.

        Raises
        ------
        InputError
            With the name of the first.
        """


def sees_covariates(component: Component) -> TypeGuard[CovariateAggregator]:
    """Return whether a component is an aggregator of votes with covariates."""
    if isinstance(component, ControlledAggregator):
        return component.control
    return isinstance(component, CovariateAggregator)
