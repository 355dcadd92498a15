"""scikit-learn and LightGBM through rankbench, against them called directly and against rankbench's own."""

import numpy as np
import pytest
from scipy.special import expit

import rankbench
from rankbench.errors import InputError, SpecError
from rankbench_peers.differences import differences, one_by_one
from rankbench_peers.from_lightgbm import LightgbmRanker, grades
from rankbench_peers.from_sklearn import SklearnLogistic, SklearnSgd

linear = pytest.importorskip("sklearn.linear_model")
lightgbm = pytest.importorskip("lightgbm")


def make_block(queries=12, items=9, d=5, n=3000, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(queries * items, d)).astype(np.float32)
    truth = x @ np.linspace(1, -1, d)
    q = np.sort(rng.integers(0, queries, n))
    a = rng.integers(0, items, n)
    b = (a + rng.integers(1, items, n)) % items
    first = rng.random(n) < 1 / (1 + np.exp(truth[q * items + b] - truth[q * items + a]))
    winners, losers = np.where(first, a, b).astype(np.int32), np.where(first, b, a).astype(np.int32)
    offsets = np.searchsorted(q, np.arange(queries + 1)).astype(np.int64)
    tied = rng.random(n) < 0.3 if ties else None
    # Labels that say the contrary: whoever looks at them is found out.
    design = rankbench.Queries(
        [f"q{i}" for i in range(queries)], np.arange(queries + 1) * items, x, (-truth).astype(np.float64)
    )
    said = rankbench.Comparisons(offsets, winners, losers, np.ones(n), tied)
    return rankbench.Block(design, said, n, 0, (1, 2)), truth


@pytest.fixture(scope="module")
def case():
    return make_block()


def slope(fitted, block, z, y, weights, l2=1e-2):
    """Return the slope of the mean logistic loss of comparisons with ``l2 / 2 |theta|^2``, at what was fitted."""
    theta = np.linalg.lstsq(block.design.x, fitted.score(block.design), rcond=None)[0]
    return l2 * theta - (weights * y * expit(-y * (z @ theta))) @ z / weights.sum()


def test_logistic_is_least_on_every_comparison(case):
    block, _ = case
    z, y, weights = one_by_one(block)
    assert len(z) == len(block.comparisons)
    assert weights.sum() == len(z)
    fitted = SklearnLogistic(l2=1e-2, tolerance=1e-10).fit(block)
    np.testing.assert_allclose(slope(fitted, block, z, y, weights), 0, atol=1e-6)
    assert fitted.optimality < 1e-6
    assert fitted.converged


def test_a_tie_is_half_a_win_each_way():
    block, _ = make_block(ties=True)
    said = block.comparisons
    z, y, weights = one_by_one(block)
    tied = int(said.ties.sum())
    assert len(z) == len(said) + tied
    fitted = SklearnLogistic(l2=1e-2, tolerance=1e-10).fit(block)
    np.testing.assert_allclose(slope(fitted, block, z, y, weights), 0, atol=1e-6)
    assert sorted(set(weights)) == [0.5, 1.0]
    assert weights.sum() == pytest.approx(len(said))


def test_logistic_is_our_pairwise_logistic_contender(case):
    block, _ = case
    spec = "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=newton,lambda=0.01"
    ours = rankbench.get(rankbench.Method, spec).fit(block)
    theirs = SklearnLogistic(l2=0.01, tolerance=1e-10, solver="newton-cg").fit(block)
    for fitted in (ours, theirs):
        np.testing.assert_allclose(slope(fitted, block, *one_by_one(block)), 0, atol=1e-7)


def test_pairs_keep_the_weight_of_their_comparisons(case):
    block, _ = case
    short, long = differences(block), one_by_one(block)
    assert len(short.x) < len(long.x)
    np.testing.assert_allclose((short.weights * short.y) @ short.x, long.y @ long.x)
    assert set(short.y) == {-1, 1}


