"""The pairwise risk (19): solvers, the compiled stream and the interpreted one mean the same by it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from enumeration import fitted, slope
from small_blocks import make_block, reweighted

from rankbench.aggregators.edges import DifferenceGraph
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Block, Method, Optimizer
from rankbench.interfaces.surrogate import PairwiseSurrogate
from rankbench.methods.erm import ERM
from rankbench.methods.erm.fit import fit_composed
from rankbench.plugin.manager import get
from rankbench.surrogates.pairwise import PairwiseLogistic, PairwiseSquared, PairwiseSquaredHinge

NEWTON = "optimizer=newton"


@pytest.fixture(scope="module")
def weighted() -> Block:
    """A block whose judgments have different weights."""
    return reweighted(make_block([4, 6, 3], 40, d=4), [0.5, 1.0, 3.0])


SURROGATES = [
    PairwiseLogistic(),
    PairwiseSquared(power=0.5),
    PairwiseSquaredHinge(form="margin", scale=0.5),
    PairwiseLogistic(form="margin", power=0),
]


@pytest.mark.parametrize(
    ("aggregator", "k"),
    [
        ("identity", 1),
        ("average-adjacency", 1),
        ("average-adjacency", np.inf),
        ("difference-graph", np.inf),
        ("difference-graph", 100),
    ],
)
@pytest.mark.parametrize("surrogate", SURROGATES, ids=str)
def test_the_solver_minimizes_the_risk(
    weighted: Block, aggregator: str, k: float, surrogate: PairwiseSurrogate
) -> None:
    made = get(Aggregator, aggregator)
    method = ERM(aggregator=made, surrogate=surrogate, k=k, optimizer=get(Optimizer, "newton"), **{"lambda": 0.1})
    theta = fitted(weighted, method).theta

    np.testing.assert_allclose(slope(weighted, method, theta, 1e-5), 0, atol=1e-6)


@pytest.mark.parametrize(
    "spec",
    [
        "erm:aggregator=identity,surrogate=pairwise-logistic,k=1",
        "erm:aggregator=average-adjacency,surrogate=pairwise-squared(form=margin,scale=0.5),k=1",
        "erm:aggregator=identity,surrogate=pairwise-squared-hinge(power=2),k=1",
    ],
)
def test_steps_go_where_the_solver_is(weighted: Block, spec: str) -> None:
    """With weights that differ, too: both divide by the number of judgments."""
    exact, steps = (
        get(Method, f"{spec},lambda=1,{NEWTON}"),
        get(Method, f"{spec},lambda=1,draws=40000,optimizer=composite(c=1,schedule=inverse-t,t0=100)"),
    )
    wanted = fitted(weighted, exact).theta
    assert np.linalg.norm(fitted(weighted, steps).theta - wanted) < 0.05 * np.linalg.norm(wanted)


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("erm:aggregator=average-adjacency,surrogate=pairwise-logistic(power=0),k=2", "k=inf"),
        ("erm:aggregator=difference-graph,surrogate=pairwise-logistic,k=2", "k=inf"),
    ],
)
def test_what_has_no_solver_says_what_to_use(weighted: Block, spec: str, hint: str) -> None:
    method = get(Method, f"{spec},{NEWTON}")
    message = str(fit_composed(weighted, {"": method})[""])
    assert hint in message
    assert "composite" in message


def test_judgments_that_all_cancel_are_said_to(weighted: Block) -> None:
    offsets, one = np.array([0, 2, 2, 2]), np.ones(2)
    both = dataclasses.replace(
        weighted.comparisons,
        offsets=offsets,
        winners=np.array([0, 1], dtype=np.int32),
        losers=np.array([1, 0], dtype=np.int32),
        weights=one,
    )
    method = ERM(aggregator=DifferenceGraph(), surrogate=PairwiseLogistic(), optimizer=get(Optimizer, "newton"))
    block = dataclasses.replace(weighted, comparisons=both)
    assert "cancel" in str(fit_composed(block, {"": method})[""])
    steps = ERM(
        aggregator=DifferenceGraph(), surrogate=PairwiseLogistic(), optimizer=get(Optimizer, "composite"), draws=20
    )
    assert not fitted(block, steps).theta.any()


def test_a_tie_is_half_a_win_each_way() -> None:
    block = make_block([5, 7], 60)
    said = block.comparisons
    ties = np.arange(len(said)) % 3 == 0
    tied = dataclasses.replace(block, comparisons=dataclasses.replace(said, ties=ties))
    halves = dataclasses.replace(block, comparisons=dataclasses.replace(said, ties=ties).without_ties())
    method = get(Method, "erm:aggregator=average-adjacency,k=inf,surrogate=pairwise-logistic,optimizer=newton")
    found = [fitted(case, method).theta for case in (tied, halves, block)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.allclose(found[0], found[2])


def test_a_fit_says_which_share_of_the_first_gradient_is_left_where_that_is_much(
    weighted: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after a step; a tolerance below rounding is no such case, and a closed form never is."""
    spec = "erm:aggregator=identity,surrogate=pairwise-logistic,k=1,lambda=1e-3,optimizer="
    method = get(Method, f"{spec}newton(max_iterations=1)")
    early = fitted(weighted, method)
    start, left = (np.linalg.norm(slope(weighted, method, theta, 1e-5)) for theta in (np.zeros(4), early.theta))
    assert early.info["unfinished"] == pytest.approx(left / start, rel=1e-3)
    assert 1e-6 < early.info["unfinished"] < 1
    for finished in ("newton", "newton(tolerance=1e-30)"):
        assert "unfinished" not in fitted(weighted, get(Method, spec + finished)).info
    monkeypatch.setattr("rankbench.methods.erm.fit.UNFINISHED", 0.0)
    for optimizer, named in (("newton", True), ("exact", False)):
        least = get(Method, f"erm:surrogate=regression,optimizer={optimizer}(tolerance=1e-300)")
        assert ("unfinished" in fitted(weighted, least).info) == named
