"""Position-biased judges: how often honest logs accuse anybody, by simulation, and who is found beside innocents."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import part_of
from numpy.typing import NDArray
from scipy.stats import beta, betabinom, binom, norm, t

from rankbench.descriptions.judges import bias_p_values

LEVEL = 0.05
Votes = NDArray[np.int64]


def honest(
    rng: np.random.Generator, judges: int, votes: int | None, share: float, spread: float
) -> tuple[Votes, Votes]:
    """Return votes, equal or log-normal ones, and those for the left of judges with beta shares of this deviation."""
    cast = np.full(judges, votes) if votes else np.maximum(3, rng.lognormal(4, 1.2, judges)).astype(np.int64)
    shares = np.full(judges, share)
    if spread:
        size = share * (1 - share) / spread**2 - 1
        shares = rng.beta(share * size, (1 - share) * size, judges)
    return cast, rng.binomial(cast, shares)


def accused(votes: Votes, left: Votes) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = bias_p_values(votes.astype(float), left.astype(float)) < LEVEL
    return found


def too_often(times: int, logs: int) -> bool:
    """Return whether an error of 5% in so many logs would be seen this often in one of a thousand simulations."""
    return times > binom.ppf(0.999, logs, LEVEL)


def errors(seed: int, logs: int, judges: int, votes: int | None, share: float, spread: float) -> int:
    rng = np.random.default_rng([seed, judges, votes or 0, int(100 * share), int(100 * spread)])
    return sum(bool(accused(*honest(rng, judges, votes, share, spread)).any()) for _ in range(logs))


@pytest.mark.parametrize("spread", [0.0, 0.1])
@pytest.mark.parametrize("judges", part_of([3, 4, 20]))
def test_honest_logs_accuse_nobody(judges: int, spread: float) -> None:
    times = sum(errors(1, 60, judges, votes, share, spread) for votes in (20, 200, None) for share in (0.5, 0.8))
    assert not too_often(times, 360)


@pytest.mark.long
@pytest.mark.parametrize("spread", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("share", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("votes", [20, 200, 1000, None])
@pytest.mark.parametrize("judges", [2, 3, 4, 8, 20, 60, 150])
def test_at_most_one_honest_log_in_twenty_accuses_anybody(
    judges: int, votes: int | None, share: float, spread: float
) -> None:
    assert not too_often(errors(2, 400, judges, votes, share, spread), 400)


@pytest.mark.parametrize(
    ("innocents", "votes", "share", "spammers", "cast", "left"),
    part_of(
        [
            # Three innocents beside one who cast most of the votes: the share of all votes is the spammer's.
            (3, 100, 0.5, 1, 1000, 0.98),
            (3, 100, 0.5, 1, 100, 1.0),
            (3, 60, 0.55, 1, 60, 0.0),
            (9, 30, 0.5, 1, 30, 1.0),
            # Several do not hide one another.
            (20, 30, 0.5, 2, 40, 0.97),
            (40, 50, 0.6, 8, 50, 1.0),
        ]
    ),
)
def test_a_spammer_is_found_and_innocents_beside_it_are_not(
    innocents: int, votes: int, share: float, spammers: int, cast: int, left: float
) -> None:
    rng = np.random.default_rng([3, innocents, votes, cast])
    found = wrong = 0
    for _ in range(100):
        numbers = np.array([votes] * innocents + [cast] * spammers)
        shares = np.array([share] * innocents + [left] * spammers)
        of = accused(numbers, rng.binomial(numbers, shares))
        found += int(of[innocents:].sum())
        wrong += bool(of[:innocents].any())
    assert found >= 90 * spammers
    assert not too_often(wrong, 100)


def naive(votes: Votes, left: Votes, judge: int, others: list[int]) -> float:
    """Return a judge's p-value by the formulas of the module, with scipy.stats, one judge at a time."""
    n, k = votes[others].astype(float), left[others].astype(float)
    p = (k.sum() + 0.5) / (n.sum() + 1)
    q = sum(m * (x / m - k.sum() / n.sum()) ** 2 for m, x in zip(n, k, strict=True)) / (p * (1 - p))
    alike = len(n) - 1
    rho = min(1.0, max(0.0, (q - alike) / (n.sum() - (n**2).sum() / n.sum() - alike)))
    freedom = n.sum() ** 2 / (n**2).sum() - 1
    rho = (8 * 0.05 + freedom * rho) / (8 + freedom)
    own = p * (1 - p) * (1 + (votes[judge] - 1) * rho) / votes[judge]
    mean = p * (1 - p) * (n * (1 + (n - 1) * rho)).sum() / n.sum() ** 2
    size = p * (1 - p) / (own + mean) - 1
    law = beta(p * size, (1 - p) * size)
    low = law.cdf(min(1, (left[judge] + 0.5) / votes[judge]))
    high = law.sf(max(0, (left[judge] - 0.5) / votes[judge]))
    tail = min(low, high, 0.5)
    weight = (votes[judge] - 1) / (votes[judge] * (own + mean) / (p * (1 - p)) - 1) - 1
    steps = betabinom(votes[judge], weight * p, weight * (1 - p))
    if tail < 0.01 and votes[judge] <= 2000:
        tail = max(tail, min(steps.cdf(left[judge]), steps.sf(left[judge] - 1)))
    spread = 2 * t.cdf(norm.ppf(tail), 8 + freedom)
    exact = binom(votes[judge], p)
    return float(max(spread, min(1, 2 * min(exact.cdf(left[judge]), exact.sf(left[judge] - 1)))))


def test_p_values_are_those_of_the_formulas() -> None:
    rng = np.random.default_rng(5)
    votes, left = honest(rng, 12, None, 0.6, 0.05)
    left[[2, 7]] = votes[[2, 7]] * 0
    of = bias_p_values(votes.astype(float), left.astype(float))
    suspects = np.flatnonzero(of < LEVEL).tolist()
    others = [j for j in range(12) if j not in suspects]
    assert suspects == [2, 7]
    # Doubled for the looks, and Holm's method among twelve judges.
    alone = sorted(2 * naive(votes, left, j, others) for j in suspects)
    assert sorted(of[suspects]) == pytest.approx([alone[0] * 12, max(alone[0] * 12, alone[1] * 11)], rel=1e-6)


def test_two_judges_cannot_accuse_each_other() -> None:
    assert not accused(np.array([500, 500]), np.array([500, 250])).any()
    assert not accused(np.array([10]), np.array([10])).any()
