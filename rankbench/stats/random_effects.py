r"""Random effects shrink scores of categories toward common scores, by restricted maximum likelihood.

Category c has estimates of the scores of some of m items. Only their differences mean something:

.. math:: \hat\theta_c = \theta_c + \varepsilon_c, \qquad \theta_c = \mu + \delta_c, \qquad
          \delta_{ci} \sim N(0, \tau^2), \quad \varepsilon_c \sim N(0, W_c)

In an orthonormal basis of the differences, turned so that W_c is diagonal, the estimates are independent with variances
:math:`\lambda + \tau^2`: the restricted likelihood ([PT71]_) of any number of variances costs one decomposition a
category. Predictions are the best linear ones ([H75]_), averaged over the posterior of :math:`\tau^2` under the prior
:math:`1 / (s + \tau^2)`, with s the harmonic mean of the :math:`\lambda`: intervals that take :math:`\tau^2` for known
are too short, most of all where the maximum is at 0. The prior is flat below s and flat in the logarithm above, so that
one difference is enough for a posterior; the uniform shrinkage prior ([D99]_), its square, draws three categories
together too much. Errors of predictions come from the covariance of the estimates' errors. It need not be W, by which
estimates are weighted, and errors of different categories may depend on one another in it.

References
----------
.. [PT71] H. D. Patterson and R. Thompson. Recovery of inter-block information when block sizes are unequal.
   Biometrika 58(3), 1971.
.. [H75] C. R. Henderson. Best linear unbiased estimation and prediction under a selection model. Biometrics
   31(2), 1975.
.. [D99] M. J. Daniels. A prior for the variance in hierarchical models. Canadian Journal of Statistics 27(3), 1999.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_POINTS = 12
"""Variances that a posterior is averaged over (Gauss and Legendre)."""

_STEPS = 64
"""Variances on the grid where the search for the highest likelihood begins."""

_DROP = 1.920729410347062
"""Half of the 95% quantile of chi-square with one degree of freedom."""

_UNLIKELY = 12.0
"""Variances whose posterior is lower by more, in logarithms, say nothing."""

_LARGEST = 1 - 1e-6
"""Of the share :math:`\\tau^2 / (s + \\tau^2)`."""


@dataclass(frozen=True, eq=False)
class CategoryEstimates:
    """Estimated scores of one category.

    Attributes
    ----------
    items : ndarray of int, shape (k,)
        Places of its items among all m, each once.
    scores : ndarray of float64, shape (k,)
    noise : ndarray of float64, shape (k, k)
        W: the covariance that estimates are weighted by, positive definite for differences within scales.
    scales : ndarray of int, shape (k,)
        Scores of different numbers cannot be compared.
    """

    items: NDArray[np.int64]
    scores: NDArray[np.float64]
    noise: NDArray[np.float64]
    scales: NDArray[np.int64]


@dataclass(frozen=True)
class VarianceEstimate:
    """Variance of scores between categories.

    Attributes
    ----------
    variance, lower, upper : float
        Estimate by restricted maximum likelihood, and its 95% interval by likelihood ratio.
    freedom : int
        Differences between categories that it is estimated from.
    """

    variance: float
    lower: float
    upper: float
    freedom: int


@dataclass(frozen=True, eq=False)
class Prediction:
    """Scores of one category, of all m items.

    Attributes
    ----------
    scores : ndarray of float64, shape (m,)
    covariance : ndarray of float64, shape (m, m)
        Of their errors; of differences within a scale.
    own : ndarray of float64, shape (m, m)
        The part of it that the category's own estimates bring with them.
    """

    scores: NDArray[np.float64]
    covariance: NDArray[np.float64]
    own: NDArray[np.float64]


class Shrinkage:
    """The model of some categories.

    Parameters
    ----------
    categories : sequence of CategoryEstimates
    m : int
        Number of items; each is in some category.
    errors : sequence of ndarray, shapes (k, k)
        Covariances of the categories' errors.
    joint : ndarray of float64, shape (n, n), optional
        Of the errors of all categories, one after the other: where they depend on one another.
    """

    def __init__(
        self,
        categories: Sequence[CategoryEstimates],
        m: int,
        errors: Sequence[NDArray[np.float64]],
        joint: NDArray[np.float64] | None = None,
    ) -> None:
        self.categories, self.m, self.errors, self.joint = categories, m, errors, joint
        self.starts = np.concatenate([[0], np.cumsum([len(one.items) for one in categories])])
        turned = [_turned(one) for one in categories]
        self.values = [values for values, _ in turned]
        self.bases = [basis for _, basis in turned]
        self.designs = [_spread(basis.T, one.items, m) for basis, one in zip(self.bases, categories, strict=True)]
        self.design = np.concatenate(self.designs)
        self.spread = np.concatenate(self.values)
        self.turned = np.concatenate([basis.T @ one.scores for basis, one in zip(self.bases, categories, strict=True)])
        self.scales = _joined(categories, m)
        sizes = np.bincount(self.scales)
        level = np.zeros((m, len(sizes)))
        level[np.arange(m), self.scales] = 1 / np.sqrt(sizes[self.scales])
        self.level = level @ level.T
        self.freedom = len(self.spread) - (m - len(sizes))
        self.unit = len(self.spread) / float((1 / self.spread).sum()) if len(self.spread) else 1.0

    def log_likelihood(self, variance: float) -> float:
        """Return the restricted log likelihood of a variance, but for a constant."""
        weight = 1 / (self.spread + variance)
        weighted = self.design * weight[:, None]
        factor = np.linalg.cholesky(self.design.T @ weighted + self.level)
        rest = self.turned - self.design @ _solved(factor, weighted.T @ self.turned)
        logdet = float(np.log(weight).sum()) - 2 * float(np.log(np.diag(factor)).sum())
        return (logdet - float((weight * rest) @ rest)) / 2

    @cached_property
    def _likelihoods(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shares = np.linspace(0.0, _LARGEST, _STEPS)
        return shares, np.array([self._of_share(share) for share in shares])

    def _variance(self, share: float) -> float:
        return self.unit * share / (1 - share)

    def _of_share(self, share: float) -> float:
        return self.log_likelihood(self._variance(share))

    @cached_property
    def _best(self) -> tuple[float, float]:
        """The share with the highest likelihood, and its log."""
        from scipy.optimize import minimize_scalar

        shares, known = self._likelihoods
        at = int(known.argmax())
        around = shares[max(at - 1, 0)], shares[min(at + 1, len(shares) - 1)]
        found = minimize_scalar(lambda share: -self._of_share(share), bounds=around, options={"xatol": 1e-9})
        inner = -float(found.fun)
        return (float(found.x), inner) if inner > known[at] else (float(shares[at]), float(known[at]))

    @cached_property
    def variance(self) -> VarianceEstimate:
        """The variance between categories with its interval."""
        from scipy.optimize import brentq

        best, most = self._best

        def drop(share: float) -> float:
            return self._of_share(share) - most + _DROP

        lower = 0.0 if drop(0.0) >= 0 else brentq(drop, 0.0, best)
        upper = _LARGEST if drop(_LARGEST) >= 0 else brentq(drop, best, _LARGEST)
        top = np.inf if upper == _LARGEST else self._variance(upper)
        return VarianceEstimate(self._variance(best), self._variance(lower), float(top), self.freedom)

    @cached_property
    def _solutions(self) -> list[_Solution]:
        """The model at variances that stand for their posterior, with their weights."""
        shares, known = self._likelihoods
        posterior = known - np.log1p(-shares)
        likely = np.flatnonzero(posterior > posterior.max() - _UNLIKELY)
        first, last = shares[max(likely[0] - 1, 0)], shares[min(likely[-1] + 1, len(shares) - 1)]
        points, weights = np.polynomial.legendre.leggauss(_POINTS)
        places = first + (last - first) * (points + 1) / 2
        logs = np.array([self._of_share(share) - np.log1p(-share) for share in places])
        chances = weights * np.exp(logs - logs.max())
        chances /= chances.sum()
        return [
            _Solution(self, self._variance(share), float(chance))
            for share, chance in zip(places, chances, strict=True)
            if chance > 1e-6
        ]

    def predicted(self, c: int) -> Prediction:
        """Return the scores of a category."""
        found = [one.predicted(c) for one in self._solutions]
        chances = np.array([one.chance for one in self._solutions])
        chances /= chances.sum()
        scores = np.tensordot(chances, np.stack([one.scores for one in found]), 1)
        covariance, own = (
            np.tensordot(chances, np.stack([getattr(one, name) for one in found]), 1) for name in ("covariance", "own")
        )
        around = np.stack([one.scores for one in found]) - scores
        return Prediction(scores, covariance + (around.T * chances) @ around, own)


class _Solution:
    """The model with one variance."""

    def __init__(self, model: Shrinkage, variance: float, chance: float) -> None:
        self.model, self.variance, self.chance = model, variance, chance
        weight = 1 / (model.spread + variance)
        weighted = model.design * weight[:, None]
        factor = np.linalg.cholesky(model.design.T @ weighted + model.level)
        # Of the turned estimates, the common scores: (m, n').
        common = _solved(factor, weighted.T)
        self.scores = common @ model.turned
        ends = np.cumsum([0, *(len(values) for values in model.values)])
        rows = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.weights = [weight[some] for some in rows]
        self.common = [common[:, some] @ basis.T for some, basis in zip(rows, model.bases, strict=True)]
        self.of_deviations = [common[:, some] @ design for some, design in zip(rows, model.designs, strict=True)]
        self.between = sum((one @ one.T for one in self.of_deviations), np.zeros((model.m, model.m)))
        if model.joint is None:
            self.shared = [error @ one.T for error, one in zip(model.errors, self.common, strict=True)]
        else:
            both = model.joint @ np.concatenate(self.common, axis=1).T
            self.shared = [both[begin:end] for begin, end in itertools.pairwise(model.starts)]
        self.noise = sum(
            (one @ both for one, both in zip(self.common, self.shared, strict=True)), np.zeros_like(factor)
        )

    def predicted(self, c: int) -> Prediction:
        """Return the scores of a category, with the covariance of their errors at this variance."""
        model, one, eye = self.model, self.model.categories[c], np.eye(self.model.m)
        # Deviations as multiples of the category's turned estimates, (m, k).
        mine = (model.designs[c].T * (self.variance * self.weights[c])) @ model.bases[c].T
        gain = _spread(mine, one.items, model.m)
        scores = self.scores + mine @ (one.scores - self.scores[one.items])
        # The own deviation: its estimate less its true value.
        left, missed = eye - gain, gain - eye
        # Weights of the category's own estimates, directly and through the common scores.
        direct = mine + left @ self.common[c]
        own = direct @ model.errors[c] @ direct.T
        crossed = mine @ self.shared[c] @ left.T
        total = left @ self.noise @ left.T + (crossed + crossed.T) + mine @ model.errors[c] @ mine.T
        crossed = missed @ self.of_deviations[c].T @ left.T
        deviation = missed @ missed.T + (crossed + crossed.T + left @ self.between @ left.T)
        return Prediction(scores, total + self.variance * deviation, own)


def _turned(one: CategoryEstimates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the variances of independent differences, (k',), and the differences' weights on scores, (k, k')."""
    k = len(one.items)
    columns = []
    for scale in np.unique(one.scales):
        some = np.flatnonzero(one.scales == scale)
        for at in range(1, len(some)):
            column = np.zeros(k)
            column[some[:at]], column[some[at]] = 1, -at
            columns.append(column / np.sqrt(at * (at + 1)))
    basis = np.stack(columns, axis=1) if columns else np.zeros((k, 0))
    values, vectors = np.linalg.eigh(basis.T @ one.noise @ basis)
    floor = 1e-12 * float(values[-1]) if len(values) else 0.0
    return np.maximum(values, floor), basis @ vectors


def _spread(matrix: NDArray[np.float64], items: NDArray[np.int64], m: int) -> NDArray[np.float64]:
    """Return a matrix whose columns are of a category's items as one of all m."""
    found = np.zeros((len(matrix), m))
    found[:, items] = matrix
    return found


def _joined(categories: Sequence[CategoryEstimates], m: int) -> NDArray[np.int64]:
    """Return a number for each item, (m,), equal for items connected by a chain of scales."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    items, nodes, count = [], [], m
    for one in categories:
        names, place = np.unique(one.scales, return_inverse=True)
        items.append(one.items)
        nodes.append(count + place.reshape(-1))
        count += len(names)
    rows, columns = np.concatenate(items), np.concatenate(nodes)
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    labels = connected_components(graph, directed=False)[1][:m]
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _solved(factor: NDArray[np.floating], right: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, True), right), np.float64)
