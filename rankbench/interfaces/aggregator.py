"""Base classes of aggregators of comparisons, counts, orders and labels; optional capabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component, JudgmentKind, StructureKind
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts, Scales
from rankbench.interfaces.queries import Comparisons, Orders, implied_comparisons
from rankbench.interfaces.resamples import Resamples
from rankbench.kernels import Kernel

LARGEST_SCORE = 1e100
"""Larger scores have differences, or squares of them, that are not finite."""


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
    size = np.abs(found)
    if np.count_nonzero(size <= LARGEST_SCORE) < m:
        if not np.isfinite(found).all():
            raise ContenderDiverged("scores are not one finite number an item")
        most = float(size.max())
        raise ContenderDiverged(
            f"scores are too far apart, or from 0: one is {most:.1e}, at most {LARGEST_SCORE:g} may be"
        )
    return found


MOST_DENSE = 4000
"""Most items of those that fill a matrix of all pairs: 128 MB each."""


class Aggregator(Component):
    """An aggregator turns k judgments of one query's m items into one structure.

    The root of all aggregators. A class derives from the base of its judgments: `ComparisonAggregator`,
    `CountAggregator`, `OrderAggregator`, `LabelAggregator`,
    `rankbench.interfaces.sequential_aggregator.SequentialAggregator` and `ScoreAggregator`, or
    `rankbench.interfaces.click_aggregator.SelectionAggregator`.

    Attributes
    ----------
    judgments : JudgmentKind
        Judgments that it aggregates: ``comparisons``, ``selections``, ``orders`` or ``measurements``.
    structure : StructureKind
        ``scores``: shape (m,). ``edges``: the weighted adjacency matrix, shape (m, m), entry
        [i, j] the preference for i over j.
    needs_truth : bool
        Whether the structure is made from the labels instead of the judgments; order k means nothing then.
    unit : str
        Unit of its scores, as ``log-odds``; empty: bare numbers.
    most_items : int or None
        Most items that it can rank, for those that fill an m x m matrix; None: no limit.
    stated : bool
        Whether margins are log-odds to be judged as they are: protocols fit no link to them.
    """

    kind: ClassVar[str] = "aggregator"
    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"kernel": ("aggregate",)}
    judgments: ClassVar[JudgmentKind] = "comparisons"
    structure: ClassVar[StructureKind] = "scores"
    needs_truth: ClassVar[bool] = False
    unit: ClassVar[str] = ""
    most_items: ClassVar[int | None] = None
    stated: ClassVar[bool] = False

    @classmethod
    def defect(cls) -> str:
        """Return a hint to the base that fits the methods of the class, if another one; see `Component.defect`."""
        bases = {"from_counts": CountAggregator, "aggregate": ComparisonAggregator, "from_labels": LabelAggregator}
        for method, base in bases.items():
            if hasattr(cls, method) and not issubclass(cls, base):
                return f"it defines {method}, but does not derive from rankbench.{base.__name__}"
        return super().defect()

    def check_size(self, m: int) -> None:
        """Reject more items than `most_items`, before anything is allocated.

        Raises
        ------
        SpecError
            There are more.
        """
        if self.most_items is not None and m > self.most_items:
            raise SpecError(
                f"{self.name!r} needs an m x m matrix, and m = {m:,} items are too many (at most {self.most_items:,}); "
                "take win-rate or borda"
            )

    def score_unit(self) -> str:
        """Return the unit of the scores with these parameters; `unit` by default."""
        return self.unit

    def bounds(self) -> tuple[float | None, float | None]:
        """Return the smallest and the largest score of any judgments, which intervals do not leave; None: no bound."""
        return None, None

    def only_differences(self) -> bool:
        """Return whether only differences of scores have a meaning: by default for log-odds."""
        return self.score_unit() == "log-odds"

    def kernel(self) -> Kernel | None:
        """Return the compiled form of `aggregate` (`AGGREGATE` or `EDGES`), or None: interpreted."""
        return None


class ComparisonAggregator(Aggregator):
    """Base of aggregators of comparisons: a subclass gives `aggregate`.

    rankbench shows it no judgment of weight 0. Order-k U-statistics are made of `aggregate`; ballots are aggregated
    as the comparisons that they imply.
    """

    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("kernel", "from_comparisons"), ("aggregate",)
    )

    @abstractmethod
    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Aggregate k comparisons, arrays of shape (k,), k >= 1, over m items."""

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Aggregate at least one comparison of one query over its m items.

        A tie is half a win each way, unless a class makes something else of ties.
        """
        whole = comparisons.without_ties()
        return self.aggregate(whole.winners, whole.losers, whole.weights, m)

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Aggregate the comparisons that the ballots of one query imply, over its m items.

        Raises
        ------
        InputError
            The ballots say nothing: none of them ranks two items.
        """
        return self.from_comparisons(implied_comparisons(orders), m)


