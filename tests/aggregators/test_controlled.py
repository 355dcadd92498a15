"""Scores and effects of covariates, against dense computations; of many votes fits begin near the maximum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from minima import step_to_minimum
from numpy.typing import NDArray
from scipy.linalg import sqrtm
from scipy.special import expit

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood import covariate_fit as controlled
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.covariate_aggregator import ControlledAggregator, Covariates, CovariateVotes
from rankbench.interfaces.pair_counts import ClusterCounts

Votes = CovariateVotes

EFFECTS = np.array([0.25, -0.5, 0.1])


def simulated(n: int, m: int, seed: int, *, ties: float = 0.0, p: int = 3) -> Votes:
    """Return votes of known scores and effects."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, m, n).astype(np.int32)
    second = ((first + rng.integers(1, m, n)) % m).astype(np.int32)
    x = rng.standard_normal((n, p))
    scores = np.linspace(-1, 1, m)
    won = rng.random(n) < expit(scores[first] - scores[second] + x @ EFFECTS[:p])
    outcome = np.where(rng.random(n) < ties, 0.5, won)
    return single_votes(first, second, outcome, x, m)


def single_votes(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    outcome: NDArray[np.float64],
    x: NDArray[np.float64],
    m: int,
) -> Votes:
    """Return votes of weight 1: of outcome 1 where the first won, 0 where the second did, .5 for a tie."""
    names = tuple(f"x{k}" for k in range(x.shape[1]))
    outcomes = np.equal.outer(outcome, [1, 0, 0.5]).astype(np.float64)
    return Votes([f"i{i}" for i in range(m)], first, second, outcomes, Covariates(names, (1.0,) * len(names), x))


def design(votes: Votes) -> NDArray[np.float64]:
    """Return the rows z of a linear model of margins, shape (R, m + p)."""
    rows, m = np.arange(len(votes)), votes.m
    z = np.zeros((len(votes), m + votes.covariates.values.shape[1]))
    z[rows, votes.first], z[rows, votes.second] = 1.0, -1.0
    z[:, m:] = votes.covariates.values
    return z


def reweighted(votes: Votes, ridge: float) -> NDArray[np.float64]:
    """Return the maximum by dense iteratively reweighted least squares, ties being half wins."""
    z, won = design(votes), votes.outcomes[:, 0] + votes.outcomes[:, 2] / 2
    n, penalty, found = votes.outcomes.sum(axis=1), ridge * np.eye(z.shape[1]), np.zeros(z.shape[1])
    for _ in range(100):
        p = expit(z @ found)
        information = (z * (n * p * (1 - p))[:, None]).T @ z + penalty
        found = found + np.linalg.lstsq(information, z.T @ (won - n * p) - ridge * found, rcond=None)[0]
    found[: votes.m] -= found[: votes.m].mean()
    return found


