"""Methods of scikit-learn: linear classifiers of feature differences, and a neural network on grades."""

from __future__ import annotations

import math
import warnings
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench_peers.differences import Differences, differences, one_by_one
from rankbench_peers.grades import LearnerOfGrades
from rankbench_peers.packages import package

__all__ = ["SklearnLogistic", "SklearnMlp", "SklearnSgd"]


class SklearnLogistic(rankbench.Method):
    r"""scikit-learn's logistic regression of who won on the difference of features.

    .. math:: \min_\theta \frac{1}{W} \sum_t w_t \log(1 + e^{-\theta^\top (x_{w_t} - x_{l_t})})
       + \frac{\lambda}{2} |\theta|^2

    over the n comparisons, of total weight W, without an intercept: scikit-learn's
    ``C`` is :math:`1 / (\lambda W)`. That is the risk of rankbench's contender
    ``erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=newton``.
    """

    name: ClassVar[str] = "sklearn-logistic"
    source: ClassVar[str] = "sklearn.linear_model.LogisticRegression"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    l2: float = Field(default=1e-3, alias="lambda", gt=0, allow_inf_nan=False, description="Ridge penalty.")
    solver: Literal["lbfgs", "newton-cg"] = Field(default="lbfgs", description="scikit-learn's.")
    tolerance: float = Field(default=1e-4, gt=0, lt=1, description="scikit-learn's tol.")
    iterations: int = Field(default=1000, ge=1, le=1_000_000, description="Iterations at most.")

    def fit(self, block: rankbench.Block) -> rankbench.Fitted:
        """Learn from a block.

        Raises
        ------
        InputError
            There are no comparisons.
        SpecError
            scikit-learn is not installed.
        """
        linear = package("sklearn.linear_model", "scikit-learn")
        data = differences(block)
        peer = linear.LogisticRegression(
            C=1 / (self.l2 * float(data.weights.sum())),
            fit_intercept=False,
            solver=self.solver,
            tol=self.tolerance,
            max_iter=self.iterations,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says whether it converged by its iterations, too
            peer.fit(data.x, data.y, sample_weight=data.weights)
        steps = int(peer.n_iter_[0])
        theta = np.array(peer.coef_[0], dtype=np.float64)
        return _fitted(theta, _slope(data, theta, self.l2), steps < self.iterations, steps)


class SklearnSgd(rankbench.Method):
    """scikit-learn's stochastic gradient descent on the difference of features, comparison by comparison.

    The penalty is ``lambda/2 |theta|^2``, as of `sklearn-logistic`; step sizes are
    scikit-learn's ``optimal`` schedule. It draws its order from the block's own seeds.
    """

    name: ClassVar[str] = "sklearn-sgd"
    source: ClassVar[str] = "sklearn.linear_model.SGDClassifier"
    properties: ClassVar[frozenset[Property]] = frozenset({"stochastic"})
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    loss: Literal["log_loss", "hinge", "modified_huber"] = Field(default="log_loss", description="scikit-learn's.")
    l2: float = Field(default=1e-3, alias="lambda", gt=0, allow_inf_nan=False, description="Ridge penalty.")
    epochs: int = Field(default=5, ge=1, le=10_000, description="Passes over the comparisons.")
    average: bool = Field(default=True, description="Average the iterates.")

    def fit(self, block: rankbench.Block) -> rankbench.Fitted:
        """Learn from a block.

        Raises
        ------
        ContenderDiverged
            Steps were too large for these features.
        InputError
            There are no comparisons.
        SpecError
            scikit-learn is not installed.
        """
        linear = package("sklearn.linear_model", "scikit-learn")
        data = one_by_one(block)
        seed = int(block.generator(self).integers(2**31))
        peer = linear.SGDClassifier(
            loss=self.loss,
            alpha=self.l2,
            fit_intercept=False,
            max_iter=self.epochs,
            tol=None,
            average=self.average,
            random_state=seed,
        )
        # A weight multiplies the step: what counts is its size beside the others.
        weights = data.weights / data.weights.mean()
        try:
            peer.fit(data.x, data.y, sample_weight=weights)
        except ValueError as error:
            if "overflow" not in str(error):
                raise
            raise ContenderDiverged(f"scikit-learn: {error}") from error
        theta = np.array(peer.coef_[0], dtype=np.float64)
        optimality = _slope(data, theta, self.l2) if self.loss == "log_loss" else math.nan
        return _fitted(theta, optimality, True, self.epochs)


class SklearnMlp(LearnerOfGrades):
    """scikit-learn's multilayer perceptron: a small neural network that predicts the gains ``2^grade - 1``.

    Features are scaled to mean 0 and standard deviation 1 of the training items. With `patience`, and validation
    queries, it keeps the weights of the epoch with the best NDCG@10 there. Grades come from labels or comparisons, as
    for `lightgbm`.
    """

    name: ClassVar[str] = "sklearn-mlp"
    source: ClassVar[str] = "sklearn.neural_network.MLPRegressor"
    properties: ClassVar[frozenset[Property]] = frozenset({"stochastic"})
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    hidden: int = Field(default=32, ge=1, le=10_000, description="Units of each of the two hidden layers.")
    l2: float = Field(default=1e-3, alias="lambda", ge=0, allow_inf_nan=False, description="scikit-learn's alpha.")
    rate: float = Field(default=1e-3, gt=0, le=1, description="Learning rate of Adam.")
    epochs: int = Field(default=100, ge=1, le=100_000, description="Passes over the items, at most.")

    def fit(self, block: rankbench.Block) -> rankbench.Fitted:
        """Learn from a block.

        Raises
        ------
        InputError
            There are no comparisons, or labels are no whole numbers from 0 to 31.
        SpecError
            scikit-learn is not installed.
        """
        network = package("sklearn.neural_network", "scikit-learn")
        scaler = package("sklearn.preprocessing", "scikit-learn").StandardScaler()
        taught, held = self.taught(block), self.validation(block)
        x = scaler.fit_transform(block.design.x[taught.rows].astype(np.float64))
        gains = np.exp2(taught.grades) - 1.0
        seed = int(block.generator(self).integers(2**31))
        sizes = (self.hidden, self.hidden)
        peer = network.MLPRegressor(
            hidden_layer_sizes=sizes, alpha=self.l2, learning_rate_init=self.rate, random_state=seed
        )
        best, kept, weights = -math.inf, 0, None
        for epoch in range(1, self.epochs + 1):
            peer.partial_fit(x, gains)
            if held is None:
                kept = epoch
                continue
            reached = mean_ndcg(peer.predict(scaler.transform(held.x.astype(np.float64))), held)
            if reached > best:
                best, kept = reached, epoch
                weights = [*map(np.copy, peer.coefs_)], [*map(np.copy, peer.intercepts_)]
            elif epoch - kept >= self.patience:
                break
        if weights is not None:
            peer.coefs_, peer.intercepts_ = weights

        def score(queries: rankbench.Queries) -> NDArray[np.float64]:
            return np.asarray(peer.predict(scaler.transform(queries.x.astype(np.float64))), dtype=np.float64)

        return rankbench.Fitted(score, info={"epochs": float(kept)})


def mean_ndcg(scores: NDArray[np.float64], queries: rankbench.Queries) -> float:
    """Return the mean NDCG@10 of scores on labelled queries."""
    loss = rankbench.get(rankbench.Loss, "ndcg:discount=log2,cutoff=10")
    spans = zip(queries.offsets[:-1], queries.offsets[1:], strict=True)
    return 1.0 - float(np.mean([loss.value(scores[low:high], queries.labels[low:high]) for low, high in spans]))


def _slope(data: Differences, theta: NDArray[np.float64], l2: float) -> float:
    """Return the norm of the gradient of the penalized logistic risk."""
    from scipy.special import expit

    share = data.weights / data.weights.sum()
    gradient = l2 * theta - (share * data.y * expit(-data.y * (data.x @ theta))) @ data.x
    return float(np.linalg.norm(gradient))


def _fitted(theta: NDArray[np.float64], optimality: float, converged: bool, steps: int) -> rankbench.Fitted:
    def score(queries: rankbench.Queries) -> NDArray[np.float64]:
        return queries.x.astype(np.float64) @ theta

    return rankbench.Fitted(score, optimality=optimality, converged=converged, info={"iterations": float(steps)})
