"""The simulator is what its assumptions say."""

from __future__ import annotations

import numpy as np
import pytest
from data_paths import needs
from numpy.typing import NDArray

from rankbench.data.simulators.feature_data import WEB10K_MARGINALS as MARGINALS
from rankbench.data.simulators.feature_data import Web10kLike
from rankbench.data.tables.items import apply, load_dataset, usable
from rankbench.interfaces.queries import Queries
from rankbench.plugin.manager import get


@pytest.fixture(scope="module")
def queries() -> Queries:
    return load_dataset(Web10kLike(queries=600))


def share_of_ten(queries: Queries) -> float:
    x = apply(["signed-log1p", "zscore-within-query"], queries).x.astype(np.float64)
    eigen: NDArray[np.float64] = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    return float(eigen[:10].sum() / eigen.sum())


def test_sizes_and_labels(queries: Queries) -> None:
    sizes = queries.sizes
    assert sizes.min() >= 10
    assert sizes.max() <= 400
    assert abs(sizes.mean() - 100) < 6
    assert abs(sizes.std() - 60) < 8
    shares = np.bincount(queries.labels.astype(int), minlength=5) / len(queries.labels)
    np.testing.assert_allclose(shares, MARGINALS, atol=0.015)
    means = np.add.reduceat(queries.labels, queries.offsets[:-1]) / sizes
    between = float(np.var(np.repeat(means, sizes)) / np.var(queries.labels))
    assert 0.09 < between < 0.16


def test_features(queries: Queries) -> None:
    x = queries.x
    assert x.shape[1] == 136
    assert np.isfinite(x).all()
    constant = [(x[a:b] == x[a]).all(axis=0) for a, b in zip(queries.offsets[:-1], queries.offsets[1:], strict=True)]
    assert 0.04 < np.mean(constant) < 0.08
    zero_inflated = ((x == 0).mean(axis=0) > 0.1).mean()
    assert 0.5 < zero_inflated < 0.8
    assert 0.52 < share_of_ten(queries) < 0.68


@needs("mslr-web10k-sample/train.txt", "mslr-web10k-sample/test.txt")
def test_where_real_queries_differ() -> None:
    from rankbench.interfaces.dataset import Dataset

    dataset = get(Dataset, "mslr-web10k-sample")
    assert isinstance(dataset, Dataset)
    real = load_dataset(dataset)
    assert 0.75 < share_of_ten(real.take(usable(real))) < 0.87


def test_the_first_queries_are_the_same_whatever_the_number() -> None:
    few, many = (load_dataset(Web10kLike(queries=n, features=12)) for n in (70, 130))
    np.testing.assert_array_equal(many.x[: len(few.x)], few.x)
    assert many.ids[:70] == few.ids


def test_seeds_give_other_populations() -> None:
    one, two = (load_dataset(Web10kLike(queries=5, features=12, seed=s)) for s in (0, 1))
    assert one.x.shape != two.x.shape or not np.array_equal(one.x, two.x)
    assert Web10kLike(seed=0).fingerprint() != Web10kLike(seed=1).fingerprint()


def test_parts_of_the_stream() -> None:
    frame = Web10kLike(queries=70, features=12).scan()
    whole = frame.collect()
    assert frame.head(150).collect().equals(whole.head(150))
    assert frame.select("label").collect().equals(whole.select("label"))
    import polars as pl

    chosen = pl.col("label") > 2
    assert frame.filter(chosen).collect().equals(whole.filter(chosen))
