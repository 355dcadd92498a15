"""All pairs of contenders without an array of them: the same bits as with one."""

from __future__ import annotations

import numpy as np
import pytest

from rankbench.stats import contrast_columns as module
from rankbench.stats.bootstrap import Crossed, crossed
from rankbench.stats.contrast_columns import AllPairs, ContrastMatrix, DenseColumns, OneArm
from rankbench.stats.contrasts import contender_rank_ranges, contrasts, pairs


def sample_of(arms: int, seed: int, draws: int = 6, queries: int = 40) -> Crossed:
    """Return a sample with contenders that are equal, and ones that differ by a constant."""
    rng = np.random.default_rng(seed)
    losses = rng.normal(0.5, 0.1, (draws, queries, 1)) + rng.normal(0, 0.02, (draws, queries, arms))
    losses += np.linspace(0, 0.05, arms)
    if arms > 3:
        losses[..., 1] = losses[..., 0]
        losses[..., 3] = losses[..., 2] + 0.25
    return crossed(losses, seed, 300)


@pytest.mark.parametrize("arms", [2, 3, 5, 63, 64, 65, 130])
@pytest.mark.parametrize("rows", [2, 7, 300])
def test_the_kernels_are_numpy_on_the_differences_bit_for_bit(arms: int, rows: int) -> None:
    values = np.random.default_rng(arms).normal(size=(rows, arms))
    differences = values @ pairs(arms)[1]
    held, tiled = DenseColumns(differences), module._Differences(values)
    assert (tiled.rows, tiled.count) == differences.shape
    if arms > 2:  # of one column NumPy adds up pairwise: it is always held
        np.testing.assert_array_equal(tiled.variances(), differences.var(axis=0, ddof=1))
    centre, scale = differences.mean(axis=0), differences.std(axis=0)
    scale[::3] = 0
    expected = np.abs((differences - centre)[:, scale > 0] / scale[scale > 0]).max(axis=1, initial=0)
    np.testing.assert_array_equal(tiled.largest(centre, scale), expected)
    if (scale > 0).any():
        np.testing.assert_array_equal(held.largest(centre, scale), expected)


@pytest.mark.parametrize("arms", [2, 4, 9, 70])
@pytest.mark.parametrize("draws", [1, 2, 3, 6])
@pytest.mark.parametrize("limit", [0, 10**9])
def test_pairs_are_the_contrasts_of_their_matrix(
    arms: int, draws: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD", limit)
    sample = sample_of(arms, 3, draws)
    found, expected = contrasts(sample, AllPairs(arms)), contrasts(sample, ContrastMatrix(pairs(arms)[1]))
    for name in ("estimate", "se", "lower", "upper", "p", "local"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_one_arm_is_the_contrast_of_a_unit_vector() -> None:
    sample = sample_of(5, 4)
    for arm in range(5):
        found, expected = contrasts(sample, OneArm(arm)), contrasts(sample, np.eye(5)[:, [arm]])
        for name in ("estimate", "se", "lower", "upper", "p", "local"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("maximize", [False, True])
def test_ranks_count_who_is_better_and_who_is_worse(maximize: bool) -> None:
    arms = 12
    sample = sample_of(arms, 5)
    index, matrix = pairs(arms)
    intervals = contrasts(sample, -matrix if maximize else matrix)
    expected = np.tile([1, arms], (arms, 1))
    for (i, j), lower, upper in zip(index, intervals.lower, intervals.upper, strict=True):
        if lower > 0 or upper < 0:
            better, worse = (i, j) if upper < 0 else (j, i)
            expected[worse, 0] += 1
            expected[better, 1] -= 1
    found = contender_rank_ranges(sample, maximize=maximize)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found, axis=0)) > 3
