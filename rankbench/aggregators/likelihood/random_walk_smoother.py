r"""The smoother finds the mode and the covariance of Bradley-Terry scores that follow a random walk.

A score exists from the first time on that its item was judged at, so that items in the order of these times are at
each time the first k of all. Scores of one time hang together by its judgments, an item's scores of
two times next to one another by its walk: minus the Hessian of the log posterior is block tridiagonal, and the blocks
off the diagonal are diagonal. With D_t its diagonal blocks and :math:`r_t = 1 / (q g_t)`, g_t being the
time since t - 1, elimination forwards gives :math:`S_1 = D_1` and :math:`S_{t+1} = D_{t+1} - r_{t+1}^2 S_t^{-1}`, whose
log determinants sum up to that of the whole; and backwards the covariance,

.. math:: \Sigma_T = S_T^{-1}, \quad \Sigma_t = S_t^{-1} + r_{t+1}^2 S_t^{-1} \Sigma_{t+1} S_t^{-1}, \quad
   \operatorname{cov}(s_t, s_T) = r_{t+1} S_t^{-1} \operatorname{cov}(s_{t+1}, s_T)

in :math:`O(T k^3)`. The mode needs none of that: Newton's steps are solved by conjugate gradients, preconditioned by
each item's own walk (a tridiagonal matrix, as in Whole-History Rating).

Effects beta of covariates do not walk, and have a flat prior. They border the Hessian: with H that of the scores, B its
block of scores by effects and C that of effects, scores give way by :math:`W = H^{-1} B`, effects have the covariance
:math:`V = (C - B^T W)^{-1}`, and :math:`W V W^T` adds to that of the scores.

A log of few times is often the likeliest without any walk, however much scores walk: bands of the likeliest q would be
too narrow. So the density of a walk's small deviation is proportional to it beforehand (the boundary-avoiding prior of
[CRDGL13]_), and falls as a Cauchy distribution's where it is large: :math:`\sqrt q / (1 + q)^{3/2}`. The deviation of
first scores is half-Cauchy [G06]_, :math:`1 / (1 + v)`. Both are proper, so that bands do not depend on where a grid
ends. On a grid that is even in log q and log v the densities are :math:`q / (1 + q)^{3/2}` and
:math:`\sqrt v / (1 + v)`.

References
----------
.. [CRDGL13] Y. Chung, S. Rabe-Hesketh, V. Dorie, A. Gelman, J. Liu. A nondegenerate penalized likelihood estimator for
   variance parameters in multilevel models. Psychometrika 78, 2013.
.. [G06] A. Gelman. Prior distributions for variance parameters in hierarchical models. Bayesian Analysis 1, 2006.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, SpecError, option
from rankbench.interfaces.sequential_aggregator import ScoreHistory, ScoreSpread, TimedCounts

MOST_NUMBERS = 1 << 27
"""Numbers of the blocks of all times, T m^2, that are held at once: 1 GB."""

_STEPS = 200
_CLOSE = 1e-10
"""The last Newton step changes no score by more."""


def random_walk_scores(counts: TimedCounts, drift: float, variance: float) -> ScoreHistory:
    """Return the mode of the joint posterior of all scores, its evidence (Laplace), and the scores' uncertainty.

    Parameters
    ----------
    counts : TimedCounts
    drift : float
        q, variance of a score's step in a unit of time; above 0.
    variance : float
        v, of a score at the first time that its item was judged at.

    Raises
    ------
    ContenderDiverged
        No mode was found.
    SpecError
        There are too many items and times to hold the covariances.
    """
    size = len(counts) * counts.m**2
    if size > MOST_NUMBERS:
        raise SpecError(
            f"{len(counts):,} times of {counts.m:,} items are covariances of {size:,} numbers, at most "
            f"{MOST_NUMBERS:,} are held: take fewer times ({option('time_unit')}), or fewer items"
        )
    if not drift > 0:
        raise SpecError("scores that do not walk (drift 0) have no history; take a drift above 0")
    model = _Model(counts, drift, variance)
    scores, effects = model.mode()
    chance = model.chances(scores, effects)
    bend = (counts.won + counts.lost) * chance * (1 - chance)
    moved, information = model.bordered(bend)
    log_determinant = model.eliminated(bend) + float(np.linalg.slogdet(information)[1])
    likelihood, prior = model.log_density(scores, effects)
    whole = np.full((len(counts), counts.m), np.nan)
    for t in range(len(counts)):
        whole[t, model.order[: model.present[t]]] = scores[model.nodes_of(t)]
    evidence = likelihood + prior - log_determinant / 2 + len(effects) * math.log(2 * math.pi) / 2
    log_prior = math.log(drift) - 1.5 * math.log1p(drift) + 0.5 * math.log(variance) - math.log1p(variance)
    covariance = np.asarray(np.linalg.inv(information), np.float64)
    spread = partial(_spread, model, bend, moved, covariance)
    return ScoreHistory(whole, evidence, log_prior, spread, effects, covariance)


class _Model:
    """The posterior of all scores; a node is an item at a time, with an item's nodes in sequence."""

    def __init__(self, counts: TimedCounts, drift: float, variance: float) -> None:
        self.counts, self.drift, self.variance = counts, drift, variance
        self.x = np.zeros((len(counts.first), 0)) if counts.covariates is None else counts.covariates
        born = counts.born()
        self.order = np.argsort(born, kind="stable")
        self.born = born[self.order]
        self.present = np.searchsorted(self.born, np.arange(len(counts)), side="right")
        lengths = len(counts) - self.born
        self.offsets = np.cumsum(np.concatenate([[0], lengths[:-1]]))
        self.size = int(lengths.sum())
        place = np.empty(counts.m, np.int64)
        place[self.order] = np.arange(counts.m)
        self.rows = place[counts.first], place[counts.second]
        at = counts.times - self.born[np.stack(self.rows)] + self.offsets[np.stack(self.rows)]
        self.one, self.two = at
        # Of each node: the precision of its step from the one before it; of the first that of its own.
        starts = np.zeros(self.size, np.bool_)
        starts[self.offsets] = True
        of_node = np.concatenate([np.arange(begin, len(counts)) for begin in self.born])
        self.walk = 1 / (drift * counts.gaps[of_node])
        self.walk[starts] = 0.0
        self.first = np.where(starts, 1 / variance, 0.0)
        after = np.append(self.walk[1:], 0.0)
        self.diagonal = self.walk + after + self.first

    def nodes_of(self, t: int) -> NDArray[np.int64]:
        """Return the nodes of a time, in the order of items, shape (k,)."""
        k = self.present[t]
        return self.offsets[:k] + (t - self.born[:k])

    def lead(self, s: NDArray[np.float64], effects: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the margin of each cell, shape (K,)."""
        return np.asarray(s[self.one] - s[self.two] + self.x @ effects)

    def chances(self, s: NDArray[np.float64], effects: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chance of each cell that its first item wins, shape (K,)."""
        return np.asarray(0.5 + 0.5 * np.tanh(self.lead(s, effects) / 2))

    def log_density(self, s: NDArray[np.float64], effects: NDArray[np.float64]) -> tuple[float, float]:
        """Return the log likelihood and the log prior, without the constant that integrating over scores cancels."""
        lead = self.lead(s, effects)
        likelihood = -self.counts.won @ np.logaddexp(0, -lead) - self.counts.lost @ np.logaddexp(0, lead)
        step = np.append(0.0, np.diff(s))
        precision = self.walk + self.first
        quadratic = float(self.walk @ step**2 + self.first @ s**2)
        return float(likelihood), (float(np.log(precision).sum()) - quadratic) / 2

    def prior_times(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prior's precision times a vector."""
        found = self.diagonal * s
        found[1:] -= self.walk[1:] * s[:-1]
        found[:-1] -= self.walk[1:] * s[1:]
        return np.asarray(found)

    def sums(self, pair: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of a number of each cell over nodes, minus at the second."""
        found = np.bincount(self.one, pair, self.size) - np.bincount(self.two, pair, self.size)
        return np.asarray(found, np.float64)

    def mode(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores and effects of the largest density, by Newton's method with halved steps."""
        s, effects = np.zeros(self.size), np.zeros(self.x.shape[1])
        value = sum(self.log_density(s, effects))
        for _ in range(_STEPS):
            chance = self.chances(s, effects)
            judged = self.counts.won + self.counts.lost
            left = self.counts.won - judged * chance
            gradient, bend = self.sums(left) - self.prior_times(s), judged * chance * (1 - chance)
            moved, information = self.bordered(bend)
            try:
                turn = np.linalg.solve(information, left @ self.x - gradient @ moved)
            except np.linalg.LinAlgError:
                break
            step = self.solved(bend, gradient) - moved @ turn
            change = float(np.abs(np.concatenate([step, turn])).max())
            if change <= _CLOSE:
                return s + step, effects + turn
            length = 1.0
            while True:
                ahead = sum(self.log_density(s + length * step, effects + length * turn))
                # Below this, rounding hides which of the two is the larger.
                if ahead >= value - 1e-13 * abs(value) or length * change < 1e-6:
                    break
                length /= 2
            s, effects, value = s + length * step, effects + length * turn, ahead
        raise ContenderDiverged("no mode of the posterior was found")

    def bordered(self, bend: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sensitivity of scores to effects, shape (N, p), and the information of effects, (p, p)."""
        across = np.array([self.sums(bend * column) for column in self.x.T]).reshape(-1, self.size)
        moved = np.array([self.solved(bend, row) for row in across]).reshape(-1, self.size).T
        return moved, (bend[:, None] * self.x).T @ self.x - across @ moved

    def solved(self, bend: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the solution of a Newton system, by conjugate gradients preconditioned by the items' own walks."""
        from scipy.linalg import cho_solve_banded, cholesky_banded

        own = np.bincount(self.one, bend, self.size) + np.bincount(self.two, bend, self.size)
        banded = np.stack([np.append(0.0, -self.walk[1:]), self.diagonal + own])
        factor = cholesky_banded(banded, check_finite=False)

        def conditioned(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(cho_solve_banded((factor, False), vector, check_finite=False))

        found, left = np.zeros(self.size), right.copy()
        near = conditioned(left)
        along, size = near.copy(), float(left @ near)
        enough = 1e-24 * size
        for _ in range(10 * self.size):
            if not size > enough:
                break
            ahead = self.prior_times(along) + self.sums(bend * (along[self.one] - along[self.two]))
            length = size / float(along @ ahead)
            found += length * along
            left -= length * ahead
            near = conditioned(left)
            before, size = size, float(left @ near)
            along = near + size / before * along
        return found

    def link(self, t: int) -> float:
        """Return the precision of all steps from time t to the next."""
        return 1 / (self.drift * float(self.counts.gaps[t + 1]))

    def eliminated(self, bend: NDArray[np.float64], inverses: list[NDArray[np.float64]] | None = None) -> float:
        """Return the log determinant of minus the Hessian in the scores; the inverse of each S_t goes to a list."""
        from scipy.linalg.lapack import dpotrf, dpotri

        before, log_determinant = np.zeros((0, 0)), 0.0
        for t in range(len(self.counts)):
            k, cells = int(self.present[t]), slice(int(self.counts.starts[t]), int(self.counts.starts[t + 1]))
            block = np.zeros((k, k), order="F")
            i, j = self.rows[0][cells], self.rows[1][cells]
            np.subtract.at(block, (i, j), bend[cells])
            np.subtract.at(block, (j, i), bend[cells])
            diagonal = np.arange(k)
            own = np.bincount(i, bend[cells], k) + np.bincount(j, bend[cells], k)
            block[diagonal, diagonal] += own + self.diagonal[self.nodes_of(t)]
            if t:
                block[: len(before), : len(before)] -= self.link(t - 1) ** 2 * before
            factor, failed = dpotrf(block, lower=1, overwrite_a=1)
            if failed:
                raise ContenderDiverged("the posterior of the scores has no covariance in floating point")
            log_determinant += 2 * float(np.log(factor.diagonal()).sum())
            inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
            lower = np.tril(inverse, -1)
            before = lower + lower.T + np.diag(inverse.diagonal())
            if inverses is not None:
                inverses.append(before)
        return log_determinant


def _spread(
    model: _Model,
    bend: NDArray[np.float64],
    moved: NDArray[np.float64],
    of_effects: NDArray[np.float64],
    then: int,
    known: NDArray[np.bool_] | None = None,
) -> ScoreSpread:
    """Return the uncertainty of scores; see `rankbench.interfaces.sequential_aggregator.ScoreHistory`."""
    inverses: list[NDArray[np.float64]] = []
    model.eliminated(bend, inverses)
    times, m = len(inverses), model.counts.m

    def by_effects(t: int, later: int) -> NDArray[np.float64]:
        return np.asarray(moved[model.nodes_of(t)] @ of_effects @ moved[model.nodes_of(later)].T)

    deviation = np.full((times, m), np.nan)
    covariance = across = inverses[-1]
    earlier, link = covariance, covariance
    for t in range(times - 1, -1, -1):
        k = int(model.present[t])
        if t < times - 1:
            gain = model.link(t) * inverses[t]
            covariance = inverses[t] + gain @ covariance[:k, :k] @ gain
            covariance = (covariance + covariance.T) / 2
            if t >= then:
                across = gain @ across[:k]
        whole = covariance + by_effects(t, t)
        if t == then:
            earlier, link = whole, across + by_effects(t, times - 1)
        beside = np.ones(k, np.bool_) if known is None else known[model.order[:k]]
        told = whole if beside.all() or not beside.any() else whole[:, beside]
        mean = told.mean(axis=1)
        own = whole.diagonal() - 2 * mean + float((mean if told is whole else mean[beside]).mean())
        deviation[t, model.order[:k]] = np.sqrt(np.maximum(own, 0.0))
    k, place = len(earlier), np.ix_(model.order, model.order)
    now, before, between = np.full((3, m, m), math.nan)
    now[place] = inverses[-1] + by_effects(times - 1, times - 1)
    before[np.ix_(model.order[:k], model.order[:k])] = earlier
    between[np.ix_(model.order[:k], model.order)] = link
    return ScoreSpread(deviation, now, before, between)
