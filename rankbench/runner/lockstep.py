"""Stochastic contenders of a block, advanced together: the Python side of the lockstep loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels import EDGES, GRADIENT, PHI, STEP, Kernel
from rankbench.methods.erm import ERM
from rankbench.optimizers.base import StepOptimizer
from rankbench.runner.kernels.lockstep import (
    EDGE,
    IDLE,
    SCORE,
    TILE,
    WINDOW,
    Columns,
    Path,
    advance,
    evaluate_fresh,
    idle_edges,
    idle_gradient,
    idle_phi,
    idle_step,
)
from rankbench.runner.kernels.sampling import Judged
from rankbench.runner.kernels.targets import Scratch, TargetTable, top_up
from rankbench.runner.tables import TargetPlan, as_order, functions, packed
from rankbench.surrogates.base import PairwiseSurrogate, ScoreSurrogate

__all__ = ["FEWEST", "FRESH", "Lockstep", "record_steps"]

FEWEST = 20
"""Draws that every judged query gets at least, for its mean target."""

FRESH = 50_000
"""Fresh draws behind the paper's estimate of the smallest risk (figure 2)."""


def record_steps(draws: int, points: int) -> NDArray[np.int64]:
    """Return about `points` steps from 1 to `draws`, evenly spaced in their logarithm."""
    if points == 0:
        return np.zeros(0, dtype=np.int64)
    steps: NDArray[np.int64] = np.unique(np.geomspace(1, draws, points).round().astype(np.int64))
    return steps


class Lockstep:
    """One pass over a block's stream of draws.

    Parameters
    ----------
    x : ndarray of float64, shape (N, d)
        Features of the block's items.
    judged : Judged
    plan, table, scratch : TargetPlan, TargetTable, Scratch
        The targets of all contenders, stochastic or not.
    contenders : list of ERM
        The stochastic ones, compiled.
    seed : ndarray of uint64, shape (4,)
        Seed of the stream.
    """

    def __init__(
        self,
        x: NDArray[np.float64],
        judged: Judged,
        plan: TargetPlan,
        table: TargetTable,
        scratch: Scratch,
        contenders: list[ERM],
        seed: NDArray[np.uint64],
    ) -> None:
        self.x, self.judged, self.table, self.scratch, self.seed = x, judged, table, scratch, seed
        self.contenders = contenders
        most = int(np.diff(judged.offsets).max(initial=0))
        edge_orders = [as_order(e.k) for e in contenders if isinstance(e.surrogate, PairwiseSurrogate)]
        self.longest = max([plan.longest(most), *(min(k, most) for k in edge_orders)])
        self.columns = _columns(plan, contenders)
        self.sums = np.zeros((2, len(plan), len(x)))
        self.draws = np.zeros((2, len(judged.items) - 1), dtype=np.int64)
        self.path: Path | None = None

    def run(self, steps: int, record: NDArray[np.int64]) -> Path:
        """Advance all contenders by `steps` draws, recording them after those in `record`."""
        path = self._path(record)
        advance(
            self.x,
            self.judged,
            self.table,
            self.columns,
            path,
            self.seed,
            1,
            steps,
            self.longest,
            self.scratch,
            self.sums,
            self.draws,
        )
        top_up(
            self.judged, self.table, self.seed, FEWEST, self.longest, self.scratch, self.sums, self.draws
        )
        return path

    def fresh_values(self, theta: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        """Return the mean sampled surrogate at theta, shape (C, d), over draws after step `steps`.

        As in the paper's estimate of the smallest risk: 50,000 fresh draws, or half as
        many as there were steps where that is less.
        """
        path = self._path(np.zeros(0, dtype=np.int64))
        path.theta[: len(theta)] = theta
        means = np.zeros(len(self.columns.kinds))
        fresh = max(1, min(FRESH, steps // 2))
        evaluate_fresh(
            self.x,
            self.judged,
            self.table,
            self.columns,
            path,
            self.seed,
            steps + 1,
            steps + fresh,
            self.longest,
            self.scratch,
            means,
        )
        return means[: len(theta)]

    def _path(self, record: NDArray[np.int64]) -> Path:
        columns, d = len(self.columns.kinds), self.x.shape[1]
        m = int(np.diff(self.judged.items).max(initial=1))
        sizes = [e.optimizer.state_size(d) for e in self.contenders if isinstance(e.optimizer, StepOptimizer)]
        kernels = [e.aggregator.kernel() for e in self.contenders if isinstance(e.surrogate, PairwiseSurrogate)]
        return Path(
            np.zeros((columns, d)),
            np.zeros((columns, d)),
            np.zeros((columns, max(sizes, default=0))),
            np.zeros((columns, WINDOW)),
            record,
            np.zeros((columns, len(record))),
            np.zeros((len(record), columns, d)),
            np.zeros((len(record), columns, d)),
            np.zeros(TILE * m),
            np.zeros(TILE * m),
            np.zeros((TILE, d)),
            np.zeros(max(self.longest, 1), dtype=np.int32),
            np.zeros(max(self.longest, 1), dtype=np.int32),
            np.zeros(max(self.longest, 1)),
            np.zeros(max((k.work(m) for k in kernels if k is not None), default=0)),
        )


def _columns(plan: TargetPlan, contenders: list[ERM]) -> Columns:
    """Lay the contenders out in whole tiles."""
    width = -(-len(contenders) // TILE) * TILE
    kinds = np.full(width, IDLE, dtype=np.int64)
    targets, orders = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    gradients, edges = [Kernel(idle_gradient)] * width, [Kernel(idle_edges)] * width
    phis, dphis, steps = [Kernel(idle_phi)] * width, [Kernel(idle_phi)] * width, [Kernel(idle_step)] * width
    l2 = np.zeros(width)
    for c, contender in enumerate(contenders):
        surrogate, optimizer = contender.surrogate, contender.optimizer
        l2[c] = contender.l2
        if isinstance(optimizer, StepOptimizer):
            steps[c] = optimizer.kernel(contender.l2) or steps[c]
        if isinstance(surrogate, ScoreSurrogate):
            kinds[c] = SCORE
            targets[c] = plan.row(contender.aggregator, contender.k, surrogate)
            gradients[c] = surrogate.gradient_kernel() or gradients[c]
        elif isinstance(surrogate, PairwiseSurrogate):
            kinds[c] = EDGE
            orders[c] = as_order(contender.k)
            edges[c] = contender.aggregator.kernel() or edges[c]
            phis[c], dphis[c] = (surrogate.phi_kernels() or (phis[c], dphis[c], None))[:2]
    gradient_params, gradient_bounds = packed([k.params for k in gradients])
    edge_params, edge_bounds = packed([k.params for k in edges])
    phi_params, phi_bounds = packed([k.params for k in phis])
    step_params, step_bounds = packed([k.params for k in steps])
    return Columns(
        kinds,
        targets,
        orders,
        functions(GRADIENT, [k.function for k in gradients]),
        gradient_params,
        gradient_bounds,
        functions(EDGES, [k.function for k in edges]),
        edge_params,
        edge_bounds,
        functions(PHI, [k.function for k in phis]),
        functions(PHI, [k.function for k in dphis]),
        phi_params,
        phi_bounds,
        functions(STEP, [k.function for k in steps]),
        step_params,
        step_bounds,
        l2,
    )
