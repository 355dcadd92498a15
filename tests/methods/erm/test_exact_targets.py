"""Mean targets that need no sampling: single judgments whatever their weights, and sums that no order changes."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from enumeration import contender, fitted, structures_of_subsets
from numpy.typing import NDArray
from small_blocks import make_block, reweighted

from rankbench.aggregators.sequential import Elo
from rankbench.core.component import Property
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator, ComparisonAggregator
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.interfaces.queries import Comparisons
from rankbench.methods.erm import ERM
from rankbench.methods.erm.fit import fit_composed
from rankbench.plugin.manager import get

WEIGHTS = [0.1, 1.0, 2.5, 0.7]


def tied(block: Block) -> Block:
    ties = np.arange(len(block.comparisons)) % 5 == 0
    return replace(block, comparisons=replace(block.comparisons, ties=ties))


def minimizer(block: Block, spec: str) -> NDArray[np.float64]:
    """Solve the normal equations of (19) and (28), its subsets enumerated."""
    method = contender(spec)
    x = block.design.x.astype(np.float64)
    curved, side = method.l2 * np.eye(x.shape[1]), np.zeros(x.shape[1])
    for rows, weight, scores in structures_of_subsets(block, method.aggregator, method.k):
        share = weight / len(x[rows])
        curved += share * x[rows].T @ x[rows]
        side += share * x[rows].T @ np.mean([method.surrogate.target(s) for s in scores], axis=0)
    return np.linalg.solve(curved, side)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("aggregator", ["mean-log-odds", "win-rate", "bradley-terry", "net-weights", "kemeny"])
@pytest.mark.parametrize("judged", ["weighted", "tied"])
def test_order_one_is_exact(aggregator: str, judged: str) -> None:
    block = make_block([4, 2, 6], 45, d=3, seed=4)
    block = reweighted(block, WEIGHTS) if judged == "weighted" else tied(block)
    spec = f"erm:aggregator={aggregator},k=1,lambda=0.1,draws=1"
    found = fitted(block, spec)
    np.testing.assert_allclose(found.theta, minimizer(block, spec), rtol=1e-9, atol=1e-12)
    assert found.info["mc_error"] == 0


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("k", "within"), [(1, 1e-9), (2, 0.1)])
def test_light_judgments_beside_a_heavy_one_are_no_rounding(k: int, within: float) -> None:
    """A sample without the heavy judgment has the target of its own judgments, however heavy the other one is."""
    block = make_block([3], 3, d=2, seed=4)
    winners, losers = np.zeros(3, np.int32), np.array([1, 1, 2], np.int32)
    said = Comparisons(np.array([0, 3]), winners, losers, np.array([1e-3, 1e-3, 1e9]))
    block = replace(block, comparisons=said)
    spec = f"erm:aggregator=net-weights,surrogate=regression(gain=identity),k={k},lambda=0.1,draws=5000"
    np.testing.assert_allclose(fitted(block, spec).theta, minimizer(block, spec), rtol=within)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("k", [1, 2, 3])
def test_linear_on_net_weights_is_exact_for_every_order(k: int) -> None:
    block = reweighted(make_block([4, 3, 6], 27, d=3, seed=4), WEIGHTS)
    spec = f"erm:aggregator=net-weights,surrogate=linear(nu=0.3),k={k},lambda=0.1,draws=1"
    found = fitted(block, spec)
    np.testing.assert_allclose(found.theta, minimizer(block, spec), rtol=1e-9, atol=1e-12)
    assert found.info["mc_error"] == 0
    whole = fitted(block, spec.replace(f"k={k}", "k=inf"))
    assert found.theta.tobytes() == whole.theta.tobytes()


@pytest.mark.parametrize("k", ["2", "10", "inf"])
def test_identity_has_one_order(k: str) -> None:
    for surrogate in ("pairwise-logistic", "pairwise-logistic(form=margin)"):
        for optimizer in ("newton", "composite"):
            with pytest.raises(SpecError, match="write k=1, not k="):
                get(Method, f"erm:aggregator=identity,surrogate={surrogate},optimizer={optimizer},k={k}")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("spec", ["erm:aggregator=elo(factor=128)", "erm:aggregator=elo,optimizer=composite,draws=10"])
def test_an_order_of_judgments_is_not_made_up_for_the_halves_of_ties(spec: str) -> None:
    """Which half of a tie comes first would be whose name it bears first."""
    block = make_block([4, 3], 20, d=2, seed=4)
    method = get(Method, spec)
    other = get(Method, "erm")
    ties = np.arange(20) == block.comparisons.offsets[1]
    said = replace(block, comparisons=replace(block.comparisons, ties=ties))
    found = fit_composed(said, {"elo": method, "other": other})
    assert isinstance(found["elo"], SpecError)
    assert "'q1'" in str(found["elo"])
    assert "Leave ties out" in str(found["elo"])
    assert isinstance(found["other"], Fitted)
    for ties in (None, np.zeros(20, bool)):
        assert fitted(replace(block, comparisons=replace(block.comparisons, ties=ties)), spec).theta is not None
    # A single judgment has one order: at k=1 it does not matter which item a tie names first.
    record = said.comparisons
    swapped = np.where(record.ties, record.losers, record.winners), np.where(record.ties, record.winners, record.losers)
    turned = replace(said, comparisons=replace(record, winners=swapped[0], losers=swapped[1]))
    one = "erm:aggregator=elo,k=1"
    np.testing.assert_allclose(fitted(turned, one).theta, fitted(said, one).theta, rtol=1e-9, atol=1e-12)


class Last(ComparisonAggregator):
    """Wins of the last judgment; compiled for nobody."""

    name = "last"
    source = "test"
    properties: ClassVar[frozenset[Property]] = frozenset({"sequential"})

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return np.bincount(winners[-1:], weights[-1:], m).astype(np.float64)


@pytest.mark.parametrize("aggregator", [Elo(), Last()])
def test_samples_have_no_order(aggregator: Aggregator) -> None:
    with pytest.raises(ValueError, match="depends on the order of the judgments, which samples of k=3 do not have"):
        ERM(aggregator=aggregator, k=3)
    for k in (1, np.inf):
        assert ERM(aggregator=aggregator, k=k).k == k