def log_chances(margins: NDArray[np.complex128], eta: complex) -> NDArray[np.complex128]:
    """Return the log chances of the three outcomes in Davidson's model, shape (R, 3)."""
    logits = np.stack([margins / 2, -margins / 2, np.full(len(margins), eta)], axis=1)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def davidson_information(
    z: NDArray[np.float64], n: NDArray[np.float64], found: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Return the information of scores, effects and eta, by outer products of each outcome's slope."""
    chances = np.exp(log_chances(z @ found[:-1], found[-1]))
    whole = np.zeros((len(found), len(found)), complex)
    said = (np.array([0.5, -0.5, 0.0]), np.array([0.0, 0.0, 1.0]))
    means = [chances @ each for each in said]
    for c in range(3):
        slopes = np.column_stack([z * (said[0][c] - means[0])[:, None], said[1][c] - means[1]])
        whole += (slopes * (n * chances[:, c])[:, None]).T @ slopes
    return whole


def logdet(information: NDArray[np.complex128]) -> complex:
    """Return half the log determinant without the first item, which changes it by nothing but a constant."""
    return 0.5 * complex(np.log(np.linalg.det(information[1:, 1:])))


@pytest.mark.parametrize("ridge", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_bradley_terry_is_reweighted_least_squares(ridge: float, ties: float) -> None:
    votes = simulated(800, 6, 1, ties=ties)
    fit = (BradleyTerry(ridge=ridge) if ridge else BradleyTerry(penalty="none")).fit_controlled(votes)
    expected = reweighted(votes, ridge)
    np.testing.assert_allclose(fit.scores, expected[:6], atol=1e-8)
    np.testing.assert_allclose(fit.effects, expected[6:], atol=1e-8)


def test_firth_maximizes_its_penalized_likelihood() -> None:
    votes = simulated(40, 4, 2)
    z, won = design(votes), votes.outcomes[:, 0]

    def loss(found: NDArray[np.complex128]) -> complex:
        margins = z @ found
        p = 1 / (1 + np.exp(-margins))
        information = (z * (p * (1 - p))[:, None]).T @ z
        likelihood = (won * margins - np.log1p(np.exp(margins))).sum() + logdet(information)
        return found[:4].sum() ** 2 - complex(likelihood)  # scores sum to zero

    fit = BradleyTerry(penalty="firth").fit_controlled(votes)
    assert np.abs(step_to_minimum(loss, np.concatenate([fit.scores, fit.effects]))).max() < 1e-8


@pytest.mark.parametrize("penalty", ["none", "ridge", "firth"])
def test_davidson_maximizes_its_likelihood(penalty: str) -> None:
    votes = simulated(150, 4, 3, ties=0.3)
    z, n = design(votes), votes.outcomes.sum(axis=1)

    def loss(found: NDArray[np.complex128]) -> complex:
        likelihood = complex((votes.outcomes * log_chances(z @ found[:-1], found[-1])).sum())
        if penalty == "ridge":
            return 0.5 * complex(found[:-1] @ found[:-1]) - likelihood
        likelihood += logdet(davidson_information(z, n, found)) if penalty == "firth" else 0.0
        return complex(found[:4].sum() ** 2) - likelihood  # scores sum to zero

    fit = Davidson.model_validate({"penalty": penalty}).fit_controlled(votes)
    assert np.abs(step_to_minimum(loss, np.concatenate([fit.scores, fit.effects, fit.extra]))).max() < 1e-8


@pytest.mark.parametrize("penalty", ["ridge", "firth"])
@pytest.mark.parametrize("cls", [BradleyTerry, Davidson])
@pytest.mark.parametrize("clustered", [False, True])
def test_without_covariates_it_is_the_plain_fit(cls: type[ControlledAggregator], penalty: str, clustered: bool) -> None:
    aggregator = cls.model_validate({"penalty": penalty})
    votes = simulated(300, 5, 4, ties=0.2)
    bare = replace(votes, covariates=Covariates((), (), np.zeros((300, 0))))
    counts, clusters = bare.counts(), None
    if clustered:
        judges = (np.arange(300) % 7).astype(np.int32)
        bare = replace(bare, clusters=judges)
        pairs = {pair: e for e, pair in enumerate(zip(counts.low.tolist(), counts.high.tolist(), strict=True))}
        cells = {g: dict[int, float]() for g in range(7)}
        for a, b, said, g in zip(
            bare.first.tolist(), bare.second.tolist(), bare.outcomes, judges.tolist(), strict=True
        ):
            outcome = 2 if said[2] else int((said[0] == 0) != (a > b))
            cell = 3 * pairs[min(a, b), max(a, b)] + outcome
            cells[g][cell] = cells[g].get(cell, 0.0) + 1
        order = [sorted(cells[g]) for g in range(7)]
        starts = np.concatenate([[0], np.cumsum([len(each) for each in order])])
        weights = np.array([cells[g][cell] for g in range(7) for cell in order[g]])
        flat = np.array([cell for each in order for cell in each], np.int32)
        clusters = ClusterCounts(counts, [str(g) for g in range(7)], starts, flat, weights)
    scores = aggregator.from_counts(counts)
    fit = aggregator.fit_controlled(bare)
    np.testing.assert_allclose(fit.scores, scores, atol=1e-8)
    plain = aggregator.covariance(counts, scores, clusters)
    # The series of a cluster's correction ends by the largest number of all clusters here, and of its own there.
    np.testing.assert_allclose(aggregator.controlled_covariance(bare, fit), plain, atol=2e-6 * np.abs(plain).max())


@pytest.mark.parametrize("clustered", [False, True])
def test_the_sandwich_is_the_one_by_dense_roots(clustered: bool) -> None:
    votes = simulated(400, 5, 5)
    if clustered:
        votes = replace(votes, clusters=(np.arange(400) // 10).astype(np.int32))
    aggregator = BradleyTerry(penalty="firth")
    fit = aggregator.fit_controlled(votes)
    z = design(votes)
    p = expit(z @ np.concatenate([fit.scores, fit.effects]))
    # In coordinates without the first item, whose score is minus the sum of the others.
    basis = np.zeros((8, 7))
    basis[0, :4] = -1.0
    basis[1:] = np.eye(7)
    w = z @ basis
    inverse = np.linalg.inv((w * (p * (1 - p))[:, None]).T @ w)
    hat = p * (1 - p) * np.einsum("ri,ij,rj->r", w, inverse, w)
    bread = np.linalg.inv((w * ((1 + hat) * p * (1 - p))[:, None]).T @ w)
    meat = (w * (hat / 2 * (p**2 + (1 - p) ** 2))[:, None]).T @ w
    groups = votes.clusters if votes.clusters is not None else np.arange(400)
    for g in range(int(groups.max()) + 1):
        own, mine = w[groups == g], (p * (1 - p))[groups == g]
        said = own.T @ (votes.outcomes[groups == g, 0] - p[groups == g])
        root = np.linalg.inv(sqrtm(np.eye(7) - (own * mine[:, None]).T @ own @ bread).real)
        corrected = root @ said
        meat += np.outer(corrected, corrected)
    expected = basis @ bread @ meat @ bread @ basis.T
    found = aggregator.controlled_covariance(votes, fit)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_votes_that_are_alike_are_one_row() -> None:
    votes = simulated(3000, 4, 6, ties=0.1)
    sides = np.random.default_rng(6).integers(0, 2, (3000, 2)).astype(float)
    votes = replace(votes, covariates=Covariates(("side", "bold"), (1.0, 1.0), sides))
    rows = votes.summed()
    assert len(rows) < 100
    for aggregator in (BradleyTerry(penalty="firth"), Davidson()):
        one, other = aggregator.fit_controlled(votes), aggregator.fit_controlled(rows)
        np.testing.assert_allclose(one.effects, other.effects, atol=1e-9)
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
        np.testing.assert_allclose(
            aggregator.controlled_covariance(votes, one), aggregator.controlled_covariance(rows, other), atol=1e-9
        )


def test_many_items_are_solved_for_without_a_matrix() -> None:
    votes = simulated(20_000, 1600, 9)
    fit = BradleyTerry().fit_controlled(votes)
    z_scores = np.zeros(1600)
    slope = votes.outcomes[:, 0] - expit(fit.margins(votes))
    z_scores += np.bincount(votes.first, slope, 1600) - np.bincount(votes.second, slope, 1600)
    np.testing.assert_allclose(z_scores, fit.scores, atol=1e-7)
    np.testing.assert_allclose(votes.covariates.values.T @ slope, fit.effects, atol=1e-7)


def test_a_ridge_is_beside_the_sum_over_votes() -> None:
    # One covariate of 1 and two equal items: log-odds b of 7,000 wins in 10,000, less ridge b.
    n, won = 10_000, 7_000
    first = (np.arange(n) % 2).astype(np.int32)
    outcome = np.zeros(n)
    outcome[:won] = 1.0
    votes = single_votes(first, 1 - first, outcome, np.ones((n, 1)), 2)
    b = BradleyTerry(ridge=1.0).fit_controlled(votes).effects[0]
    assert won - n * expit(b) - b == pytest.approx(0, abs=1e-6)
    assert b == pytest.approx(np.log(7 / 3), abs=1e-3)


def test_firth_is_finite_where_a_covariate_separates() -> None:
    votes = simulated(60, 4, 10)
    apart = np.where(votes.outcomes[:, :1] == 1, 1.0, -1.0)
    votes = replace(votes, covariates=Covariates(("apart",), (1.0,), apart))
    assert 2 < BradleyTerry(penalty="firth").fit_controlled(votes).effects[0] < 20
    with pytest.raises(ContenderDiverged, match="apart"):
        BradleyTerry(penalty="none").fit_controlled(votes)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_follows_from_items_or_others_is_refused_by_name(dtype: type[np.floating]) -> None:
    votes = simulated(500, 5, 11)
    x = votes.covariates.values
    of_items = np.array([1.0, 5.0, 2.0, 0.0, 3.0])
    attribute = of_items[votes.first] - of_items[votes.second]
    for column, words in ((attribute, "items alone"), (2 * x[:, 0] - x[:, 1], "'x0', 'x1'")):
        values = np.column_stack([x, column]).astype(dtype)
        found = replace(votes, covariates=Covariates(("x0", "x1", "x2", "again"), (1.0,) * 4, values))
        with pytest.raises(InputError, match="'again'.*" + words):
            BradleyTerry().refuse_unidentified(found)
    BradleyTerry().refuse_unidentified(votes)


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
