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


def mean_gaps(optimizer, l2, curvature, horizons, repetitions):
    """Mean excess risk of the averaged iterate of noisy gradients of a quadratic.

    All repetitions are rows of one array: a step is linear, and works on rows as it is.
    """
    rng = np.random.default_rng(20)
    target = np.ones(len(curvature))
    best = curvature * target / (curvature + l2)
    theta = np.zeros((repetitions, len(curvature)))
    total = np.zeros_like(theta)
    gaps = []
    for t in range(1, max(horizons) + 1):
        total += theta
        gradient = curvature * (theta - target) + rng.normal(size=theta.shape)
        theta = optimizer.step(theta, gradient, t, Penalty(l2), np.zeros(0))
        if t in horizons:
            off = total / t - best
            gaps.append(0.5 * float(np.mean(np.sum((curvature + l2) * off**2, axis=1))))
    return gaps


def slope(horizons, gaps):
    return np.polyfit(np.log(horizons), np.log(gaps), 1)[0]


def test_rate_one_over_t_when_strongly_convex():
    # Curvature 1 to 2 beside lambda = .5: c = 1/lambda and t0 = L/lambda, as documented.
    horizons = [2000, 4000, 8000, 16000]
    optimizer = Composite(schedule="inverse-t", c=2.0, t0=4.0)
    gaps = mean_gaps(optimizer, 0.5, np.array([1.0, 1.5, 2.0]), horizons, 400)
    assert slope(horizons, gaps) == pytest.approx(-1.0, abs=0.12)


def test_rate_one_over_sqrt_t_when_only_convex():
    # No lambda, and curvatures down to far below 1/(c sqrt(T)): within the horizon some
    # direction is always flat, and the gap falls with the sum of the step sizes.
    horizons = [1000, 2000, 4000, 8000]
    optimizer = Composite(schedule="inverse-sqrt", c=0.5)
    curvature = np.geomspace(1e-5, 1.0, 60)
    gaps = mean_gaps(optimizer, 0.0, curvature, horizons, 100)
    assert slope(horizons, gaps) == pytest.approx(-0.5, abs=0.1)
    # The theorem's constant: |theta*|^2 / (2 c) + c E|g|^2, with |theta*|^2 = 60 and E|g|^2 near 60.
    bound = 60 / (2 * 0.5) + 0.5 * 65
    assert all(gap <= bound / np.sqrt(t) for gap, t in zip(gaps, horizons, strict=True))
