"""Surrogates that would make a wrong verdict: what is wrong far out, in one direction, or later on."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from certify_laws import THEOREM_2
from test_certify_input import Plain

import rankbench
from rankbench.errors import PluginError
from rankbench.interfaces.exact import ConvexPhi

HINGE = ConvexPhi(((Fraction(1), (Fraction(1), Fraction(-1))), (None, (Fraction(0),))))


class Fit(rankbench.ScoreSurrogate):
    """Squared distance."""

    name: ClassVar[str] = "test-fit"
    source: ClassVar[str] = "this test"
    properties: ClassVar[frozenset] = frozenset({"convex"})

    def target(self, scores):
        return scores

    def value_and_gradient(self, alpha, target):
        return float((alpha - target) @ (alpha - target)), 2.0 * (alpha - target)


def other(base, **methods):
    inexact = {"exact_phi": lambda self: None} if methods.keys() & {"phi", "dphi"} else {}
    return type("Other", (base,), {"__module__": __name__} | inexact | methods)()


def bent(margin):
    return np.sqrt(np.maximum(-margin - 24.0, 1.0))


NEARLY = "not convex|another gradient"


@pytest.mark.parametrize(
    ("methods", "why"),
    [
        ({"phi": lambda self, t: np.logaddexp(0.0, 1.0 - t) + 5.0 * (t < -8)}, NEARLY),  # a jump up far out
        ({"phi": lambda self, t: np.logaddexp(0.0, 1.0 - t) - 5.0 * (t > 20)}, NEARLY),  # a jump down
        (
            {
                "phi": lambda self, t: np.where(t < -25, bent(t) + 24.0, np.logaddexp(0.0, 1.0 - t)),
                "dphi": lambda self, t: np.where(t < -25, -0.5 / bent(t), -1.0 / (1.0 + np.exp(t - 1.0))),
            },
            NEARLY,  # concave far out
        ),
        ({"dphi": lambda self, t: -1.0001 / (1.0 + np.exp(t - 1.0))}, NEARLY),
        ({"dphi": lambda self, t: 1e-5 - 1.0 / (1.0 + np.exp(t - 1.0))}, NEARLY),
        ({"phi": lambda self, t: np.sin(t), "dphi": lambda self, t: np.cos(t)}, "not convex.*above the chord"),
        ({"dphi": lambda self, t: 1.0 / (1.0 + np.exp(t - 1.0))}, "not convex with the gradient"),
        ({"phi": lambda self, t: -3.0 * t, "dphi": lambda self, t: np.full_like(t, -3.0)}, "not bounded below"),
        ({"phi": lambda self, t: np.full_like(t, np.nan)}, "is nan"),
        ({"edges": lambda self, w: (np.ones_like(w) * 0.0, np.zeros_like(w))}, "ignores the structure"),
        ({"exact_phi": lambda self: HINGE}, "another function than it computes"),
    ],
)
def test_surrogates_that_break_promises_are_refused(methods, why):
    with pytest.raises(PluginError, match=why):
        rankbench.certify(other(Plain, **methods), laws=3)


STEEP = np.array([1.0, 2.0, -4.0])


def sloping(self, alpha, target):
    """Squared distance across one direction, along which it goes down a little."""
    across = alpha - target - STEEP * (STEEP @ (alpha - target)) / 21.0
    return float(across @ across - 0.01 * (STEEP @ alpha)), 2.0 * across - 0.01 * STEEP


def tilted(self, alpha, target):
    apart = np.diff(alpha - target)
    return float(apart @ apart - 0.3 * alpha.sum()), np.array(
        [-2 * apart[0], 2 * apart[0] - 2 * apart[1], 2 * apart[1]]
    ) - 0.3


@pytest.mark.parametrize("formula", [sloping, tilted])
def test_what_goes_down_without_end_in_one_direction_is_refused(formula):
    with pytest.raises(PluginError, match="not bounded below"):
        rankbench.certify(other(Fit, value_and_gradient=formula), loss="ndcg", laws=3)


@pytest.mark.full
@pytest.mark.parametrize(
    ("phi", "dphi"),
    [
        (lambda self, t: np.maximum(0.0, -t), lambda self, t: -1.0 * (t < 0)),
        (lambda self, t: np.maximum(0.0, np.abs(t) - 3.0), lambda self, t: np.sign(t) * (np.abs(t) > 3)),
    ],
)
def test_flat_surrogates_are_not_said_to_have_no_counterexample(phi, dphi):
    """Right and wrong scores have the same least risk: violations, which double precision cannot prove."""
    certificate = rankbench.certify(other(Plain, phi=phi, dphi=dphi), laws=15)
    assert certificate.verdict == "INCONCLUSIVE"
    undecided = certificate.content["searched"]["inconclusive"]
    assert undecided > 5
    assert f"{undecided} of 15 distributions too close to call" in certificate.words()
    assert certificate.label.startswith(f"INCONCLUSIVE ({undecided} of 15")


def test_a_rule_that_says_linear_of_what_is_not_is_refused():
    """Else (23) with squared leads would be proved consistent as if it had the leads."""
    squared = {
        "phi": lambda self, t: np.maximum(0.0, 1.0 - t),
        "dphi": lambda self, t: -1.0 * (t < 1),
        "exact_phi": lambda self: HINGE,
        "edges": lambda self, w: (w**2, np.zeros_like(w)),
        "exact_edge": lambda self, w: (w**2, Fraction(0)),
        "exact_rule": lambda self: {"rule": "weighted", "power": 1},
        "linear": property(lambda self: True),
    }
    surrogate = other(Plain, **squared)
    with pytest.raises(PluginError, match="says by its rule"):
        rankbench.certify(surrogate, aggregator="difference-graph", noise="dag")
    with pytest.raises(PluginError, match="terms do not follow its rule"):
        rankbench.certify(surrogate, mu=THEOREM_2)


def wrong_shape(self, alpha, target):
    return 0.0, np.zeros(2)


def raising(self, alpha, target):
    raise ZeroDivisionError("a defect of theirs")


@pytest.mark.parametrize(("formula", "why"), [(wrong_shape, "shape|broadcast"), (raising, "a defect of theirs")])
def test_what_a_surrogate_raises_is_said_of_it(formula, why):
    with pytest.raises(PluginError, match=f"surrogate test-fit .*({why})"):
        rankbench.certify(other(Fit, value_and_gradient=formula), loss="ndcg", laws=3)


def test_what_is_not_shift_invariant_must_not_say_so():
    """Its cones were searched where the last score is 0 alone."""
    with pytest.raises(PluginError, match="declares that it is shift-invariant"):
        rankbench.certify(other(Fit, properties=frozenset({"convex", "shift-invariant"})), loss="ndcg", laws=3)