def test_sgd_is_scikit_learns_with_the_blocks_seed(case):
    block, truth = case
    peer = SklearnSgd(loss="hinge", l2=1e-2, epochs=3)
    z, y, _ = one_by_one(block)
    seed = int(block.generator(peer).integers(2**31))
    direct = linear.SGDClassifier(
        loss="hinge", alpha=1e-2, fit_intercept=False, max_iter=3, tol=None, average=True, random_state=seed
    ).fit(z, y)
    found = peer.fit(block).score(block.design)
    np.testing.assert_allclose(found, block.design.x @ direct.coef_[0], atol=1e-9)
    assert np.corrcoef(found, truth)[0, 1] > 0.95


def test_sgd_comes_near_to_the_minimum_that_logistic_finds(case):
    block, _ = case
    exact, near = SklearnLogistic(l2=1e-2).fit(block), SklearnSgd(l2=1e-2, epochs=50).fit(block)
    assert exact.optimality < near.optimality < 0.05
    a, b = exact.score(block.design), near.score(block.design)
    assert np.abs(a - b).max() < 0.1 * np.abs(a).max()


def test_grades_are_places_in_equal_parts_and_only_of_items_that_were_compared():
    design = rankbench.Queries(["a", "b"], np.array([0, 6, 8]), np.zeros((8, 1), np.float32), np.zeros(8))
    # 0 > 1 > 2 > 3, item 4 is level with 3, item 5 is not compared; query b has no comparisons.
    winners = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4], dtype=np.int32)
    losers = np.array([1, 2, 3, 4, 2, 3, 4, 3, 4, 4, 3], dtype=np.int32)
    said = rankbench.Comparisons(np.array([0, 11, 11]), winners, losers, np.ones(11))
    rows, labels, sizes = grades(
        rankbench.Block(design, said, 6, 0, (1,)), rankbench.get(rankbench.Aggregator, "bradley-terry"), 5
    )
    assert rows.tolist() == [0, 1, 2, 3, 4]
    assert labels.tolist() == [4, 3, 2, 1, 1]
    assert sizes.tolist() == [5]


def test_lightgbm_is_lightgbm_on_these_grades(case):
    block, truth = case
    peer = LightgbmRanker(trees=30, smallest=5)
    rows, labels, sizes = grades(block, peer.aggregator, 5)
    settings = dict(
        objective="lambdarank", num_leaves=31, learning_rate=0.1, min_data_in_leaf=5, verbosity=-1, num_threads=1,
        deterministic=True, force_row_wise=True, seed=int(block.generator(peer).integers(2**31)),
    )  # fmt: skip
    direct = lightgbm.train(settings, lightgbm.Dataset(block.design.x[rows], labels, group=sizes), 30)
    found = peer.fit(block).score(block.design)
    np.testing.assert_array_equal(found, direct.predict(block.design.x))
    assert np.corrcoef(found, truth)[0, 1] > 0.8, "the labels say the contrary: they were not looked at"


@pytest.mark.parametrize("spec", ["lightgbm:aggregator=limit-scores", "lightgbm:aggregator=average-adjacency"])
def test_grades_are_never_made_of_the_truth(spec):
    with pytest.raises(SpecError, match="does not make scores of comparisons"):
        rankbench.get(rankbench.Method, spec)


@pytest.mark.parametrize("peer", [SklearnLogistic(), SklearnSgd(), LightgbmRanker()])
def test_nothing_to_learn_from_is_an_error_and_one_comparison_is_not(peer):
    block, _ = make_block(n=1)
    assert np.isfinite(peer.fit(block).score(block.design)).all()
    empty = rankbench.Comparisons(np.zeros(13, np.int64), *(np.zeros(0, np.int32),) * 2, np.zeros(0))
    with pytest.raises(InputError, match="no comparisons"):
        peer.fit(rankbench.Block(block.design, empty, 0, 0, (1,)))
