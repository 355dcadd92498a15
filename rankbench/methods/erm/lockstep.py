"""The lockstep loop advances all stochastic contenders of a block together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.method import Block, StepOptimizer
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.kernels.declared import functions
from rankbench.kernels.signatures import EDGES, GRADIENT, PHI, STEP, WEIGH, Kernel
from rankbench.methods.erm.composition import Composition
from rankbench.methods.erm.contender_arrays import TargetPlan, as_order, judged_arrays, listed_kernels, required_kernel
from rankbench.methods.erm.kernels.lockstep import advance, evaluate_fresh, idle_gradient, idle_weigh
from rankbench.methods.erm.kernels.sampling import TILE, WINDOW, ContenderColumns, ContenderPath, Judged
from rankbench.methods.erm.kernels.targets import Sums, accumulate, single_targets, top_up

CACHE_LINE = 64
"""Bytes that the processor reads at once."""

FEWEST = 20
"""Draws that every judged query gets at least, for its mean target."""

FRESH = 50_000
"""Fresh draws behind the paper's estimate of the smallest risk (figure 2)."""


def record_steps(draws: int, points: int) -> NDArray[np.int64]:
    """Return about `points` steps from 1 to `draws`, evenly spaced in their logarithm."""
    if points == 0:
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.geomspace(1, draws, points).round().astype(np.int64))


def unaveraged(contenders: Sequence[Composition], steps: int) -> NDArray[np.int64]:
    """Return the number of first iterates that each contender's average leaves out, shape (C,)."""
    optimizers = [c.optimizer for c in contenders]
    return np.array([o.unaveraged(steps) if isinstance(o, StepOptimizer) else 0 for o in optimizers], dtype=np.int64)


@dataclass(eq=False)
class Stream:
    """Parts of a pass over a block's stream of draws.

    Attributes
    ----------
    x : ndarray of float64, shape (N, d)
        Features of the block's items.
    block : Block
    plan : TargetPlan
        The targets of all contenders, stochastic or not.
    contenders : list of Composition
        The stochastic ones.
    seed : ndarray of uint64, shape (4,)
        Seed of the stream.
    judged : Judged
        The block's judgments.
    longest : ndarray of int64, shape (Q,)
        Judgments that a sample of each query needs.
    sums : Sums
        Targets, draws and control variates, added up.
    """

    x: NDArray[np.float64]
    block: Block
    plan: TargetPlan
    contenders: list[Composition]
    seed: NDArray[np.uint64]
    judged: Judged = field(init=False)
    longest: NDArray[np.int64] = field(init=False)
    sums: Sums = field(init=False)

    def __post_init__(self) -> None:
        self.judged = judged_arrays(self.block.design, self.block.comparisons)
        counts = self.block.comparisons.counts.astype(np.int64)
        orders = [as_order(c.k) for c in self.contenders if isinstance(c.surrogate, PairwiseSurrogate)]
        self.longest = np.maximum(self.plan.longest(counts), np.minimum(max(orders, default=0), counts))
        self.sums = self.plan.sums(int(counts.max(initial=0)), len(self.block.design), len(self.x))


