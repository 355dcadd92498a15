"""The estimator `Ranker`: minima by other programs, scikit-learn's own checks, and the numbers of a run's contender."""

from __future__ import annotations

import json
import math
import pickle
import warnings

import numpy as np
import polars as pl
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
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.exceptions import ConvergenceWarning, NotFittedError  # noqa: E402
from sklearn.metrics import ndcg_score  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

UNTOLD = r"nothing says which rows belong to which query. Give qid=.*set_fit_request\(qid=True\).set_score_request\(qid"
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


@estimator_checks.parametrize_with_checks([rankbench.Ranker(query=None), rankbench.Ranker(**PAIRWISE, query=None)])
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
    with pytest.raises(ValueError, match=UNTOLD):
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


def test_nothing_is_learned_or_judged_where_no_query_is_told(graded):
    x, y, qid = graded
    ranker = rankbench.Ranker(**PAIRWISE)
    with pytest.raises(ValueError, match=UNTOLD):
        ranker.fit(x, y)
    with pytest.raises(ValueError, match=UNTOLD):
        rankbench.Ranker("borda").fit(x, comparisons=[[0, 1]])
    with pytest.raises(ValueError, match=UNTOLD):
        cross_val_score(ranker, x, y, groups=qid, cv=GroupKFold(3))
    with pytest.raises(ValueError, match="labels y and comparisons both"):
        ranker.fit(x, y, qid, comparisons=[[0, 1]])
    one = clone(ranker).set_params(query=None).fit(x, y)
    np.testing.assert_allclose(one.coef_, clone(ranker).fit(x, y, np.zeros(len(y))).coef_, rtol=1e-9)
    assert one.score(x, y) == pytest.approx(ndcg_score([y], [x.astype(float) @ one.coef_], k=10), rel=1e-9)
    for told in (None, "qid"):
        with pytest.raises(ValueError, match="both say which rows belong to which query"):
            one.set_params(query=told).score(x, y, qid)


def test_a_split_that_cuts_queries_is_told(graded):
    x, labels, qid = graded
    frame = pl.DataFrame(x).with_columns(qid=qid)
    whole = qid < 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = rankbench.Ranker(query="qid").fit(frame.filter(whole), labels[whole])
        turned = np.flatnonzero(whole)[::-1]
        ranker.score(frame[turned], labels[turned])  # all it learned from, in another order
        ranker.score(frame.filter(~whole), labels[~whole])
        rankbench.Ranker(query=None).fit(x[whole], labels[whole]).score(x[~whole], labels[~whole])
    counted = np.arange(len(qid)) % 2 == 0
    ranker.fit(frame.filter(counted), labels[counted])
    both = len({*qid[counted]} & {*qid[~counted]})
    with pytest.warns(UserWarning, match=f"fit had other items of {both} of {both} queries.*GroupKFold"):
        ranker.score(frame.filter(~counted), labels[~counted])
    with pytest.warns(UserWarning, match="fit had other items of"):
        cross_val_score(rankbench.Ranker(query="qid"), frame, labels, cv=KFold(3, shuffle=True, random_state=1))
    ranker = pickle.loads(pickle.dumps(ranker))
    with pytest.warns(UserWarning, match="fit had other items of"):
        ranker.score(frame.filter(~counted), labels[~counted])


def test_a_column_of_a_frame_names_the_queries_and_is_no_feature(graded):
    x, y, qid = graded
    frame = pl.DataFrame(x, schema=list("abcd")).insert_column(2, pl.Series("of", [f"q{q}" for q in qid]))
    ranker = rankbench.Ranker(**PAIRWISE, query="of")
    folds = GroupKFold(3)
    expected = [
        clone(ranker).set_params(query="").fit(x[train], y[train], qid[train]).score(x[test], y[test], qid[test])
        for train, test in folds.split(x, y, qid)
    ]
    scale = ColumnTransformer([("scale", StandardScaler(with_std=False), list("abcd"))], remainder="passthrough")
    scale.set_params(verbose_feature_names_out=False).set_output(transform="polars")
    for estimator in (ranker, Pipeline([("scale", scale), ("ranker", ranker)])):
        assert cross_val_score(estimator, frame, y, groups=qid, cv=folds) == pytest.approx(expected, rel=1e-6)
    search = GridSearchCV(ranker, {"l2": [1e-2, 1.0]}, cv=folds).fit(frame, y, groups=qid)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(expected), rel=1e-12)
    found = clone(ranker).fit(frame, y)
    assert (found.n_features_in_, found.feature_names_in_.tolist(), found.n_queries_) == (4, list("abcd"), 9)
    np.testing.assert_array_equal(found.predict(frame), found.predict(frame.drop("of")))
    with pytest.warns(UserWarning, match="column 2 of X holds the queries that qid names"):
        rankbench.Ranker().fit(frame.with_columns(of=qid), y, qid)
    for wrong, said in ((x, "X, of type ndarray, has no columns"), (frame.rename({"of": "off"}), "did you mean 'off'")):
        with pytest.raises(ValueError, match=said):
            ranker.fit(wrong, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda qid: [*qid[:3], None, *qid[4:]], r"row 3 of X has no query: qid\[3\] is None"),
        (lambda qid: pl.Series(qid).cast(pl.String).set(pl.Series(qid == 1), None), "has no query: .* is None"),
        (lambda qid: np.where(np.arange(len(qid)) == 5, np.nan, qid), "row 5 of X has no query"),
        (lambda qid: np.ma.array(qid, mask=np.arange(len(qid)) == 5), "row 5 of X has no query"),
        (lambda qid: np.where(qid == 0, np.datetime64("NaT", "ns"), np.datetime64("2024-01-01", "ns")), "row 0 of X"),
        (lambda qid: [*qid[:3], "3", *qid[4:]], r"texts beside numbers: .* and qid\[3\] is 3 \(str\)"),
        (lambda qid: qid[1:], r"for X of \d+ rows, not "),
        (lambda qid: np.stack([qid, qid], axis=1), r"not \(\d+, 2\)"),
        (lambda qid: "qid", r"not \(\)"),
    ],
)
def test_a_row_without_one_query_is_named(graded, given, message):
    x, y, qid = graded
    with pytest.raises(ValueError, match=message):
        rankbench.Ranker().fit(x, y, given(qid))


