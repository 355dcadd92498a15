"""Theorems decide classes: the checker tests hypotheses, and single laws, decided in another way, agree."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from itertools import islice

import numpy as np
import pytest
from amounts import part_of, trials
from certify_laws import changed, of_phi, refused
from scipy.optimize import minimize

import rankbench
from rankbench.certificates.check import check
from rankbench.certificates.laws import why_not_in_class
from rankbench.certificates.pointwise import decide_at
from rankbench.certificates.search import draws
from rankbench.certificates.true_risk import Aggregated, exact_risk, law_after_aggregation, orders_of, true_loss
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.exact import ConvexPhi

DIFFERENCES = {"aggregator": "difference-graph", "noise": "dag"}
DECIDED = [
    *((f"pairwise-{phi}", {**DIFFERENCES, "items": 4}, "(23)") for phi in ("logistic", "exponential", "squared-hinge")),
    ("pairwise-exponential:form=margin,power=2", {**DIFFERENCES, "noise": "low", "items": 5}, "(23)"),
    ("pairwise-hinge", {**DIFFERENCES, "items": 5}, "(23)"),
    ("pairwise-squared", {**DIFFERENCES, "items": 3}, "three items"),
    ("pairwise-squared", {"items": 2, "noise": "any"}, "two items"),
    ("regression", {"loss": "ndcg", "items": 4}, "Corollary 1"),
    ("regression:gain=identity,discount=reciprocal,cutoff=1", {"loss": "precision"}, "Corollary 1"),
    ("cross-entropy:discount=log2,cutoff=2", {"loss": "ndcg:discount=log2,cutoff=2", "items": 5}, "Corollary 1"),
    ("order-preserving:phi=squared-hinge", {"loss": "ndcg"}, "Corollary 1"),
    ("order-preserving-err", {"loss": "err", "noise": "independent"}, "Lemma 1"),
    (
        "order-preserving-err:phi=squared-hinge",
        {"loss": "err:discount=log2", "noise": "independent", "items": 4},
        "Lemma 1",
    ),
    ("linear:nu=2", {"items": 4}, "Lemma 14"),
    ("linear-power:power=1.5", {"aggregator": "net-weights", "k": 3}, "Lemma 14"),
]
OPEN = [
    ("pairwise-squared", {**DIFFERENCES, "items": 4}),
    ("pairwise-logistic", {**DIFFERENCES, "k": 3}),
    ("pairwise-logistic", {**DIFFERENCES, "noise": "any"}),
    ("pairwise-hinge:power=2", {"items": 2}),
    ("regression", {"loss": "ndcg:discount=log2"}),
    ("regression:normalize=false", {"loss": "ndcg"}),
    ("order-preserving-as-printed", {"loss": "ndcg"}),
    ("order-preserving-err", {"loss": "err", "noise": "any"}),
    ("order-preserving-err:top=3", {"loss": "err", "noise": "independent"}),
    ("regression", {"loss": "err", "noise": "independent"}),
    ("linear", {"noise": "dag"}),
]


@pytest.mark.parametrize(("surrogate", "asked", "theorem"), part_of(DECIDED, 3))
def test_a_theorem_decides_and_the_checker_agrees(surrogate, asked, theorem):
    certificate = rankbench.certify(surrogate, laws=1, **asked)
    assert (certificate.verdict, certificate.content["theorem"]["name"]) == ("CONSISTENT", theorem)
    found = check(certificate.to_bytes())
    assert (found.proved, found.trusted, found.theorem) == (True, (), theorem)
    assert "A theorem proves it" in certificate.words()


@pytest.mark.parametrize(("surrogate", "asked"), part_of(OPEN, 3))
def test_no_theorem_decides_beyond_its_hypotheses(surrogate, asked):
    assert "theorem" not in rankbench.certify(surrogate, laws=1, **asked).content


@cache
def certificate_of(theorem: str) -> dict:
    surrogate, asked, _ = next(case for case in DECIDED if case[2] == theorem)
    return rankbench.certify(surrogate, laws=1, **asked).content


@pytest.mark.parametrize(
    ("theorem", "changes", "why"),
    [
        ("(23)", {"noise": "any"}, "without cycles"),
        ("(23)", {"aggregation/k": 3}, "difference graphs of all"),
        ("(23)", {"aggregation": None}, "difference graphs of all"),
        ("(23)", {"theorem/name": "three items"}, "three items at most"),
        ("(23)", {"theorem/name": "Corollary 1"}, "NDCG family"),
        ("(23)", {"theorem/name": "Theorem 2"}, "no theorem"),
        ("(23)", {"theorem/proofs": []}, "alone has proofs"),
        ("(23)", {"arithmetic": "interval"}, "exact"),
        ("(23)", {"surrogate/name": "pairwise-squared"}, "not that of pairwise-squared"),
        ("(23)", {"surrogate/rule": None}, "with a rule"),
        ("three items", {"items": 4}, "three items at most"),
        ("three items", {"theorem/name": "(23)"}, "nonincreasing"),
        ("two items", {"items": 3}, "two items"),
        ("Corollary 1", {"loss/gain": "identity"}, "other gains or discounts"),
        ("Corollary 1", {"loss/discounts/1": "0.91"}, "other gains or discounts"),
        ("Corollary 1", {"surrogate/rule/rule": "squares-of-gains"}, "not that of"),
        ("Corollary 1", {"loss": {"name": "err", "top": 4, "discounts": ["1", "1/2", "1/3", "1/4"]}}, "NDCG family"),
        ("Lemma 1", {"noise": "any"}, "independent scores"),
        ("Lemma 1", {"noise": "uncorrelated"}, "noise is low, dag, any or independent"),
        ("Lemma 1", {"loss/top": 3}, "largest grade of the loss"),
        ("Lemma 1", {"loss/discounts/0": "1/9"}, "do not increase"),
        ("Lemma 1", {"theorem/name": "Corollary 1"}, "NDCG family"),
        ("Lemma 14", {"noise": "dag"}, "low noise"),
        ("Lemma 14", {"surrogate/rule/nu": "-2"}, "nu|not that of"),
        ("Lemma 14", {"theorem/proofs/0/multipliers/3": "0"}, "no solution"),
        ("Lemma 14", {"theorem/proofs/0/multipliers/0": "-1"}, "below 0"),
        ("Lemma 14", {"theorem/proofs/0/part": "else"}, "one proof"),
    ],
)
def test_the_checker_rejects_a_theorem_whose_hypotheses_fail(theorem, changes, why):
    refused(changed(certificate_of(theorem), changes), why)


def theirs(theorem: str, phi: dict) -> dict:
    """Return a certificate of somebody's surrogate with another phi."""
    named = {"surrogate/name": "theirs", "surrogate/distribution": "somebody 1.0", "phis": [phi]}
    return changed(certificate_of(theorem), named)


