"""A Python loop fits contenders whose components have no compiled form, on the same draws.

The loop is also the plain form of the compiled one: tests hold the two together.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.aggregator_calls import sample_structure
from rankbench.interfaces.method import StepOptimizer
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.methods.erm.composition import Composition
from rankbench.methods.erm.contender_arrays import SampledVotes, Target, as_order, scratch_for
from rankbench.methods.erm.kernels.sampling import WINDOW, ContenderPath
from rankbench.methods.erm.kernels.targets import draw_sample
from rankbench.methods.erm.lockstep import FEWEST, FRESH, Stream, unaveraged


def is_compiled(contender: Composition) -> bool:
    """Return whether every component of a contender has the kernels that it would need."""
    aggregator, surrogate, optimizer = contender.aggregator, contender.surrogate, contender.optimizer
    if not aggregator.needs_truth and aggregator.kernel() is None:
        return False
    if isinstance(surrogate, ScoreSurrogate) and (
        surrogate.target_kernel() is None or surrogate.gradient_kernel() is None
    ):
        return False
    if isinstance(surrogate, PairwiseSurrogate) and (
        surrogate.phi_kernels() is None or not (surrogate.linear or surrogate.edges_kernel() is not None)
    ):
        return False
    return not isinstance(optimizer, StepOptimizer) or optimizer.kernel(contender.penalty) is not None


class Interpreted(Stream):
    """One pass over a block's stream of draws, in Python; see `rankbench.methods.erm.lockstep.Lockstep`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        block, plan = self.block, self.plan
        self.rows = list(range(len(self.contenders)))
        self.scratch = scratch_for(self.judged, int(block.design.sizes.max(initial=1)), 0, 0, 0)
        self.complete = np.zeros((len(plan), len(self.x)))
        self.floors = np.zeros((len(plan), len(block.design)))
        floor = lru_cache(maxsize=None)(lambda target, heaviest, m: target.floor(heaviest, np.zeros(m)))
        for q in np.flatnonzero(block.comparisons.counts > 0):
            low, high = block.design.offsets[q : q + 2]
            whole = self._judgments(*block.comparisons.offsets[q : q + 2])
            for row, target in enumerate(plan.targets):
                labels = self._labels(target, low, high)
                heaviest = float(whole[2].max())
                truth = target.aggregator.needs_truth
                self.floors[row, q] = target.floor(0.0, labels) if truth else floor(target, heaviest, len(labels))
                self.complete[row, low:high] = target.make(whole, labels, self.floors[row, q])

    def _labels(self, target: Target, low: int, high: int) -> NDArray[np.float64]:
        """Return a query's labels for an aggregator that is shown the truth, zeros for any other one."""
        return self.block.design.labels[low:high].copy() if target.aggregator.needs_truth else np.zeros(high - low)

    def _judgments(self, first: int, last: int) -> SampledVotes:
        said = self.block.comparisons
        return said.winners[first:last].copy(), said.losers[first:last].copy(), said.weights[first:last].copy()

    def _draw(self, t: int, query: int = -1) -> tuple[int, NDArray[np.float64]]:
        """Draw step t: return its query and the targets of all rows, shape (P, m)."""
        q = int(draw_sample(self.judged, self.seed, t, self.longest, self.scratch, query))
        low, high = self.block.design.offsets[q : q + 2]
        n_q = int(self.block.comparisons.counts[q])
        targets = self.complete[:, low:high].copy()
        for row, target in enumerate(self.plan.targets):
            if target.order < n_q:
                labels = self._labels(target, low, high)
                targets[row] = target.make(self._sample(target.order), labels, self.floors[row, q])
        return q, targets

    def _sample(self, k: int) -> SampledVotes:
        return self.scratch.winners[:k].copy(), self.scratch.losers[:k].copy(), self.scratch.weights[:k].copy()

    def singles(self) -> NDArray[np.float64]:
        """Return the mean target of single judgments for the rows of order 1, shape (P, N); zeros for others."""
        means, said = np.zeros_like(self.complete), self.block.comparisons
        for row, target in enumerate(self.plan.targets):
            if target.order != 1:
                continue
            for q, n_q in enumerate(said.counts):
                low, high = self.block.design.offsets[q : q + 2]
                labels = self._labels(target, low, high)
                for t in range(said.offsets[q], said.offsets[q + 1]):
                    single = self._judgments(t, t + 1)
                    means[row, low:high] += target.make(single, labels, self.floors[row, q]) / n_q
        return means

    def _add(self, q: int, targets: NDArray[np.float64]) -> None:
        half = int(self.sums.draws[:, q].sum()) % 2
        self.sums.draws[half, q] += 1
        low, high = self.block.design.offsets[q : q + 2]
        self.sums.targets[half, :, low:high] += targets
        for o, k in enumerate(self.sums.orders):
            if k < self.block.comparisons.counts[q]:
                winners, losers, weights = self._sample(int(k))
                np.add.at(self.sums.wins[half, o, low:high], winners, weights)
                np.add.at(self.sums.losses[half, o, low:high], losers, weights)

    def _surrogate(
        self, contender: Composition, alpha: NDArray[np.float64], targets: NDArray[np.float64], q: int
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the sampled surrogate and its gradient in alpha."""
        surrogate = contender.surrogate
        if isinstance(surrogate, ScoreSurrogate):
            target = targets[self.plan.row(contender.aggregator, contender.k, surrogate)]
            value, slope = surrogate.value_and_gradient(alpha, target)
            return value, surrogate.checked_numbers("value_and_gradient", slope)
        if not isinstance(surrogate, PairwiseSurrogate):
            raise TypeError(f"surrogate {surrogate.name!r} is neither a score nor a pairwise surrogate")
        k = min(as_order(contender.k), int(self.block.comparisons.counts[q]))
        adjacency = sample_structure(contender.aggregator, *self._sample(k), len(alpha))
        i, j = np.nonzero(adjacency)
        weights, offsets = surrogate.edges(adjacency[i, j])
        margins = alpha[i] - alpha[j] - offsets
        slopes = weights * surrogate.checked_numbers("dphi", surrogate.dphi(margins))
        gradient = np.bincount(i, slopes, len(alpha)) - np.bincount(j, slopes, len(alpha))
        return float(weights @ surrogate.phi(margins)), gradient.astype(np.float64)

    def run(self, steps: int, record: NDArray[np.int64]) -> ContenderPath:
        """Advance all contenders by `steps` draws, recorded after the draws in `record`."""
        count, d = len(self.contenders), self.x.shape[1]
        theta, total = np.zeros((count, d)), np.zeros((count, d))
        window, estimates = np.zeros((WINDOW, count)), np.zeros((count, len(record)))
        last, averaged = np.zeros((len(record), count, d)), np.zeros((len(record), count, d))
        optimizers = [c.optimizer for c in self.contenders]
        states = [np.zeros(o.state_size(d)) for o in optimizers if isinstance(o, StepOptimizer)]
        penalties, left_out = [c.penalty for c in self.contenders], unaveraged(self.contenders, steps)
        marks = {int(step): at for at, step in enumerate(record)}
        for t in range(1, steps + 1):
            q, targets = self._draw(t)
            self._add(q, targets)
            low, high = self.block.design.offsets[q : q + 2]
            features = self.x[low:high]
            for c, (contender, optimizer) in enumerate(zip(self.contenders, optimizers, strict=True)):
                value, gradient = self._surrogate(contender, features @ theta[c], targets, q)
                window[t % WINDOW, c] = value
                if isinstance(optimizer, StepOptimizer):
                    moved = optimizer.step(theta[c], features.T @ gradient, t, penalties[c], states[c])
                    theta[c] = optimizer.checked_numbers("step", moved)
                if t > left_out[c]:
                    total[c] += theta[c]
            if t in marks:
                at, seen = marks[t], min(t, WINDOW)
                recent = window[[(t - back) % WINDOW for back in range(seen)]]
                paid = [p.value(theta[c]) for c, p in enumerate(penalties)]
                estimates[:, at] = recent.mean(axis=0) + np.array(paid)
                taken = (t - left_out)[:, None]
                last[at], averaged[at] = theta, np.where(taken > 0, total / np.maximum(taken, 1), theta)
        self._top_up()
        none, word = np.zeros(0), np.zeros(0, dtype=np.int32)
        compiled_only = (none, none, word, word, *[none] * 8, False)
        return ContenderPath(
            theta, total, none, left_out, none, window, record, estimates, last, averaged, *compiled_only
        )

    def _top_up(self) -> None:
        for q in np.flatnonzero(self.block.comparisons.counts > 0):
            for r in range(FEWEST - int(self.sums.draws[:, q].sum())):
                self._add(int(q), self._draw(-(int(q) * FEWEST + r + 1), int(q))[1])

    def fresh_values(self, theta: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        """Return the mean sampled surrogate at theta, shape (C, d), over the samples after step `steps`."""
        means = np.zeros(len(self.contenders))
        fresh = max(1, min(FRESH, steps // 2))
        for t in range(steps + 1, steps + fresh + 1):
            q, targets = self._draw(t)
            low, high = self.block.design.offsets[q : q + 2]
            alphas = theta @ self.x[low:high].T
            for c, contender in enumerate(self.contenders):
                means[c] += self._surrogate(contender, alphas[c], targets, q)[0]
        return means / fresh
