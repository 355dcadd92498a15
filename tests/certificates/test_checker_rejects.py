"""The checker rejects a certificate in which anything is changed, and says what is wrong."""

from __future__ import annotations

import json

import pytest
from certify_laws import GONE, GRADES, THEIRS, THEOREM_2, THEOREM_3, changed, refused

import rankbench
from rankbench.certificates.check import check

CHANGES = [
    ("violation", "schema", "rankbench-certificate/2", "knows rankbench-certificate/1"),
    ("violation", "surprise", 1, "no key"),
    ("violation", "verdict", "CONSISTENT_AT_MU", "alpha is not where"),
    ("violation", "verdict", "TRUE", "no verdict"),
    ("violation", "items", 6, "items"),
    ("violation", "noise", "none", "noise"),
    ("violation", "arithmetic", "exact", "not exact"),
    ("violation", "arithmetic", "certain", "exact, interval or numerical"),
    ("violation", "loss", {"name": "pairwise", "normalize": 1}, "true or false"),
    ("violation", "loss", {"name": "pairwise", "normalize": True}, "weighs anew"),
    ("violation", "loss", {"name": "pairwise", "normalise": True}, "in a loss"),
    ("violation", "gap", "1/2", "gap"),
    ("violation", "gap", "1/0", "divides by zero"),
    ("violation", "gap", "9" * 81, "no number"),
    ("violation", "alpha", ["0", "0", "-1"], "larger than it says"),
    ("violation", "alpha", ["2", "1", "0"], "alpha is not where"),
    ("violation", "alpha_value", "0", "larger than it says"),
    ("violation", "bounds", [], "one bound for each"),
    ("violation", "mu", THEOREM_3, "what mu and the aggregation make"),
    ("violation", "aggregation", {"name": "difference-graph", "k": "inf"}, "what mu and the aggregation make"),
    ("violation", "aggregation", {"name": "borda", "k": "inf"}, "numerical: what borda makes"),
    ("violation", "phis", [{"expression": "exp(-t)", "infimum": "0"}], "not that of pairwise-logistic"),
    ("violation", "phis", [{"expression": "log(1 + exp(-t))", "infimum": "1"}], "below its infimum"),
    ("violation", "phis", [{"expression": "__import__('os').system('true')", "infimum": "0"}], "expression"),
    ("violation", "loss", {"name": "ndcg", "gain": "exp2", "discounts": ["1", "1", "1"]}, "of scores"),
    ("violation", "cells", {"class": "dag", "proofs": []}, "no key 'cells'"),
    ("violation", "seed", "0", "seed"),
    ("violation", "versions", [], "objects"),
    ("proof", "alpha_value", "0", "no key 'alpha_value'"),
    ("proof", "mu", THEOREM_2, "not about one mu"),
    ("proof", "alpha", ["0", "0", "0"], "no alpha"),
    ("proof", "bounds", [{"order": "1>2>3", "value": "9"}], "no alpha"),
    ("searched", "verdict", "CONSISTENT", "has the key"),
    ("searched", "gap", "1", "no alpha, bounds or gap"),
    ("searched", "loss", {"name": "ndcg"}, "a loss has"),
    ("searched", "aggregation", {"name": "borda"}, "key 'k'"),
    ("boundary", "cells", {}, "no key 'cells'"),
    ("violation", "surrogate/parameters/power", GONE, "other keys|rule or phi"),
    ("violation", "surrogate/parameters/tilt", 2, "other keys|rule or phi"),
    ("violation", "surrogate/rule/tilt", "2", "other keys|rule or phi"),
    ("violation", "surrogate/rule", None, "has a rule"),
    ("violation", "surrogate/note", "x", "no key .note. in a surrogate"),
    ("violation", "mu/0/note", "x", "in an entry of mu"),
    ("violation", "mu/0/weight", "1/3", "sum to"),
    ("violation", "mu/0/weight", "-1/2", "not above 0"),
    ("violation", "mu/0/structure/1>3", "3/2", "not low-noise"),
    ("violation", "surrogate/name", "pairwise-exponential", "not that of pairwise-exponential"),
    ("violation", "surrogate/name", "pairwise-nothing", "no surrogate"),
    ("boundary", "surrogate/parameters/form", "margin", "rule or phi"),
    ("boundary", "bounds/0/slopes/0", ["-1/2"], "add up to 0|exactly"),
    ("boundary", "bounds/0/order", "1>2>3", "one bound, of all scores"),
    ("boundary", "alpha_value", "1000", "an equality says"),
    ("boundary", "bounds/0/value", "1000", "an equality says"),
    ("boundary", "gap", "-0.0000001", "gap 0"),
    ("violation", "alpha_value", "1000", "less than it says"),
    ("violation", "bounds/0/value", "-1000", "less than it says"),
    ("proof", "cells/proofs/0/multipliers", ["0"] * 15, "no solution|numbers"),
    ("proof", "noise", "any", "does not hold the noise class"),
    ("proof", "aggregation", None, "."),
    ("violation", "bounds/0/cuts", [], "no key|rule or phi"),
    ("violation", "seen/0/note", [], "no key|rule or phi"),
    ("violation", "risk/terms/0/note", [], "no key|rule or phi"),
    ("violation", "bounds/0/shares", [], "no key|rule or phi"),
    ("proof", "cells/proofs/0/note", [], "no key|rule or phi"),
    ("proof", "phis/0/pieces/0/note", [], "no key|rule or phi"),
    ("listnet", "bounds/0/value", [], "no key|rule or phi"),
    ("listnet", "bounds/0/cuts/0/note", [], "no key|rule or phi"),
    ("violation", "surrogate/source_sha256", "٣" * 64, "source_sha256"),
    ("violation", "surrogate/source_sha256", 7, "source_sha256"),
    ("violation", "surrogate/name", "pairwise-logist\u0456c", "name of a surrogate"),
    ("violation", "surrogate/name", "", "name of a surrogate"),
]
"""A certificate, a place in it, what is written there (or nothing), and words of the answer."""


