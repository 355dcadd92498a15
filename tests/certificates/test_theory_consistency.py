"""Definition 3 on known populations: numbers of the literature, closed forms and brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from rankbench.certificates.conditional_risks import (
    FAR,
    consistency_in,
    least_risk_on_cone,
    representative,
    surrogate_risk,
)
from rankbench.certificates.laws import Law
from rankbench.certificates.populations import GRAPHS, SCORES, Setting, is_acyclic, mean_difference_graph
from rankbench.certificates.true_risk import orders_of, true_loss
from rankbench.interfaces.surrogate import Loss, Surrogate
from rankbench.plugin import manager

BY_NAME = {setting.name: setting for setting in (*GRAPHS, *SCORES)}
THEOREM_2, THEOREM_3 = BY_NAME["Theorem 2 (low noise)"], BY_NAME["Theorem 3 (low noise)"]
DISAGREEMENT = manager.get(Loss, "pairwise-disagreement")


def on(spec, setting, loss=DISAGREEMENT, aggregation="none"):
    return consistency_in(manager.get(Surrogate, spec), setting, loss, aggregation)


@pytest.mark.parametrize(
    ("setting", "form", "gaps", "excess"),
    [
        (THEOREM_2, "weighted", (0.043, 0.082, 0.050), 0.05),  # the edge 2 over 3, of mean weight 1/20
        (THEOREM_3, "margin", (0.076, 0.227, 0.251), 0.01),
    ],
)
def test_theorems_2_and_3_have_counterexamples(setting, form, gaps, excess):
    for phi, gap in zip(("logistic", "exponential", "squared-hinge"), gaps, strict=True):
        found = on(f"pairwise-{phi}:form={form}", setting)
        assert found.gap == pytest.approx(-gap, abs=5e-4)
        assert found.excess == pytest.approx(excess)


@pytest.mark.parametrize("setting", [THEOREM_2, THEOREM_3])
def test_hinge_is_on_the_boundary(setting):
    spec = "pairwise-hinge" if setting is THEOREM_2 else "pairwise-hinge:form=margin"
    found = on(spec, setting)
    assert found.gap == 0
    assert found.excess > 0


@pytest.mark.parametrize("phi", ["logistic", "exponential", "squared-hinge", "hinge"])
@pytest.mark.parametrize("setting", GRAPHS, ids=lambda s: s.name)
def test_difference_graph_repairs_what_has_no_cycle(phi, setting):
    found = on(f"pairwise-{phi}", setting, aggregation="difference")
    if is_acyclic(mean_difference_graph(setting.mean)):
        assert found.gap > 0
        assert found.excess == 0
    elif phi != "hinge":
        assert found.gap < 0


def test_linear_gap_is_its_closed_form():
    """Projecting the minimizer b onto b_1 = b_2 costs ((b_2 - b_1)^2 / 2) / (2 m)."""
    setting = BY_NAME["Theorem 13 fails (acyclic)"]
    found = on("linear", setting)
    assert found.gap == pytest.approx(-(0.2**2) / 2 / 6)
    assert found.excess == pytest.approx(0.4)


def test_ndcg():
    ndcg = manager.get(Loss, "ndcg")
    for setting in SCORES:
        for spec in ("regression", "order-preserving", "order-preserving:phi=exponential"):
            assert on(spec, setting, ndcg).gap > 0
        assert on("order-preserving-as-printed", setting, ndcg).gap < 0
    assert on("regression:normalize=false", BY_NAME["Z differs"], ndcg).gap < 0
    same = BY_NAME["same grades permuted"]
    assert on("regression:normalize=false", same, ndcg).gap > 0
    assert on("pairwise-logistic", same, ndcg).gap < 0


def test_right_orders_are_those_of_mean_normalized_gains():
    """[DMJ13] (15), for discounts that fall strictly: by random laws of three grades on four items."""
    rng, ndcg = np.random.default_rng(15), manager.get(Loss, "ndcg")
    for _ in range(20):
        grades, weights = rng.integers(0, 4, (3, 4)), rng.integers(1, 5, 3)
        grades[:, 0] += grades.max(axis=1) == 0  # Z(s) is positive
        law = Law(4, tuple((Fraction(int(w), int(weights.sum())), tuple(map(Fraction, map(int, s))))
                           for w, s in zip(weights, grades, strict=True)))  # fmt: skip
        gains = 2.0**grades - 1
        best = -np.sort(-gains, axis=1) @ (1 / np.log(1 + np.arange(1, 5)))
        mean = weights @ (gains / best[:, None])
        right, wrong = orders_of(true_loss(ndcg, 4), law)
        for order in (*right, *wrong):
            assert (order in right) == (np.diff(mean[list(order)]) <= 1e-6).all()


def test_err_needs_independence():
    err = manager.get(Loss, "err")
    assert on("order-preserving-err", BY_NAME["independent"], err).gap > 0
    assert on("order-preserving-err", BY_NAME["correlated"], err).gap < 0


def test_excess_is_that_of_the_true_loss():
    err, setting = manager.get(Loss, "err"), BY_NAME["correlated"]
    law = list(zip(setting.probabilities, setting.structures, strict=True))
    risks = {order: sum(p * err.value(representative(order), s) for p, s in law) for order in permutations(range(3))}
    assert on("order-preserving-err", setting, err).excess == pytest.approx(risks[0, 1, 2] - min(risks.values()))


def test_infimum_that_is_not_attained():
    """One edge: the logistic risk goes to 0 as the scores go apart."""
    setting = Setting("", "", (np.array([[0.0, 1.0], [0.0, 0.0]]),), (1.0,))
    risk = surrogate_risk(manager.get(Surrogate, "pairwise-logistic"), setting, DISAGREEMENT)
    assert least_risk_on_cone(risk, (0, 1), True, True) <= math.log1p(math.exp(-FAR)) + 1e-9
    assert least_risk_on_cone(risk, (1, 0), True, True) == pytest.approx(math.log(2))
