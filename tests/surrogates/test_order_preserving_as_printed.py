"""The misprinted surrogate is the right one at minus alpha."""

from __future__ import annotations

import numpy as np
import pytest

from rankbench.surrogates.order_preserving import OrderPreserving, OrderPreservingAsPrinted


@pytest.mark.parametrize("phi", ["logistic", "exponential", "squared-hinge"])
def test_printed_is_right_at_minus_alpha(phi: str) -> None:
    rng = np.random.default_rng(0)
    printed, right = OrderPreservingAsPrinted(phi=phi), OrderPreserving(phi=phi)
    alpha, scores = rng.normal(size=4), rng.normal(size=4)
    target = right.target(scores)
    assert printed.target(scores).tolist() == target.tolist()
    value, gradient = printed.value_and_gradient(alpha, target)
    expected = right.value_and_gradient(-alpha, target)
    assert value == expected[0]
    assert gradient.tolist() == (-expected[1]).tolist()


def test_minimizing_it_puts_the_best_item_last() -> None:
    printed, scores = OrderPreservingAsPrinted(), np.array([2.0, 1.0, 0.0])
    target = printed.target(scores)
    gradient = printed.value_and_gradient(np.zeros(3), target)[1]
    assert gradient[0] > gradient[1] > gradient[2]
