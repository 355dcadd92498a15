"""The estimator `Ranker`: minima by other programs, scikit-learn's own checks, and the numbers of a run's contender."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from competing import task_of

import rankbench
from rankbench.core.runtime import draw_entropy
from rankbench.data.simulators.btl import draw_comparisons
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.contender import Contender
from rankbench.protocols.judging import fit
from rankbench.protocols.paper import BTL

estimator_checks = pytest.importorskip("sklearn.utils.estimator_checks")
from scipy.optimize import minimize  # noqa: E402
from sklearn import config_context  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import ConvergenceWarning, NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

PAIRWISE = dict(surrogate="pairwise-logistic", optimizer="newton", l2=1e-2)


@pytest.fixture(scope="module")
def graded():
    rng = np.random.default_rng(5)
    qid = np.repeat(np.arange(9), rng.integers(3, 9, 9))
    x = rng.normal(size=(len(qid), 4)).astype(np.float32)
    y = np.clip(np.round(x @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=len(qid)) + 1), 0, 4)
    return x, y, qid


def parts(x, y, qid):
    return [(x[qid == q].astype(float), y[qid == q]) for q in np.unique(qid) if len(np.unique(y[qid == q])) > 1]


def shares(y):
    gains = 2.0**y - 1
    return gains / (np.sort(gains)[::-1] / np.log(np.arange(2, len(y) + 2))).sum()


def least(objective, d, l2):
    return minimize(lambda theta: objective(theta) + l2 / 2 * theta @ theta, np.zeros(d), tol=1e-12).x


@estimator_checks.parametrize_with_checks([rankbench.Ranker(), rankbench.Ranker(**PAIRWISE)])
def test_it_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_regression_solves_the_normal_equations_of_all_queries_alike(graded):
    found = rankbench.Ranker(l2=0.01).fit(*graded)
    queries = parts(*graded)
    gram = sum(x.T @ x / len(y) for x, y in queries) / len(queries) + 0.01 * np.eye(4)
    side = sum(x.T @ shares(y) / len(y) for x, y in queries) / len(queries)
    np.testing.assert_allclose(found.coef_, np.linalg.solve(gram, side), rtol=1e-9)
    np.testing.assert_allclose(found.predict(graded[0]), graded[0].astype(float) @ found.coef_, rtol=1e-12)


def test_pairwise_logistic_is_the_mean_over_queries_of_the_mean_over_pairs(graded):
    queries = parts(*graded)

    def risk(theta):
        of_query = []
        for x, y in queries:
            above, below = np.nonzero(y[:, None] > y)
            of_query.append(np.logaddexp(0, -(x[above] - x[below]) @ theta).mean())
        return np.mean(of_query)

    found = rankbench.Ranker(**PAIRWISE).fit(*graded)
    np.testing.assert_allclose(found.coef_, least(risk, 4, 1e-2), atol=1e-5)
    assert found.optimality_ < 1e-6


def test_cross_entropy_is_the_listwise_softmax(graded):
    queries = parts(*graded)

    def risk(theta):
        terms = [shares(y) @ (np.logaddexp.reduce(x @ theta) - x @ theta) for x, y in queries]
        return np.mean(terms)

    found = rankbench.Ranker(surrogate="cross-entropy", optimizer="newton", l2=1e-2).fit(*graded)
    np.testing.assert_allclose(found.coef_, least(risk, 4, 1e-2), atol=1e-5)


def test_rows_may_stand_in_any_order(graded):
    x, y, qid = graded
    mixed = np.random.default_rng(0).permutation(len(y))
    ranker = rankbench.Ranker(**PAIRWISE)
    expected = clone(ranker).fit(x, y, qid).predict(x)
    np.testing.assert_allclose(ranker.fit(x[mixed], y[mixed], qid[mixed].astype(str)).predict(x), expected, atol=1e-9)


SPECS = ["erm:lambda=0.1", "erm:aggregator=borda,k=2,surrogate=cross-entropy,optimizer=newton,draws=500"]


@pytest.mark.parametrize("spec", SPECS)
def test_comparisons_give_the_theta_of_a_runs_contender_to_the_last_bit(spec, graded):
    x, _, qid = graded
    rng = np.random.default_rng(1)
    rows = [rng.choice(np.flatnonzero(qid == q), 2, replace=False) for q in np.sort(rng.integers(0, 9, 60))]
    query = qid[[row[0] for row in rows]]
    starts = np.searchsorted(qid, np.arange(10))
    offsets = np.searchsorted(query, np.arange(10))
    within = (np.array(rows) - starts[query][:, None]).astype(np.int32)
    said = rankbench.Comparisons(offsets, *np.ascontiguousarray(within.T), np.ones(60))
    design = rankbench.Queries([str(q) for q in range(9)], starts, x, None)
    method = rankbench.get(rankbench.Method, spec)
    beside = rankbench.get(rankbench.Method, "erm:k=3,draws=500")
    expected = fit(rankbench.Block(design, said, 60, 0, (7,)), {"a": beside, "b": method})["b"]
    ranker = rankbench.Ranker(
        method.aggregator, method.surrogate, method.optimizer, k=method.k, l2=method.l2, draws=method.draws,
        random_state=7,
    )  # fmt: skip
    mixed = rng.permutation(len(x))
    found = ranker.fit(x, qid=qid, comparisons=rows)
    np.testing.assert_array_equal(found.coef_, expected.theta)
    assert Contender.single(ranker.contender()).text == str(method)
    moved = clone(ranker).fit(x[mixed], qid=qid[mixed], comparisons=np.argsort(mixed)[np.array(rows)])
    if method.k == math.inf:  # else the draws follow the order of the queries
        np.testing.assert_allclose(moved.coef_, expected.theta, rtol=1e-9)


def test_a_run_of_btl_repeats_the_labels_of_a_query_for_each_of_its_comparisons():
    ranker = rankbench.Ranker(surrogate="cross-entropy", optimizer="newton")
    spec = str(ranker.contender())
    data = rankbench.get(rankbench.Dataset, "web10k-like:queries=20,features=8")
    prepared = BTL(design=8, heldout=0).prepare(data, 1)
    task = task_of(prepared, [spec], ["ndcg"], n=30)
    design = prepared.protocol.scored(prepared, task)[1][0]
    entropy = draw_entropy(task.key.seed, prepared.fingerprint, task.key.repetition)
    queries, counts = design.queries, draw_comparisons(design.queries, 30, entropy).counts
    copies = np.repeat(np.arange(len(queries)), counts)
    again = queries.take(copies)
    ranker.fit(again.x, again.labels, np.repeat(np.arange(len(copies)), again.sizes))
    np.testing.assert_allclose(ranker.predict(queries.x), design.scores[spec], atol=1e-9)
    assert counts.min() < counts.max()


def test_score_is_the_mean_ndcg_of_queries_with_an_order(graded):
    x, y, qid = graded
    found = rankbench.Ranker(l2=0.1).fit(x, y, qid)
    mixed = np.random.default_rng(2).permutation(len(y))
    expected = []
    for features, labels in parts(x, y, qid):
        discounts = 1 / np.log2(np.arange(2, len(labels) + 2))
        order = np.argsort(-(features @ found.coef_))
        expected.append((labels[order] * discounts)[:10].sum() / (np.sort(labels)[::-1] * discounts)[:10].sum())
    assert found.score(x[mixed], y[mixed], qid[mixed].astype(str)) == pytest.approx(np.mean(expected), rel=1e-9)
    with pytest.warns(UserWarning, match="leaves out 1 query of 10"):
        again = found.score([*x, *x[:2]], [*y, 1, 1], [*qid, 20, 20])
    assert again == pytest.approx(np.mean(expected), rel=1e-9)
    with pytest.raises(ValueError, match="fit had a qid, score has none"):
        found.score(x, y)
    with pytest.raises(ValueError, match="no query has two items with different labels"):
        found.score(x, np.ones(len(y)), qid)


def test_a_search_scores_by_queries_and_chooses_the_better_penalty(graded):
    x, y, qid = graded
    with config_context(enable_metadata_routing=True):
        ranker = rankbench.Ranker(**PAIRWISE).set_fit_request(qid=True).set_score_request(qid=True)
        folds = GroupKFold(3)
        search = GridSearchCV(ranker, {"l2": [1e-2, 1.0]}, cv=folds).fit(x, y, qid=qid, groups=qid)
    for at, l2 in enumerate([1e-2, 1.0]):
        own = clone(ranker).set_params(l2=l2)
        scores = [
            own.fit(x[train], y[train], qid[train]).score(x[test], y[test], qid[test])
            for train, test in folds.split(x, y, qid)
        ]
        assert search.cv_results_["mean_test_score"][at] == pytest.approx(np.mean(scores), rel=1e-12)
    scaled = Pipeline([("scale", StandardScaler()), ("ranker", rankbench.Ranker())]).fit(x, y, ranker__qid=qid)
    again = rankbench.Ranker().fit(scaled["scale"].transform(x), y, qid)
    np.testing.assert_allclose(scaled["ranker"].coef_, again.coef_, rtol=1e-12)


def test_saved_and_loaded_it_predicts_the_same_bits(graded, tmp_path):
    names = pytest.importorskip("polars").DataFrame(graded[0], schema=list("abcd"))
    ranker = rankbench.Ranker(rankbench.get(rankbench.Aggregator, "limit-scores"), l2=0.1, k=math.inf)
    ranker.fit(names, *graded[1:]).save(tmp_path / "ranker.json")
    loaded = rankbench.Ranker.load(tmp_path / "ranker.json")
    np.testing.assert_array_equal(loaded.predict(names), ranker.predict(names))
    assert loaded.n_queries_ == ranker.n_queries_ == 9
    assert loaded.get_params() == ranker.get_params() | {"aggregator": "limit-scores"}
    assert json.loads((tmp_path / "ranker.json").read_text())["versions"]["rankbench"] == rankbench.__version__
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(names), ranker.predict(names))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:40], "not a file of Ranker.save"),
        (lambda text: text.replace('"format_version": 1', '"format_version": 2'), "of format version 1"),
        (lambda text: text.replace('"l2"', '"l3"'), "no parameter 'l3'; did you mean 'l2'"),
        (lambda text: text.replace('"features"', '"feature"'), "features"),
    ],
)
def test_other_files_are_rejected_by_name(graded, tmp_path, damage, message):
    path = tmp_path / "ranker.json"
    rankbench.Ranker(l2=0.5).fit(*graded).save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError, match=message):
        rankbench.Ranker.load(path)


def test_what_teaches_nothing_is_named(graded):
    x, y, qid = graded
    with pytest.warns(UserWarning, match="leaves out 2 queries of 11"):
        found = rankbench.Ranker().fit([*x, *x[:3]], [*y, 1, 1, 3], [*qid, 20, 20, 21])
    np.testing.assert_allclose(found.coef_, rankbench.Ranker().fit(x, y, qid).coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="no query has two items with different labels"):
        rankbench.Ranker().fit(x, np.ones(len(y)), qid)
    with pytest.warns(ConvergenceWarning, match="did not reach its tolerance"):
        rankbench.Ranker(surrogate="cross-entropy", optimizer="newton:max_iterations=1", l2=1e-9).fit(*graded)
    with pytest.raises(NotFittedError):
        rankbench.Ranker().predict(x)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(aggregator="borda"), r"'borda' does not work on labels y; .* label-pairs"),
        (dict(optimizer="newtn"), "did you mean 'newton'"),
        (dict(surrogate="pairwise-logistic"), "optimizer 'exact' needs a quadratic surrogate"),
        (dict(surrogate="pairwise-logistic", optimizer="composite"), "Take a solver"),
    ],
)
def test_parts_that_do_not_fit_are_rejected(graded, parameters, message):
    with pytest.raises(SpecError, match=message):
        rankbench.Ranker(**parameters).fit(*graded)


@pytest.mark.parametrize("rows", [[[0, 1], [0, 28]], [[0, 0]], [[0, 1, 2]], [[-1, 0]], [[0, 10_000]]])
def test_comparisons_of_no_two_items_of_a_query_are_rejected(graded, rows):
    x, _, qid = graded
    with pytest.raises(ValueError, match="comparison"):
        rankbench.Ranker("borda").fit(x, qid=qid, comparisons=rows)
    with pytest.raises(SpecError, match=r"'labels' does not work on comparisons; .*mean-log-odds"):
        rankbench.Ranker().fit(x, qid=qid, comparisons=[[0, 1]])
