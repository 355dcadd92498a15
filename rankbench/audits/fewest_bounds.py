r"""A proved number of votes whose removal leaves the first place of a Bradley-Terry model as it is, without refits.

Let :math:`\hat s` be the scores of all votes, s the scores without a set R of at most k votes, and p_v(s) the chance of
the lower item of a vote's pair. Both are zeros of score equations ([F93]_), so

.. math:: \bar H (\hat s - s) = q, \quad q = \sum_{v \in R} w_v (z_v - p_v(s)) b_v
   + \sum_e (\hat h_e - h_e) (\tfrac12 - p_e(s)) b_e, \quad
   \bar H = \sum_e (n_e + \hat h_e) \frac{p_e(\hat s) - p_e(s)}{b_e^T (\hat s - s)} b_e b_e^T + \rho I

with z the points of the lower item, b the difference of two unit vectors, n the weight of a pair's votes, h Firth's
pseudo-votes of a pair, and :math:`\rho` the ridge. As long as no lead of a pair e moves by more than
:math:`\delta_e`, intervals of p follow, and :math:`L \preceq \bar H \preceq r L` with the Laplacian L of the least
information. Then a lead x moves by at most

.. math:: \frac{1 + 1 / r}{2} x^T L^{-1} q + \frac{1 - 1 / r}{2} \sqrt{x^T L^{-1} x} \sqrt{q^T L^{-1} q}

and the k largest terms of the sums bound all sets of k votes.

**No score leaves the box.** Let weights of R fall from 1 to 0, and pseudo-votes go from :math:`\hat h` to h in
proportion. Each point of the way has one maximum, which moves without a jump, whether or not Firth's likelihood has
one. Bounds below :math:`\delta` therefore hold to the end. Then :math:`\delta` may shrink to the bounds.

**Pseudo-votes** come to m - 1 at most, and to 1 in a pair. In a box they are hat values: with the least weights a, the
most weights c of votes, and effective resistances R, which fall as weights rise ([DS84]_),

.. math:: n_e a_e R_e(n c) - \sum_{v \in R \cap e} w_v a_e R_e(n c) \le h_e \le
   \frac{n_e c_e R_e(n a)}{1 - \sum_{v \in R} w_v a_v R_v(n a)}

Without R the items may fall apart: the proof is then of the leads that are left, as the limit of the way.

References
----------
.. [DS84] P. G. Doyle and J. L. Snell. Random walks and electric networks. Mathematical Association of America, 1984.
.. [F93] D. Firth. Bias reduction of maximum likelihood estimates. Biometrika 80(1), 1993.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.likelihood.covariance import information_of_one
from rankbench.interfaces.aggregator import MOST_DENSE, CountAggregator
from rankbench.logs.votes import Votes

_CELLS = 2e7
"""Most pairs times kinds of votes: more take too long."""

_ROUNDS, _START, _WIDER, _GAIN, _FAR = 60, 0.05, 1.1, 0.95, 6.0
"""Rounds, the first delta, how much it grows beyond a bound, how much it must shrink to go on, and where it is given
up."""

_LEAST, _ROUNDED = 1e-3, 1e-6
"""The least delta; how far solvers may stop from the scores."""

_UNEVEN = 1e8
"""Most weight of a pair beside the least information of a pair: beyond it rounding moves scores, and matrices are
singular."""

Reals = NDArray[np.float64]


def harmless_votes(votes: Votes, method: CountAggregator, leads: Reals, first: int, limit: int) -> int:
    """Return a number of votes, below `limit`, whose removal provably keeps the first place.

    Parameters
    ----------
    votes : Votes
        A vote is a row.
    method : CountAggregator
        The answer is 0 for others than Bradley-Terry with a penalty, and where rounding may hide votes.
    leads : ndarray of float64, shape (m,)
        Of the first item over each; nan on other scales, and the answer is then 0.
    first : int
    limit : int
    """
    counts, m = votes.counts(), len(leads)
    if type(method) is not BradleyTerry or not np.isfinite(leads).all():
        return 0
    ridge = method.strength()
    low, high = np.minimum(votes.winners, votes.losers), np.maximum(votes.winners, votes.losers)
    pairs, pair = np.unique(low * np.int64(m) + high, return_inverse=True)
    points = votes.share_won(low)
    kinds, times = np.unique(np.column_stack([pair, points, votes.weights]), axis=0, return_counts=True)
    judged = np.asarray(np.bincount(pair, votes.weights), np.float64)
    if method.unpenalized() or counts.m > MOST_DENSE or len(pairs) * len(kinds) > _CELLS:
        return 0
    numbers = kinds[:, 0].astype(np.int64)
    known = _Known(first, leads, pairs // m, pairs % m, judged, ridge, numbers, kinds[:, 1], kinds[:, 2], times)
    if judged.max() > _UNEVEN * known.bend.min():
        return 0
    least = 0
    while limit - least > 1:
        size = (least + limit) // 2
        least, limit = (size, limit) if known.harmless(size) else (least, size)
    return least


def _largest(values: Reals, counts: NDArray[np.int64], k: int) -> Reals:
    """Return the sum of the k largest of each row, with the value of a column repeated `counts` times."""
    kept = min(k, values.shape[1])
    at = np.argpartition(values, values.shape[1] - kept, axis=1)[:, values.shape[1] - kept :]
    chosen = np.take_along_axis(values, at, 1)
    order = np.argsort(-chosen, axis=1)
    times = np.take_along_axis(counts[at], order, 1)
    used = np.clip(k - (np.cumsum(times, axis=1) - times), 0, times)
    found: Reals = (np.take_along_axis(chosen, order, 1) * used).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class _Known:
    """A fitted log: pairs (E) with their votes; kinds of votes (K) with their pair, points, weight and number.

    Without a ridge the penalty is Firth's.
    """

    first: int
    leads: Reals
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    votes: Reals
    ridge: float
    pair: NDArray[np.int64]
    points: Reals
    weights: Reals
    counts: NDArray[np.int64]

    @cached_property
    def margins(self) -> Reals:
        """Lead of the lower item of each pair, shape (E,)."""
        return self.leads[self.high] - self.leads[self.low]

    @cached_property
    def bend(self) -> Reals:
        """Information of each pair's votes, shape (E,)."""
        return self.votes * information_of_one(self.margins)

    @cached_property
    def pseudo(self) -> Reals:
        """Firth's pseudo-votes of each pair, its hat values, shape (E,)."""
        return np.zeros(len(self.bend)) if self.ridge else self.bend * self.resistances(self.inverse(self.bend))

    @cached_property
    def targets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Two ends of each lead, of pairs and then of the first over its rivals, shapes (T,)."""
        rivals = np.delete(np.arange(len(self.leads)), self.first)
        return np.concatenate([self.low, np.full(len(rivals), self.first)]), np.concatenate([self.high, rivals])

    def inverse(self, bend: Reals) -> Reals:
        """Return the inverse of the Laplacian of pairs with this information, and of the ridge, shape (m, m)."""
        m = len(self.leads)
        linked = np.zeros((m, m))
        linked[self.low, self.high] = bend
        linked += linked.T
        # A constant changes no product of differences, and lets the inverse exist.
        found: Reals = np.linalg.inv(np.diag(linked.sum(axis=0) + self.ridge) - linked + bend.sum() / m**2)
        return found

    def resistances(self, inverse: Reals) -> Reals:
        """Return the variance of each pair's lead by an inverse, shape (E,)."""
        own = np.diag(inverse)
        found: Reals = own[self.low] + own[self.high] - 2 * inverse[self.low, self.high]
        return found

    def harmless(self, k: int) -> bool:
        """Return whether no removal of k votes is proved to change the first place; False: not proved."""
        edges = len(self.low)
        box, shifts = np.full(edges, _START), (np.zeros(edges), np.zeros(len(self.pair))) if self.ridge else None
        rivals = np.delete(self.leads, self.first)
        inside = False
        for _ in range(_ROUNDS):
            moved = self.moves(k, box, shifts)
            bound = moved[:edges]
            if not bound.max() < _FAR:
                return False
            if not inside and (bound >= box).any():
                box = _WIDER * np.maximum(box, bound)
                continue
            if (moved[edges:] < rivals - _ROUNDED).all():
                return True
            if inside and bound.max() > _GAIN * box.max():
                return False
            inside, box = True, np.clip(bound, _LEAST, box)
            if not self.ridge and (shifts := self.pseudo_moves(k, box)) is None:
                return False
        return False

    def moves(self, k: int, box: Reals, shifts: tuple[Reals, Reals] | None) -> Reals:
        """Return bounds of the moves of leads while leads of pairs move by `box`, shape (T,): see the module.

        Parameters
        ----------
        k : int
        box : ndarray of float64, shape (E,)
        shifts : (ndarray of shape (E,), ndarray of shape (K,)), optional
            Bounds of the moves of a pair's pseudo-votes, and of a further move by the removal of a vote.
        """
        chances = [1 / (1 + np.exp(-self.margins - side * box)) for side in (-1, 1)]
        # Slopes of secants from the margin: the least away from 0, the most toward 0, if the box does not reach it.
        margin = np.abs(self.margins)
        shared, away = np.sinh(box / 2) / (2 * box * np.cosh(margin / 2)), np.cosh((margin + box) / 2)
        least, most = shared / away, np.where(box < margin, shared / np.cosh((margin - box) / 2), 0.25)
        bend = (self.votes + self.pseudo) * least
        inverse = self.inverse(bend)
        ratio = float((most / least).max())
        mean, rest = (1 + 1 / ratio) / 2, (1 - 1 / ratio) / 2
        rows = inverse[self.targets[0]] - inverse[self.targets[1]]
        pull = rows[:, self.low] - rows[:, self.high]
        at = np.arange(len(rows))
        length = np.sqrt(rows[at, self.targets[0]] - rows[at, self.targets[1]])
        gains = np.maximum(self.points - chances[0][self.pair], 0) * self.weights
        losses = np.maximum(chances[1][self.pair] - self.points, 0) * self.weights
        by_kind = pull[:, self.pair]
        down, up = (
            _largest(np.maximum(one * np.maximum(by_kind, 0), other * np.maximum(-by_kind, 0)), self.counts, k)
            for one, other in ((gains, losses), (losses, gains))
        )
        edges, reach = len(self.low), np.sqrt(self.resistances(inverse))
        moved = np.concatenate([np.maximum(down, up)[:edges], down[edges:]])
        norm = _largest((np.maximum(gains, losses) * reach[self.pair])[None], self.counts, k)[0]
        far = np.maximum(*(np.abs(0.5 - chance) for chance in chances))
        by_pair = np.vstack([far * np.abs(pull), far * reach])
        square = far**2 / bend
        if shifts is None:
            once, some = np.ones(edges, np.int64), len(self.leads) - 1
            pseudo = by_pair @ self.pseudo + _largest(by_pair, once, some)
            pseudo[-1] = min(pseudo[-1], np.sqrt(square @ self.pseudo**2 + _largest(square[None], once, some)[0]))
        else:
            pseudo = by_pair @ shifts[0]
            pseudo[-1] = min(pseudo[-1], np.sqrt(square @ shifts[0] ** 2))
            pseudo += _largest(by_pair[:, self.pair] * shifts[1], self.counts, k)
        found: Reals = mean * (moved + pseudo[:-1]) + rest * length * (norm + pseudo[-1])
        return found

    def pseudo_moves(self, k: int, box: Reals) -> tuple[Reals, Reals] | None:
        """Return bounds of the moves of pseudo-votes in a box: see `moves`. None: no bound is known."""
        near = information_of_one(np.maximum(np.abs(self.margins) - box, 0))
        away = information_of_one(np.abs(self.margins) + box)
        slack, tight = (self.resistances(self.inverse(self.votes * bend)) for bend in (away, near))
        gone = _largest((self.weights * (away * slack)[self.pair])[None], self.counts, k)[0]
        if gone >= 1:
            return None
        most = np.minimum(self.votes * near * slack / (1 - gone), 1.0)
        fewest = self.votes * away * tight
        return np.maximum(most - self.pseudo, self.pseudo - fewest), self.weights * (fewest / self.votes)[self.pair]