class CountAggregator(ComparisonAggregator):
    """Base of aggregators of comparisons that scale to any log: a subclass gives `from_counts`.

    The votes of a log are counted, and never looked at again. `aggregate` and `from_comparisons` count their
    comparisons first; a class does not define `aggregate`.
    """

    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("kernel", "from_counts_near", "covariance", "replicates"), ("from_counts",)
    )

    @classmethod
    def defect(cls) -> str:
        """Return an error text for a class with two formulas, or half a capability; see `Component.defect`."""
        if hasattr(cls, "covariance") and not hasattr(cls, "prefers_covariance"):
            return "it defines covariance; define prefers_covariance too, whether intervals by covariance are better"
        if cls.aggregate is not CountAggregator.aggregate:
            return (
                "it defines aggregate, but rankbench makes aggregate of a CountAggregator from its from_counts; "
                "define from_counts alone, or derive from rankbench.ComparisonAggregator"
            )
        return super().defect()

    @abstractmethod
    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Make scores of a log's sums by pair, shape (m,).

        Parameters
        ----------
        counts : PairCounts
            Every pair has some weight.

        Raises
        ------
        ContenderDiverged
            There are no finite scores.
        SpecError
            There are more items than it can rank.
        """

    def scales(self, counts: PairCounts) -> Scales:
        """Return the scales of `from_counts`: the connected components of the comparisons."""
        return counts.connected

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the scores of at least one comparison of a query by `from_counts`, shape (m,)."""
        return self.from_counts(PairCounts.from_comparisons(comparisons, m))

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the scores of k comparisons, arrays of shape (k,), k >= 1, over m items, by `from_comparisons`."""
        offsets = np.array([0, len(winners)], dtype=np.int64)
        return self.from_comparisons(Comparisons(offsets, winners, losers, weights), m)


class OrderAggregator(Aggregator):
    """Base of aggregators of ballots: a subclass gives `from_orders`."""

    judgments: ClassVar[JudgmentKind] = "orders"

    @abstractmethod
    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Aggregate the ballots of one query, each of some weight, over its m items.

        Raises
        ------
        InputError
            The ballots say nothing: none of them ranks two items.
        """


class LabelAggregator(Aggregator):
    """Base of oracles, which are told the truth: a subclass gives `from_labels`."""

    needs_truth: ClassVar[bool] = True

    @abstractmethod
    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Make the structure from the relevance labels, shape (m,)."""


@runtime_checkable
class WithCovariance(Protocol):
    """Aggregators with a formula for the covariance of their scores (a sandwich)."""

    def covariance(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None
    ) -> NDArray[np.float64]:
        """Return a robust covariance of the scores, shape (m, m).

        Parameters
        ----------
        counts : PairCounts
        scores : ndarray of float64, shape (m,)
            Result of `from_counts` for them.
        clusters : ClusterCounts, optional
            The judgments, summed by cluster. None: each judgment is a cluster. The covariance is a sum over clusters;
            for a long log, rankbench passes part of the clusters in each call.
        """

    def prefers_covariance(self) -> bool:
        """Return whether intervals by formula cover better than intervals of resamples, with these parameters."""


@runtime_checkable
class WithErrorDraws(Protocol):
    """Aggregators with a formula for errors of more scores than a covariance has room for."""

    def error_draws(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None, seed: int
    ) -> Iterator[NDArray[np.float64]]:
        """Yield errors of the scores, (K, m) at a time, with about the covariance of `WithCovariance`."""


@runtime_checkable
class WithProfile(Protocol):
    """Aggregators that know the values of a score which votes do not reject by likelihood ratio."""

    def score_ends(
        self,
        counts: PairCounts,
        scores: NDArray[np.float64],
        items: Sequence[int],
        level: float,
        known: NDArray[np.bool_],
    ) -> NDArray[np.float64] | None:
        """Return both ends of the intervals of k items, shape (k, 2); None with parameters that have no likelihood.

        Parameters
        ----------
        counts : PairCounts
            Of independent votes of weight 1.
        scores : ndarray of float64, shape (m,)
            Result of `from_counts` for them.
        items : sequence of int
        level : float, in (0, 1)
        known : ndarray of bool, shape (m,)
            Items from whose mean score, on the item's scale, a score is told.
        """


@runtime_checkable
class NearStart(Protocol):
    """Count aggregators that iterate, and converge faster from a start near the solution (warm start)."""

    def from_counts_near(self, counts: PairCounts, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of `from_counts`, by iterations that start at given scores.

        The start may change the scores by 1e-6 of the largest, the precision of the method.

        Parameters
        ----------
        counts : PairCounts
            As `from_counts` gets them: the same items as before, and more judgments.
        scores : ndarray of float64, shape (m,)
            Result for the judgments before.
        """


@runtime_checkable
class Resampling(Protocol):
    """Aggregators of counts that score all resamples of a log together, faster than one after the other."""

    def replicates(self, scores: NDArray[np.float64], resamples: Resamples) -> NDArray[np.float64]:
        """Return the scores of resampled logs, shape (B, m); a row without scores is nan.

        Parameters
        ----------
        scores : ndarray of float64, shape (m,)
            Scores of the log itself, to start from.
        resamples : Resamples
            B of them.
        """
