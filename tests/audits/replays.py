"""Replays of vote collection: pairs chosen by the design of `more-votes`, beside pairs drawn at random."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.likelihood.covariance import inverse_information
from rankbench.audits.more_votes import Design
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count import count_pairs


class Replayed(NamedTuple):
    """The outcome of a replay.

    Attributes
    ----------
    first : bool
        Whether the true first item is in the first place.
    error : float
        Squared error of its lead over the true second item.
    """

    first: bool
    error: float


class Pool(NamedTuple):
    """Votes that can be collected: of a log, or without end from scores.

    Attributes
    ----------
    truth : ndarray of float64, shape (m,)
    ends, ties : ndarray of int64, shape (n, 2), and of bool, shape (n,)
        Winners, losers and ties of a log, in random order; of no rows: votes are simulated.
    """

    truth: NDArray[np.float64]
    ends: NDArray[np.int64]
    ties: NDArray[np.bool_]


def replayed(
    pool: Pool, how: Literal["design", "random"], seed: int, *, start: int, batch: int, batches: int
) -> Replayed:
    """Start with votes on random pairs, add batches of votes, and say how near the truth the scores come."""
    rng, m = np.random.default_rng([seed, start]), len(pool.truth)
    left, method = np.ones(len(pool.ties), bool), BradleyTerry(penalty="firth")
    taken: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []

    def collect(votes: NDArray[np.float64]) -> None:
        """Take so many votes on each pair, upper triangle."""
        low, high = np.nonzero(votes)
        one, other = (np.repeat(side, votes[low, high].astype(int)) for side in (low, high))
        if not len(left):
            lost = rng.random(len(one)) > 1 / (1 + np.exp(pool.truth[other] - pool.truth[one]))
            ends = np.where(lost[:, None], np.column_stack([other, one]), np.column_stack([one, other]))
            taken.append((ends, np.zeros(len(one), bool)))
            return
        wanted = votes.copy()
        rows = []
        for row in np.flatnonzero(left):
            i, j = sorted(pool.ends[row])
            if wanted[i, j] >= 1:
                wanted[i, j] -= 1
                rows.append(row)
        left[rows] = False
        taken.append((pool.ends[rows], pool.ties[rows]))

    def available() -> NDArray[np.float64] | None:
        if not len(left):
            return None
        found = np.zeros((m, m))
        np.add.at(found, tuple(np.sort(pool.ends[left], axis=1).T), 1)
        return found

    def at_random(count: int) -> NDArray[np.float64]:
        found = np.zeros((m, m))
        if len(left):
            chosen = np.sort(pool.ends[rng.choice(np.flatnonzero(left), count, replace=False)], axis=1)
        else:
            pairs = np.column_stack(np.triu_indices(m, 1))
            chosen = pairs[rng.integers(0, len(pairs), count)]
        np.add.at(found, tuple(chosen.T), 1)
        return found

    def counts() -> PairCounts:
        ends, ties = (np.concatenate(parts) for parts in zip(*taken, strict=True))
        return count_pairs(ends[:, 0], ends[:, 1], ties=ties if ties.any() else None, m=m)

    collect(at_random(start))
    for _ in range(batches):
        if how == "random":
            collect(at_random(batch))
            continue
        whole = counts()
        scores = method.from_counts(whole)
        inverse, first = inverse_information(whole, scores), int(np.argmax(scores))
        rest = np.flatnonzero(np.arange(m) != first)
        wanted = np.maximum((scores[first] - scores[rest]) ** 2 / 2.8**2, 1e-4)
        plan = Design(scores, inverse, np.full(m - 1, first), rest, wanted * 1e-3).allocated(batch, available())
        # Whole votes: the largest rests get what is left.
        short = np.floor(plan)
        rests = np.argsort(-(plan - short), axis=None, kind="stable")[: round(batch - short.sum())]
        short.flat[rests] += 1
        collect(np.minimum(short, np.inf if available() is None else available()))
    scores, (second, first) = method.from_counts(counts()), np.argsort(pool.truth)[-2:]
    off = (scores[first] - scores[second]) - (pool.truth[first] - pool.truth[second])
    return Replayed(int(np.argmax(scores)) == first, float(off**2))


def simulated_pool(seed: int, items: int = 10) -> Pool:
    """Return votes without end on items of normal skills."""
    return Pool(np.random.default_rng([7, seed]).normal(0, 0.5, items), np.zeros((0, 2), int), np.zeros(0, bool))


def logged_pool(log: str, seed: int) -> Pool:
    """Return the votes of a log in random order; its truth are its own scores."""
    from rankbench.logs.open import open_log
    from rankbench.logs.votes import load_votes

    votes = load_votes(open_log(log).judged().frame)
    order = np.random.default_rng([8, seed]).permutation(len(votes))
    truth = BradleyTerry(penalty="firth").from_counts(votes.counts())
    ends = np.column_stack([votes.winners, votes.losers])[order].astype(int)
    return Pool(truth, ends, votes.ties[order])
