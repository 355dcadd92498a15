"""Plurality and instant runoff: the definitions in fractions, and the winners that pref_voting finds."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from aggregator_samples import ballots, build
from amounts import examples
from hypothesis import given

import rankbench
from rankbench.aggregators.ballot_rules import InstantRunoff, Plurality

PROFILES = json.loads((Path(__file__).parent / "pref_voting_winners.json").read_text())["profiles"]


def first_places(cast, weights, m, left):
    """Return the exact weight of the first places of the items that are left, of ballots without the others."""
    found = dict.fromkeys(range(m), Fraction(0))
    for places, weight in zip(cast, weights, strict=True):
        tied = next((kept for tied in places if (kept := [item for item in tied if item in left])), [])
        for item in tied:
            found[item] += Fraction(weight) / len(tied)
    return found


def survived(cast, weights, m):
    left, rounds = set(range(m)), dict.fromkeys(range(m), 0)
    while True:
        found = first_places(cast, weights, m, left)
        least = min(found[item] for item in left)
        if all(found[item] == least for item in left):
            return [rounds[item] for item in range(m)]
        left = {item for item in left if found[item] > least}
        for item in left:
            rounds[item] += 1


@given(sample=ballots())
@examples(60)
def test_scores_are_those_of_the_definitions(sample):
    cast, weights, m = sample
    orders, total = build(cast, weights), sum(map(Fraction, weights))
    share = first_places(cast, weights, m, set(range(m)))
    assert Plurality().from_orders(orders, m) == pytest.approx([float(share[i] / total) for i in range(m)], abs=1e-12)
    most = max(share.values())
    assert Plurality().winners(orders, m).tolist() == [share[item] == most for item in range(m)]
    rounds = survived(cast, weights, m)
    assert InstantRunoff().from_orders(orders, m).tolist() == rounds
    assert InstantRunoff().winners(orders, m).tolist() == [each == max(rounds) for each in rounds]


@pytest.mark.parametrize("rule", [Plurality(), InstantRunoff()], ids=str)
def test_ballot_winners_are_those_of_pref_voting(rule):
    told = [row for row in PROFILES if rule.name in row]
    assert any(len(row[rule.name]) > 1 for row in told)
    assert any(row.get("plurality", row["instant-runoff"]) != row["instant-runoff"] for row in told)
    for row in told:
        orders = build(row["ballots"], row["counts"])
        assert np.flatnonzero(rule.winners(orders, row["items"])).tolist() == row[rule.name]


def test_shares_that_differ_by_rounding_are_equal():
    # A third of .1 + .2 + .3 is .15 + .05, but not in floating point.
    cast, weights = [[[0, 1, 2]], [[0, 1, 2]], [[0, 1, 2]], [[3]], [[3]]], [0.1, 0.2, 0.3, 0.15, 0.05]
    assert Plurality().winners(build(cast, weights), 4).all()
    assert InstantRunoff().from_orders(build(cast, weights), 4).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("rule", "scores"), [("plurality", [0.5, 0.25, 0.25]), ("instant-runoff", [1, 0, 0])])
def test_ballots_of_one_item_stand_on_one_scale(rule, scores):
    found = rankbench.aggregate({"ranking": [["a"], ["b"], ["a"], ["c"]]}, rule)
    assert found.table.sort("item")["score"].to_list() == scores
    assert found.table["scale"].to_list() == [1, 1, 1]
    assert found.facts["winners"] == ["a"]
    assert found.notes == ("read as ballots: ranking; 3 items ('a', 'b', 'c')  (standard names)",)


def test_plurality_has_intervals_for_shares():
    found = rankbench.aggregate({"ranking": ["a>b", "b>a"], "count": [64, 36]}, "plurality", intervals="bootstrap")
    half = 1.96 * np.sqrt(0.64 * 0.36 / 100)  # of a binomial share, by 1,000 resamples
    assert (found.table["upper"] - found.table["lower"]).to_list() == pytest.approx([2 * half] * 2, rel=0.15)
