"""What several tests share: points of a known density, naive sums over pairs, real tables."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest


def naive_total(scores, levels, loss):
    """Sum a loss over all pairs, one by one, with the gradient in the scores."""
    above = levels[:, None] > levels[None, :]
    margins = scores[:, None] - scores[None, :]
    slopes = np.where(above, loss.derivative(margins), 0.0)
    return float(np.where(above, loss.value(margins), 0.0).sum()), slopes.sum(axis=1) - slopes.sum(axis=0)


@pytest.fixture(scope="session")
def naive():
    return naive_total


@pytest.fixture
def blob():
    """Two hundred nominal points of two features, and far and near points to score."""
    draw = np.random.default_rng(7)
    return draw.normal(size=(200, 2)) * [1.0, 3.0] + [5.0, -2.0]


@pytest.fixture
def real_table():
    """Points and labels of a table of ADBench, if ``RANKBENCH_DATA`` has them."""
    from rankbench_rankad.points import read_npz

    def read(table):
        named = os.environ.get("RANKBENCH_DATA", "")
        if not named or not (Path(named) / "adbench").is_dir():
            pytest.skip("RANKBENCH_DATA does not name a folder with adbench tables")
        points = read_npz(table().path())
        return points.x, points.labels

    return read
