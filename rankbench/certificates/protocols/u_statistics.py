"""The protocol `u-statistics` measures the empirical risks of section 4 of [DMJ13]_."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.runtime import JUDGMENTS
from rankbench.errors import SpecError
from rankbench.interfaces.cell import CellResult, Direction, Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.methods.baselines import LogOddsRegression, UStatistic
from rankbench.protocols.expected_risk import (
    expected_moments,
    order_moments,
    sampling_bound,
    squared_constants,
    supremum,
)
from rankbench.protocols.judging import each_unit

_WORLDS = 4
"""Stream of the worlds' own draw, beside that of their votes."""

ORDERS = 8
"""Orders of the same votes that `instability` compares."""

RADIUS = 1.0
"""Largest norm of theta in the class that suprema are over; it has the linear part of the truth, of norm .71."""

CHANCE = 0.05
"""Chance that a deviation is above `deviation-bound`, at most."""

_SAMPLED = {"abs-bias", "deviation", "excess", "sup-deviation"}
"""Metrics of several drawn logs; `instability` takes one, and all others are expectations."""

Vector = NDArray[np.float64]


class _Votes(NamedTuple):
    """Votes in one world.

    Attributes
    ----------
    x, chance, theta : ndarray of float64, shapes (Q, d), (Q,), (d,)
        Differences of the features of its queries, chances of a win, fixed coefficients.
    draws : list
        Several draws of n votes: whether each was a win, and the start of each query's votes.
    orders : list of ndarray of bool, shape (n,)
        The first draw in other orders.
    """

    x: Vector
    chance: Vector
    theta: Vector
    draws: list[tuple[NDArray[np.bool_], NDArray[np.int64]]]
    orders: list[NDArray[np.bool_]]


def _size(name: str, sentence: str, direction: Direction = "minimize", low: float | None = 0) -> Metric:
    """Return a metric that is a size, such as a bound."""
    return Metric(name, direction, sentence, low, quality=False)


