"""The protocol `pair-risk` and Lemma 2, against simulations and closed forms."""

import math

import numpy as np
import pytest

import rankbench
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask
from rankbench_rankad.margins import LOSSES
from rankbench_rankad.objective import Objective, minimize
from rankbench_rankad.pair_risk import PairRisk, deviation_bound
from rankbench_rankad.pairs import LevelPairs
from rankbench_rankad.rank_ad import HINGE_AT_MOST, RankAD
from rankbench_rankad.rbf import RbfMap
from rankbench_rankad.simulator import Mixture

ROUND = Mixture(np.ones(1), np.zeros((1, 2)), np.ones(1))


def executed(*specs, n=60):
    protocol = PairRisk(densities=2)
    cells = {spec: Contender.single(rankbench.get(rankbench.Method, spec)) for spec in specs}
    task = BlockTask(BlockKey(str(protocol), "", n, 0, 1), 0, protocol.metric_names(), cells)
    return {cell.cell: cell for cell in protocol.execute(protocol.prepare(None, 1), task)}


def test_pairs_are_listed_once():
    levels = np.array([2, 0, 1, 1, 0, 2, 5])
    higher, lower = LevelPairs(levels).listed()
    found = sorted(zip(higher.tolist(), lower.tolist(), strict=True))
    assert found == [(i, j) for i in range(7) for j in range(7) if levels[i] > levels[j]]


@pytest.mark.parametrize("anchors", [0, 9])
def test_the_dual_solver_minimizes_the_objective_with_its_points_at_infinity(anchors):
    """The duality gap is zero, and a smoothed hinge, solved by L-BFGS, has a minimum within its rounding."""
    draw = np.random.default_rng(3)
    points = draw.normal(size=(40, 2))
    features = RbfMap.from_landmarks(points[:15], 1.0).coordinates(points)
    pairs = LevelPairs(np.argsort(np.argsort(-np.sum(points**2, axis=1))) * 4 // 40)
    found = minimize(Objective(features, pairs, LOSSES["hinge"], 1e-2, anchors), tolerance=1e-9)
    assert found.optimality <= 1e-9
    smooth = minimize(Objective(features, pairs, LOSSES["smooth-hinge"], 1e-2, anchors), tolerance=1e-8, steps=5000)
    assert smooth.value - 1e-6 <= found.value <= smooth.value + 0.05 + 1e-6
    assert np.linalg.norm(found.theta) <= math.sqrt(1 / 1e-2)


def test_the_bound_is_the_least_deviation_with_its_chance():
    n, d, radius, delta = 5000, 3, 2.0, 0.05
    eps = deviation_bound(n, d, radius, delta)
    chance = 2 * (1 + 16 * radius / eps) ** d * math.exp(-(eps**2) * n / (8 * (1 + 2 * radius) ** 2))
    assert chance == pytest.approx(delta)
    assert deviation_bound(4 * n, d, radius, delta) < eps < deviation_bound(n, d, 2 * radius, delta)


@pytest.mark.full
def test_mcdiarmid_holds_for_pairs_of_known_densities():
    """The part of Lemma 2 at one function: pairs ordered by the density, which are independent of other points."""
    n, radius, draws = 60, 2.0, 400
    rbf = RbfMap.from_landmarks(ROUND.draw(10, np.random.default_rng(0)), 1.0)
    theta = np.random.default_rng(1).normal(size=rbf.root.shape[1])
    beta = rbf.weights(radius * theta / np.linalg.norm(theta))
    risks, changes = [], []
    for repetition in range(draws):
        draw = np.random.default_rng([2, repetition])
        points = ROUND.draw(n, draw)
        other = points.copy()
        other[0] = ROUND.draw(1, draw)
        found = [
            LevelPairs(np.argsort(np.argsort(ROUND.log_density(x)))).total(rbf.evaluate(x, beta), LOSSES["hinge"])[0]
            / (n * (n - 1) / 2)
            for x in (points, other)
        ]
        risks.append(found[0])
        changes.append(abs(found[1] - found[0]))
    assert max(changes) <= 2 / n * (1 + 2 * radius)
    eps = (1 + 2 * radius) * math.sqrt(2 * math.log(2 / 0.05) / n)
    assert np.mean(np.abs(np.array(risks) - np.mean(risks)) > eps) <= 0.05
    assert eps < deviation_bound(n, rbf.root.shape[1], radius, 0.05), "a class takes more than one of its functions"


def test_risk_and_deviation_are_those_of_listed_pairs():
    spec = "rank-ad:loss=hinge,sigma=0.5,landmarks=20,exponent=0.5"
    cell = executed(spec)[spec]
    assert all((values >= 0).all() for values in cell.losses.values())
    protocol, method = PairRisk(densities=2), rankbench.get(rankbench.Method, spec)
    for u in range(2):
        draw = np.random.default_rng([1, u, 0, 60, 0])
        training, *fresh = (Mixture.random(3, 2, np.random.default_rng([1, u])).draw(60, draw) for _ in range(5))
        trained = method.train(training, np.random.default_rng([1, u, 0, 60, 1]))
        assert trained.learned.info["lambda"] == 60**-0.5

        def risk(x, trained=trained):
            x = (x - trained.center) / trained.scale
            distances = np.sort(np.linalg.norm(x[:, None] - x, axis=2), axis=1)[:, 1:11].mean(axis=1)
            levels = np.argsort(np.argsort(-distances)) * 3 // 60
            g = trained.learned.score(x)
            return np.mean([max(0, 1 - g[i] + g[j]) for i in range(60) for j in range(60) if levels[i] > levels[j]])

        expected = np.mean([risk(x) for x in fresh])
        assert cell.losses["risk", "design"][u] == pytest.approx(expected, rel=1e-9)
        assert cell.losses["deviation", "design"][u] == pytest.approx(abs(expected - risk(training)), rel=1e-7)
    assert protocol.misfit(rankbench.get(rankbench.Method, "knn-distance"))


def test_proposition_1_the_risk_approaches_the_least_one():
    """Under lambda = n^-0.5 on fresh pairs; three densities."""
    risks = [
        np.mean(
            executed("rank-ad:loss=hinge,sigma=0.5,landmarks=20,exponent=0.5", n=n)
            .popitem()[1]
            .losses["risk", "design"]
        )
        for n in (40, 120, 360)
    ]
    assert risks == sorted(risks, reverse=True)


def test_what_does_not_fit_says_so():
    cell = executed("rank-ad:sigma=0.5,lambda=0.01")["rank-ad:sigma=0.5,lambda=0.01"]
    assert cell.status == "skipped"
    assert "loss=squared-hinge" in cell.reason
    with pytest.raises(SpecError, match="exponent and lambda"):
        rankbench.get(rankbench.Method, "rank-ad:lambda=0.1,exponent=0.5")
    with pytest.raises(InputError, match="smooth-hinge"):
        RankAD(loss="hinge").problem(ROUND.draw(HINGE_AT_MOST + 1, np.random.default_rng(0)))