def test_the_checker_derives_what_phi_needs():
    falling = {"pieces": [{"until": "0", "coefficients": ["1", "-2"]}, {"until": "1", "coefficients": ["1", "-1"]}]}
    falling["pieces"].append({"coefficients": ["0"]})
    assert "rule and phi" in check_of(theirs("(23)", falling)).trusted[0]
    refused(theirs("(23)", {"pieces": [{"coefficients": ["0", "-1"]}]}), "bounded below")
    refused(theirs("(23)", {"pieces": [{"coefficients": ["1", "-2", "1"]}]}), "nonincreasing")
    refused(theirs("(23)", {"expression": "log(1 + exp(-2 * t))", "infimum": "0"}), "nonincreasing")
    flat = {"pieces": [{"until": "0", "coefficients": ["0", "-1"]}, {"coefficients": ["0"]}]}
    refused(theirs("(23)", flat), "does not fall at 0")
    refused(theirs("two items", falling), "differentiable at 0")
    refused(theirs("three items", falling), "differentiable")
    refused(theirs("three items", {"pieces": [{"coefficients": ["1", "2", "1"]}]}), "does not fall at 0")
    refused(theirs("three items", {"pieces": [{"coefficients": ["1", "-1"]}]}), "bounded below")
    refused(theirs("Lemma 14", {"pieces": [{"coefficients": ["0", "0", "2"]}]}), "neither a square")


def check_of(content: dict):
    return check(rankbench.certificates.certificate.Certificate(content).to_bytes())


def bowl(rng: np.random.Generator) -> ConvexPhi:
    """Return two parabolas that meet with one slope, falling at 0, rising in the end."""
    end = Fraction(int(rng.integers(-3, 4)), 2)
    bends = [Fraction(int(rng.integers(1, 5)), 2) for _ in range(2)]
    bottom = end + Fraction(int(rng.integers(1, 6)), 2) if end >= 0 else Fraction(int(rng.integers(1, 4)), 2)
    slope = 2 * bends[1] * (end - bottom)
    left = (bends[0] * end**2 - slope * end, slope - 2 * bends[0] * end, bends[0])
    right = (bends[1] * end**2 - slope * end, slope - 2 * bends[1] * end, bends[1])
    return ConvexPhi(((end, left), (None, right)))


def test_three_items_agree_with_single_laws_whatever_the_phi():
    rng, loss = np.random.default_rng(8), true_loss(rankbench.get(rankbench.Loss, "pairwise-disagreement"), 3)
    aggregated, found = Aggregated(rankbench.get(rankbench.Aggregator, "difference-graph")), set()
    for number in range(trials(60)):
        surrogate = of_phi(bowl(rng))
        for law in islice(draws(True, "dag", 3, number, wide=number % 2 == 0), 3):
            right, wrong = orders_of(loss, law)
            if wrong:
                risk = exact_risk(surrogate, law_after_aggregation(law, aggregated), loss).risk
                found.add(decide_at(risk, right, wrong).verdict)
    assert "CONSISTENT_AT_MU" in found
    assert found <= {"CONSISTENT_AT_MU", "INCONCLUSIVE"}


