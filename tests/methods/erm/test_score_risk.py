"""The risk (19) of score surrogates that are not quadratic: solvers on mean targets."""

from __future__ import annotations

import numpy as np
import pytest
from enumeration import contender, fitted, risk, slope
from numpy.typing import NDArray
from small_blocks import make_block

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Block, Fitted, Optimizer
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.methods.erm import ERM
from rankbench.methods.erm.fit import fit_composed
from rankbench.plugin.manager import get

SURROGATES = [
    ("order-preserving", "mean-log-odds"),
    ("order-preserving-err(gain=logistic)", "borda"),
    ("listnet", "win-rate"),
    ("cross-entropy", "mean-log-odds"),
    ("linear-power(power=3)", "net-weights"),
]


@pytest.fixture(scope="module")
def small() -> Block:
    return make_block([4, 6, 3], 18, d=4)


@pytest.mark.parametrize("optimizer", ["lbfgs", "newton"])
@pytest.mark.parametrize("k", [1, "inf", 100])
@pytest.mark.parametrize(("surrogate", "aggregator"), SURROGATES)
def test_the_solver_minimizes_the_risk(
    small: Block, surrogate: str, aggregator: str, k: int | str, optimizer: str
) -> None:
    text = f"erm:surrogate={surrogate},aggregator={aggregator},k={k},lambda=0.1,optimizer={optimizer}"
    found, method = fitted(small, text), contender(text)
    # The line search of lbfgs compares values, which rounding hides below this.
    assert found.optimality < 1e-7
    assert found.info["mc_error"] == 0
    np.testing.assert_allclose(slope(small, method, found.theta, 1e-4), 0, atol=2e-6)


# Targets that are linear in an additive structure are exact for every k.
SAMPLED = [pair for pair in SURROGATES if pair[1] != "net-weights"]


@pytest.mark.parametrize(("surrogate", "aggregator"), SAMPLED)
def test_between_one_and_all_the_mean_target_has_an_error_that_is_said(
    small: Block, surrogate: str, aggregator: str
) -> None:
    text = f"erm:surrogate={surrogate},aggregator={aggregator},k=3,lambda=0.1,optimizer=newton,draws=20000"
    found, method = fitted(small, text), contender(text)
    assert 0 < found.info["mc_error"] < 0.05
    best = found.theta + 0.0
    moves = np.random.default_rng(0).normal(size=(20, 4))
    off = 5 * found.info["mc_error"] * np.linalg.norm(best)
    here = risk(small, method, best)
    assert all(risk(small, method, best + off * m / np.linalg.norm(m)) > here - 1e-4 * abs(here) for m in moves)


def test_steps_go_where_the_solver_is_and_say_how_far_they_are(small: Block) -> None:
    text = "erm:surrogate=listnet,aggregator=win-rate,k=3,lambda=1"
    exact = fitted(small, f"{text},optimizer=newton,draws=40000")
    steps = fitted(small, f"{text},optimizer=composite(c=1,schedule=inverse-t,t0=100),draws=40000")
    assert np.linalg.norm(steps.theta - exact.theta) < 0.05 * np.linalg.norm(exact.theta)
    assert 0 < steps.optimality < 0.05


def test_what_is_not_linear_in_its_target_is_refused_when_planned() -> None:
    class Crooked(ScoreSurrogate):
        """Convex in alpha, not linear in the target."""

        name = "crooked"
        source = "test"
        properties = frozenset({"convex", "smooth", "equivariant"})

        def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
            return scores

        def value_and_gradient(
            self, alpha: NDArray[np.float64], target: NDArray[np.float64]
        ) -> tuple[float, NDArray[np.float64]]:
            return float(((alpha - target) ** 4).sum()), 4 * (alpha - target) ** 3

    newton = get(Optimizer, "newton")
    with pytest.raises(ValueError, match=r"crooked.*not linear.*k=inf"):
        ERM(aggregator=get(Aggregator, "borda"), surrogate=Crooked(), k=2, optimizer=newton)
    method = ERM(aggregator=get(Aggregator, "borda"), surrogate=Crooked(), optimizer=newton, **{"lambda": 0.1})
    block = make_block([4, 6, 3], 18, d=4)
    outcome = fit_composed(block, {"": method})[""]
    assert isinstance(outcome, Fitted), outcome
    assert outcome.converged
