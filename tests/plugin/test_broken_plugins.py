"""Deliberately broken components and plugins: the conformance check, or the process, that catches each."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from forked import run_program
from installed import install_plugin
from pydantic import Field, PrivateAttr

import rankbench
from rankbench.aggregators.rates import Borda, NetWeights, WinRate
from rankbench.data.simulators.feature_data import Web10kLike
from rankbench.data.tables.checks import checked
from rankbench.interfaces.dataset import existing
from rankbench.kernels import Kernel
from rankbench.optimizers.newton import Newton
from rankbench.plugin.loading import load
from rankbench.testing.check import check_component

SIZES = [0, 0]
POOL = ThreadPoolExecutor(2)


class Features(rankbench.Model):
    """The features as they are."""

    def features(self, x):
        return np.array(x)


class NetWins(rankbench.ComparisonAggregator):
    """Wins of an item less its losses, by weight."""

    properties: ClassVar[frozenset[Any]] = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m)


class Drawn(rankbench.Method):
    """Random scores."""

    properties: ClassVar[frozenset[Any]] = frozenset({"stochastic"})

    def fit(self, block):
        return rankbench.Fitted(lambda queries: self.generator().normal(size=len(queries.x)))


class Pairs(rankbench.PairwiseSurrogate):
    """Logistic: log(1 + exp(-t))."""

    properties: ClassVar[frozenset[Any]] = frozenset({"convex", "shift-invariant"})

    def phi(self, margin):
        return np.logaddexp(0, -margin)

    def dphi(self, margin):
        return -1 / (1 + np.exp(np.clip(margin, -500, 500)))


class KernelDiffers(Borda):
    """The compiled form is another formula than the NumPy form."""

    kernel = NetWeights.kernel


class KernelOutOfBounds(WinRate):
    """The compiled form writes beyond its memory: it asked for none."""

    def kernel(self):
        return Kernel(super().kernel().function)


class ChangingDataset(Web10kLike):
    """It has other rows each time it is scanned."""

    queries: int = Field(default=10, ge=1, description="Number of queries.")

    def scan(self):
        SIZES.append(len(SIZES))
        return Web10kLike(queries=self.queries, seed=SIZES[-1]).scan()


class FarFromTheStart(rankbench.CountAggregator):
    """From a near start it goes half of the way."""

    def from_counts(self, counts):
        won, lost = counts.won_and_lost()
        return won - lost

    def from_counts_near(self, counts, scores):
        return (scores + self.from_counts(counts)) / 2


class FragileReader(rankbench.Reader):
    """A damaged file ends in a ValueError without file or line."""

    extensions: ClassVar[tuple[str, ...]] = (".broken",)

    @classmethod
    def example(cls):
        return b"a b\nb c\nc a\n"

    def scan(self, path):
        rows = [line.split(" ") for line in existing(path).read_text().splitlines()]
        winners, losers = zip(*((winner, loser) for winner, loser in rows), strict=True)
        return checked(pl.LazyFrame({"query_id": ["q"] * len(rows), "winner": winners, "loser": losers}), path=path)


class GlobalRandom(NetWins):
    """It draws from numpy.random, and puts noise on every score."""

    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) + 1e-9 * np.random.rand(m)  # noqa: NPY002


class LooksAtLabels(rankbench.Method):
    """It learns from the labels that contenders are judged by where it finds them, and does not say so."""

    def fit(self, block):
        found = block.design.truth
        labels = np.zeros(len(block.design.x)) if found is None else found
        theta = np.linalg.lstsq(block.design.x, labels, rcond=None)[0]
        return rankbench.Fitted(lambda queries: queries.x @ theta)


class LooksAtOthers(Features):
    """It standardizes features over the items that it happens to see."""

    def features(self, x):
        return np.asarray(x - x.mean(axis=0), dtype=np.float32) if len(x) else x


class MutatesInput(NetWins):
    """It sorts the weights that it was given."""

    def aggregate(self, winners, losers, weights, m):
        weights.sort()
        return super().aggregate(winners, losers, weights, m)


class NotConvex(Pairs):
    """It says convex, and is not far from 0."""

    def phi(self, margin):
        return 0.5 - 0.5 * np.tanh(margin / 2)

    def dphi(self, margin):
        return -0.25 / np.cosh(np.clip(margin / 2, -300, 300)) ** 2


class NotEquivariant(NetWins):
    """Ties are broken by the number of the item, and it says equivariant."""

    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) + 1e-3 * np.arange(m)


class NotShiftInvariant(rankbench.ScoreSurrogate):
    """It says shift-invariant, and pulls scores to zero."""

    properties: ClassVar[frozenset[Any]] = frozenset(
        {"convex", "smooth", "quadratic", "equivariant", "shift-invariant"}
    )

    def target(self, scores):
        return scores.copy()

    def value_and_gradient(self, alpha, target):
        residual = alpha - target
        return float(residual @ residual) / (2 * len(alpha)), residual / len(alpha)


class NotSmooth(Pairs):
    """It says smooth, and has a kink that its second derivative knows nothing of."""

    properties: ClassVar[frozenset[Any]] = frozenset({"convex", "smooth"})

    def phi(self, margin):
        return np.clip(1 - margin, 0, None)

    def dphi(self, margin):
        return -np.clip(1 - margin, 0, 1)

    def ddphi(self, margin):
        return ((margin > 0) & (margin < 1)).astype(float)


class NotStochastic(Drawn):
    """It says stochastic, and gives the same scores for every seed."""

    def generator(self):
        return np.random.default_rng(1)


class OrderMatters(NetWins):
    """The last judgment counts double, and it does not say sequential."""

    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, np.append(weights[:-1], 2 * weights[-1]), m)


class OutOfRange(rankbench.Loss):
    """The declared range is [0, 1], values reach 2."""

    properties: ClassVar[frozenset[Any]] = frozenset({"shift-invariant", "equivariant"})
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def value(self, alpha, structure):
        pairs = structure[:, None] > structure[None, :]
        signs = np.sign(alpha[:, None] - alpha[None, :])[pairs]
        return 1 - float(signs.mean()) if len(signs) else 0.0


class OverBudget(Newton):
    """It takes more iterations than it was given."""

    def solve(self, problem, start=None):
        return Newton().solve(problem, start)


class ReturnsNan(NetWins):
    """Items without judgments get 0/0."""

    def aggregate(self, winners, losers, weights, m):
        won, lost = np.bincount(winners, weights, m), np.bincount(losers, weights, m)
        with np.errstate(invalid="ignore"):
            return won / (won + lost)


class RoundingDecides(NetWins):
    """It takes signs of sums of weights, which differ by rounding when the judgments come in another order."""

    def aggregate(self, winners, losers, weights, m):
        preferred = np.zeros((m, m))
        np.add.at(preferred, (winners, losers), weights)
        return np.sign(preferred - preferred.T).sum(axis=1)


class SaysConverged(rankbench.Solver):
    """It says converged wherever it stops."""

    def solve(self, problem):
        theta = -1e-3 * problem.value_and_gradient(np.zeros(problem.dimension))[1]
        return rankbench.Fit(theta, 0.0, 1, True)


class LeavesAThreadPool(Features):
    """It leaves a thread pool behind."""

    def features(self, x):
        return POOL.submit(np.array, x).result()


class Undocumented(Features):
    __doc__ = None


class Unpicklable(Features):
    """It keeps a lock, which no other process can get."""

    _lock: Any = PrivateAttr(default_factory=threading.Lock)


class KeepsState(NetWins):
    """It begins with the number of items of the call before, if that was another one."""

    def aggregate(self, winners, losers, weights, m):
        if m != SIZES[-1]:
            SIZES.append(m)
        return super().aggregate(winners, losers, weights, m) + SIZES[-2]


class Unvalidated(Features):
    """A parameter takes anything, another one nan."""

    by: float = Field(default=1.0, description="By this number.")

    def features(self, x):
        return np.asarray(x * self.by, dtype=np.float32)


BY_CHECK = [
    (ChangingDataset, "same-seed-same-rows"),
    (FarFromTheStart, "near-starts-end-at-the-same-scores"),
    (FragileReader, "damaged-examples-are-errors-or-tables"),
    (GlobalRandom, "surroundings-not-touched"),
    (KeepsState, "same-input-same-result"),
    (KernelDiffers, "compiled-aggregator-equals-numpy"),
    (KernelOutOfBounds, "compiled-aggregator-equals-numpy"),
    (LooksAtLabels, "labels-do-not-matter"),
    (LooksAtOthers, "items-are-mapped-one-by-one"),
    (MutatesInput, "works-on-read-only-arrays"),
    (NotConvex, "convex-at-random-chords"),
    (NotEquivariant, "equivariant-under-relabelling"),
    (NotShiftInvariant, "shift-invariant"),
    (NotSmooth, "gradient-is-the-difference-quotient"),
    (NotStochastic, "stochastic-ones-vary"),
    (OrderMatters, "order-of-judgments-does-not-matter"),
    (OutOfRange, "within-the-declared-range"),
    (OverBudget, "budget-obeyed"),
    (ReturnsNan, "edge-cases"),
    (RoundingDecides, "order-of-judgments-does-not-matter"),
    (SaysConverged, "solver-says-how-optimal-it-is"),
    (LeavesAThreadPool, "surroundings-not-touched"),
    (Undocumented, "documented"),
    (Unpicklable, "picklable"),
    (Unvalidated, "parameters-are-validated"),
]


@pytest.fixture
def as_before():
    with np.errstate(), mock.patch.dict(os.environ):
        yield


@pytest.mark.parametrize(("broken", "check"), part_of(BY_CHECK, 3))
def test_what_is_caught_by_a_check(broken, check, entry, as_before):
    broken.name, broken.source = "broken", "A test"
    load([entry("broken", brings=lambda: [broken])], strict=True)
    failed = {result.check: result.reason for result in check_component(broken) if not result.ok}
    assert check in failed
    # Expected to fail, the same checks are no failures; told nothing of it, a sound component is.
    assert all(result.ok for result in check_component(broken, failed))


MODEL = '''
import ctypes, os, time, warnings
import numpy as np
from pydantic import Field, PrivateAttr
import rankbench

class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"
    unit: float = Field(default=1.0, ge=0, le=10, allow_inf_nan=False, description="What divides.")

    def features(self, x):
        {calls}
        return x.copy()

@rankbench.hookimpl
def rankbench_register():
    return [Broken]

{imports}
'''
"""A plugin, with what it does at a call and when it is imported."""

BY_PROCESS = {
    "endless Python": ("while True: pass", "", "no result within"),
    "exits": ("os._exit(7)", "", "worker process died with exit code 7"),
    "exits on import": ("", "os._exit(3)", "importing it: worker process died with exit code 3"),
    "fails at a bound": ("1.0 / self.unit", "", "ZeroDivisionError"),
    "hangs on import": ("", "while True: time.sleep(1)", "importing it: no result within"),
    "segfault": ("ctypes.string_at(0)", "", "worker process died with exit code -11"),
    "silences on import": ("", 'warnings.simplefilter("ignore")', "importing it changes the warning filters"),
}
SLOW = ("endless Python", "segfault")
"""They cost several processes each; of those that hang and of those that die, another one is always tried."""


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    [
        *part_of((name for name in BY_PROCESS if name not in SLOW), 3),
        *(pytest.param(name, marks=pytest.mark.long) for name in SLOW),
    ],
)
def test_what_is_caught_by_a_process_of_its_own(name, tmp_path):
    calls, imports, reason = BY_PROCESS[name]
    source = MODEL.format(calls=calls or "pass", imports=imports)
    install_plugin(tmp_path, "broken-plugin", "broken = broken_plugin", broken_plugin=source)
    # One that hangs does so for any time, and what ends by itself is given time on a busy machine.
    arguments = ["check", "broken-plugin", "--json", "--timeout", "1" if "no result" in reason else "60"]
    shown = run_program(*arguments, environment={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert shown.returncode == 1, shown.stderr
    results = json.loads(shown.stdout)["results"]
    failed = [result["reason"] for result in results if result["status"] == "failed"]
    assert any(reason in one for one in failed), results
    assert len(failed) == 1 or name not in SLOW, failed
