"""Weights far from 1: the same answers where only their ratios matter, and words where sums of them would be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from small_blocks import make_block, reweighted

from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.methods.baselines import UStatistic
from rankbench.methods.erm import ERM
from rankbench.methods.pair_risk import PairRisk
from rankbench.plugin.manager import get

OF_RATIOS = [
    "erm:aggregator=win-rate",
    "erm:aggregator=win-rate,k=1",
    "erm:aggregator=win-rate,k=10,draws=2000",
    "erm:aggregator=borda,k=10,draws=2000,surrogate=order-preserving,optimizer=newton",
    "erm:aggregator=win-rate,k=10,optimizer=composite,draws=2000",
]


def fitted(block: Block, spec: str) -> Fitted:
    return get(Method, spec).fit(block)


@pytest.fixture(scope="module")
def weighted() -> Block:
    return reweighted(make_block([4, 7, 3, 12, 5], 150), [1.0, 2.0, 1.0, 3.0])


@pytest.mark.parametrize("spec", OF_RATIOS)
@pytest.mark.parametrize("power", [-320, -100, 100, 320])
def test_a_power_of_two_changes_no_bit(weighted: Block, spec: str, power: int) -> None:
    """Up to 1e96 and down to 1e-97: the win rate has no scale, and powers of two do not round."""
    scaled = reweighted(weighted, list(np.ldexp([1.0, 2.0, 1.0, 3.0], power)))
    found, expected = fitted(scaled, spec).theta, fitted(weighted, spec).theta
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("loss", ["hinge", "logistic", "linear"])
@pytest.mark.parametrize("weights", [[1e-300], [1e300], [1e99], [1.0, 1e-300], [1.0, 1e300]])
def test_sums_that_would_be_wrong_are_refused(weighted: Block, loss: str, weights: list[float]) -> None:
    block = reweighted(weighted, weights)
    fits: list[Callable[[], object]] = [partial(PairRisk(loss=loss).fit, block), partial(ERM().fit, block)]
    for fit in fits:
        with pytest.raises(InputError, match="weights"):
            fit()


def test_collinear_features_beside_a_small_lambda() -> None:
    """A column twice is one of sqrt(2) times its size; where lambda is lost in rounding, there is no answer."""
    block = make_block([4, 7, 3, 12, 5], 150)
    x = block.design.x[:, :2]

    def of(features: np.ndarray) -> Block:
        return replace(block, design=replace(block.design, x=np.ascontiguousarray(features, np.float32)))

    twice, once = of(np.hstack([x, x[:, :1]])), of(x * np.array([np.sqrt(2), 1]))
    for method in (UStatistic(), PairRisk(), PairRisk(loss="logistic"), ERM(), get(Method, OF_RATIOS[3])):
        found, expected = method.fit(twice).score(twice.design), method.fit(once).score(once.design)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5 * np.abs(expected).max())
    with pytest.raises(ContenderDiverged, match="collinear"):
        UStatistic(**{"lambda": 1e-300}).fit(of(np.hstack([x, x[:, :1]]) * 2.0**60))