class UStatistics(Protocol):
    r"""Estimators of a risk from n votes on queries with power-law frequencies (Assumption D).

    Query q is a pair of items and is voted on with probability proportional to
    :math:`q^{-\beta-1}`; with m = 2 the average over all k-subsets (18) can be computed
    exactly. Structures are smoothed log-odds, the surrogate is squared, scores are linear
    (`rankbench.methods.baselines`): bounded and Lipschitz, so that Theorem 4 applies to orders
    k that grow slower than the square root of n. True log-odds are linear plus an error,
    both with variance 1/2 and 1/4, so that no scores in the class fit them.

    R is the risk (6) at the limit of structures, Rhat its estimate (19). In each world,
    over `draws` draws of n votes:

    - ``abs-bias``: size of the mean of Rhat(f) - R(f) at fixed scores f, the linear part of the
      truth;
    - ``deviation``: standard deviation of Rhat(f);
    - ``excess``: mean of R(fhat) - min R for fhat the minimizer of Rhat;
    - ``instability``: how much fhat changes with the order of the very same votes: the
      root mean square, over queries by frequency, of the standard deviation of its scores
      over 8 random orders; of the first draw;
    - ``sup-deviation``: mean of the largest ``|Rhat - R|`` (21) over the class, linear scores with coefficients in the
      ball of radius 1.

    Expectations need no draws. They are exact, and the largest over that class:

    - ``order-bias``: ``|R_k - R|``, R_k the risk at order k with known frequencies (Condition I');
    - ``rho``: the exponent at which ``order-bias`` falls from order k to 2k, rho of Condition I;
    - ``sampling-bias``: ``|R_n - R_k|``, R_n the expectation (20) of Rhat, of the U-statistic alone;
    - ``sampling-bound``: what Lemma 7 allows it;
    - ``deviation-bound``: by (4), ``deviation`` is above it with a chance of 5% at most, at a fixed f.

    Notes
    -----
    The largest surrogate loss of a class of radius r is ``B = (r max |x| + log((1 + c)/c))^2 / 2``, 23 to 29 with the
    defaults. The bound of (4) is ``k B sqrt(8 log(40) / n)``: above B at orders above .2 root n, and a thousand times
    what is measured below them. No suite claims anything of it. As printed, (20) lacks the 1/n of (19).

    Prefer it to see how the order k trades bias for variance.
    """

    name: ClassVar[str] = "u-statistics"
    source: ClassVar[str] = "[DMJ13]_ section 4, Assumption D, eq. (17)-(20), Theorem 4"
    table: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("abs-bias", sentence="Size of the mean difference of empirical risk and risk, at fixed scores.", low=0),
        Metric("deviation", sentence="Standard deviation of the empirical risk, at fixed scores.", low=0),
        Metric("excess", sentence="Mean risk of the minimizer above the least risk.", low=0),
        Metric("instability", sentence="Change of the minimizer with the order of the same votes.", low=0),
        _size("sup-deviation", "Mean of the largest difference of empirical risk and risk over a class."),
        _size("order-bias", "Largest difference of the risk at order k and the limit, over a class."),
        _size("rho", "Exponent at which the bias falls from order k to 2k; expected: at least 1/2.", "maximize", None),
        _size("sampling-bias", "Largest difference of (20) and the risk at order k, over a class."),
        _size("sampling-bound", "Bound of Lemma 7 on the difference of (20) and the risk at order k."),
        _size("deviation-bound", "Deviation (4) that is exceeded with a chance of 5% at most, at fixed scores."),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Worlds (true scores and chances that votes are drawn from)"}
    counts: ClassVar[str] = "votes in each world"
    judged_on: ClassVar[str] = "worlds"
    simulated: ClassVar[bool] = True
    few: ClassVar[int] = 20

    beta: float = Field(default=0.5, gt=0, le=10, description="Frequencies are proportional to q^(-beta - 1).")
    queries: int = Field(default=2000, ge=2, le=10**6, strict=True, description="Queries of a world.")
    dimension: int = Field(default=5, ge=1, le=1000, strict=True, description="Features of an item.")
    worlds: int = Field(default=12, ge=1, le=1000, strict=True, description="Worlds: features and truths drawn anew.")
    draws: int = Field(default=10, ge=2, le=1000, strict=True, description="Draws of n votes in each world.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Draw the worlds."""
        from rankbench.certificates.kernels import normal
        from rankbench.kernels.random import seed_state

        d, count = self.dimension, self.queries
        x, chance, theta = np.empty((self.worlds, count, d)), np.empty((self.worlds, count)), np.empty((self.worlds, d))
        for u in range(self.worlds):
            drawn = np.empty(count * d + count + d)
            normal(seed_state((seed, _WORLDS, u)), drawn)
            x[u] = drawn[: count * d].reshape(count, d)
            theta[u] = drawn[-d:] * np.sqrt(0.5 / (drawn[-d:] @ drawn[-d:]))
            odds = x[u] @ theta[u] + 0.5 * drawn[count * d : -d]
            chance[u] = 1.0 / (1.0 + np.exp(-odds))
        units = tuple(f"world {u + 1}" for u in range(self.worlds))
        return Prepared(self, None, "", {"design": units}, pack("worlds", x=x, chance=chance, theta=theta))

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the votes of all worlds, estimate by every contender, measure."""

        def measured(method: LogOddsRegression, votes: _Votes) -> dict[str, float]:
            return self._measure(votes, method, task.key.n, task.metrics)

        found = each_unit(task, LogOddsRegression, self.worlds, partial(self._draw, prepared, task), measured)
        orders = [one.component(LogOddsRegression).order(task.key.n) for one in task.cells.values()]
        return [
            replace(one, info={"k": float(k)}) if one.status == "done" else one
            for one, k in zip(found, orders, strict=True)
        ]

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of one world's votes: a byte in each draw, and in each order of the first."""
        draws = self._drawn(task.metrics)
        return task.key.n * (draws + (ORDERS if "instability" in task.metrics else 0))

    def misfit(self, contender: Component) -> str:
        """Return an error text for a method that does not estimate this risk, or ``""``."""
        if isinstance(contender, LogOddsRegression):
            return ""
        return "it does not estimate the risk of log-odds (rankbench.methods.baselines.LogOddsRegression)"

    def assumptions(self) -> list[str]:
        """Return sentences on the worlds."""
        return [
            f"{self.worlds} worlds of {self.queries:,} queries, each a pair of items; query q gets a vote with "
            f"probability proportional to q^-{self.beta + 1:g}",
            f"features are {self.dimension} independent standard normal differences. Log-odds of a win are a linear "
            "function of them with variance 1/2, plus an independent normal error with variance 1/4",
            f"`abs-bias` is the absolute mean error of {self.draws} draws, `deviation` their standard deviation. "
            f"Without bias, the expectation of `abs-bias` is {np.sqrt(2 / np.pi / self.draws):.2g} times `deviation`",
        ]

    @property
    def frequencies(self) -> Vector:
        """Probability of each query, shape (Q,)."""
        p: Vector = np.arange(1.0, self.queries + 1.0) ** (-self.beta - 1.0)
        p /= p.sum()
        return p

    def _drawn(self, metrics: tuple[str, ...]) -> int:
        """Return the number of draws that metrics need."""
        return self.draws if _SAMPLED & set(metrics) else int("instability" in metrics)

    def _draw(self, prepared: Prepared, task: BlockTask, u: int) -> _Votes:
        from rankbench.certificates.kernels import draw_outcomes, shuffle
        from rankbench.kernels.random import seed_state

        key = task.key
        x, chance, theta = (prepared.arrays[f"worlds.{name}"][u] for name in ("x", "chance", "theta"))
        upto = np.cumsum(self.frequencies)
        upto[-1] = 1.0
        draws: list[tuple[NDArray[np.bool_], NDArray[np.int64]]] = []
        for r in range(self._drawn(task.metrics)):
            won, starts = np.empty(key.n, np.bool_), np.empty(self.queries + 1, np.int64)
            draw_outcomes(upto, chance.copy(), seed_state((key.seed, key.repetition, JUDGMENTS, u, r)), won, starts)
            draws.append((won, starts))
        orders: list[NDArray[np.bool_]] = []
        if "instability" in task.metrics:
            state = seed_state((key.seed, key.repetition, key.n, u))
            for _ in range(ORDERS):
                orders.append(draws[0][0].copy())
                shuffle(orders[-1], draws[0][1], state)
        return _Votes(x, chance, theta, draws, orders)

    def _measure(self, votes: _Votes, method: LogOddsRegression, n: int, metrics: tuple[str, ...]) -> dict[str, float]:
        k, p, x = method.order(n), self.frequencies, votes.x
        limit = np.log((votes.chance + method.smoothing) / (1.0 - votes.chance + method.smoothing))
        fixed = x @ votes.theta

        def risk(scores: Vector) -> float:
            return float(0.5 * p @ np.square(scores - limit))

        measures: dict[str, Callable[[], float]] = {}
        if _SAMPLED & set(metrics):
            moments = [(np.diff(starts) / n, *method.moments(won, starts, k)) for won, starts in votes.draws]
            estimates = np.array([0.5 * w @ (fixed**2 - 2 * fixed * mean + square) for w, mean, square in moments])
            measures["abs-bias"] = lambda: abs(float(estimates.mean()) - risk(fixed))
            measures["deviation"] = lambda: float(estimates.std(ddof=1))

            def excess() -> float:
                least = risk(x @ np.linalg.solve((x * p[:, None]).T @ x, x.T @ (p * limit)))
                fitted = [risk(x @ method.solve(x, w, mean)) for w, mean, _ in moments]
                return float(np.mean(fitted)) - least

            def largest(w: Vector, mean: Vector, square: Vector) -> float:
                return _largest(x, w - p, w * mean - p * limit, float(w @ square - p @ limit**2))

            measures["excess"] = excess
            measures["sup-deviation"] = lambda: float(np.mean([largest(*one) for one in moments]))

        def instability() -> float:
            starts = votes.draws[0][1]
            w = np.diff(starts) / n
            thetas = [method.solve(x, w, method.moments(won, starts, k)[0]) for won in votes.orders]
            return float(np.sqrt(p @ (x @ np.stack(thetas, axis=1)).var(axis=1, ddof=1)))

        measures["instability"] = instability
        measures |= self._expectations(votes, method, n, limit)
        return {metric: measures[metric]() for metric in metrics}

    def _expectations(
        self, votes: _Votes, method: LogOddsRegression, n: int, limit: Vector
    ) -> dict[str, Callable[[], float]]:
        k, p, x, c = method.order(n), self.frequencies, votes.x, method.smoothing
        bound, _ = squared_constants(x, RADIUS, c)

        def largest(mean: Vector, square: Vector) -> float:
            return _largest(x, np.zeros_like(p), p * mean, float(p @ square))

        moments = cache(partial(order_moments, votes.chance, smoothing=c))

        def order_bias(order: int) -> float:
            mean, square = moments(order)
            return largest(mean - limit, square - limit**2)

        def sampling_bias() -> float:
            there = expected_moments(votes.chance, p, n, k, c)
            return largest(*(a - b for a, b in zip(there, moments(k), strict=True)))

        def of_subsets(measure: Callable[[], float]) -> float:
            if not isinstance(method, UStatistic):
                raise SpecError("the expectation (20) and its bounds are of averages over all k-subsets, `u-statistic`")
            return measure()

        subsets: dict[str, Callable[[], float]] = {
            "sampling-bias": sampling_bias,
            "sampling-bound": lambda: sampling_bound(p, n, k, bound),
            "deviation-bound": lambda: k * bound * float(np.sqrt(8.0 * np.log(2.0 / CHANCE) / n)),
        }
        return {
            "order-bias": lambda: order_bias(k),
            "rho": lambda: float(np.log2(order_bias(k) / order_bias(2 * k))),
            **{name: partial(of_subsets, measure) for name, measure in subsets.items()},
        }


def _largest(x: Vector, shares: Vector, pull: Vector, square: float) -> float:
    """Return the supremum over the class of ``|sum of (shares f^2 / 2 - pull f) + square / 2|``, f = x theta."""
    return supremum((x * shares[:, None]).T @ x, x.T @ pull, 0.5 * square, RADIUS)
