"""The search draws leads of many sizes, and laws that violate with fewer items; violations by least squares."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import rankbench
from rankbench.certificates.laws import Law, leads, why_not_in_class
from rankbench.certificates.search import draws


def turned_by_least_squares(law: Law) -> list[tuple[int, int]]:
    """Return the leads that the least of ``sum d_ij (1 - (a_i - a_j))^2`` turns: a linear system, solved by NumPy."""
    ahead = {pair: float(lead) for pair, lead in leads(law.mean, law.items).items() if lead > 0}
    rows = np.zeros((len(ahead), law.items))
    for row, ((i, j), lead) in zip(rows, ahead.items(), strict=True):
        row[i], row[j] = np.sqrt(lead), -np.sqrt(lead)
    alpha = np.linalg.lstsq(rows, np.sqrt(list(ahead.values())), rcond=None)[0]
    return [(i, j) for i, j in ahead if alpha[i] < alpha[j] - 1e-9]


@pytest.mark.parametrize("noise", ["low", "dag", "any"])
def test_wide_leads_have_many_sizes_and_stay_in_the_class(noise):
    laws = list(islice(draws(True, noise, 4, 3, wide=True), 50))
    assert not any(why_not_in_class(noise, law) for law in laws)
    spread = []
    for law in laws:
        sizes = [abs(float(lead)) for lead in leads(law.mean, 4).values() if lead]
        spread.append(max(sizes) / min(sizes))
    assert np.median(spread) > 50
    assert next(draws(True, noise, 4, 3, wide=True)) == laws[0]


@pytest.mark.parametrize(
    ("noise", "structure", "gap"),
    [
        ("dag", {"1>2": "1/10", "2>3": "1", "3>4": "1", "1>4": "1"}, 0.118),
        ("low", {"1>2": "18", "1>3": "24", "1>4": "101", "2>3": "5", "2>4": "7", "3>4": "1"}, 0.011),
    ],
)
def test_squares_on_the_difference_graph_fail_on_four_items(noise, structure, gap):
    mu = [{"weight": "1", "structure": structure}]
    given = rankbench.certify("pairwise-squared", aggregator="difference-graph", noise=noise, items=4, mu=mu)
    assert given.verdict == "VIOLATION"
    assert float(given.gap) == pytest.approx(gap, rel=0.11)
    assert turned_by_least_squares(given.law)


@pytest.mark.full
def test_the_search_finds_that_squares_on_the_difference_graph_fail_on_four_items():
    found = rankbench.certify("pairwise-squared", aggregator="difference-graph", items=4, laws=120)
    assert found.verdict == "VIOLATION"
    assert turned_by_least_squares(found.law)


@pytest.mark.full
def test_a_violation_of_three_items_is_tried_on_four():
    certificate = rankbench.certify("regression", items=4, laws=24)
    assert certificate.verdict == "VIOLATION"
    assert "4" not in "".join(edge for row in certificate.content["mu"] for edge in row["structure"])
