"""Simulators of queries and of clicks are what their assumptions say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from data_paths import needs
from numpy.typing import NDArray
from scipy.stats import chisquare

from rankbench.aggregators.clicks import Cascade
from rankbench.data.simulators.cascade_clicks import SHARES, CascadeClicks
from rankbench.data.simulators.feature_data import WEB10K_MARGINALS as MARGINALS
from rankbench.data.simulators.feature_data import Web10kLike
from rankbench.data.tables.checks import validate
from rankbench.data.tables.items import apply, load_dataset, usable
from rankbench.data.tables.selections import load_selections
from rankbench.descriptions.describe import describe
from rankbench.errors import SpecError
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.queries import Queries
from rankbench.losses.positions import ERR
from rankbench.plugin.manager import get


@pytest.fixture(scope="module")
def queries() -> Queries:
    return load_dataset(Web10kLike(queries=600))


def share_of_ten(queries: Queries) -> float:
    x = apply(["signed-log1p", "zscore-within-query"], queries).x.astype(np.float64)
    eigen: NDArray[np.float64] = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    return float(eigen[:10].sum() / eigen.sum())


@pytest.mark.full
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
    dataset = get(Dataset, "mslr-web10k-sample")
    assert isinstance(dataset, Dataset)
    real = load_dataset(dataset)
    assert 0.75 < share_of_ten(real.take(usable(real))) < 0.87


def test_the_first_queries_are_the_same_whatever_the_number() -> None:
    few, many = (load_dataset(Web10kLike(queries=n, features=12)) for n in (70, 130))
    np.testing.assert_array_equal(many.x[: len(few.x)], few.x)
    assert many.ids[:70] == few.ids


def test_parts_of_the_stream() -> None:
    frame = Web10kLike(queries=70, features=12).scan()
    whole = frame.collect()
    assert frame.head(150).collect().equals(whole.head(150))
    assert frame.select("label").collect().equals(whole.select("label"))
    chosen = pl.col("label") > 2
    assert frame.filter(chosen).collect().equals(whole.filter(chosen))


def test_the_truth():
    dataset = CascadeClicks(queries=400, items=30)
    truth = dataset.truth()
    assert (len(truth), truth.x.shape, set(truth.sizes)) == (400, (12_000, 0), {30})
    assert np.bincount(truth.labels.astype(int)) / 12_000 == pytest.approx(SHARES, abs=0.02)
    assert dataset.chances == pytest.approx((2**truth.labels - 1) / 16)


def test_every_query_can_be_judged():
    grades = CascadeClicks(queries=500, items=2).truth().labels.reshape(500, 2)
    assert (grades[:, 0] != grades[:, 1]).all()


def test_a_shorter_draw_is_the_beginning_of_a_longer_one():
    dataset = CascadeClicks(queries=1, items=6, shown=4)
    long, short = dataset.draw(500, [1, 2]), dataset.draw(123, [1, 2])
    assert np.array_equal(short.items, long.items[: 4 * 123])
    assert np.array_equal(short.clicked, long.clicked[: 4 * 123])
    assert not np.array_equal(dataset.draw(123, [1, 3]).items, short.items)


def test_sessions_are_well_formed():
    dataset = CascadeClicks(queries=7, items=5, shown=3)
    log = dataset.draw(2000, [5])
    lists, clicked = log.items.reshape(-1, 3), log.clicked.reshape(-1, 3)
    assert (np.diff(np.sort(lists, axis=1)) > 0).all()
    assert (lists.min(), lists.max()) == (0, 4)
    assert clicked.sum(axis=1).max() == 1
    assert log.counts.sum() == 2000
    assert log.counts == pytest.approx(2000 / 7, abs=80)


@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_clicks_have_the_probabilities_that_are_promised(eta):
    dataset = CascadeClicks(queries=1, items=4, shown=3, eta=eta, seed=3, temperature=1e6)
    log = dataset.draw(60_000, [9])
    lists, clicked = log.items.reshape(-1, 3), log.clicked.reshape(-1, 3)
    x = dataset.chances[lists] * np.arange(1, 4) ** -eta
    left = np.cumprod(1 - x, axis=1)
    expected = x * np.column_stack([np.ones(len(x)), left[:, :-1]])
    assert clicked.mean(axis=0) == pytest.approx(expected.mean(axis=0), abs=0.01)


@pytest.mark.parametrize("presentation", ["ranker", "random"])
def test_lists_are_drawn_by_their_weights(presentation):
    dataset = CascadeClicks(queries=1, items=5, shown=2, presentation=presentation, seed=2)
    _, weights = dataset._population
    lists = dataset.draw(20_000, [4]).items.reshape(-1, 2)
    first = weights / weights.sum()
    pairs = first[:, None] * weights[None, :] / (weights.sum() - weights)[:, None]
    np.fill_diagonal(pairs, 0.0)
    seen = np.bincount(lists[:, 0] * 5 + lists[:, 1], minlength=25)
    likely = pairs.ravel() * 20_000 > 1
    rest = [seen[~likely].sum() + 1e-9, pairs.ravel()[~likely].sum() * 20_000 + 1e-9]
    observed, expected = np.append(seen[likely], rest[0]), np.append(pairs.ravel()[likely] * 20_000, rest[1])
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4
    if presentation == "random":
        assert pairs[0, 1] == pytest.approx(1 / 20)


def test_the_cascade_finds_the_order_and_err_is_these_users_disutility():
    dataset = CascadeClicks(queries=2, items=6, shown=6, presentation="random")
    truth = dataset.truth()
    scores = Cascade().fit(dataset.draw(100_000, [6]), truth.offsets).scores
    assert scores == pytest.approx(dataset.chances, abs=0.02)
    one = slice(0, 6)
    # Lists in the order of the items: the reciprocal rank of what was selected, 0 for nothing.
    alpha = -np.arange(6.0)
    p = dataset.chances[one]
    value = sum(p[j] * np.prod(1 - p[:j]) / (j + 1) for j in range(6))
    assert ERR().value(alpha, truth.labels[one]) == pytest.approx(1 - value)


def test_the_log_is_in_the_schema():
    dataset = CascadeClicks(queries=3, items=4, shown=3, sessions=300)
    frame = validate("selections", dataset.scan()).collect()
    assert frame.equals(dataset.scan().collect())
    drawn = dataset.draw(300, [0, 1])
    log = load_selections(dataset.scan())
    assert log.ids == dataset.truth().ids
    assert log.items[:4] == ["item-0", "item-1", "item-2", "item-3"]
    assert np.array_equal(log.selections.items, drawn.items)
    assert np.array_equal(log.selections.clicked, drawn.clicked)
    assert describe(dataset.scan()).facts["clicks"] == {0: 300 - drawn.clicked.sum(), 1: drawn.clicked.sum()}


def test_very_low_temperatures_draw_whole_lists():
    log = CascadeClicks(queries=3, items=50, shown=50, temperature=0.01).draw(50, [1])
    assert (np.sort(log.items.reshape(-1, 50), axis=1) == np.arange(50)).all()


def test_names_and_parameters():
    dataset = get(Dataset, "cascade-clicks:eta=1,presentation=random")
    assert dataset.simulated
    assert dataset.table == "selections"
    assert "not the cascade model" in " ".join(dataset.assumptions())
    assert "not the cascade model" not in " ".join(CascadeClicks().assumptions())
    assert dataset.fingerprint() != CascadeClicks().fingerprint()
    with pytest.raises(SpecError):
        get(Dataset, "cascade-clicks:items=1")