def test_lemma_1_agrees_with_independent_laws_one_by_one():
    """Minimizers by SciPy, and the expected reciprocal rank of every order by its sum over outcomes."""
    rng, satisfies = np.random.default_rng(4), np.minimum((np.exp2(np.arange(6)) - 1) / 16, 1)
    for law in islice(draws(False, "independent", 3, 9), trials(18)):
        assert not why_not_in_class("independent", law)
        chances = np.array([float(weight) for weight, _ in law.support])
        gains = satisfies[np.array([[int(score) for score in scores] for _, scores in law.support])]
        mean = chances @ gains

        def err(order, chances=chances, gains=gains):
            unseen, earned = np.ones(len(chances)), 0.0
            for place, item in enumerate(order, 1):
                earned += float(chances @ (unseen * gains[:, item])) / place
                unseen = unseen * (1 - gains[:, item])
            return 1 - earned

        def risk(alpha, mean=mean):
            return sum(mean[i] * np.logaddexp(0, alpha[j] - alpha[i]) for i, j in itertools.permutations(range(3), 2))

        found = minimize(risk, rng.normal(size=3), method="BFGS").x
        best = min(err(order) for order in itertools.permutations(range(3)))
        assert err(np.argsort(-found)) == pytest.approx(best, abs=1e-7)
        assert err(np.argsort(-mean)) == pytest.approx(best, abs=1e-12)


def test_gains_without_bounds_are_none_of_lemma_1():
    """Means of ``2^s - 1`` order items as ERR's means of G do, but for grades above top: G is at most 1."""
    found = rankbench.certify("regression:normalize=false", loss="err", noise="independent", laws=50)
    assert found.verdict == "VIOLATION"
    assert check(found.to_bytes()).proved
    law = [(float(Fraction(e["weight"])), np.array(e["structure"], dtype=float)) for e in found.content["mu"]]
    plain = sum(weight * (np.exp2(s) - 1) for weight, s in law)
    held = sum(weight * np.clip((np.exp2(s) - 1) / 16, 0, 1) for weight, s in law)
    assert np.argsort(-plain).tolist() != np.argsort(-held).tolist()
    assert max(s.max() for _, s in law) > 4


@pytest.mark.full
def test_laws_of_scores_that_are_no_product_are_not_independent():
    law = [{"weight": "1/2", "structure": ["1", "0"]}, {"weight": "1/2", "structure": ["0", "1"]}]
    with pytest.raises(InputError, match=r"scores \(1, 0\) have probability 1/2, not 1/4"):
        rankbench.certify("order-preserving-err", loss="err", noise="independent", mu=law)
    pairs = itertools.product(((0, 1), (2, 2)), ((1, 3), (3, 1)))
    product = [{"weight": f"{a * b}/12", "structure": [str(i), str(j)]} for (i, a), (j, b) in pairs]
    found = rankbench.certify("order-preserving-err", loss="err", noise="independent", mu=product)
    assert found.verdict == "CONSISTENT_AT_MU"
    refused(changed(found.content, {"mu/0/weight": "1/3", "mu/2/weight": "5/12"}), "independent")
    with pytest.raises(SpecError, match="independent is of scores"):
        rankbench.certify("pairwise-logistic", noise="independent")


@pytest.mark.parametrize("m", [3, 6])
def test_in_low_noise_net_weights_lead_by_twice_the_lead(m):
    """[DMJ10]_ Lemma 14, with the number that the proof gives; by brute force, for any number of items."""
    for law in islice(draws(True, "low", m, 4, wide=True), 40):
        assert not why_not_in_class("low", law)
        mean = np.zeros((m, m))
        for pair, weight in law.mean.items():
            mean[pair] = weight
        lead, net = mean - mean.T, mean.sum(1) - mean.sum(0)
        for i, k in itertools.permutations(range(m), 2):
            if lead[i, k] > 0:
                assert net[i] - net[k] >= 2 * lead[i, k] - 1e-12


def test_a_reversed_edge_costs_what_23_says():
    """The surrogate's excess is at least (phi(0) - inf phi) times that of the loss, for scores of any kind."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        lead = np.triu(rng.exponential(size=(4, 4)), 1)
        alpha = rng.normal(size=4) * rng.choice([0.01, 1, 20])
        margins = np.subtract.outer(alpha, alpha)
        excess = lead[margins <= 0].sum()
        assert (lead * np.logaddexp(0.0, -margins)).sum() >= np.log(2) * excess - 1e-12
        assert (lead * np.maximum(0.0, 1 - margins)).sum() >= excess - 1e-12
