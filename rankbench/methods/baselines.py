"""Baselines know nothing, one feature or the truth, or fit aggregated log-odds by least squares.

The linear model, which they and `erm` share, scores items by their feature vectors. Random features make it one of
a kernel.

References
----------
.. [RR07] A. Rahimi and B. Recht. Random features for large-scale kernel machines. NIPS 20, 2007.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.method import Block, Fitted, Method, Model
from rankbench.interfaces.queries import Queries

if TYPE_CHECKING:
    from rankbench.interfaces.queries import Comparisons


class LinearModel(Model):
    """Score items by ``alpha_i = <theta, x_i>``, without an intercept.

    An intercept would move all scores of a query alike and change no order.

    Prefer it to begin with. Where no linear function of the features ranks well, take `random-features` or a plugin's
    model.
    """

    name: ClassVar[str] = "linear"
    source: ClassVar[str] = "[DMJ13]_ section 6.2"

    def features(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features, shape (N, d), unchanged: the same array, not a copy."""
        return x


class RandomFeatures(Model):
    r"""Score items by random Fourier features, an approximation of a Gaussian kernel.

    .. math:: \psi(x) = \sqrt{2/D}\, (\cos(w_1^\top x + b_1), \dots, \cos(w_D^\top x + b_D)), \quad
       E[\psi(x)^\top \psi(x')] = \exp\Bigl(-\frac{|x - x'|^2}{2 \sigma^2 d}\Bigr)

    with frequencies w normal of variance 1 / (sigma^2 d) and phases b uniform on [0, 2 pi). The seed alone decides
    them: two contenders of the same count have the same features. Fewer features are not the first ones of more.

    Prefer it where no linear function of the features ranks well, and features are of similar scales. With as many
    features as items a linear function of them takes any values on distinct items.
    """

    name: ClassVar[str] = "random-features"
    source: ClassVar[str] = "[RR07]_; dimension: [DMJ13]_ section 6.2"

    count: int = Field(default=256, ge=1, le=65_536, description="D, number of random features.")
    seed: int = Field(default=0, ge=0, description="Seed of frequencies and phases.")
    scale: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="sigma, width of the kernel.")

    def features(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the random features, shape (N, D)."""
        d = x.shape[1]
        rng = np.random.default_rng([self.seed, self.count, d])
        frequencies = rng.standard_normal((d, self.count)) / (self.scale * math.sqrt(max(d, 1)))
        phases = rng.uniform(0, 2 * math.pi, self.count)
        made = np.empty((len(x), self.count), np.float32)
        rows = max(1, _CHUNK // self.count)
        for start in range(0, len(x), rows):
            part = x[start : start + rows].astype(np.float64)
            made[start : start + rows] = math.sqrt(2 / self.count) * np.cos(part @ frequencies + phases)
        return made


_CHUNK = 1 << 22
"""Number of float64 that are held at once: 32 MB."""

_made: WeakKeyDictionary[Queries, dict[str, NDArray[np.float64]]] = WeakKeyDictionary()


def feature_matrix(queries: Queries, model: Model) -> NDArray[np.float64]:
    """Return the model's features of all items, float64, C-contiguous and writable, shape (N, d').

    Blocks of a data set share their queries, so this is remembered as long as they live.
    """
    known = _made.setdefault(queries, {})
    key = model.digest()
    if key not in known:
        known[key] = np.require(_made_by(model, queries), np.float64, ["C", "W"])
    return known[key]


def _made_by(model: Model, queries: Queries) -> NDArray[np.float32]:
    """Return a model's features; it cannot write to the queries' own."""
    x = queries.x.view()
    x.flags.writeable = False
    return np.asarray(model.checked_numbers("features", model.features(x)))


class RandomScores(Method):
    """Score items by independent standard normal draws, whatever the judgments say.

    All m! orders of a query are equally likely, so its mean loss is that of a random
    order: what a contender must beat to have learned anything.

    The draws belong to the block and the stream: scoring the same queries again gives the
    same scores, and two streams are independent of one another.

    Prefer it as a yardstick: a contender near its loss has learned nothing.
    """

    name: ClassVar[str] = "random-scores"
    source: ClassVar[str] = "Baseline: i.i.d. N(0, 1) scores"
    properties: ClassVar[frozenset[Property]] = frozenset({"stochastic"})

    stream: int = Field(default=0, ge=0, description="Number of this baseline among independent ones.")

    def fit(self, block: Block) -> Fitted:
        """Return a scorer that draws from the block's generator for this stream."""

        def score(queries: Queries) -> NDArray[np.float64]:
            return block.generator(self).standard_normal(int(queries.offsets[-1]))

        return Fitted(score)


