import numpy as np
import pytest
from scipy.stats import spearmanr

import rankbench
from rankbench.errors import InputError, SpecError
from rankbench_rankad.items import from_items
from rankbench_rankad.rank_ad import RankAD
from rankbench_rankad.roc import auc
from rankbench_rankad.simulator import KnownDensity

FIXED = {"sigma": 0.5, "lambda": 1e-4}


@pytest.fixture(scope="module")
def table():
    x, labels = from_items(KnownDensity(nominal=1600, anomalies=200).scan())
    return x[labels == 0][:800], x[800:], labels[800:] == 1


def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize("anchored", [False, True])
def test_nystroem_scores_are_those_of_the_exact_solution(table, anchored):
    nominal, new, anomalous = table
    near = RankAD(anchored=anchored, landmarks=200, **FIXED).train(nominal, generator()).score(new)
    exact = RankAD(anchored=anchored, kernel="exact", **FIXED).train(nominal, generator()).score(new)
    assert spearmanr(near, exact).statistic > 0.98
    assert auc(near, anomalous) == pytest.approx(auc(exact, anomalous), abs=0.01)


def test_far_from_everything_the_plain_ranker_says_0_and_the_anchored_one_the_least(table):
    nominal, _, _ = table
    far = np.array([[1e3, -1e3], [1e6, 1e6]])
    plain = RankAD(sigma=0.1, **{"lambda": 1e-4}).train(nominal, generator())
    anchored = RankAD(anchored=True, sigma=0.1, **{"lambda": 1e-4}).train(nominal, generator())
    np.testing.assert_array_equal(plain.score(far), [0.0, 0.0])
    assert plain.p_values(np.zeros(1))[0] > 0.05, "the defect that anchoring is there for"
    assert anchored.p_values(anchored.score(far)).max() < 0.01


def test_the_same_seed_gives_the_same_scores_and_the_order_of_rows_does_not_matter_much(table):
    nominal, new, _ = table
    detector = RankAD(anchored=True, **FIXED)
    first = detector.train(nominal, generator()).score(new)
    np.testing.assert_array_equal(first, detector.train(nominal, generator()).score(new))
    turned = detector.train(nominal[::-1], generator()).score(new)
    assert spearmanr(first, turned).statistic > 0.98


def test_units_do_not_matter(table):
    nominal, new, _ = table
    detector, scale, shift = RankAD(anchored=True, **FIXED), np.array([1000.0, 0.01]), np.array([-5.0, 3.0])
    first = detector.train(nominal, generator()).score(new)
    again = detector.train(nominal * scale + shift, generator()).score(new * scale + shift)
    assert spearmanr(first, again).statistic > 0.999


def test_cross_validation_chooses_among_the_grid(table):
    nominal, new, anomalous = table
    trained = RankAD(anchored=True).train(nominal, generator())
    from rankbench_rankad.tuning import LAMBDAS, SIGMAS

    assert min(abs(trained.learned.info["sigma"] - sigma) for sigma in SIGMAS) < 1e-9
    assert trained.learned.info["lambda"] in LAMBDAS
    assert auc(trained.score(new), anomalous) > 0.95


@pytest.mark.parametrize("loss", ["squared-hinge", "smooth-hinge", "exponential"])
def test_every_loss_finds_the_anomalies(table, loss):
    nominal, new, anomalous = table
    trained = RankAD(anchored=True, loss=loss, **FIXED).train(nominal, generator())
    assert auc(trained.score(new), anomalous) > 0.95
    assert trained.learned.optimality < 1e-3


def test_calibration_keeps_the_level_where_training_scores_run_hot(table):
    nominal, _, _ = table
    x, labels = from_items(KnownDensity(nominal=12_000, anomalies=1).scan())
    fresh = x[labels == 0][2000:]
    hot = RankAD(anchored=True, sigma=0.05, **{"lambda": 1e-4})
    rates = {}
    for share in (0.0, 0.25):
        trained = hot.model_copy(update={"calibration": share}).train(nominal, generator())
        rates[share] = trained.detect(fresh, 0.05).anomalies.mean()
    assert rates[0.0] > 0.07
    # 200 calibration points: the rate given them is Beta with mean 10/201 and sd .015.
    assert rates[0.25] < 0.05 + 3 * 0.0155


def test_own_scores_are_in_the_order_of_the_points(table):
    nominal, _, _ = table
    trained = RankAD(calibration=0.25, **FIXED).train(nominal, generator())
    np.testing.assert_allclose(trained.own, trained.score(nominal), atol=1e-9)
    assert (trained.held.sum(), len(trained.nominal), trained.conformal) == (200, 200, True)
    found = trained.judge_own(0.05)
    np.testing.assert_array_equal(np.sort(found.p_values[trained.held]), np.arange(1, 201) / 200)
    np.testing.assert_array_equal(found.anomalies, found.p_values <= 0.05)


def test_what_cannot_be_learned_from_is_said():
    detector = RankAD(**FIXED)
    with pytest.raises(InputError, match="equally dense"):
        detector.train(np.ones((50, 2)), generator())
    with pytest.raises(InputError, match="too few"):
        detector.train(np.random.default_rng(0).normal(size=(8, 2)), generator())
    with pytest.raises(InputError, match=r"row 3 \[feature 2\]: not a finite number"):
        detector.train(np.array([[1, 2], [3, 4], [5, np.nan], [0, 0]], dtype=float), generator())
    with pytest.raises(InputError, match="2 features"):
        detector.train(np.random.default_rng(0).normal(size=(50, 2)), generator()).score(np.zeros((3, 5)))
    with pytest.raises(InputError, match="kernel=exact"):
        RankAD(kernel="exact", **FIXED).train(np.random.default_rng(0).normal(size=(4001, 2)), generator())
    with pytest.raises(SpecError, match="landmarks goes with kernel=nystroem"):
        rankbench.get(rankbench.Method, "rank-ad:kernel=exact,landmarks=10")


def test_a_constant_feature_is_harmless(table):
    nominal, new, _ = table
    wide = np.column_stack([nominal, np.full(len(nominal), 3.0)])
    trained = RankAD(anchored=True, **FIXED).train(wide, generator())
    assert np.isfinite(trained.score(np.column_stack([new, np.full(len(new), 3.0)]))).all()


def test_duplicates_and_few_landmarks_are_harmless():
    points = np.repeat(np.random.default_rng(1).normal(size=(12, 2)), 10, axis=0)
    trained = RankAD(anchored=True, neighbors=15, **FIXED).train(points, generator())
    assert trained.learned.info["dimension"] <= 12
    scores = trained.score(points).reshape(12, 10)
    np.testing.assert_allclose(scores, scores[:, :1].repeat(10, axis=1), atol=1e-9)
