"""Sequential aggregators keep a state: Elo and Glicko-2 ratings, and scores that follow a random walk in time.

References
----------
.. [E78] A. E. Elo. The rating of chessplayers, past and present. Arco, 1978.
.. [G12] M. E. Glickman. Example of the Glicko-2 system. Boston University, 2012 (revised 2022).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.likelihood.random_walk_smoother import random_walk_scores
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.aggregator import finite_scores
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.sequential_aggregator import ScoreHistory, SequentialAggregator, TimedCounts
from rankbench.kernels import Kernel

POINTS = 400 / math.log(10)
"""Elo points in one unit of the scores: 400 points are a factor 10 of the odds."""

_RESTLESS = 2.0
"""With a step of so much, ties in a row do not settle: they have to be made one by one."""

_MOST_TIES = 10_000_000
"""So many of these at most: a second."""

MOST_AT_ONCE = 700.0
"""Elo points: K times the judgments of an item at one time, at most."""


class CompiledRatings(SequentialAggregator):
    """A rating system for votes in time whose compiled form is its one form.

    Where there are no times, each run of equal judgments is one.
    """

    @abstractmethod
    def walk_kernel(self) -> Kernel:
        """Return the compiled form of all times."""

    def run_kernel(self) -> Kernel:
        """Return the compiled form, as of all times, of runs."""
        return self.walk_kernel()

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the ratings after all judgments, one after the other, shape (m,)."""
        return self.from_comparisons(Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the ratings, shape (m,); a tie is one judgment."""
        state = self.start(m)
        self.walk(self.run_kernel(), state, comparisons)
        return finite_scores(self.ratings(state), m).copy()

    def learn(self, state: NDArray[np.float64], votes: Comparisons, time: int) -> None:
        """Learn the votes of a time together."""
        self.walk(self.walk_kernel(), state, votes, together=True)

    def walk(self, kernel: Kernel, state: NDArray[np.float64], votes: Comparisons, *, together: bool = False) -> None:
        """Learn votes by a compiled form: all together, or each run of equal ones by itself."""
        from rankbench.aggregators.kernels.elo import run_starts

        n, first, second = len(votes), np.array(votes.winners, np.int32), np.array(votes.losers, np.int32)
        outcome = np.ones(n, np.int8) if votes.ties is None else 1 - votes.ties.astype(np.int8)
        starts = np.array([0, n]) if together else run_starts(first, second, outcome)
        work, margins = np.zeros(kernel.work(len(state))), np.zeros(n)
        weights = np.array(votes.weights, np.float64)
        kernel.function(first, second, outcome, weights, starts, state, kernel.params, work, margins)


class Elo(CompiledRatings):
    r"""Elo ratings: after each judgment the winner takes points from the loser.

    .. math:: s_i \leftarrow s_i + \eta (S - p), \quad s_j \leftarrow s_j - \eta (S - p), \quad
       p = \frac{1}{1 + e^{s_j - s_i}}

    for each judgment of i and j in turn, S = 1 if i won and 1/2 for a tie, starting from 0,
    with :math:`\eta = K \ln(10) / 400` for the K of chess. The scores are on the
    scale of the labels in (26), that is, 400 / ln(10) = 173.7 Elo points each: rating =
    initial rating + 173.7 s. They sum to zero; an item without judgments scores 0.

    A tie is one update, and says the same whichever of the two is named first. A judgment of
    weight w is w judgments: as many updates, one after the other, as w has whole ones, and one of
    step :math:`\eta (w - \lfloor w \rfloor)`. Many in a row are not made one by one but
    counted, to 1e-11 of the scores' scale, see `rankbench.aggregators.kernels.elo`.

    Each update is a step of stochastic gradient descent on the likelihood of `bradley-terry`
    with the constant step :math:`\eta`. So the structure depends on the *order* of the
    judgments: with order ``k=inf`` it is the order in which they were made. The samples of a
    smaller k have no order, so that `erm` takes k = inf or 1 alone, and at k = inf no ties.

    Where all judgments of a time are learned from together (`learn`), each of them is by the ratings before it,
    and an item of n judgments has K at most 700 / n, as in [FIDE24]_ 8.3.3: a sum of more would overshoot.

    Prefer it where strengths change and each vote must be learned from at once, at the least cost.

    Notes
    -----
    There is no limit: with a constant step the scores keep fluctuating around
    :math:`r_i - \bar r`, the more the larger K is.

    References
    ----------
    .. [FIDE24] FIDE Rating Regulations effective from 1 March 2024.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "bob", "bob"], "loser": ["bob", "cy", "ada"],
    ...          "time": ["2026-01-01", "2026-01-02", "2026-01-03"]}
    >>> rankbench.aggregate(votes, "elo").table.select("item", "score").rows()
    [('bob', 0.1003...), ('ada', -0.0040...), ('cy', -0.0963...)]
    """

    name: ClassVar[str] = "elo"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[E78]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    factor: float = Field(
        default=32.0, gt=0, allow_inf_nan=False, description="K, the most Elo points that one judgment moves."
    )

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the ratings, shape (m,); a tie is one update.

        Raises
        ------
        SpecError
            K is 347 or more, so that ties in a row do not settle, and they weigh more than 10 million.
        """
        from rankbench.aggregators.kernels.elo import elo_with_ties

        eta, n = self.factor / POINTS, len(comparisons)
        ties = np.zeros(n, np.bool_) if comparisons.ties is None else np.ascontiguousarray(comparisons.ties, np.bool_)
        if eta >= _RESTLESS and comparisons.weights[ties].sum() > _MOST_TIES:
            raise SpecError(
                f"elo with K={self.factor:g} updates a tie of weight w in w single steps, and ties weigh more than "
                f"{_MOST_TIES:,}. Take a K below {_RESTLESS * POINTS:.0f}, or divide the weights"
            )
        scores = np.zeros(m)
        # Copies: arrays mapped into memory are read-only, unlike the signature's.
        elo_with_ties(
            np.array(comparisons.winners, np.int32),
            np.array(comparisons.losers, np.int32),
            np.array(comparisons.weights, np.float64),
            np.array(ties),
            eta,
            scores,
        )
        return scores

    def start(self, m: int) -> NDArray[np.float64]:
        """Return ratings that are all 0, shape (m, 1)."""
        return np.zeros((m, 1))

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ratings, shape (m,)."""
        return state[:, 0]

    def walk_kernel(self) -> Kernel:
        """Return the compiled form of all times; ``params = [eta, most at once]``."""
        from rankbench.aggregators.kernels.elo import elo_times

        return Kernel(elo_times, np.array([self.factor, MOST_AT_ONCE]) / POINTS, lambda m: 2 * m)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.elo import elo

        return Kernel(elo, np.array([self.factor / POINTS]))


RATING, DEVIATION, VOLATILITY, SEEN = range(4)
"""Columns of the state; the last is the number of the period that an item was last in, -1 before all."""


class Glicko2(CompiledRatings):
    r"""Glicko-2: ratings that know how uncertain they are, and how much they change.

    Each item has a rating :math:`\mu`, a deviation :math:`\phi` and a volatility :math:`\sigma`. A rating period is a
    time: all judgments in it are by what was known before it, and [G12]_ steps 3 to 7 give an item's new
    values. A period without judgments adds :math:`\sigma^2` to :math:`\phi^2`, up to the deviation of a new
    item. That i beats j is expected with the log-odds
    :math:`g(\sqrt{\phi_i^2 + \phi_j^2}) (\mu_i - \mu_j)`. The scores are :math:`\mu`: 173.7 points each.

    Where times are not known (`aggregate` and `from_comparisons`), every judgment is a period of its own to its two
    items, one after the other, and no time passes for the others; equal judgments in a row are one period.

    A judgment of weight w is w judgments in one period; a tie is half a win each way.

    Prefer it to `elo` where items are compared at irregular times: it knows how uncertain each rating is.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "bob", "bob"], "loser": ["bob", "cy", "ada"],
    ...          "time": ["2026-01-01", "2026-01-02", "2026-01-03"]}
    >>> rankbench.aggregate(votes, "glicko-2").table.select("item", "score").rows()
    [('bob', 0.8562...), ('ada', -0.1273...), ('cy', -1.3348...)]
    """

    name: ClassVar[str] = "glicko-2"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[G12]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    volatility: float = Field(default=0.06, gt=0, le=10, allow_inf_nan=False, description="sigma of a new item.")
    tau: float = Field(
        default=0.5, gt=0, le=10, allow_inf_nan=False, description="Constraint on changes of volatility."
    )
    deviation: float = Field(
        default=350.0, gt=0, le=1e5, allow_inf_nan=False, description="Deviation of a new item, in points."
    )

    def start(self, m: int) -> NDArray[np.float64]:
        """Return rating 0, the initial deviation and volatility, and period -1 of each item, shape (m, 4)."""
        return np.tile([0.0, self.deviation / POINTS, self.volatility, -1.0], (m, 1))

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return mu, shape (m,)."""
        return state[:, RATING]

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the expected log-odds, shape (k,)."""
        variance = self._variance(state, time)
        g = 1.0 / np.sqrt(1.0 + 3.0 * (variance[first] + variance[second]) / math.pi**2)
        return np.asarray(g * (state[first, RATING] - state[second, RATING]))

    def _variance(self, state: NDArray[np.float64], time: int) -> NDArray[np.float64]:
        """Return phi^2 at the beginning of a period, shape (m,)."""
        idle = np.where(state[:, SEEN] >= 0, time - state[:, SEEN] - 1, 0.0)
        grown = state[:, DEVIATION] ** 2 + idle * state[:, VOLATILITY] ** 2
        return np.asarray(np.minimum(grown, np.maximum(state[:, DEVIATION], self.deviation / POINTS) ** 2))

    def learn(self, state: NDArray[np.float64], votes: Comparisons, time: int) -> None:
        """Update all items that were judged in the period `time`, by the compiled form."""
        self.walk(self._period_kernel(idle=True, time=time), state, votes, together=True)

    def run_kernel(self) -> Kernel:
        """Return the compiled form of runs; deviations do not grow between them."""
        return self._period_kernel(idle=False)

    def walk_kernel(self) -> Kernel:
        """Return the compiled form of all times."""
        return self._period_kernel(idle=True)

    def _period_kernel(self, *, idle: bool, time: int = 0) -> Kernel:
        """Return the compiled form of periods that begin at `time`; with `idle`, deviations of idle items grow."""
        from rankbench.aggregators.kernels.elo import glicko_2_times

        return Kernel(glicko_2_times, self._params(idle=idle, time=time), lambda m: 2 * m)

    def _params(self, *, idle: bool, time: int = 0) -> NDArray[np.float64]:
        return np.array([self.deviation / POINTS, self.volatility, self.tau, float(idle), float(time)])

    def kernel(self) -> Kernel:
        """Return the compiled form of judgments one after the other."""
        from rankbench.aggregators.kernels.elo import glicko_2

        return Kernel(glicko_2, self._params(idle=False), lambda m: 2 * m)


MEAN, JUDGED, COVARIANCE = range(3)
"""Columns of the state: an item's score, whether it was judged yet, and from here on the covariance of all scores."""


