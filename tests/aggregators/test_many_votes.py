"""Fits of so many votes that the first step is from near the maximum: the slope there is computed by NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from test_controlled import davidson_information, design, log_chances, simulated

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood import covariate_fit as controlled
from rankbench.interfaces.covariate_aggregator import CovariateVotes

MANY = 120_000


def ordered(votes: CovariateVotes, first: NDArray[np.bool_]) -> CovariateVotes:
    """Return votes of which every tenth is one of some, as long as there are."""
    some, others = np.flatnonzero(first), np.flatnonzero(~first)
    order = np.empty(len(votes), np.int64)
    tenths = np.arange(0, len(votes), 10)[: len(some)]
    order[tenths] = some[: len(tenths)]
    order[np.delete(np.arange(len(votes)), tenths)] = np.concatenate([some[len(tenths) :], others])
    return votes.take(order)


def slope(votes: CovariateVotes, found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slope of the likelihood of wins and losses, shape (m + p,)."""
    z = design(votes)
    return np.asarray(z.T @ (votes.outcomes[:, 0] - expit(z @ found)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_slope_is_flat_where_it_ends(dtype: type[np.floating]) -> None:
    votes = simulated(MANY, 6, 21)
    short = votes.covariates.values.astype(dtype)
    votes = replace(votes, covariates=replace(votes.covariates, values=short))
    fit = BradleyTerry(penalty="none").fit_controlled(votes)
    # The information on each number is of the order of MANY: an error of 1e-10 has a slope of 1e-5.
    assert np.abs(slope(votes, np.concatenate([fit.scores, fit.effects]))).max() < 1e-5


def test_it_takes_fewer_steps_over_all_votes_than_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = simulated(MANY, 6, 22)
    near = BradleyTerry(penalty="none").fit_controlled(votes)
    monkeypatch.setattr(controlled, "_LONG", MANY)
    far = BradleyTerry(penalty="none").fit_controlled(votes)
    assert near.iterations < far.iterations
    np.testing.assert_allclose(near.effects, far.effects, atol=1e-10)
    np.testing.assert_allclose(near.scores, far.scores, atol=1e-10)


def test_a_part_that_is_unlike_the_whole_changes_nothing() -> None:
    votes = simulated(MANY, 6, 23)
    votes = ordered(votes, (votes.first == 0) & (votes.second == 1) & (votes.outcomes[:, 0] == 1))
    fit = BradleyTerry(penalty="none").fit_controlled(votes)
    assert np.abs(slope(votes, np.concatenate([fit.scores, fit.effects]))).max() < 1e-5


def test_a_part_of_ties_alone_is_no_start() -> None:
    votes = simulated(MANY, 4, 24, ties=0.2)
    votes = ordered(votes, votes.outcomes[:, 2] == 1)
    assert votes.outcomes[::10, 2].all()
    fit = Davidson(penalty="none").fit_controlled(votes)
    z = design(votes)
    chances = np.exp(log_chances(z @ np.concatenate([fit.scores, fit.effects]), float(fit.extra[0])))
    said = votes.outcomes - chances
    assert np.abs(z.T @ (said[:, 0] - said[:, 1])).max() / 2 < 1e-5
    assert abs(said[:, 2].sum()) < 1e-5


def test_firths_slope_is_flat_where_it_ends() -> None:
    votes = simulated(MANY, 4, 25, p=2)
    fit = BradleyTerry(penalty="firth").fit_controlled(votes)
    found = np.concatenate([fit.scores, fit.effects])
    z = design(votes)
    p = expit(z @ found)
    inverse = np.linalg.pinv((z * (p * (1 - p))[:, None]).T @ z)
    leverage = p * (1 - p) * np.einsum("ri,ij,rj->r", z, inverse, z)
    assert np.abs(z.T @ (votes.outcomes[:, 0] - p + leverage * (0.5 - p))).max() < 1e-4


def test_firths_information_of_ties_is_that_of_outer_products() -> None:
    votes = simulated(MANY, 3, 26, ties=0.3, p=1)
    fit = Davidson(penalty="firth").fit_controlled(votes)
    found = np.concatenate([fit.scores, fit.effects, fit.extra])
    z, n = design(votes), votes.outcomes.sum(axis=1)

    def value(at: NDArray[np.float64]) -> float:
        information = davidson_information(z, n, at)
        likelihood = float((votes.outcomes * log_chances(z @ at[:-1], at[-1])).sum())
        return likelihood + 0.5 * float(np.linalg.slogdet(information[1:, 1:])[1])

    for along in np.eye(len(found))[1:]:
        around = (value(found + 1e-3 * along) - value(found - 1e-3 * along)) / 2e-3
        # Of a slope by differences: the third derivative of the sum over votes times 1e-6.
        assert abs(around) < 0.05


@pytest.mark.parametrize("m", [7, 3000])
def test_pairs_are_numbered_in_order(m: int) -> None:
    votes = simulated(5000, m, 27, ties=0.2)
    counts, pair = votes.numbered()
    pairs = sorted({(min(a, b), max(a, b)) for a, b in zip(votes.first.tolist(), votes.second.tolist(), strict=True)})
    assert list(zip(counts.low.tolist(), counts.high.tolist(), strict=True)) == pairs
    number = {each: e for e, each in enumerate(pairs)}
    expected = np.zeros((len(pairs), 3))
    for a, b, said, e in zip(votes.first, votes.second, votes.outcomes, pair.tolist(), strict=True):
        assert e == number[min(a, b), max(a, b)]
        expected[e] += said if a < b else said[[1, 0, 2]]
    np.testing.assert_array_equal(np.stack([counts.forward, counts.backward, counts.ties], axis=1), expected)
