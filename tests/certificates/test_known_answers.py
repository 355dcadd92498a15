"""The papers' counterexamples and consistent surrogates, decided and checked; gaps against SciPy."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from amounts import is_full, part_of
from certify_laws import GRADES, PHIS, THEOREM_2, THEOREM_3, disagreement, margin, pairwise_risk, sides

import rankbench
from rankbench.certificates.check import check
from rankbench.interfaces.exact import ConvexPhi

CORRELATED = [
    {"weight": "1/2", "structure": ["4", "4", "0"]},
    {"weight": "1/20", "structure": ["4", "0", "0"]},
    {"weight": "9/20", "structure": ["0", "0", "4"]},
]
INDEPENDENT = [
    {"weight": "1/5", "structure": ["4", "2", "3"]},
    {"weight": "3/10", "structure": ["4", "2", "0"]},
    {"weight": "1/5", "structure": ["0", "2", "3"]},
    {"weight": "3/10", "structure": ["0", "2", "0"]},
]
SMOOTH, FORMS = ["logistic", "exponential", "squared-hinge"], ["weighted", "margin"]


@pytest.mark.parametrize(
    ("surrogate", "mu", "gap"),
    part_of(
        [
            ("pairwise-logistic", THEOREM_2, 0.043),
            ("pairwise-exponential", THEOREM_2, 0.082),
            ("pairwise-squared-hinge", THEOREM_2, 0.050),
            ("pairwise-logistic:form=margin", THEOREM_3, 0.076),
            ("pairwise-exponential:form=margin", THEOREM_3, 0.227),
            ("pairwise-squared-hinge:form=margin", THEOREM_3, 0.251),
        ]
    ),
)
def test_theorems_2_and_3(surrogate, mu, gap):
    certificate = rankbench.certify(surrogate, mu=mu)
    assert certificate.verdict == "VIOLATION"
    assert certificate.rigorous
    right, wrong = sides(mu, 3, disagreement)
    assert right == [(0, 1, 2)]
    risk = pairwise_risk(PHIS[surrogate.partition(":")[0]], mu, "margin" in surrogate)
    independent = margin(risk, right, wrong)
    assert independent == pytest.approx(gap, abs=0.0006)
    assert 0.9 * independent < certificate.gap <= independent + 1e-9
    assert check(certificate.to_bytes()).proved


@pytest.mark.parametrize(("mu", "form"), [(THEOREM_2, "weighted"), (THEOREM_3, "weighted"), (THEOREM_3, "margin")])
def test_the_hinge_is_at_the_boundary(mu, form):
    certificate = rankbench.certify(f"pairwise-hinge:form={form}", mu=mu)
    assert certificate.verdict == "VIOLATION_BOUNDARY"
    assert certificate.content["arithmetic"] == "exact"
    assert certificate.gap == 0


@pytest.mark.parametrize(
    ("surrogate", "loss", "mu", "verdict"),
    part_of(
        [
            ("regression", "ndcg", GRADES, "CONSISTENT_AT_MU"),
            ("order-preserving", "ndcg", GRADES, "CONSISTENT_AT_MU"),
            ("cross-entropy", "ndcg", GRADES, "CONSISTENT_AT_MU"),
            ("regression:normalize=false", "ndcg", GRADES, "VIOLATION"),
            ("pairwise-logistic", "ndcg", GRADES, "VIOLATION"),
            ("order-preserving-as-printed", "ndcg", GRADES, "VIOLATION"),
            ("order-preserving-err", "err", CORRELATED, "VIOLATION"),
            ("order-preserving-err", "err", INDEPENDENT, "CONSISTENT_AT_MU"),
            ("linear", "pairwise", THEOREM_2, "CONSISTENT_AT_MU"),
            ("linear-power", "pairwise", THEOREM_2, "CONSISTENT_AT_MU"),
        ],
        3,
    ),
)
def test_what_is_known_of_single_laws(surrogate, loss, mu, verdict):
    certificate = rankbench.certify(surrogate, loss=loss, mu=mu)
    assert certificate.verdict == verdict
    assert check(certificate.to_bytes()).proved


@pytest.mark.full
def test_theorem_13_decides_about_the_linear_loss_outside_of_low_noise():
    """[DMJ10]_ Theorem 13: consistent on a DAG exactly if net weights order every pair as it does."""
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(60 if is_full() else 20):
        weights = {f"{a}>{b}": str(int(w)) for a, b in ((1, 2), (1, 3), (2, 3)) if (w := rng.integers(0, 6))}
        if not weights:
            continue
        net = [sum((1 if e[0] == i else -1 if e[2] == i else 0) * int(w) for e, w in weights.items()) for i in "123"]
        agrees = all(net[int(e[0]) - 1] > net[int(e[2]) - 1] for e in weights)
        law = [{"weight": "1", "structure": weights}]
        verdict = rankbench.certify("linear", mu=law, noise="dag").verdict
        tied = any(net[int(e[0]) - 1] == net[int(e[2]) - 1] for e in weights)
        expected = "CONSISTENT_AT_MU" if agrees else "VIOLATION_BOUNDARY" if tied else "VIOLATION"
        if tied and verdict == "VIOLATION":
            expected = verdict  # another pair is turned
        assert verdict == expected
        seen.add(verdict)
    assert seen == {"CONSISTENT_AT_MU", "VIOLATION", "VIOLATION_BOUNDARY"}


@pytest.mark.full
@pytest.mark.parametrize(("phi", "form", "items"), part_of(product(SMOOTH, FORMS, [3, 4]), 5))
def test_a_cold_search_finds_and_proves_violations(phi, form, items):
    certificate = rankbench.certify(f"pairwise-{phi}:form={form}", items=items, budget="60s")
    assert certificate.verdict == "VIOLATION"
    if items > 3:
        return
    again = rankbench.certify(f"pairwise-{phi}:form={form}", items=items, budget="60s")
    assert again.to_bytes() == certificate.to_bytes()
    mu = certificate.content["mu"]
    right, wrong = sides(mu, 3, disagreement)
    risk = pairwise_risk(PHIS[f"pairwise-{phi}"], mu, form == "margin")
    assert margin(risk, right, wrong) >= certificate.gap - Fraction(1, 10**8)


@pytest.mark.parametrize("noise", ["low", "dag"])
@pytest.mark.parametrize("items", [3, 4])
def test_the_hinge_on_the_difference_graph_is_proved_consistent(noise, items):
    certificate = rankbench.certify(
        "pairwise-hinge", aggregator="difference-graph", noise=noise, items=items, budget="120s"
    )
    assert certificate.verdict == "CONSISTENT"
    assert check(certificate.to_bytes()).proved


class Valley(rankbench.PairwiseSurrogate):
    """Charge nothing between 1 and 3, and the distance elsewhere."""

    name: ClassVar[str] = "test-valley"
    source: ClassVar[str] = "this test"
    properties: ClassVar[frozenset] = frozenset({"convex", "shift-invariant"})

    def phi(self, margin):
        return np.maximum(0.0, np.abs(margin - 2.0) - 1.0)

    def dphi(self, margin):
        return np.where(np.abs(margin - 2.0) > 1.0, np.sign(margin - 2.0), 0.0)

    def exact_phi(self):
        one, three = Fraction(1), Fraction(3)
        return ConvexPhi(((one, (one, -one)), (three, (Fraction(0),)), (None, (-three, one))))


def test_what_time_does_not_suffice_for_is_left():
    """Of a phi that no theorem is known of."""
    certificate = rankbench.certify(Valley(), aggregator="difference-graph", noise="dag", items=4, budget="50ms")
    assert certificate.verdict == "INCONCLUSIVE"
    assert 0 < certificate.content["searched"]["cells_left"] <= 700
    assert "cells of the proof are left" in certificate.words()
    assert not check(certificate.to_bytes()).proved


@pytest.mark.full
@pytest.mark.parametrize("aggregator", [None, "difference-graph"])
def test_with_cycles_no_hinge_is_consistent(aggregator):
    verdict = rankbench.certify("pairwise-hinge", aggregator=aggregator, noise="any").verdict
    assert verdict in ("VIOLATION", "VIOLATION_BOUNDARY")


def test_averages_of_few_judgments_are_between_one_and_all():
    """(12) is linear in the graph: averaging changes nothing. The difference graph of k is another question."""
    one = rankbench.certify("pairwise-logistic", mu=THEOREM_2)
    three = rankbench.certify("pairwise-logistic", mu=THEOREM_2, aggregator="average-adjacency", k=3)
    assert three.content["risk"] == one.content["risk"]
    assert rankbench.certify("pairwise-logistic", mu=THEOREM_2, aggregator="difference-graph", k=1).gap == one.gap
    assert (
        len(rankbench.certify("pairwise-logistic", mu=THEOREM_2, aggregator="difference-graph", k=2).content["seen"])
        == 3
    )


def test_a_surrogate_without_exact_numbers_is_labelled():
    certificate = rankbench.certify("listnet", loss="ndcg", mu=GRADES)
    assert certificate.label.endswith(", numerical")
    assert not certificate.rigorous
    assert "numerical" in certificate.words()
    assert check(certificate.to_bytes()).trusted


def test_the_example_of_the_documentation_is_a_certificate():
    text = (Path(__file__).parents[2] / "docs" / "reference" / "certificate-format.md").read_text(encoding="utf-8")
    written = re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)
    assert len(written) == 1
    assert check(written[0].encode()).proved
    found = rankbench.certify("pairwise-hinge", mu=json.loads(written[0])["mu"], items=2)
    assert found.verdict == "CONSISTENT_AT_MU"
    assert found.gap == Fraction(2, 3)
