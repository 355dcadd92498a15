"""Comparison, count, order, label aggregators.

A class that defines one of them anew has another formula: it does not inherit the other forms of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component, JudgmentKind, StructureKind
from rankbench.core.text import Promise
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts, Scales, connected_components
from rankbench.interfaces.queries import Comparisons

if TYPE_CHECKING:
    from rankbench.interfaces.queries import Orders, Selections
    from rankbench.interfaces.resamples import Resamples
    from rankbench.kernels.signatures import Kernel

__all__ = [
    "GUARDS",
    "LARGEST_SCORE",
    "MOST_DENSE",
    "Aggregator",
    "finite_scores",
    "from_observed",
    "made_of_counts",
    "structure_of",
    "taken_back",
]


def taken_back(own: set[str]) -> set[str]:
    """Return the methods that a class with methods of its own must take from the base class again."""
    others = set()
    if "aggregate" in own:
        others |= {"from_comparisons", "from_counts"}
    if "from_comparisons" in own:
        others |= {"from_counts"}
    if own & {"aggregate", "from_comparisons", "from_counts"}:
        others |= {"scales", "covariance", "replicates", "from_counts_near"}
    return others - own


def made_of_counts(cls: Any, own: set[str]) -> dict[str, Any]:
    """Return `aggregate` and `from_comparisons` of a class that has `from_counts`, but for those of its own.

    They call those of this very class, an `Aggregator`: a class derived from it may call them by `super`.
    """

    def from_comparisons(self: Any, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Aggregate the comparisons of one query, at least one, over its m items: what `from_counts` makes of them."""
        scores: NDArray[np.float64] = cls.from_counts(self, PairCounts.from_comparisons(comparisons, m))
        return scores

    def aggregate(
        self: Any,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Aggregate k comparisons, arrays of shape (k,), k >= 1, over m items: what `from_counts` makes of them."""
        offsets = np.array([0, len(winners)], dtype=np.int64)
        scores: NDArray[np.float64] = cls.from_comparisons(self, Comparisons(offsets, winners, losers, weights), m)
        return scores

    made = {"aggregate": aggregate, "from_comparisons": from_comparisons}
    return {name: method for name, method in made.items() if name not in own}


AggregatorMethod = Callable[..., NDArray[np.float64]]


def _kept(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    kept = np.flatnonzero(weights)
    if not len(kept):
        raise InputError("all weights are zero: the judgments say nothing; leave them out", column="weight")
    return kept


def _aggregate(method: AggregatorMethod) -> AggregatorMethod:
    @wraps(method)
    def aggregate(
        self: Any, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        if np.all(weights):
            return method(self, winners, losers, weights, m)
        rows = _kept(weights)
        return method(self, winners[rows], losers[rows], weights[rows], m)

    return aggregate


def _from_comparisons(method: AggregatorMethod) -> AggregatorMethod:
    @wraps(method)
    def from_comparisons(self: Any, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        if np.all(comparisons.weights):
            return method(self, comparisons, m)
        from rankbench.interfaces.queries import Comparisons

        rows = _kept(comparisons.weights)
        ties = None if comparisons.ties is None else comparisons.ties[rows]
        return method(
            self,
            Comparisons(
                np.array([0, len(rows)], dtype=np.int64),
                comparisons.winners[rows],
                comparisons.losers[rows],
                comparisons.weights[rows],
                ties,
            ),
            m,
        )

    return from_comparisons


def _from_orders(method: AggregatorMethod) -> AggregatorMethod:
    @wraps(method)
    def from_orders(self: Any, orders: Orders, m: int) -> NDArray[np.float64]:
        if np.all(orders.weights):
            return method(self, orders, m)
        from rankbench.interfaces.queries import Orders

        rows = _kept(orders.weights)
        lengths = np.diff(orders.starts)
        ranked = np.repeat(orders.weights != 0, lengths)
        kept = Orders(
            np.array([0, len(rows)], dtype=np.int64),
            np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64),
            orders.items[ranked],
            orders.places[ranked],
            orders.weights[rows],
            orders.unranked,
        )
        return method(self, kept, m)

    return from_orders


GUARDS = {"aggregate": _aggregate, "from_comparisons": _from_comparisons, "from_orders": _from_orders}
"""What is put before a method of a class of aggregators, by the method's name."""


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


def from_observed(method: Callable[..., NDArray[np.float64]]) -> Callable[..., NDArray[np.float64]]:
    """Return a class's `Aggregator.from_counts`, or another form of it, that is shown pairs with some weight.

    Its scores are finite.
    """

    @wraps(method)
    def from_counts(self: Any, counts: PairCounts, *near: NDArray[np.float64]) -> NDArray[np.float64]:
        return finite_scores(method(self, counts.observed(), *near), counts.m)

    return from_counts


MOST_DENSE = 4000
"""Most items of those that fill a matrix of all pairs: 128 MB each."""


class Aggregator(Component):
    """A structure function: k judgments of one query's m items to one structure.

    Judgments of weight 0 are left out before `aggregate`, `from_comparisons`, `from_counts` and `from_orders` of any
    class are called; where all weights are 0 there is an `InputError`. Compiled forms are given positive weights alone.

    Attributes
    ----------
    judgments : JudgmentKind
        What it aggregates: ``comparisons`` (by `aggregate`, the only ones that an order-k
        U-statistic of the runner is made of, by `from_comparisons`, which takes ties, or by `from_counts`:
        one of the three is enough; ballots too, as the comparisons that they imply), ``selections``
        (`from_selections`), ``orders`` (`from_orders`) or ``measurements``
        (`rankbench.interfaces.sequential_aggregator.ScoreAggregator`).
    structure : StructureKind
        ``scores``: `aggregate` returns shape (m,). ``edges``: it returns the weighted
        adjacency matrix, shape (m, m), entry [i, j] the preference for i over j.
    needs_truth : bool
        Whether the structure is made from the labels instead of the judgments
        (`limit-scores`); then `from_labels` is called, and order k means nothing.
    unit : str
        What its scores are in, as ``log-odds``; empty: bare numbers.
    most_items : int or None
        Most items that it can rank, for those that fill an m x m matrix; None: no limit.
    """

    kind: ClassVar[str] = "aggregator"
    compiled_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"kernel": ("aggregate", "from_counts")}
    promises: ClassVar[Mapping[str, Promise]] = dict.fromkeys(
        (
            "aggregate",
            "from_comparisons",
            "from_counts",
            "from_counts_near",
            "covariance",
            "replicates",
            "scores_of_each",
            "from_selections",
            "from_orders",
            "from_labels",
        ),
        "array",
    )
    judgments: ClassVar[JudgmentKind] = "comparisons"
    structure: ClassVar[StructureKind] = "scores"
    needs_truth: ClassVar[bool] = False
    unit: ClassVar[str] = ""
    most_items: ClassVar[int | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Put the rules about weights of 0 and finite scores around the class's own methods, a plugin's too.

        What a class defines anew is another formula: it does not inherit other forms of the old one.
        """
        super().__pydantic_init_subclass__(**kwargs)
        own = set(vars(cls))
        of_counts = dict.fromkeys(("from_counts", "from_counts_near"), from_observed)
        for method, guard in (GUARDS | of_counts).items():
            if method in own:
                setattr(cls, method, guard(vars(cls)[method]))
        for method in taken_back(own):
            setattr(cls, method, vars(Aggregator)[method])
        if "from_counts" in own:
            for method, form in made_of_counts(cls, own).items():
                setattr(cls, method, form)

    def check_size(self, m: int) -> None:
        """Refuse more items than `most_items`, before anything is allocated.

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

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Aggregate k comparisons, arrays of shape (k,), k >= 1, over m items.

        Of a class that has `from_counts` alone: what that makes of their sums by pair.
        """
        self._check_comparisons()
        raise TypeError(f"aggregator {self.name!r} has neither aggregate nor from_counts")

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Aggregate the comparisons of one query, at least one, over its m items.

        A tie is half a win each way, unless the aggregator has a better idea (in `from_counts`, for one).
        """
        whole = comparisons.without_ties()
        return self.aggregate(whole.winners, whole.losers, whole.weights, m)

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Make scores of a log's sums by pair, shape (m,), however long the log is; optional.

        A class that has it scales by itself: votes are counted, and never looked at again. One that has
        not, as it depends on their order or counts them itself, is shown the votes of a log one by one.

        Parameters
        ----------
        counts : PairCounts
            Every pair has some weight.

        Raises
        ------
        ContenderDiverged
            The scores are not finite, or too far apart: see `rankbench.interfaces.aggregator.finite_scores`.
        SpecError
            There are more items than it can rank, or it makes something else than scores.
        """
        self._check_comparisons()
        raise TypeError(f"aggregator {self.name!r} has no from_counts: it takes comparisons one by one")

    def from_counts_near(self, counts: PairCounts, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Make the scores that `from_counts` makes, of counts whose scores are not far from some; optional.

        A class whose method goes from a start to the scores, step by step, is faster from a near one. The start may
        change the scores by no more than the method is exact: 1e-6 of the largest. By default it means nothing.

        Parameters
        ----------
        counts : PairCounts
            As `from_counts` gets them: the same items as before, and more judgments.
        scores : ndarray of float64, shape (m,)
            What was made of the judgments before.
        """
        return self.from_counts(counts)

    def scales(self, counts: PairCounts) -> Scales:
        """Return which items `from_counts` puts on one scale: those that a chain of comparisons connects."""
        return connected_components(counts)

    def covariance(
        self, counts: PairCounts, scores: NDArray[np.float64], clusters: ClusterCounts | None
    ) -> NDArray[np.float64]:
        """Return a robust covariance of the scores by formula (a sandwich), shape (m, m); optional.

        Parameters
        ----------
        counts : PairCounts
        scores : ndarray of float64, shape (m,)
            What `from_counts` made of them.
        clusters : ClusterCounts, optional
            The same judgments by what is independent; by default every judgment is. Or some of them: what clusters
            add to the covariance is a sum over them, and of a long log they come part by part.
        """
        raise TypeError(f"aggregator {self.name!r} has no formula for the covariance of its scores")

    def replicates(self, scores: NDArray[np.float64], resamples: Resamples) -> NDArray[np.float64]:
        """Return the scores of resampled logs, shape (B, m); a row of nan where there are none.

        By default it takes one after the other; a class may do better with all of them, to the same scores. Of a
        class with `scales` of its own, a resample in which one of the log's scales falls apart has none: scores of
        its parts cannot be compared.

        Parameters
        ----------
        scores : ndarray of float64, shape (m,)
            Those of the log itself, to start from.
        resamples : Resamples
            B of them.
        """
        whole = None if type(self).scales is Aggregator.scales else self.scales(resamples.counts)
        return self.scores_of_each(resamples, whole)

    def scores_of_each(self, resamples: Resamples, whole: Scales | None = None) -> NDArray[np.float64]:
        """Return the scores of resampled logs, one after the other, shape (B, m); a row of nan where there are none.

        Parameters
        ----------
        resamples : Resamples
            B of them.
        whole : Scales, optional
            A resample whose `scales` cut one of these has no scores.
        """
        found = np.full((len(resamples), resamples.counts.m), np.nan)
        for row, counts in zip(found, resamples, strict=True):
            if whole is not None and self.scales(counts).cuts(whole):
                continue
            try:
                row[:] = self.from_counts(counts)
            except (ContenderDiverged, InputError):
                continue
        return found

    def score_unit(self) -> str:
        """Return what the scores are in with these parameters, `unit` unless a class says otherwise."""
        return self.unit

    @classmethod
    def has_covariance(cls) -> bool:
        """Return whether the class has a formula for the covariance of its scores."""
        return cls.covariance is not Aggregator.covariance

    def prefers_covariance(self) -> bool:
        """Return whether intervals by formula cover better than those of resamples, with these parameters."""
        return False

    @classmethod
    def takes_ties(cls) -> bool:
        """Return whether the class makes something of ties itself, which its compiled form is not shown."""
        return cls.ranks_counts() or cls.from_comparisons is not Aggregator.from_comparisons

    @classmethod
    def ranks_counts(cls) -> bool:
        """Return whether the class has `from_counts`, so that a log is counted for it."""
        return vars(Aggregator)["from_counts"] is not cls.from_counts

    def _check_comparisons(self) -> None:
        if self.judgments != "comparisons":
            raise TypeError(f"aggregator {self.name!r} works on {self.judgments}, not on comparisons")

    def from_selections(self, selections: Selections, m: int) -> NDArray[np.float64]:
        """Aggregate the selections of one query over its m items."""
        raise TypeError(f"aggregator {self.name!r} works on {self.judgments}, not on selections")

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Aggregate the ballots of one query, at least one, over its m items.

        Aggregators of comparisons get those that the ballots imply
        (`rankbench.interfaces.queries.implied_comparisons`).

        Raises
        ------
        InputError
            The ballots say nothing: none of them ranks two items.
        TypeError
            The aggregator works on selections.
        """
        if self.judgments != "comparisons":
            raise TypeError(f"aggregator {self.name!r} works on {self.judgments}, not on orders")
        from rankbench.interfaces.queries import implied_comparisons

        return self.from_comparisons(implied_comparisons(orders, m), m)

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Make the structure from the relevance labels, shape (m,); see `needs_truth`."""
        raise TypeError(f"aggregator {self.name!r} works on judgments, not on labels")

    def kernel(self) -> Kernel | None:
        """Return the compiled form (`AGGREGATE` or `EDGES`), or None: interpreted."""
        return None


def structure_of(aggregator: Aggregator, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
    """Return what `Aggregator.from_comparisons` does: scores, shape (m,), or adjacency, shape (m, m).

    Parameters
    ----------
    aggregator : Aggregator
        Of comparisons.
    comparisons : Comparisons
        Of one query, at least one; arrays may be read-only.
    m : int
        Number of items.
    """
    own = aggregator.takes_ties()
    tied = comparisons.ties is not None and bool(comparisons.ties.any())
    kernel = None if own and tied else aggregator.kernel()
    if kernel is None:
        return aggregator.from_comparisons(comparisons, m)
    whole = comparisons.without_ties()
    winners, losers = np.array(whole.winners, dtype=np.int32), np.array(whole.losers, dtype=np.int32)
    weights, params, work = np.array(whole.weights), np.array(kernel.params), np.zeros(kernel.work(m))
    if aggregator.structure == "scores":
        scores = np.zeros(m)
        kernel.function(winners, losers, weights, m, params, work, scores)
        return scores
    k = len(winners)
    tails, heads, edges = np.empty(k, dtype=np.int32), np.empty(k, dtype=np.int32), np.empty(k)
    count = kernel.function(winners, losers, weights, m, params, work, tails, heads, edges)
    adjacency = np.zeros((m, m))
    adjacency[tails[:count], heads[:count]] = edges[:count]
    return adjacency