class DynamicBradleyTerry(CompiledRatings):
    r"""The Bradley-Terry model with scores that take a Gaussian step from each time to the next.

    .. math:: s_i^{(t)} = s_i^{(t-1)} + N(0, q), \qquad s_i^{(0)} \sim N(0, v), \qquad
       P(i \text{ beats } j \text{ at } t) = \frac{1}{1 + e^{s_j^{(t)} - s_i^{(t)}}}

    It is the model of Whole-History Rating [C08]_ and of [FT94]_, filtered: after each time the posterior of all
    scores is the normal distribution at its mode (Laplace), with the full covariance. An item walks from the first
    time on that it was judged at. It learns from all judgments of a time together; judgments of a single time give the
    scores of `bradley-terry` with ridge 1 / v. That i beats j is expected with the log-odds
    :math:`(s_i - s_j) / \sqrt{1 + \pi \operatorname{var}(s_i - s_j) / 8}`, the chance over the posterior [M92]_.

    `rankbench aggregate LOG --over time` has the scores of all times by the same model, smoothed: the mode of the
    joint posterior of all scores of all times, with its covariance. ``--control`` adds effects of covariates, which are
    the same at all times.

    Where times are not known (`aggregate` and `from_comparisons`) every judgment has a time of its own, and equal
    judgments in a row have one. The result has the scores of the last time. A tie is half a win each way.

    Prefer it where strengths change, items are at most 2,000, and scores of the past or their uncertainty matter.

    References
    ----------
    .. [C08] R. Coulom. Whole-history rating: a Bayesian rating system for players of time-varying strength. CG 2008.
    .. [FT94] L. Fahrmeir, G. Tutz. Dynamic stochastic models for time-dependent ordered paired comparison systems.
       JASA 89, 1994.
    .. [M92] D. J. C. MacKay. The evidence framework applied to classification networks. Neural Computation 4, 1992.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "bob", "bob"], "loser": ["bob", "cy", "ada"],
    ...          "time": ["2026-01-01", "2026-01-02", "2026-01-03"]}
    >>> rankbench.aggregate(votes, "dynamic-bradley-terry").table.select("item", "score").rows()
    [('bob', 0.2790...), ('ada', 0.0722...), ('cy', -0.3479...)]
    """

    name: ClassVar[str] = "dynamic-bradley-terry"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[C08]_; [FT94]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})
    most_items: ClassVar[int | None] = 2000

    drift: float = Field(default=0.01, ge=0, le=100, allow_inf_nan=False, description="q, of one time to the next.")
    variance: float = Field(default=1.0, gt=0, le=1e4, allow_inf_nan=False, description="v, of items not judged yet.")

    def start(self, m: int) -> NDArray[np.float64]:
        """Return scores of 0 and the covariance v I, shape (m, m + 2)."""
        self.check_size(m)
        return np.hstack([np.zeros((m, 2)), self.variance * np.eye(m)])

    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, shape (m,)."""
        return state[:, MEAN]

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the expected log-odds, shape (k,)."""
        covariance = state[:, COVARIANCE:]
        own = covariance.diagonal() + self.drift * state[:, JUDGED]
        spread = own[first] + own[second] - 2 * covariance[first, second]
        return np.asarray((state[first, MEAN] - state[second, MEAN]) / np.sqrt(1 + math.pi * spread / 8))

    def learn(self, state: NDArray[np.float64], votes: Comparisons, time: int) -> None:
        """Learn the votes of a time together, by Newton's method; see `dynamic_bradley_terry_times`."""
        super().learn(state, votes, time)
        if not np.isfinite(state[:, MEAN]).all():
            raise ContenderDiverged("no mode of the posterior was found")

    def history(self, counts: TimedCounts) -> ScoreHistory:
        """Return the mode of the joint posterior of all scores; q is per unit of time.

        It is not filtered but smoothed: no normal distribution stands for what came before, so that the last
        scores differ a little from the scores of `learn`.
        """
        self.check_size(counts.m)
        return random_walk_scores(counts, self.drift, self.variance)

    def walk_kernel(self) -> Kernel:
        """Return the compiled form of all times; ``params = [drift, variance]``."""
        from rankbench.aggregators.kernels.dynamic_bradley_terry import dynamic_bradley_terry_times

        return Kernel(dynamic_bradley_terry_times, np.array([self.drift, self.variance]))

    def kernel(self) -> Kernel:
        """Return the compiled form of judgments one after the other."""
        from rankbench.aggregators.kernels.dynamic_bradley_terry import dynamic_bradley_terry

        return Kernel(dynamic_bradley_terry, np.array([self.drift, self.variance]))
