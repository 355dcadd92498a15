"""Arrays describe contenders to the compiled loops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import label_structure, sample_structure
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.kernels.declared import functions
from rankbench.kernels.signatures import AGGREGATE, TARGET, Kernel
from rankbench.methods.erm.kernels.lockstep import idle_aggregate, idle_target
from rankbench.methods.erm.kernels.sampling import Judged
from rankbench.methods.erm.kernels.targets import ROUNDING, Scratch, Sums, TargetTable, complete_targets

MOST_ITEMS = 1 << 16
"""Items of a query that two of fit into 32 bits."""

INFINITE = 1 << 62
"""Order that stands for all of a query's judgments in integer arrays."""

SampledVotes: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""Winners, losers and weights of some judgments of a query."""

_NOTHING: SampledVotes = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)


def as_order(k: float) -> int:
    """Return order k as an integer."""
    return INFINITE if math.isinf(k) else int(k)


def listed_kernels(signature: Any, kernels: Sequence[Kernel]) -> tuple[Any, NDArray[np.float64], NDArray[np.int64]]:
    """Return functions as a typed list, their parameters one after the other, and the bounds of these, (len + 1,)."""
    params = [kernel.params for kernel in kernels]
    bounds = np.cumsum([0, *map(len, params)], dtype=np.int64)
    together = np.concatenate([np.zeros(0), *params]).astype(np.float64)
    return functions(signature, [kernel.function for kernel in kernels]), together, bounds


def judged_arrays(queries: Queries, comparisons: Comparisons) -> Judged:
    """Return a block's queries and judgments as the kernels see them.

    Raises
    ------
    InputError
        A query with more than 65,536 items: too many to draw samples from.
    """
    largest = int(queries.sizes.max(initial=0))
    if largest > MOST_ITEMS:
        raise InputError(f"a query has {largest} items; samples of judgments are drawn from at most {MOST_ITEMS}")
    # The kernels are compiled for arrays that may be written to: read-only ones are copied.
    weights = np.require(comparisons.weights, np.float64, ["C", "W"])
    return Judged(
        np.require(queries.offsets, np.int64, ["C", "W"]),
        np.require(comparisons.offsets, np.int64, ["C", "W"]),
        comparisons.winners.astype(np.uint32) * np.uint32(MOST_ITEMS) + comparisons.losers.astype(np.uint32),
        weights,
        len(weights) == 0 or bool(weights.min() == weights.max()),
    )


@dataclass(frozen=True)
class Target:
    """One (aggregator, order, surrogate) whose targets are wanted."""

    aggregator: Aggregator
    order: int
    surrogate: ScoreSurrogate

    @property
    def key(self) -> tuple[str, int, str]:
        """Key of everything that determines a target."""
        return (self.aggregator.digest(), self.order, self.surrogate.digest())

    def make(self, sample: SampledVotes, labels: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """Return the target of one sample, in NumPy, shape (m,); see `TargetTable` for the floor."""
        if self.aggregator.needs_truth:
            scores = label_structure(self.aggregator, labels)
        else:
            scores = sample_structure(self.aggregator, *sample, len(labels))
        # Not the other way round: nan is larger than nothing, and stays.
        if (np.abs(scores) <= floor).all() and not self.aggregator.needs_truth:
            # The sample may hold none of the query's heavy judgments.
            floor = min(floor, self.floor(float(sample[2].max()), labels))
        target = self.surrogate.target(np.zeros_like(scores) if (np.abs(scores) <= floor).all() else scores)
        return np.asarray(self.surrogate.checked_numbers("target", target))

    def floor(self, heaviest: float, labels: NDArray[np.float64]) -> float:
        """Return the floor of scores, in NumPy: from the heaviest judgment, or the largest label, alone."""
        m = len(labels)
        if self.aggregator.needs_truth:
            alone = np.zeros(m)
            alone[0] = np.abs(labels).max()
            scores = label_structure(self.aggregator, alone)
        else:
            zero, one = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32)
            scores = sample_structure(self.aggregator, zero, one, np.full(1, heaviest), m)
        largest = float(np.abs(scores).max())
        return ROUNDING * largest if math.isfinite(largest) else 0.0


class TargetPlan:
    """The distinct targets of a block's contenders.

    Parameters
    ----------
    wanted : iterable of (Aggregator, float, ScoreSurrogate)
        Aggregator, order k and surrogate of every contender with a score surrogate; all
        must be compiled, except aggregators that work on labels.

    Attributes
    ----------
    targets : list of Target
        One for each row of the table, short orders first.
    """

    def __init__(self, wanted: Iterable[tuple[Aggregator, float, ScoreSurrogate]]) -> None:
        # Orders of label-made structures mean nothing: they are the same target.
        targets = {
            target.key: target
            for aggregator, k, surrogate in wanted
            for target in [Target(aggregator, INFINITE if aggregator.needs_truth else as_order(k), surrogate)]
        }
        ordered = sorted(targets.values(), key=lambda t: (t.order, t.key))
        self.targets = ordered
        self._rows = {target.key: row for row, target in enumerate(ordered)}

    def __len__(self) -> int:
        return len(self.targets)

    def row(self, aggregator: Aggregator, k: float, surrogate: ScoreSurrogate) -> int:
        """Return the row of a contender's target in the table."""
        order = INFINITE if aggregator.needs_truth else as_order(k)
        return self._rows[aggregator.digest(), order, surrogate.digest()]

    def longest(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the longest sample that any target needs of each query, from its number of judgments, shape (Q,)."""
        orders = np.array([0, *sorted({t.order for t in self.targets})], dtype=np.int64)
        return orders[np.searchsorted(orders[1:], counts)]

    def sums(self, largest: int, queries: int, items: int) -> Sums:
        """Allocate the sums of a pass, for queries of at most `largest` judgments."""
        orders = np.array(sorted({t.order for t in self.targets if t.order < largest}), dtype=np.int64)
        controls = (2, len(orders), items)
        return Sums(
            np.zeros((2, len(self), items)),
            np.zeros((2, queries), dtype=np.int64),
            orders,
            np.zeros(controls),
            np.zeros(controls),
        )

    def table(self, queries: Queries, judged: Judged) -> tuple[TargetTable, Scratch]:
        """Build the table with its complete targets, and scratch memory for passes over it."""
        keys = list(dict.fromkeys((t.aggregator.digest(), t.order) for t in self.targets))
        structures = [next(t for t in self.targets if (t.aggregator.digest(), t.order) == key) for key in keys]
        sizes = queries.sizes
        m = int(sizes.max(initial=1))
        aggregates = [
            Kernel(idle_aggregate) if s.aggregator.needs_truth else required_kernel(s.aggregator.kernel())
            for s in structures
        ]
        makers = [
            Kernel(idle_target) if t.aggregator.needs_truth else required_kernel(t.surrogate.target_kernel())
            for t in self.targets
        ]
        table = TargetTable(
            *listed_kernels(AGGREGATE, aggregates),
            np.array([s.order for s in structures], dtype=np.int64),
            *listed_kernels(TARGET, makers),
            np.array([keys.index((t.aggregator.digest(), t.order)) for t in self.targets], dtype=np.int64),
            np.zeros((len(structures), len(queries))),
            np.zeros((len(self), int(queries.offsets[-1]))),
        )
        scratch = scratch_for(
            judged,
            m,
            len(self),
            max((k.work(m) for k in aggregates), default=0),
            max((k.work(m) for k in makers), default=0),
        )
        complete_targets(judged, table, scratch)
        for row, target in enumerate(self.targets):
            if target.aggregator.needs_truth:
                for low, high in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
                    labels = queries.labels[low:high].copy()
                    table.complete[row, low:high] = target.make(_NOTHING, labels, target.floor(0.0, labels))
        return table, scratch


def scratch_for(judged: Judged, m: int, targets: int, aggregate_work: int, maker_work: int) -> Scratch:
    """Allocate scratch memory for queries of at most m items."""
    longest = int(np.diff(judged.offsets).max(initial=1))
    return Scratch(
        np.zeros(4, dtype=np.uint64),
        np.arange(longest, dtype=np.int32),
        np.zeros(longest, dtype=np.int32),
        np.zeros(longest, dtype=np.int32),
        np.zeros(longest, dtype=np.int32),
        np.full(longest, judged.weights[0] if judged.equal and len(judged.weights) else 0.0),
        np.zeros(m),
        np.zeros(m),
        np.zeros(aggregate_work),
        np.zeros(maker_work),
        np.zeros((targets, m)),
    )


def required_kernel(kernel: Kernel | None) -> Kernel:
    """Return a kernel, which must exist."""
    if kernel is None:
        raise TypeError("only compiled components can run in lockstep")
    return kernel