@pytest.mark.parametrize(("name", "place", "value", "why"), CHANGES)
def test_what_is_changed_is_rejected(request, name, place, value, why):
    refused(changed(request.getfixturevalue(name), {place: value}), why)


def test_minus_zero_is_zero(boundary):
    assert check(json.dumps(changed(boundary, {"gap": "-0"})).encode()).proved


def test_a_name_is_that_of_rankbench_whatever_the_distribution(violation):
    assert check(json.dumps(changed(violation, {"surrogate/distribution": "somebody 1.0"})).encode()).trusted == ()


def test_the_rule_of_somebody_elses_surrogate_is_taken_on_trust(violation, proof):
    for content in (violation, proof):
        found = check(json.dumps(changed(content, THEIRS)).encode())
        assert found.trusted == ("that the surrogate's source has this rule and phi",)
        assert not found.followed


def test_every_cell_has_one_proof(proof):
    for at in range(len(proof["cells"]["proofs"])):
        refused(changed(proof, {f"cells/proofs/{at}": GONE}), "no proof for")
    twice = [*proof["cells"]["proofs"], proof["cells"]["proofs"][0]]
    refused(changed(proof, {"cells/proofs": twice}), "two proofs")
    assert check(json.dumps({**proof, "noise": "low"}).encode()).proved


def test_points_beside_a_slope_of_pieces_are_rejected():
    content = rankbench.certify("pairwise-squared-hinge", mu=THEOREM_2).content
    slope = content["bounds"][0]["slopes"][0]
    refused(changed(content, {"bounds/0/slopes/0": [*slope, "-1", "1"]}), "stands alone")


@pytest.mark.parametrize(
    ("surrogate", "changes"),
    [
        ("regression", [("normalize", 1), ("discount", "log3"), ("cutoff", "5/2"), ("cutoff", "0"), ("cutoff", True)]),
        ("regression:normalize=false", [("normalize", "false"), ("normalize", 0)]),
        ("regression:discount=log2", [("discount", "log3")]),
        ("order-preserving", [("phi", "hinge"), ("gain", "identity")]),
        ("cross-entropy", [("discount", "reciprocal")]),
    ],
)
def test_parameters_that_there_are_not_are_rejected(surrogate, changes):
    content = rankbench.certify(surrogate, loss="ndcg", mu=GRADES).content
    assert check(json.dumps(content).encode()).trusted == ()
    for parameter, value in changes:
        refused(changed(content, {f"surrogate/parameters/{parameter}": value}))
