import numpy as np
import pytest

from rankbench.interfaces.method import Penalty
from rankbench.optimizers.composite import Composite

SCHEDULES = [
    Composite(schedule="inverse-t", c=3.0, t0=5.0),
    Composite(schedule="inverse-sqrt", c=0.3),
    Composite(schedule="inverse-sqrt", c=0.3, t0=7.0),
]


def test_schedules():
    assert Composite(schedule="inverse-t", c=3.0, t0=5.0).size(1) == pytest.approx(3 / 6)
    assert Composite(schedule="inverse-sqrt", c=0.3).size(4) == pytest.approx(0.3 / 2)
    # c = 1/lambda is the step of the strongly convex guarantee.
    assert Composite(schedule="inverse-t", c=1 / 0.01, t0=9).size(1) == pytest.approx(1 / (0.01 * 10))


@pytest.mark.parametrize("optimizer", SCHEDULES, ids=str)
@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("t", [1, 30])
def test_step_is_the_argmin_of_25(optimizer, l2, t):
    rng = np.random.default_rng(t)
    theta, gradient = rng.normal(size=(2, 6))

    # (25) is f @ gradient + l2 / 2 f @ f + |f - theta|^2 / (2 size), which is convex: its derivative there is zero.
    f = optimizer.step(theta, gradient, t, Penalty(l2), np.zeros(0))
    np.testing.assert_allclose(gradient + l2 * f + (f - theta) / optimizer.size(t), 0, atol=1e-12)


@pytest.mark.parametrize("optimizer", SCHEDULES, ids=str)
@pytest.mark.parametrize(
    "penalty",
    [Penalty(0.7), Penalty(0.7, l1=0.4), Penalty(l1=0.4), Penalty(0.7, radius=0.9), Penalty(0.1, l1=0.2, box=0.4)],
    ids=str,
)
@pytest.mark.parametrize("t", [1, 30])
def test_the_compiled_step_is_that_of_numpy(optimizer, penalty, t):
    theta, gradient = np.random.default_rng(t).normal(size=(2, 3, 6))
    expected = [optimizer.step(*row, t, penalty, np.zeros(0)) for row in zip(theta, gradient, strict=True)]
    kernel = optimizer.kernel(penalty)
    kernel.function(theta, gradient, t, np.tile(kernel.params, (3, 1)), np.zeros((3, 0)))
    np.testing.assert_allclose(theta, expected, rtol=1e-13, atol=1e-15)
