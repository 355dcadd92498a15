"""Surrogates that the papers prove consistent are never said to violate."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

import rankbench
from rankbench.certify.laws import Law, why_not_in_class
from rankbench.certify.pointwise import decide_at
from rankbench.certify.search import draws
from rankbench.certify.seen import Aggregated, exact_risk, seen_law
from rankbench.certify.truth import orders_of, true_loss

CASES = [
    # (23), wherever the difference graph has no cycle; phi not increasing, convex, phi'(0) < 0.
    *(
        (f"pairwise-{phi}", "pairwise", "dag", "difference-graph")
        for phi in ("logistic", "exponential", "squared-hinge")
    ),
    ("pairwise-hinge", "pairwise", "dag", "difference-graph"),
    ("regression", "ndcg", "any", None),  # (28)
    ("order-preserving", "ndcg", "any", None),
    ("cross-entropy", "ndcg", "any", None),
    ("linear", "pairwise", "low", None),  # (14)
]


def verdicts(case: tuple[str, str, str, str | None], m: int, count: int, seed: int) -> Counter[str]:
    """Return how often each verdict is reached, on laws drawn from a class."""
    name, loss_name, noise, aggregator = case
    surrogate = rankbench.get(rankbench.Surrogate, name)
    loss = true_loss(
        rankbench.get(rankbench.Loss, "pairwise-disagreement" if loss_name == "pairwise" else loss_name), m
    )
    aggregated = Aggregated(rankbench.get(rankbench.Aggregator, aggregator)) if aggregator else None
    found: Counter[str] = Counter()
    for law in islice(draws(loss.graphs, noise, m, seed), count):
        assert isinstance(law, Law)
        assert why_not_in_class(noise, law) == ""
        right, wrong, _ = orders_of(loss, law)
        if wrong:
            exact = exact_risk(surrogate, seen_law(law, aggregated), loss)
            found[decide_at(exact.risk, right, wrong).verdict] += 1
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_none_of_some_trials(case):
    found = verdicts(case, 3, 40, 17) + verdicts(case, 4, 4, 17)
    assert set(found) <= {"CONSISTENT_AT_MU", "INCONCLUSIVE"}, found
    assert found["INCONCLUSIVE"] <= 0.02 * sum(found.values()) + 1


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_none_of_ten_thousand_trials(case):
    found = verdicts(case, 3, 1250, 23)
    assert set(found) <= {"CONSISTENT_AT_MU", "INCONCLUSIVE"}, found
    assert found["INCONCLUSIVE"] < 0.02 * sum(found.values()), found
