"""The regression risk (19): what the sampler averages is the enumerated U-statistic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from amounts import part_of
from enumeration import structures_of_subsets
from numpy.typing import NDArray
from small_blocks import make_block

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Block
from rankbench.interfaces.surrogate import ScoreSurrogate, Surrogate
from rankbench.kernels.random import seed_state
from rankbench.methods.erm.contender_arrays import TargetPlan
from rankbench.methods.erm.lockstep import Lockstep
from rankbench.methods.erm.risk import (
    complete_share,
    mean_target,
    won_and_lost,
)
from rankbench.plugin.manager import get

AGGREGATORS = ["mean-log-odds", "borda", "win-rate", "bradley-terry", "thurstone-mosteller"]


def components(name: str) -> tuple[Aggregator, ScoreSurrogate]:
    aggregator, surrogate = get(Aggregator, name), get(Surrogate, "regression")
    return aggregator, surrogate


def enumerated(block: Block, name: str, k: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average targets over all k-subsets (18), with the convention for n_q < k; also their variance."""
    aggregator, surrogate = components(name)
    mean, variance = np.zeros(len(block.design.x)), np.zeros(len(block.design.x))
    for rows, _, scores in structures_of_subsets(block, aggregator, k):
        targets = np.array([surrogate.target(s) for s in scores])
        mean[rows], variance[rows] = targets.mean(axis=0), targets.var(axis=0)
    return mean, variance


def sampled(
    block: Block, name: str, k: float, steps: int, seed: int = 5, others: tuple[int, ...] = (2, 5)
) -> tuple[NDArray[np.float64], NDArray[np.float64], Lockstep]:
    aggregator, surrogate = components(name)
    plan = TargetPlan([(aggregator, order, surrogate) for order in (k, *others)])
    stream = Lockstep(block.design.x.astype(float), block, plan, [], seed_state([seed]))
    stream.run(steps, np.zeros(0, np.int64))
    row = plan.row(aggregator, k, surrogate)
    target = mean_target(block, k, stream.complete[row], stream.sums, row, won_and_lost(block))
    spread = np.zeros_like(target.mean) if target.error is None else target.error
    return target.mean, spread, stream


@pytest.mark.parametrize("name", part_of(AGGREGATORS))
@pytest.mark.parametrize("k", [2, 3, 5])
def test_sampler_mean_is_the_enumerated_u_statistic(name: str, k: int) -> None:
    block = make_block([4, 3, 6], 24, seed=3)
    steps = 20_000
    mean, variance = enumerated(block, name, k)
    estimate, _, stream = sampled(block, name, k, steps)
    draws = np.repeat(stream.sums.draws.sum(axis=0), block.design.sizes)
    scale = np.sqrt(variance / np.maximum(draws, 1))
    assert (np.abs(estimate - mean) <= 5 * scale + 1e-9).all()


@pytest.mark.parametrize("name", ["mean-log-odds", "borda", "win-rate"])
def test_control_variates_keep_the_mean_and_cut_the_error(name: str) -> None:
    block = make_block([44, 60, 52], 90, seed=6)
    mean, _ = enumerated(block, name, 2)
    plain, controlled, claimed, bias = 0.0, 0.0, 0.0, np.zeros(len(mean))
    seeds = 60
    for seed in range(seeds):
        estimate, error, stream = sampled(block, name, 2, 300, seed, ())
        draws = np.repeat(stream.sums.draws.sum(axis=0), block.design.sizes)
        plain += ((stream.sums.targets.sum(axis=0)[0] / draws - mean) ** 2).sum()
        controlled += ((estimate - mean) ** 2).sum()
        claimed += (error**2).sum()
        bias += estimate - mean
    assert controlled < 0.5 * plain
    assert 0.8 < claimed / controlled < 1.25, claimed / controlled
    assert (bias**2).sum() / seeds < 2.0 * controlled / seeds


@pytest.mark.parametrize("name", AGGREGATORS)
def test_orders_beyond_n_q_use_all_judgments(name: str) -> None:
    block = make_block([4, 3, 6], 24, seed=3)
    infinite, spread, _ = sampled(block, name, math.inf, 10)
    np.testing.assert_allclose(infinite, enumerated(block, name, math.inf)[0], atol=1e-9)
    assert (spread == 0).all()
    large, _, _ = sampled(block, name, 1000, 10)
    np.testing.assert_array_equal(large, infinite)


@pytest.mark.full
def test_halves_measure_the_error_of_the_mean() -> None:
    block = make_block([4, 3, 6], 24, seed=3)
    mean, _ = enumerated(block, "mean-log-odds", 3)
    errors, claimed = [], []
    for seed in range(300):
        estimate, error, _ = sampled(block, "mean-log-odds", 3, 200, seed, ())
        errors.append(((estimate - mean) ** 2).sum())
        claimed.append((error**2).sum())
    assert 0.85 < np.mean(claimed) / np.mean(errors) < 1.18


def test_complete_share(block: Block) -> None:
    counts = block.comparisons.counts
    assert complete_share(block.comparisons, math.inf) == 1.0
    assert complete_share(block.comparisons, int(counts.max())) == 1.0
    assert complete_share(block.comparisons, 0) == 0.0
    k = int(np.median(counts))
    assert complete_share(block.comparisons, k) == pytest.approx(counts[counts <= k].sum() / counts.sum())