class Lockstep(Stream):
    """One pass over a block's stream of draws, compiled.

    Attributes
    ----------
    rows : list of int
        Row of each contender in the arrays of a `ContenderPath`.
    complete : ndarray of float64, shape (P, N)
        Targets of all judgments.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.table, self.scratch = self.plan.table(self.block.design, self.judged)
        self.complete = self.table.complete
        self.columns, self.rows = _columns(self.plan, self.contenders)

    def run(self, steps: int, record: NDArray[np.int64]) -> ContenderPath:
        """Advance all contenders by `steps` draws, recorded after the draws in `record`."""
        path = self._path(record, len(record) > 0)
        path.unaveraged[self.rows] = unaveraged(self.contenders, steps)
        judged, table, seed, scratch, sums = self.judged, self.table, self.seed, self.scratch, self.sums
        if self.contenders:
            advance(self.x, judged, table, self.columns, path, seed, 1, steps, self.longest, scratch, sums)
        else:
            accumulate(judged, table, seed, steps, self.longest, scratch, sums)
        top_up(judged, table, seed, FEWEST, self.longest, scratch, sums)
        return path

    def singles(self) -> NDArray[np.float64]:
        """Return the mean target of single judgments for the rows of order 1, shape (P, N); zeros for others."""
        means: NDArray[np.float64] = np.zeros_like(self.table.complete)
        single_targets(self.judged, self.table, self.scratch, means)
        return means

    def fresh_values(self, theta: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        """Return the mean sampled surrogate at theta, one row a contender, over the samples after step `steps`.

        As in the paper's estimate of the smallest risk: 50,000 fresh draws, or half as
        many as there were steps where that is less.
        """
        path = self._path(np.zeros(0, dtype=np.int64), True)
        path.theta[self.rows] = theta
        means, last = np.zeros(len(self.columns.active)), steps + max(1, min(FRESH, steps // 2))
        judged, table, seed, scratch = self.judged, self.table, self.seed, self.scratch
        evaluate_fresh(self.x, judged, table, self.columns, path, seed, steps + 1, last, self.longest, scratch, means)
        return means[self.rows]

    def _path(self, record: NDArray[np.int64], watched: bool) -> ContenderPath:
        rows, d = len(self.columns.active), self.x.shape[1]
        m = int(np.diff(self.judged.items).max(initial=1))
        sizes = [e.optimizer.state_size(d) for e in self.contenders if isinstance(e.optimizer, StepOptimizer)]
        kernels = [e.aggregator.kernel() for e in self.contenders if isinstance(e.surrogate, PairwiseSurrogate)]
        longest = max(int(self.longest.max(initial=0)), 1) if kernels else 0
        return ContenderPath(
            _aligned(rows, d),
            _aligned(rows, d),
            _aligned(rows, d),
            np.zeros(rows, dtype=np.int64),
            np.zeros((rows, max(sizes, default=0))),
            np.zeros((WINDOW, rows)),
            record,
            np.zeros((rows, len(record))),
            np.zeros((len(record), rows, d)),
            np.zeros((len(record), rows, d)),
            np.zeros(self.columns.tiled * m),
            np.zeros(TILE * m),
            np.zeros(longest, dtype=np.int32),
            np.zeros(longest, dtype=np.int32),
            np.zeros(longest),
            np.zeros(longest),
            np.zeros(max((k.work(m) for k in kernels if k is not None), default=0)),
            np.zeros(longest * (rows - self.columns.tiled)),
            np.zeros(longest * (rows - self.columns.tiled)),
            _aligned(1, d)[0],
            np.zeros((d, TILE)),
            np.zeros((m, TILE)),
            watched,
        )


def _aligned(rows: int, columns: int) -> NDArray[np.float64]:
    """Return a matrix of zeros aligned to the processor's cache lines.

    NumPy begins at any multiple of 16 bytes. Steps of a pair of items read and write nothing but such matrices; they
    take a quarter longer where vectors reach over two lines.
    """
    buffer = np.zeros(rows * columns + CACHE_LINE // 8)
    start = -buffer.ctypes.data % CACHE_LINE // 8
    return buffer[start : start + rows * columns].reshape(rows, columns)


def _laid_out(contenders: list[Composition]) -> tuple[list[int], list[list[int]]]:
    """Return which contenders have score surrogates, and which share edges and phi, by index."""
    scored = [i for i, c in enumerate(contenders) if isinstance(c.surrogate, ScoreSurrogate)]
    groups: dict[tuple[str, float, str], list[int]] = {}
    for i, c in enumerate(contenders):
        if isinstance(c.surrogate, PairwiseSurrogate):
            groups.setdefault((c.aggregator.digest(), c.k, c.surrogate.digest()), []).append(i)

    def by_step(i: int) -> str:
        kind = type(contenders[i].optimizer)
        return f"{kind.__module__}.{kind.__qualname__}"

    return sorted(scored, key=by_step), [sorted(group, key=by_step) for group in groups.values()]


def _columns(plan: TargetPlan, contenders: list[Composition]) -> tuple[ContenderColumns, list[int]]:
    """Lay the contenders out; return their table and the row of each contender."""
    scored, groups = _laid_out(contenders)
    tiled = -(-len(scored) // TILE) * TILE
    layout: list[int | None] = [*scored, *[None] * (tiled - len(scored)), *(i for group in groups for i in group)]
    rows = [None if i is None else contenders[i] for i in layout]
    gradients = [Kernel(idle_gradient)] * tiled
    targets = np.zeros(tiled, dtype=np.int64)
    for row, index in enumerate(scored):
        contender = contenders[index]
        surrogate = contender.surrogate
        if isinstance(surrogate, ScoreSurrogate):
            gradients[row] = required_kernel(surrogate.gradient_kernel())
            targets[row] = plan.row(contender.aggregator, contender.k, surrogate)
    edges, weighs, phis, dphis = [], [], [], []
    leaders = [contenders[group[0]] for group in groups]
    for leader in leaders:
        surrogate = leader.surrogate
        if not isinstance(surrogate, PairwiseSurrogate):
            continue
        kernels = surrogate.phi_kernels()
        edges.append(required_kernel(leader.aggregator.kernel()))
        weighs.append(Kernel(idle_weigh) if surrogate.linear else required_kernel(surrogate.edges_kernel()))
        phis.append(required_kernel(kernels[0] if kernels else None))
        dphis.append(required_kernel(kernels[1] if kernels else None))
    steps, runs, params = _steps(rows)
    columns = ContenderColumns(
        tiled,
        np.array([c is not None for c in rows], dtype=np.bool_),
        targets,
        *listed_kernels(GRADIENT, gradients),
        *listed_kernels(EDGES, edges),
        np.array([as_order(leader.k) for leader in leaders], dtype=np.int64),
        np.array([k.function is not idle_weigh for k in weighs], dtype=np.bool_),
        *listed_kernels(WEIGH, weighs),
        *listed_kernels(PHI, phis),
        functions(PHI, [k.function for k in dphis]),
        np.cumsum([tiled, *(len(group) for group in groups)], dtype=np.int64),
        functions(STEP, [k.function for k in steps]),
        runs,
        params,
        np.array([0.0 if c is None else c.l2 for c in rows]),
        np.array([0.0 if c is None else c.l1 for c in rows]),
    )
    return columns, [layout.index(i) for i in range(len(contenders))]


def _steps(rows: list[Composition | None]) -> tuple[list[Kernel], NDArray[np.int64], NDArray[np.float64]]:
    """Return one step kernel for each run of rows that share it, the runs, and all parameters."""
    kernels = [
        required_kernel(c.optimizer.kernel(c.penalty))
        if c is not None and isinstance(c.optimizer, StepOptimizer)
        else None
        for c in rows
    ]
    params = np.zeros((len(rows), max((len(k.params) for k in kernels if k is not None), default=0)))
    steps: list[Kernel] = []
    runs: list[tuple[int, int]] = []
    for row, kernel in enumerate(kernels):
        if kernel is None:
            continue
        params[row, : len(kernel.params)] = kernel.params
        if steps and runs[-1][1] == row and steps[-1].function is kernel.function:
            runs[-1] = (runs[-1][0], row + 1)
        else:
            steps.append(kernel)
            runs.append((row, row + 1))
    return steps, np.array(runs, dtype=np.int64).reshape(-1, 2), params
