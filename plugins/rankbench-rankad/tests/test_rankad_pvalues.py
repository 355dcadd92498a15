import numpy as np
import pytest

from rankbench_rankad.pvalues import conformal_p_values, false_alarm_bound, flagged, p_values


def test_a_p_value_is_the_share_of_nominal_scores_that_are_not_above():
    nominal = np.array([1.0, 2.0, 2.0, 5.0])
    np.testing.assert_array_equal(p_values(np.array([0.0, 1.0, 2.0, 4.9, 5.0]), nominal), [0, 0.25, 0.75, 0.75, 1])
    np.testing.assert_array_equal(conformal_p_values(np.array([0.0, 2.0, 9.0]), nominal), [0.2, 0.8, 1.0])


def test_conformal_p_values_keep_their_level_in_tiny_samples():
    draw = np.random.default_rng(0)
    alarms = 0
    for _ in range(4000):
        scores = draw.normal(size=20)
        alarms += flagged(conformal_p_values(scores[:1], np.sort(scores[1:])), 0.1)[0]
    # Exactly floor(0.1 * 20) / 20 for continuous scores.
    assert alarms / 4000 == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 4000))


def test_a_p_value_of_exactly_alpha_is_an_anomaly():
    assert flagged(np.array([0.05, 0.0500001]), 0.05).tolist() == [True, False]


def test_the_bound_is_the_formula_of_theorem_3():
    k = np.ceil(5 * np.log2(1 + 2 * 3.0 / 0.5))
    assert false_alarm_bound(11, 1000, 5, 3.0, 0.5, 0.05) == pytest.approx(0.01 + 2 / 1000 * (k + np.log2(1000 / 0.05)))
    assert false_alarm_bound(11, 10**7, 5, 3.0, 0.5, 0.05) < 1e-4
