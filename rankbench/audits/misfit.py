r"""Votes that one order does not explain: of a judge, a category, or an item against certain others.

Of n votes of a group g on item i, Bradley-Terry scores expect it to win e, and it wins e + s, with s the sum of its
residuals and v that of p (1 - p). The group's taste for the item, in log-odds, and its distance from no taste are

.. math:: u_{gi} = \log \frac{e + s + 1/2}{n - e - s + 1/2} - \log \frac{e}{n - e}, \qquad
          z_{gi} = \frac{u_{gi} v_{gi}}{\sqrt{v_{gi} (1 - v_{gi} / v_i) + \tau^2 v_{gi}^2}}

where v_i is the item's sum over all votes, and :math:`\tau` is the standard deviation of tastes of judges. It is the
one whose simulated logs have, on average, the same median over judges of what the squares of s imply; one judge does
not move it. An item's misfit is the sum of the squares of its residuals by opponent, each over its variance, as a
chi-squared tail. The largest value of each kind is compared with up to 999 logs that are simulated: the same judges on
the same pairs, with the scores and ties of the log, normal tastes, and scores fitted again by one Newton step. Tests
take the median, and with it :math:`\tau`, a standard error larger: it is an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.covariance import inverse_information
from rankbench.audits.probe import ENOUGH, MOST_ITEMS, SIMULATED, VoteBoard, simulated_p
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.plugin.manager import get

_SCORES, _RIDGE = "bradley-terry:ridge=0.1", 0.1
_BATCH, _SEED = 37, 71
_MOST_VOTES = 200_000
"""Votes beyond which simulations take too long."""

_TASTES = np.arange(0.0, 2.05, 0.1)
"""Standard deviations of tastes that are tried."""

_LEAST = 2.0
"""Information that a group must have on an item: some eight votes."""


@dataclass(frozen=True, eq=False)
class GroupMisfit:
    """Votes of groups against all votes.

    Attributes
    ----------
    group, item : int
        Group whose votes on an item differ most from all votes on it.
    z : float
    p : float
        Adjusted for all groups and items.
    """

    group: int
    item: int
    z: float
    p: float


@dataclass(frozen=True, eq=False)
class Misfit:
    """Largest misfits of a log.

    Attributes
    ----------
    taste : float
        Standard deviation of tastes of judges, in log-odds; 0 without judges.
    groups : dict of str to GroupMisfit
        By kind of group: ``judge``, and the columns of categories.
    item : int
        Item whose results against others agree least with one order.
    item_p : float
        Adjusted for all items.
    """

    taste: float
    groups: dict[str, GroupMisfit]
    item: int
    item_p: float


class _Groups:
    """Tastes of groups for items, (B, cells), by residuals of votes, (B, n)."""

    def __init__(
        self,
        board: VoteBoard,
        group: NDArray[np.integer],
        weight: NDArray[np.float64],
        chance: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> None:
        from scipy.sparse import csr_array

        votes, m, n = board.votes, len(board.items), len(board.votes)
        cells = np.concatenate([group.astype(np.int64) * m + end for end in (votes.winners, votes.losers)])
        known, place = np.unique(cells, return_inverse=True)
        self.place = place
        self.group, self.item = np.divmod(known, m)
        signs, rows = np.repeat([1.0, -1.0], n), np.tile(np.arange(n), 2)
        self.sums = csr_array((signs, (rows, place)), shape=(n, len(known)))
        self.own = np.bincount(place, np.tile(weight, 2), len(known))
        said = np.concatenate([votes.weights * chance, votes.weights * (1 - chance)])
        self.expected, self.votes = (np.bincount(place, one, len(known)) for one in (said, np.tile(votes.weights, 2)))
        whole = np.bincount(self.item, self.own, m)[self.item]
        self.base = np.bincount(place, np.tile(noise, 2), len(known)) * np.maximum(1 - self.own / whole, 1e-9)
        self.known = (self.own >= _LEAST) & (self.own < 0.999 * whole)

    def tastes(self, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return tastes of groups for items times their information, (B, cells)."""
        won = np.clip(self.expected + residuals @ self.sums, 0, self.votes)
        odds = (won + 0.5) / (self.votes - won + 0.5) * (self.votes - self.expected) / self.expected
        return np.asarray(np.log(odds) * self.own)

    def variance(self, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a variance of tastes, (B,): the median over groups of estimates from their squares.

        Groups are the half with the most information. The median is biased, and below zero by chance.
        """
        from scipy.sparse import csr_array

        at = np.flatnonzero(self.known)
        if not len(at):
            return np.zeros(len(residuals))
        place = np.unique(self.group[at], return_inverse=True)[1]
        of_group = csr_array((np.ones(len(at)), (np.arange(len(at)), place)))
        excess = ((residuals @ self.sums)[:, at] ** 2 - self.base[at]) @ of_group
        information = self.own[at] ** 2 @ of_group
        kept = information >= np.median(information)
        return np.asarray(np.median(excess[:, kept] / information[kept], axis=1))

    def distances(self, residuals: NDArray[np.float64], taste: float) -> NDArray[np.float64]:
        """Return the distances of tastes from none, (B, cells), 0 where too little is known."""
        spread = np.sqrt(self.base + taste**2 * self.own**2)
        return np.where(self.known, np.abs(self.tastes(residuals)) / spread, 0.0)


class _Pairs:
    """Misfits of items, (B, m): chi-squared tails of residuals by opponent, as logarithms."""

    def __init__(self, board: VoteBoard, weight: NDArray[np.float64]) -> None:
        from scipy.sparse import csr_array

        votes, n = board.votes, len(board.votes)
        pairs, place = votes.pairs()
        self.sums = csr_array((np.ones(n), (np.arange(n), place)), shape=(n, len(pairs)))
        self.sign = np.where(votes.winners == pairs[place, 0], 1.0, -1.0)
        own = np.bincount(place, weight, len(pairs))
        self.spread = np.where(own >= _LEAST / 4, own, np.inf)
        m = len(board.items)
        rows, ends = np.tile(np.arange(len(pairs)), 2), pairs.T.ravel()
        self.of_items = csr_array((np.ones(2 * len(pairs)), (rows, ends)), shape=(len(pairs), m))
        self.opponents = np.isfinite(self.spread) @ self.of_items

    def tails(self, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return minus the logarithm of each item's chi-squared tail, (B, m)."""
        from scipy.special import chdtrc

        square = ((residuals * self.sign) @ self.sums) ** 2 / self.spread
        tail = chdtrc(np.maximum(self.opponents, 1), square @ self.of_items)
        return np.asarray(-np.log(np.maximum(tail, 1e-300)))


@lru_cache(maxsize=1)
def largest_misfits(board: VoteBoard) -> Misfit | None:
    """Return the largest misfits of a log; None: it has too many votes or items, or points that are split."""
    votes, m = board.votes, len(board.items)
    if len(votes) > _MOST_VOTES or m > MOST_ITEMS or votes.rest is not None:
        return None
    scores = call_aggregator(get(Aggregator, _SCORES), board.counts, m)
    inverse = inverse_information(board.counts, scores, _RIDGE)
    lead = scores[votes.winners] - scores[votes.losers]
    chance = 1 / (1 + np.exp(-lead))
    weight = votes.weights * chance * (1 - chance)
    # The share of ties falls with the lead, as in Davidson's model.
    level = votes.ties.mean() / (2 * np.sqrt(chance * (1 - chance))).mean()
    noise = votes.weights**2 * (chance * (1 - chance) - _tied(level, chance) / 4)
    parts = {name: _Groups(board, group, weight, chance, noise) for name, (group, _) in board.categories.items()}
    judged = votes.judges is not None and votes.judge_count > 1
    if votes.judges is not None and judged:
        parts["judge"] = _Groups(board, votes.judges, weight, chance, noise)
    pairs, rng = _Pairs(board, noise), np.random.default_rng([board.seed, _SEED])

    def fitted(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return residuals after one Newton step of the scores."""
        total = np.stack([np.bincount(votes.winners, r, m) - np.bincount(votes.losers, r, m) for r in residuals])
        step = total @ inverse
        return np.asarray(residuals - weight * (step[:, votes.winners] - step[:, votes.losers]))

    def simulated(taste: float) -> NDArray[np.float64]:
        """Return residuals of simulated logs, (37, n), whose judges have tastes."""
        leads = lead[None, :]
        if votes.judges is not None and taste:
            own = rng.normal(0, taste, (_BATCH, len(parts["judge"].item)))[:, parts["judge"].place]
            leads = leads + own[:, : len(votes)] - own[:, len(votes) :]
        share = 1 / (1 + np.exp(-leads))
        tied, drawn = _tied(level, share), rng.random((_BATCH, len(votes)))
        won = np.where(drawn < share - tied / 2, 1.0, np.where(drawn < share + tied / 2, 0.5, 0.0))
        return fitted(votes.weights * (won - chance))

    def distances(residuals: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {name: part.distances(residuals, wide if name == "judge" else 0.0) for name, part in parts.items()}

    said = fitted((votes.weights * (votes.share_won(votes.winners) - chance))[None, :])
    taste = wide = 0.0
    if judged:
        seen, error, implied = float(parts["judge"].variance(said)[0]), 0.0, list[float]()
        for tried in _TASTES:
            again = parts["judge"].variance(simulated(tried))
            if not implied or implied[-1] <= seen:
                error = float(again.std())
            implied.append(float(again.mean()))
            if implied[-1] > seen + error:
                break
        found = np.interp([seen, seen + error], np.maximum.accumulate(implied), _TASTES[: len(implied)])
        taste, wide = found.tolist()
    z, tails = distances(said), pairs.tails(said)[0]
    extreme = np.zeros((len(parts) + 1, 0), np.bool_)  # of each kind of group, and of items
    while extreme.shape[1] < SIMULATED and extreme.sum(axis=1).min() < ENOUGH:
        residuals = simulated(wide)
        beyond = [one.max(axis=1) >= z[name].max() for name, one in distances(residuals).items()]
        beyond.append(pairs.tails(residuals).max(axis=1) >= tails.max())
        extreme = np.hstack([extreme, beyond])
    groups = {}
    for (name, part), beyond_it in zip(parts.items(), extreme[:-1], strict=True):
        at = int(np.argmax(z[name][0]))
        p = simulated_p(beyond_it)
        groups[name] = GroupMisfit(int(part.group[at]), int(part.item[at]), float(z[name][0, at]), p)
    return Misfit(taste, groups, int(np.argmax(tails)), simulated_p(extreme[-1]))


def _tied(level: float, chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance of a tie, of the shape of `chance`."""
    most = 2 * np.minimum(chance, 1 - chance)
    return np.asarray(np.minimum(level * 2 * np.sqrt(chance * (1 - chance)), most))