def test_a_row_without_a_label_is_refused(graded):
    x, y, qid = graded
    ranker = rankbench.Ranker().fit(x, y, qid)
    for missing in ([None, *y[1:]], np.array([None, *y[1:]], object), [np.nan, *y[1:]], pl.Series([None, *y[1:]])):
        for learn in (ranker.fit, ranker.score):
            with pytest.raises(ValueError, match=r"nput (y )?contains NaN"):
                learn(x, missing, qid)


def test_queries_may_stand_in_a_column_and_be_of_any_type(graded):
    x, y, qid = graded
    expected = rankbench.Ranker().fit(x, y, qid).coef_
    days = np.datetime64("2024-01-01") + qid
    for same in (qid[:, None], pl.DataFrame({"qid": qid}), [f"q{q}" for q in qid], qid.astype(float), days):
        np.testing.assert_array_equal(rankbench.Ranker().fit(x, y, same).coef_, expected)


def test_sample_weight_weighs_queries(graded):
    x, y, qid = graded
    found = rankbench.Ranker().fit(x, y, qid)
    kept, weights = [np.unique(y[qid == q]).size > 1 for q in range(9)], (qid % 3).astype(float)
    each = [found.score(x[qid == q], y[qid == q], qid[qid == q]) for q in np.flatnonzero(kept)]
    expected = np.average(each, weights=(np.arange(9) % 3)[kept])
    mixed = np.random.default_rng(3).permutation(len(y))
    assert found.score(x[mixed], y[mixed], qid[mixed], weights[mixed]) == pytest.approx(expected, rel=1e-12)
    with config_context(enable_metadata_routing=True):
        ranker = rankbench.Ranker().set_fit_request(qid=True).set_score_request(qid=True)
        routed = Pipeline([("scale", StandardScaler()), ("ranker", ranker)])
        scores = cross_val_score(routed, x, y, cv=GroupKFold(3), params={"qid": qid, "groups": qid})
    assert np.isfinite(scores).all()
    faults = {
        "not that of the other rows of its query": weights + np.arange(len(y)),
        "at least 0": -weights,
        "for each row of X": weights[1:],
        "is 0 for all": 0 * weights,
    }
    for said, wrong in faults.items():
        with pytest.raises(ValueError, match=said):
            found.score(x, y, qid, wrong)


def test_random_states_of_numpy_are_seeds(graded, tmp_path):
    x, y, qid = graded
    spec = dict(surrogate="cross-entropy", optimizer="composite", draws=50)

    def drawn(state):
        return rankbench.Ranker(**spec, random_state=state).fit(x, y, qid)

    for make in (np.random.RandomState, np.random.default_rng):
        np.testing.assert_array_equal(drawn(make(3)).coef_, drawn(make(3)).coef_)
        state = make(3)
        assert (drawn(state).coef_ != drawn(state).coef_).any()
        drawn(state).save(tmp_path / "ranker.json")
        assert rankbench.Ranker.load(tmp_path / "ranker.json").random_state is None
    assert (drawn(None).coef_ != drawn(None).coef_).any()


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
        (dict(l2=-1), "Ranker, parameter 'l2': .* greater than or equal to 0"),
        (dict(draws=0), "Ranker, parameter 'draws'"),
        (dict(k=0.5), "order k must be a positive integer"),
        (dict(surrogate=None), "parameter 'surrogate': write a name, or a Surrogate"),
        (dict(random_state=-1), "parameter 'random_state': a seed is at least 0"),
        (dict(random_state="a"), "parameter 'random_state'"),
        (dict(query=3), "parameter 'query': the name of a column or None"),
    ],
)
def test_parts_that_do_not_fit_are_rejected(graded, parameters, message):
    with pytest.raises(SpecError, match=message) as caught:
        rankbench.Ranker(**parameters).fit(*graded)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("rows", [[[0, 1], [0, 28]], [[0, 0]], [[0, 1, 2]], [[-1, 0]], [[0, 10_000]]])
def test_comparisons_of_no_two_items_of_a_query_are_rejected(graded, rows):
    x, _, qid = graded
    with pytest.raises(ValueError, match="comparison"):
        rankbench.Ranker("borda").fit(x, qid=qid, comparisons=rows)
    with pytest.raises(SpecError, match=r"'labels' does not work on comparisons; .*mean-log-odds"):
        rankbench.Ranker().fit(x, qid=qid, comparisons=[[0, 1]])
