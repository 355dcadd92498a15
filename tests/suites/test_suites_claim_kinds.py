"""Kinds of claims about repetitions and curves, against SciPy and curves of known powers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

from rankbench.interfaces.claim import Compared, NoEvidenceError, WeightedContrast
from rankbench.reports.verdicts import verdict
from rankbench.suites.claim_kinds import Bounded, Rate, Wins

STEPS = (1_000, 3_000, 10_000)
Curves = dict[str, NDArray[np.float64]]


def compared(
    draws: NDArray[np.float64] | None = None,
    curves: Curves | None = None,
    direction: str = "minimize",
    overlapping: bool = False,
    losses: Mapping[str, NDArray[np.float64]] | None = None,
) -> Compared:
    """Return contenders `a`, `b`, ... at n = 1, each of them contrasted with the last."""
    labels = [chr(97 + i) for i in range(len(curves or []) if draws is None else draws.shape[1])]
    contrasts = [
        WeightedContrast(f"{a} vs {labels[-1]}", (((1, a), 1.0), ((1, labels[-1]), -1.0))) for a in labels[:-1]
    ]
    runs = len(next(iter(curves.values()))) if curves else 0 if draws is None else len(draws)

    def curve(contender: tuple[int, str], metric: str, steps: Sequence[int]) -> NDArray[np.float64] | None:
        return (curves or {}).get(contender[1])

    def unused() -> NDArray[np.float64]:
        raise AssertionError("this kind of claim takes no draws")

    return Compared(
        tuple(contrasts),
        tuple((1, label) for label in labels),
        "ndcg",
        direction,  # type: ignore[arg-type]
        "design",
        tuple(range(runs)),
        7,
        unused,  # type: ignore[arg-type]
        curve,
        unused if draws is None else lambda: draws,
        lambda contender, metric: (losses or {}).get(metric),
        overlapping,
    )


def runs(wins: int, losses: int, ties: int = 0) -> NDArray[np.float64]:
    """Return draws of two contenders, of which the first is lower, higher or equal so often."""
    differences = np.repeat([-1.0, 1.0, 0.0], [wins, losses, ties])
    return np.column_stack([0.5 + differences / 8, np.full(len(differences), 0.5)])


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5))
def test_intervals_of_shares_are_those_of_clopper_and_pearson(wins: int, losses: int, ties: int) -> None:
    total = wins + losses + ties
    if total == 0:
        return
    bounds = Wins().evidence(compared(runs(wins, losses, ties))).bounds
    low, high = binomtest(wins, total).proportion_ci(0.95, "exact")
    assert bounds.estimate[0] == wins / total
    assert (bounds.own_lower[0], bounds.own_upper[0]) == pytest.approx((low, high), abs=1e-12)
    assert (bounds.lower[0], bounds.upper[0]) == pytest.approx((low, high), abs=1e-12)
    turned = Wins().evidence(compared(1 - runs(wins, losses, ties), direction="maximize")).bounds
    assert turned.estimate[0] == wins / total


def test_shares_of_several_contrasts_hold_together() -> None:
    draws = np.column_stack([runs(9, 3), runs(2, 10)[:, :1]])[:, [0, 2, 1]]
    bounds = Wins().evidence(compared(draws)).bounds
    for j, won in enumerate((9, 2)):
        low, high = binomtest(won, 12).proportion_ci(1 - 0.05 / 2, "exact")
        assert (bounds.lower[j], bounds.upper[j]) == pytest.approx((low, high))
    assert (bounds.lower < bounds.own_lower).all()
    assert (bounds.own_upper < bounds.upper).all()


@pytest.mark.parametrize(
    ("wins", "losses", "share", "expected"),
    [
        (14, 1, 0.5, "held"),  # p = .001, as of a sign test
        (14, 1, 0.9, "could not tell"),
        (1, 14, 0.5, "did not hold"),
        (9, 6, 0.5, "could not tell"),
        (150, 0, 0.95, "held"),
    ],
)
def test_verdicts_of_wins(wins: int, losses: int, share: float, expected: str) -> None:
    kind = Wins(share=share)
    assert verdict(kind, kind.evidence(compared(runs(wins, losses))).bounds) == expected


def test_overlapping_repetitions_are_counted_without_a_verdict() -> None:
    with pytest.raises(NoEvidenceError, match=r"overlap and are not independent: a vs b: 14 of 15"):
        Wins().evidence(compared(runs(14, 1), overlapping=True))


def power_curve(power: float, noise: float = 0.0, draws: int = 12) -> NDArray[np.float64]:
    """Return draws of a curve that falls as a power of the step."""
    rng = np.random.default_rng([int(power * 100), draws])
    return np.asarray(3 * np.array(STEPS, float) ** -power * np.exp(noise * rng.standard_normal((draws, len(STEPS)))))


def test_a_power_of_the_step_has_its_slope() -> None:
    found = Rate(metric="gap", steps=STEPS).evidence(compared(curves={"a": power_curve(1), "b": power_curve(0.5)}))
    assert found.texts == ("a at n = 1", "b at n = 1")
    np.testing.assert_allclose(found.bounds.estimate, [-1, -0.5])
    np.testing.assert_allclose(found.bounds.upper, [-1, -0.5])


def test_a_slope_is_the_least_squares_line_through_the_mean_curve() -> None:
    curves = {"a": power_curve(0.9, 0.3), "b": power_curve(0.4, 0.3)}
    bounds = Rate(metric="gap", steps=STEPS).evidence(compared(curves=curves)).bounds
    for j, values in enumerate(curves.values()):
        slope = np.polyfit(np.log10(STEPS), np.log10(values.mean(axis=0)), 1)[0]
        assert bounds.estimate[j] == pytest.approx(slope)
        # The jackknife leaves out a draw at a time.
        left = [np.polyfit(np.log(STEPS), np.log(np.delete(values, r, 0).mean(axis=0)), 1)[0] for r in range(12)]
        se = np.sqrt(11 / 12 * ((left - np.mean(left)) ** 2).sum())
        assert bounds.own_upper[j] - slope == pytest.approx(2.201 * se, rel=0.3)  # t of 11 degrees of freedom


@pytest.mark.parametrize(("exponent", "expected"), [(0.4, "held"), (0.51, "did not hold"), (0.9, "did not hold")])
def test_every_curve_must_fall_at_the_rate(exponent: float, expected: str) -> None:
    kind = Rate(metric="gap", steps=STEPS, exponent=exponent)
    curves = {"a": power_curve(1), "b": power_curve(0.5, 1e-4)}
    assert verdict(kind, kind.evidence(compared(curves=curves)).bounds) == expected


def test_a_rate_needs_two_steps_and_a_positive_curve() -> None:
    assert Rate(metric="gap", steps=(1000, 1000)).lacks() == "a claim of kind 'rate' needs two steps at least"
    assert Rate(metric="gap").lacks() == "a claim of kind 'rate' needs metric and steps"
    curves = {"a": power_curve(1), "b": -power_curve(1)}
    with pytest.raises(NoEvidenceError, match="the mean of gap of b is not positive"):
        Rate(metric="gap", steps=STEPS).evidence(compared(curves=curves))


@given(st.floats(0, 1), st.floats(-0.1, 0.1))
def test_a_bound_holds_on_every_unit_or_not_at_all(loss: float, above: float) -> None:
    values = np.linspace(0, loss, 12).reshape(4, 3)
    limits = values + 0.2
    limits[2, 1] = values[2, 1] - above
    claim = Bounded(bound="limit")
    found = claim.evidence(compared(np.zeros((4, 2)), losses={"ndcg": values, "limit": limits})).bounds
    assert found.estimate.tolist() == pytest.approx([above] * 2, abs=1e-15)
    assert claim.claimed(found.lower, found.upper).all() == (above <= 1e-12)
    assert claim.opposed(found.lower, found.upper).all() == (above > 1e-12)


def test_a_bound_is_a_metric_of_the_experiment() -> None:
    assert Bounded().lacks() == "a claim of kind 'bounded' needs bound"
    with pytest.raises(NoEvidenceError, match="no metric 'limit'"):
        Bounded(bound="limit").evidence(compared(np.zeros((4, 2)), losses={"ndcg": np.zeros((4, 3))}))