class Feature(Method):
    """Score items by one of their features, whatever the judgments say: larger is better.

    BM25 among the features of a web search query, or a movie's mean rating, is what a
    combination of all features must beat to have learned anything.

    Prefer it as a yardstick where one feature ranks well by itself.
    """

    name: ClassVar[str] = "feature"
    source: ClassVar[str] = "Baseline"

    index: int = Field(default=0, ge=0, description="Index of the feature, from 0.")

    def fit(self, block: Block) -> Fitted:
        """Return a scorer that reads the column.

        Raises
        ------
        SpecError
            There are fewer features.
        """
        d = block.design.x.shape[1]
        if self.index >= d:
            raise SpecError(f"method 'feature': index={self.index}, but items have the features 0 to {d - 1}")

        def score(queries: Queries) -> NDArray[np.float64]:
            return queries.x[:, self.index].astype(np.float64)

        return Fitted(score)


class Oracle(Method):
    """Score items by their relevance labels, also in the queries that are judged.

    Not a competitor but a yardstick: where judgments follow the labels, as under BTL (26),
    its loss is the Bayes risk, and what another contender loses more is that one's excess
    risk. Take it as the experiment's `baseline`, and the paired differences on the
    leaderboard are excess risks with their intervals.

    Prefer it as the baseline of simulated experiments.

    Notes
    -----
    Under BTL the limit scores (27) increase with the labels and ``p_ij > 1/2`` just where
    label i is larger. So the labels' order is optimal for the NDCG family (14) on (27),
    where it loses 0; for the ERR family (16), by exchange of neighbors; and for pairwise
    disagreement (10), which contradicts the smaller of p_ij and p_ji in every pair. Items
    of equal labels are tied, which costs as much as any order of them. For other laws
    `Loss.bayes_risk` has the Bayes risk, and the labels may not attain it.
    """

    name: ClassVar[str] = "oracle"
    source: ClassVar[str] = "Bayes risk under BTL, [DMJ13]_ eq. (26), (27)"
    needs_truth: ClassVar[bool] = True

    def fit(self, block: Block) -> Fitted:
        """Learn nothing: the labels come with the queries to score."""
        return Fitted(_labels)


def _labels(queries: Queries) -> NDArray[np.float64]:
    return np.array(queries.labels, dtype=np.float64)


_RESIDUAL = 1e-6
"""Of the normal equations, relative to their right-hand side, beyond which a solution is none."""

Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]
Vector = NDArray[np.float64]


class LogOddsRegression(Method):
    r"""Base of estimators that fit score differences to log-odds; a subclass chooses the samples.

    Every pair of items of a query that was voted on is a structure of its own, the
    smoothed log-odds of a sample of its votes (section 5.1)

    .. math:: s = \log \frac{\hat P(i \succ j) + c}{\hat P(j \succ i) + c}

    and the surrogate is :math:`\frac12 (\alpha_i - \alpha_j - s)^2`, averaged over samples
    of ``k = ceil(n^exponent)`` votes of the pair and weighted by the pair's share of all n
    votes (19), plus ``lambda/2 |theta|^2``: least squares, in closed form. Weights of votes
    are not looked at.

    s is bounded and Lipschitz in the shares of votes, as Theorem 4 asks for; it wants k to
    grow with n, slower than its square root where the class of scores is fixed. With
    exponent 1, k is n: complete aggregation (17).
    """

    exponent: float = Field(default=0.4, ge=0, le=1, description="a in k = ceil(n^a); 0: single votes, 1: all.")
    smoothing: float = Field(default=0.1, gt=0, le=100, description="c, added to both shares of votes.")
    l2: float = Field(default=1e-6, alias="lambda", gt=0, allow_inf_nan=False, description="Ridge penalty.")

    def order(self, n: int) -> int:
        """Return k for n votes; a power that is whole up to rounding is rounded."""
        return max(1, math.ceil(math.pow(n, self.exponent) * (1 - 1e-12)))

    @abstractmethod
    def moments(self, won: Booleans, starts: Integers, k: int) -> tuple[Vector, Vector]:
        """Return the means of s and of s^2 over a pair's samples, shape (P,) each; 0 without votes.

        Parameters
        ----------
        won : ndarray of bool, shape (n,)
            Whether each vote was for the first item, pair after pair, in the votes' order.
        starts : ndarray of int64, shape (P + 1,)
            Votes of pair p are ``starts[p]:starts[p + 1]``.
        k : int
        """

    def solve(self, x: NDArray[Any], shares: Vector, target: Vector) -> Vector:
        """Return the minimizer theta, shape (d,), for differences x, shape (P, d), and mean targets.

        Raises
        ------
        ContenderDiverged
            The normal equations are singular up to rounding.
        """
        weighted = x * shares[:, None]
        gram = weighted.T @ x + self.l2 * np.eye(x.shape[1])
        pull = weighted.T @ target
        try:
            theta: Vector = np.linalg.solve(gram, pull)
        except np.linalg.LinAlgError:
            theta = np.full(len(pull), np.nan)
        left = float(np.abs(gram @ theta - pull).max(initial=0.0))
        if not left <= _RESIDUAL * float(np.abs(pull).max(initial=0.0)):
            raise ContenderDiverged(
                "the normal equations have no solution in floating point: features are collinear beside lambda; check "
                "their scale, or raise lambda"
            )
        return theta

    def fit(self, block: Block) -> Fitted:
        """Learn from a block.

        Raises
        ------
        InputError
            There are no comparisons.
        """
        said = block.comparisons.without_ties()
        if not len(said):
            raise InputError("there are no comparisons to learn from")
        first, second, won, starts = _by_pair(said, block.design.offsets)
        mean, _ = self.moments(won, starts, self.order(block.n))
        x = block.design.x.astype(np.float64)
        theta = self.solve(x[first] - x[second], np.diff(starts) / len(won), mean)
        model = LinearModel()
        return Fitted(lambda queries: model.features(queries.x) @ theta, model, theta, 0.0)


