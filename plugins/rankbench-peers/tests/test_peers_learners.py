"""scikit-learn, LightGBM and XGBoost through rankbench, against them called directly and against rankbench's own."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import rankbench
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask
from rankbench_peers.differences import differences, one_by_one
from rankbench_peers.from_lightgbm import LightgbmRanker
from rankbench_peers.from_sklearn import SklearnLogistic, SklearnMlp, SklearnSgd, mean_ndcg
from rankbench_peers.from_xgboost import XgboostRanker
from rankbench_peers.grades import grades

linear = pytest.importorskip("sklearn.linear_model")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")


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


@pytest.mark.parametrize("spec", ["lightgbm:aggregator=limit-scores", "xgboost:aggregator=average-adjacency"])
def test_grades_are_made_of_scores_or_are_labels(spec):
    with pytest.raises(SpecError, match="does not make scores of comparisons"):
        rankbench.get(rankbench.Method, spec)


@pytest.mark.parametrize("peer", [SklearnLogistic(), SklearnSgd(), SklearnMlp(), LightgbmRanker(), XgboostRanker()])
def test_nothing_to_learn_from_is_an_error_and_one_comparison_is_not(peer):
    block, _ = make_block(n=1)
    assert np.isfinite(peer.fit(block).score(block.design)).all()
    empty = rankbench.Comparisons(np.zeros(13, np.int64), *(np.zeros(0, np.int32),) * 2, np.zeros(0))
    with pytest.raises(InputError, match="no comparisons"):
        peer.fit(rankbench.Block(block.design, empty, 0, 0, (1,)))


def make_labelled(seed, queries=30, items=12, d=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(queries * items, d)).astype(np.float32)
    y = np.clip(np.round(x @ np.linspace(1, -1, d) + x[:, 0] * x[:, 1] + rng.normal(size=len(x)) + 1), 0, 4)
    return rankbench.Queries([f"{seed}-{i}" for i in range(queries)], np.arange(queries + 1) * items, x, y)


@pytest.fixture(scope="module")
def graded():
    block = rankbench.Block.from_labels(make_labelled(1), 0, (3,))
    return replace(block, validation=make_labelled(2)), make_labelled(3)


def test_lightgbm_learns_labels_and_stops_by_validation_queries(graded):
    block, test = graded
    spec = "lightgbm:aggregator=labels,trees=200,patience=5,smallest=5,rate=0.3"
    peer = rankbench.get(rankbench.Method, spec)
    fitted = peer.fit(block)
    settings = dict(
        objective="lambdarank", num_leaves=31, learning_rate=0.3, min_data_in_leaf=5, verbosity=-1, num_threads=1,
        deterministic=True, force_row_wise=True, seed=int(block.generator(peer).integers(2**31)),
    )  # fmt: skip
    kept = int(fitted.info["trees"])
    assert 1 <= kept < 195
    direct = lightgbm.train(settings, lightgbm.Dataset(block.design.x, block.design.labels, group=[12] * 30), kept + 5)
    found = fitted.score(test.unlabelled())
    np.testing.assert_array_equal(found, direct.predict(test.x, num_iteration=kept))
    by_round = [
        mean_ndcg(direct.predict(block.validation.x, num_iteration=t), block.validation) for t in (kept, kept + 5)
    ]
    assert by_round[0] >= by_round[1]
    assert mean_ndcg(found, test) > mean_ndcg(np.random.default_rng(0).normal(size=len(test.x)), test) + 0.1


def test_xgboost_is_xgboost_on_these_labels(graded):
    block, test = graded
    peer = rankbench.get(rankbench.Method, "xgboost:aggregator=labels,trees=200,patience=5,depth=3,rate=0.3")
    fitted = peer.fit(block)
    table = xgboost.DMatrix(block.design.x, block.design.labels)
    table.set_group([12] * 30)
    settings = dict(
        objective="rank:ndcg", max_depth=3, eta=0.3, min_child_weight=1, tree_method="hist", nthread=1, verbosity=0,
        seed=int(block.generator(peer).integers(2**31)),
    )  # fmt: skip
    kept = int(fitted.info["trees"])
    assert 1 <= kept < 195
    direct = xgboost.train(settings, table, kept)
    np.testing.assert_allclose(fitted.score(test.unlabelled()), direct.predict(xgboost.DMatrix(test.x)), rtol=1e-6)


def test_the_network_keeps_the_epoch_that_is_best_on_validation_queries(graded):
    block, test = graded
    peer = SklearnMlp(aggregator=rankbench.get(rankbench.Aggregator, "labels"), epochs=40, patience=8, rate=0.01)
    fitted = peer.fit(block)
    kept = int(fitted.info["epochs"])
    assert 1 <= kept <= 40
    on = block.validation
    again = peer.model_copy(update={"epochs": kept, "patience": 0}).fit(replace(block, validation=None))
    reached = mean_ndcg(fitted.score(on.unlabelled()), on)
    assert mean_ndcg(fitted.score(test.unlabelled()), test) > 0.6
    longest = peer.model_copy(update={"patience": 40}).fit(block)
    assert mean_ndcg(longest.score(on), on) >= reached
    assert np.isfinite(again.score(test)).all()


def test_ndcg_on_validation_is_that_of_scikit_learn(graded):
    metrics = pytest.importorskip("sklearn.metrics")
    _, test = graded
    scores = test.x @ np.ones(5)
    of_query = [
        metrics.ndcg_score([2.0 ** test.labels[at : at + 12] - 1], [scores[at : at + 12]], k=10)
        for at in range(0, 360, 12)
    ]
    assert mean_ndcg(scores.astype(float), test) == pytest.approx(np.mean(of_query))


def test_samples_of_k_comparisons_are_lists_of_their_own():
    block, truth = make_block(queries=4, n=400)
    found = grades(block, rankbench.get(rankbench.Aggregator, "win-rate"), 5, 20, 7, np.random.default_rng(0))
    assert len(found.sizes) == 4 * 7
    assert found.sizes.sum() == len(found.rows) == len(found.grades)
    starts = np.concatenate([[0], np.cumsum(found.sizes)])
    for at in range(28):
        rows = found.rows[starts[at] : starts[at + 1]]
        assert {*(rows // 9)} == {at // 7}
        assert len(np.unique(rows)) == len(rows) <= 9
    lists = [tuple(found.grades[a:b]) for a, b in itertools.pairwise(starts)]
    assert len({*lists}) > 14, "samples differ"
    whole = grades(block, rankbench.get(rankbench.Aggregator, "win-rate"), 5, 400, 7, np.random.default_rng(0))
    plain = grades(block, rankbench.get(rankbench.Aggregator, "win-rate"), 5)
    for one, other in zip(whole, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.corrcoef(found.grades, truth[found.rows])[0, 1] > 0.3


@pytest.mark.parametrize("spec", ["lightgbm:k=20,samples=5,trees=30,smallest=5", "xgboost:k=20,samples=5,trees=30"])
def test_trees_learn_from_samples_of_comparisons(spec):
    block, truth = make_block()
    found = rankbench.get(rankbench.Method, spec).fit(block).score(block.design.unlabelled())
    assert np.corrcoef(found, truth)[0, 1] > 0.7


def test_labels_that_are_no_grades_are_rejected(graded):
    block, _ = graded
    half = replace(block, design=replace(block.design, truth=block.design.truth / 2))
    with pytest.raises(InputError, match="whole numbers from 0 to 31"):
        rankbench.get(rankbench.Method, "xgboost:aggregator=labels").fit(half)


@pytest.mark.parametrize("learner", ["lightgbm", "xgboost", "sklearn-mlp"])
@pytest.mark.parametrize("given", ["k=10", "samples=3", "levels=4"])
def test_learners_of_labels_reject_options_of_comparisons(learner, given):
    name = given.partition("=")[0]
    with pytest.raises(SpecError, match=f"{name} is of comparisons; with aggregator=labels"):
        rankbench.get(rankbench.Method, f"{learner}:aggregator=labels,{given}")
    assert rankbench.get(rankbench.Method, f"{learner}:{given}").config()[name] == int(given.partition("=")[2])


class ForeignRanker(rankbench.Method):
    """LightGBM as somebody else would bring it: it declares nothing of labels."""

    name = "foreign-lambdarank"
    source = "a test"
    packages = ("lightgbm",)

    def fit(self, block):
        held, quiet = block.validation, {"verbosity": -1, "num_threads": 1}
        learned = lightgbm.Dataset(block.design.x, block.design.labels, group=block.design.sizes, params=quiet)
        watched = lightgbm.Dataset(held.x, held.labels, group=held.sizes, reference=learned, params=quiet)
        settings = quiet | {"objective": "lambdarank", "metric": "ndcg", "early_stopping_round": 10, "seed": 1}
        trees = lightgbm.train(settings | {"deterministic": True}, learned, 100, valid_sets=[watched])
        return rankbench.Fitted(lambda queries: trees.predict(queries.x, num_threads=1))


def test_lightgbm_of_another_distribution_learns_labels_under_graded():
    protocol = rankbench.get(rankbench.Protocol, "graded")
    data = rankbench.get(rankbench.Dataset, "web10k-like:queries=100,features=12")
    loss = rankbench.get(rankbench.Loss, "ndcg:discount=log2,cutoff=10")
    contenders = [ForeignRanker(), rankbench.get(rankbench.Method, "random-scores")]
    cells = {one.name: Contender.single(one) for one in contenders}
    prepared = protocol.prepare(data, 1)
    key = BlockKey(str(protocol), str(data), 1, 0, 1)
    foreign, random = protocol.execute(prepared, BlockTask(key, 0, (str(loss),), cells, (loss,)))
    assert (foreign.status, foreign.reason) == ("done", "")
    means = [one.losses[str(loss), "heldout"].mean() for one in (foreign, random)]
    assert means[0] < means[1] - 0.05
