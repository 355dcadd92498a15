"""What cannot be certified is refused, with what is wrong and where."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from certify_laws import THEOREM_2
from click.testing import CliRunner

import rankbench
from rankbench.certificates.check import check
from rankbench.cli import main
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.exact import ConvexPhi


class Shifted(rankbench.PairwiseSurrogate):
    """``|2 - t|``: exact pieces of a plugin."""

    name: ClassVar[str] = "test-shifted"
    source: ClassVar[str] = "this test"
    properties: ClassVar[frozenset] = frozenset({"convex", "shift-invariant"})

    def phi(self, margin):
        return np.abs(2.0 - margin)

    def dphi(self, margin):
        return np.sign(margin - 2.0)

    def exact_phi(self):
        return ConvexPhi(((Fraction(2), (Fraction(2), Fraction(-1))), (None, (Fraction(-2), Fraction(1)))))


class Softplus(Shifted):
    """``log(1 + e^(1 - t))``: an expression of a plugin."""

    name: ClassVar[str] = "test-softplus"

    def phi(self, margin):
        return np.logaddexp(0.0, 1.0 - margin)

    def dphi(self, margin):
        return -1.0 / (1.0 + np.exp(margin - 1.0))

    def exact_phi(self):
        return ConvexPhi(expression="log(1 + exp(1 - t))", infimum=Fraction(0))


class Plain(Softplus):
    """The same without exact numbers."""

    name: ClassVar[str] = "test-plain"

    def exact_phi(self):
        return None


def test_plugins_that_declare_exact_numbers_are_proved_of():
    for surrogate, arithmetic in ((Shifted(), "exact"), (Softplus(), "interval"), (Plain(), "numerical")):
        certificate = rankbench.certify(surrogate, mu=THEOREM_2)
        assert certificate.content["arithmetic"] == arithmetic
        assert certificate.rigorous == (arithmetic != "numerical")
        assert certificate.verdict.startswith("VIOLATION")
        assert check(certificate.to_bytes()).proved
    trusted = check(rankbench.certify(Softplus(), mu=THEOREM_2).to_bytes()).trusted
    assert trusted == (
        "that the surrogate's source has this rule and phi",
        "that the expression of phi is convex and not below its infimum",
    )


def test_numerical_and_rigorous_gaps_agree():
    gaps = [float(rankbench.certify(one, mu=THEOREM_2).gap) for one in (Softplus(), Plain())]
    assert gaps[0] == pytest.approx(gaps[1], abs=0.003)


def weighted(weight, structure):
    return {"weight": weight, "structure": structure}


@pytest.mark.parametrize(
    ("mu", "why"),
    [
        ([], "list"),
        ("nothing.json", "No such file"),
        ("/dev/zero", "more than 1,000,000 bytes"),
        ([{"weight": "1"}], "structure"),
        ([weighted("1/2", {"1>2": "1"})], "sum to 1/2, not to 1"),
        ([weighted("1/2", {"1>2": "1"}), weighted("1/2", ["1", "0", "0"])], "two kinds"),
        ([weighted("3/2", {"1>2": "1"}), weighted("-1/2", {"2>1": "1"})], "not above 0"),
        ([weighted("1", {"1>4": "1"})], "no edge between two of 3"),
        ([weighted("1", {"1>1": "1"})], "no edge"),
        ([weighted("1", {"1-2": "1"})], "no edge"),
        ([weighted("1", {"1>2": "-1"})], "not above 0"),
        ([weighted("1", {"1>2": 0.5})], "no number|by zero"),
        ([weighted("1", {"1>2": "1/0"})], "no number|by zero"),
        ([weighted("1", {"1>2": "9" * 100})], "no number|by zero"),
        ([weighted("1", {"1>2": "1e-99999999"})], "no number|by zero"),
        ([weighted("1", {"1>2": 10**5000})], "mu is a list"),
        ([weighted("1", {"1>2": "1", "01>2": "5"})], "no edge"),
        ([weighted("1/60", {"1>2": f"1/{10**27 + 2 * n + 1}"}) for n in range(60)], "common denominator"),
        ([weighted("1", {"1>2": "1", "2>3": "1", "3>1": "1"})], "not in the noise class 'low'"),
        ([weighted("1", {"1>2": "1", "2>3": "1"})], "item 1 leads 2 and 2 leads 3 by 2 together"),
        ([weighted("1", ["1", "0", "0"])], "of graphs, mu is not"),
        ([weighted("1/2", {"1>2": "1"}), weighted("1/2", {"2>1": "1"})], "every order has the same loss"),
    ],
)
def test_laws_that_are_none_are_refused(mu, why):
    with pytest.raises(InputError, match=why):
        rankbench.certify("pairwise-logistic", mu=mu)


def test_a_law_outside_of_dag_is_named():
    cycle = [weighted("1", {"1>2": "2", "2>3": "2", "3>1": "1"})]
    with pytest.raises(InputError, match="a cycle among items 1, 2, 3"):
        rankbench.certify("pairwise-logistic", noise="dag", mu=cycle)
    assert rankbench.certify("pairwise-logistic", noise="any", mu=cycle).verdict


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"surrogate": "pairwise-logistik"}, "did you mean 'pairwise-logistic'"),
        ({"surrogate": "hinge"}, "did you mean 'pairwise-hinge' or 'pairwise-squared-hinge' or 'squared-hinge'"),
        ({"loss": "ndcg:gain=exp"}, "rational"),
        ({"loss": "precision:k=3"}, "every order"),
        ({"noise": "none"}, "low, dag, any or independent"),
        ({"loss": "pairwise-disagreement:normalize=true"}, "take noise=.any"),
        ({"items": 6}, "2 to 5"),
        ({"items": 1}, "2 to 5"),
        ({"budget": "soon"}, "number of seconds"),
        ({"budget": -1}, "number of seconds"),
        ({"aggregator": "borda"}, "wants edges, aggregator"),
        ({"aggregator": "difference-graph", "k": 0.5}, "whole number"),
        ({"aggregator": "difference-graph", "k": float("nan")}, "whole number"),
        ({"aggregator": "difference-graph", "k": float("-inf")}, "whole number"),
        ({"k": 2}, "goes with an aggregator"),
        *(({"mu": {"items": m, "mu": [weighted("1", {"1>2": "1"})]}}, "2 to 5 items") for m in (6, 2.5)),
        ({"aggregator": "difference-graph", "loss": "ndcg"}, "graphs"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_does_not_go_together_is_refused(options, why):
    with pytest.raises(SpecError, match=why):
        rankbench.certify(**({"surrogate": "pairwise-logistic"} | options))


OPEN = ["pairwise-squared", "--aggregator", "difference-graph", "--noise", "dag", "--items", "4"]
"""A question that few laws leave open."""


def test_the_command_line(tmp_path):
    mu, out = tmp_path / "mu.json", tmp_path / "cert.json"
    mu.write_text(json.dumps(THEOREM_2))
    done = CliRunner().invoke(main, ["certify", "pairwise-logistic", "--mu", str(mu), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "not consistent" in done.output.splitlines()[0]
    assert "Verdict: VIOLATION.\n" in done.output
    assert "1>2>3" in done.output
    mu.write_text("[")
    done = CliRunner().invoke(main, ["certify", "pairwise-logistic", "--mu", str(mu)])
    assert done.exit_code == 2
    assert CliRunner().invoke(main, ["certify"]).exit_code == 2
    assert CliRunner().invoke(main, ["certify", "linear", "--k", "x"]).exit_code == 2
    done = CliRunner().invoke(main, ["certify", *OPEN, "--laws", "3", "--json"])
    assert json.loads(done.output)["verdict"] == "NO_COUNTEREXAMPLE_FOUND"
    assert json.loads(done.output)["searched"]["laws"] == 3