def _by_pair(said: Comparisons, items: Integers) -> tuple[Integers, Integers, Booleans, Integers]:
    """Return rows of the items of every pair, votes sorted by pair, and where a pair's votes start."""
    base = np.repeat(items[:-1], said.counts)
    winner, loser = base + said.winners, base + said.losers
    low, high = np.minimum(winner, loser), np.maximum(winner, loser)
    pair = low * int(items[-1]) + high
    order = np.argsort(pair, kind="stable")
    found, starts = np.unique(pair[order], return_index=True)
    won = np.ascontiguousarray((winner < loser)[order])
    return found // int(items[-1]), found % int(items[-1]), won, np.append(starts, len(pair)).astype(np.int64)


def _of_pairs(moments: Any, won: Booleans, starts: Integers, k: int, smoothing: float) -> tuple[Vector, Vector]:
    mean, square = np.empty((2, len(starts) - 1))
    moments(won, starts, k, smoothing, mean, square)
    return mean, square


class UStatistic(LogOddsRegression):
    """Fit score differences to log-odds averaged over *all* k-subsets of a pair's votes.

    The U-statistic (18) of order ``k = ceil(n^exponent)``, exact: how many of k votes are
    wins is hypergeometric. Where a pair has fewer than k votes, the one term of all of
    them. Does not depend on the order of votes. See `LogOddsRegression`.

    Prefer it to `disjoint-batches`, whose estimate changes with the order of the votes; `erm` offers other
    aggregators and surrogates.
    """

    name: ClassVar[str] = "u-statistic"
    source: ClassVar[str] = "[DMJ13]_ eq. (18), (19), Theorem 4"

    def moments(self, won: Booleans, starts: Integers, k: int) -> tuple[Vector, Vector]:
        """Return the means of s and of s^2 over all k-subsets of each pair's votes."""
        from rankbench.methods.erm.kernels.sampling import subset_moments

        return _of_pairs(subset_moments, won, starts, k, self.smoothing)


class DisjointBatches(LogOddsRegression):
    """Fit score differences to log-odds averaged over ceil(votes / k) disjoint batches.

    Each vote is in one batch, in the order of the votes: what section 4 of [DMJ13]_ calls
    unstable, since another order gives another estimate. The last batch has what is left.
    A yardstick for `u-statistic`; see `LogOddsRegression`.

    Prefer it only to show how much an estimate depends on the order of the votes.
    """

    name: ClassVar[str] = "disjoint-batches"
    source: ClassVar[str] = "[DMJ13]_ section 4, after eq. (18)"

    def moments(self, won: Booleans, starts: Integers, k: int) -> tuple[Vector, Vector]:
        """Return the means of s and of s^2 over each pair's batches."""
        from rankbench.methods.erm.kernels.sampling import batch_moments

        return _of_pairs(batch_moments, won, starts, k, self.smoothing)
