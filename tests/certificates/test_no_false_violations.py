"""Surrogates that the papers prove consistent are never said to violate."""

from __future__ import annotations

import random
import time
from collections import Counter
from fractions import Fraction
from itertools import islice

import pytest
from amounts import trials
from certify_laws import of_phi

import rankbench
from rankbench.certificates.classes import decide_class
from rankbench.certificates.laws import Law, why_not_in_class
from rankbench.certificates.pointwise import decide_at
from rankbench.certificates.search import draws
from rankbench.certificates.true_risk import Aggregated, exact_risk, law_after_aggregation, orders_of, true_loss
from rankbench.interfaces.exact import ConvexPhi

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
        assert why_not_in_class(noise, law) == ""
        right, wrong = orders_of(loss, law)
        if wrong:
            exact = exact_risk(surrogate, law_after_aggregation(law, aggregated), loss)
            found[decide_at(exact.risk, right, wrong).verdict] += 1
    return found


@pytest.mark.full
@pytest.mark.parametrize(("three", "four"), [(trials(40), trials(4)), pytest.param(1250, 40, marks=pytest.mark.long)])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_none_of_many_trials(case, three, four):
    found = verdicts(case, 3, three, 17) + verdicts(case, 4, four, 17)
    assert set(found) <= {"CONSISTENT_AT_MU", "INCONCLUSIVE"}, found
    assert found["INCONCLUSIVE"] <= max(1.0, 0.02 * sum(found.values()))


def bent(rng: random.Random) -> ConvexPhi:
    """Return a convex phi of two to four linear pieces, bounded below."""
    ends = sorted(Fraction(end, 2) for end in rng.sample(range(-4, 5), rng.choice([1, 1, 2, 3])))
    slopes = sorted(Fraction(slope, 2) for slope in rng.sample(range(-6, 5), len(ends) + 1))
    slopes[0], slopes[-1] = min(slopes[0], Fraction(0)), max(slopes[-1], Fraction(0))
    at, pieces = Fraction(0), []
    for number, slope in enumerate(slopes):
        if number:
            at += (slopes[number - 1] - slope) * ends[number - 1]
        pieces.append((ends[number] if number < len(ends) else None, (at, slope)))
    return ConvexPhi(tuple(pieces))


def classes_and_single_laws_agree(count: int, seed: int) -> Counter[str]:
    """Decide classes by cells, and hold each answer against single laws, which are decided in another way."""
    rng, found = random.Random(seed), Counter[str]()
    loss = true_loss(rankbench.get(rankbench.Loss, "pairwise-disagreement"), 3)
    on_differences = Aggregated(rankbench.get(rankbench.Aggregator, "difference-graph"))
    while sum(found.values()) < count:
        phi, noise = bent(rng), rng.choice(["low", "dag", "dag", "any"])
        aggregated = rng.choice([on_differences, on_differences, None])
        surrogate, decided = of_phi(phi), decide_class(phi, noise, aggregated is not None, 3, time.monotonic() + 60)
        assert not decided.left
        if decided.mean is not None:
            laws = [Law(3, ((Fraction(1), decided.mean),))]
        else:
            laws = list(islice(draws(True, noise, 3, rng.randrange(10**6)), 25))
        for law in laws:
            assert why_not_in_class(noise, law) == ""
            right, wrong = orders_of(loss, law)
            if wrong or decided.mean is not None:
                exact = exact_risk(surrogate, law_after_aggregation(law, aggregated), loss)
                violates = decide_at(exact.risk, right, wrong).verdict.startswith("VIOLATION")
                assert violates == (decided.mean is not None), (phi, noise, law)
        found["violates" if decided.mean is not None else "consistent"] += 1
    return found


@pytest.mark.full
@pytest.mark.parametrize("count", [25, pytest.param(400, marks=pytest.mark.long)])
def test_what_is_decided_of_a_class_holds_for_its_laws(count):
    assert set(classes_and_single_laws_agree(count, 5)) == {"violates", "consistent"}
