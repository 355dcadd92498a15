"""The estimator `Ranker` learns scores of items from labels or comparisons, by scikit-learn's conventions."""

from __future__ import annotations

import inspect
import json
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankbench.core.code_digest import version
from rankbench.core.component import Component
from rankbench.core.spec import Spec
from rankbench.core.text import count_text
from rankbench.data.tables.items import usable
from rankbench.errors import InputError, SpecError, nearest
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Block, Model, Optimizer
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.interfaces.surrogate import Surrogate
from rankbench.methods.erm import ERM
from rankbench.plugin.manager import get
from rankbench.plugin.third_party import makers

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import ndcg_score
    from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "rankbench.Ranker needs scikit-learn: pip install 'rankbench[scikit-learn]'", name=error.name
    ) from error

if TYPE_CHECKING:
    from os import PathLike

FORMAT = 1
"""Version of the files of `Ranker.save`."""


class Ranker(BaseEstimator):  # type: ignore[misc]
    r"""Linear ranking function that minimizes a surrogate's risk: the method `erm` as an estimator of scikit-learn.

    .. math:: \min_\theta \frac{1}{n} \sum_q \frac{n_q}{\binom{n_q}{k}} \sum_{|Y| = k}
       \varphi(X_q \theta, s(Y)) + \frac{\lambda}{2} |\theta|^2

    The labels of a query are one judgment, so that all queries weigh alike. Comparisons are judgments each,
    [DMJ13]_ eq. (19). Components are written as in suites, ``"name:param=value"``.

    Parameters
    ----------
    aggregator : str, Aggregator or None
        Aggregator s(Y_1..Y_k). None: `labels` or, with a surrogate of pairs, `label-pairs`.
    surrogate : str or Surrogate
        Convex surrogate phi.
    optimizer : str or Optimizer
        ``"exact"`` for the surrogate `regression`, ``"newton"`` for smooth ones, ``"hinge-dual"`` for `pairwise-hinge`.
    k : float
        Judgments in one structure, at least 1; ``math.inf``: all of a query.
    model : str or Model
        Feature map before the linear function.
    l2, l1 : float
        Factors of ``|theta|^2 / 2`` and of the sum of absolute entries of theta, at least 0.
    draws : int
        Steps of a stochastic optimizer; subsets of k judgments behind a solver.
    random_state : int
        Seed of all draws, at least 0.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (d',)
        theta, one entry for each feature of the model.
    optimality_ : float
        Norm of the gradient at theta, or duality gap.
    n_iter_ : int
        Iterations of the optimizer.
    n_features_in_ : int
        Number of features of an item.
    n_queries_ : int
        Number of queries that `fit` had.

    Raises
    ------
    SpecError
        A component is unknown, or two do not go together. The message names what to write instead.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.0], [1.5, 1.0]])
    >>> ranker = rankbench.Ranker(surrogate="pairwise-logistic", optimizer="newton", l2=0.1)
    >>> ranker.fit(X, y=[0, 1, 2, 0, 1], qid=[7, 7, 7, 8, 8]).predict([[3, 0], [0, 3]]).round(2)
    array([4.41, 1.29])
    """

    def __init__(
        self,
        aggregator: str | Aggregator | None = None,
        surrogate: str | Surrogate = "regression",
        optimizer: str | Optimizer = "exact",
        *,
        k: float = math.inf,
        model: str | Model = "linear",
        l2: float = 1e-3,
        l1: float = 0.0,
        draws: int = 100_000,
        random_state: int = 0,
    ) -> None:
        self.aggregator = aggregator
        self.surrogate = surrogate
        self.optimizer = optimizer
        self.k = k
        self.model = model
        self.l2 = l2
        self.l1 = l1
        self.draws = draws
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def contender(self) -> ERM:
        """Return the method that computes: ``str(ranker.contender())`` is a contender of suites.

        Raises
        ------
        SpecError
            See `Ranker`.
        """
        surrogate = _found(Surrogate, self.surrogate)
        aggregator = self.aggregator
        if aggregator is None:
            aggregator = "labels" if surrogate.structure == "scores" else "label-pairs"
        parts: dict[str, Any] = {
            "aggregator": _found(Aggregator, aggregator),
            "surrogate": surrogate,
            "optimizer": _found(Optimizer, self.optimizer),
            "model": _found(Model, self.model),
        }
        numbers = {"k": self.k, "lambda": self.l2, "l1": self.l1, "draws": self.draws}
        return ERM.from_spec(Spec(ERM.name, parts | numbers))

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, qid: ArrayLike | None = None, *,
        comparisons: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn from labels or from comparisons.

        Parameters
        ----------
        X : array-like, shape (N, d)
            Features of items, which are read as 32-bit numbers.
        y : array-like, shape (N,), optional
            Graded labels, higher is better.
        qid : array-like, shape (N,), optional
            Query of each item, in any order. None: all items belong to one query.
        comparisons : array-like of int, shape (n, 2), optional
            Rows of X of winner and loser, in place of labels; both belong to one query.

        Returns
        -------
        Ranker
            Itself.

        Raises
        ------
        ValueError
            An array has another shape, or numbers that are not finite; no query has two items with different labels;
            or a comparison is of two queries.
        SpecError
            See `Ranker`; also an aggregator of labels with comparisons, or the reverse.

        Warns
        -----
        UserWarning
            Queries have fewer than two items, or all their labels are equal: no surrogate learns an order from them.
        ConvergenceWarning
            The optimizer did not reach its tolerance.
        """
        labelled = comparisons is None
        if labelled:
            x, labels = validate_data(self, X, y, dtype=np.float32, y_numeric=True)
        else:
            x, labels = validate_data(self, X, dtype=np.float32), None
        method = self.contender()
        if method.aggregator.needs_truth != labelled:
            told = "labels y" if labelled else "comparisons"
            other = "None, labels or label-pairs" if labelled else "another one, such as mean-log-odds"
            raise SpecError(f"aggregator {method.aggregator.name!r} does not work on {told}; take {other}")
        queries, rows = _queries(x, labels, qid)
        entropy = (int(self.random_state),)
        if labelled:
            block = Block.from_labels(queries.take(_chosen(queries)), 0, entropy)
        else:
            said = _comparisons(comparisons, queries, rows)
            block = Block(queries.unlabelled(), said, len(said), 0, entropy)
        fitted = method.fit(block)
        self.coef_ = np.asarray(fitted.theta, np.float64)
        self.optimality_ = fitted.optimality
        self.n_iter_ = int(fitted.info["iterations"])
        self.n_queries_ = len(queries)
        if not fitted.converged:
            warnings.warn(
                f"{method.optimizer.name} did not reach its tolerance: optimality {fitted.optimality:.2g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a score for each item, shape (N,); higher is better, within a query.

        Parameters
        ----------
        X : array-like, shape (N, d)
        """
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float32, reset=False)
        return np.asarray(_found(Model, self.model).features(x) @ self.coef_, np.float64)

    def score(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the mean NDCG@10 over queries, from 0 to 1; higher is better.

        The NDCG of a query is `sklearn.metrics.ndcg_score`: gains are labels, tied items share their mean gain.

        Parameters
        ----------
        X : array-like, shape (N, d)
        y : array-like, shape (N,)
            Graded labels, at least 0.
        qid : array-like, shape (N,), optional
            Query of each item. None: all items belong to one query.

        Raises
        ------
        ValueError
            No query has two items with different labels; or `fit` had several queries, and qid is None.

        Warns
        -----
        UserWarning
            Queries have fewer than two items, or all their labels are equal: the mean leaves them out.
        """
        scores = self.predict(X)
        if qid is None and self.n_queries_ > 1:
            raise ValueError(
                "fit had a qid, score has none: pass qid, in a search by set_score_request(qid=True) and "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        x, labels = validate_data(self, X, y, dtype=np.float32, y_numeric=True, reset=False)
        queries, rows = _queries(x, labels, qid)
        scores = scores[rows]
        spans = [slice(queries.offsets[q], queries.offsets[q + 1]) for q in _chosen(queries)]
        return float(np.mean([ndcg_score([queries.labels[own]], [scores[own]], k=10) for own in spans]))

    def save(self, path: str | PathLike[str]) -> None:
        """Write parameters and theta to a JSON file, which `Ranker.load` reads again to the last bit.

        Parameters
        ----------
        path : path
        """
        check_is_fitted(self)
        plain = {name: str(part) if isinstance(part, Component) else part for name, part in self.get_params().items()}
        defaults = inspect.signature(type(self)).parameters
        record = {
            "format": "rankbench-ranker",
            "format_version": FORMAT,
            "versions": {name: version(name) for name in sorted(makers(self.contender()))},
            "parameters": {name: value for name, value in plain.items() if value != defaults[name].default},
            "features": self.n_features_in_,
            "queries": self.n_queries_,
            "names": getattr(self, "feature_names_in_", np.zeros(0)).tolist(),
            "optimality": float(self.optimality_),
            "iterations": self.n_iter_,
            "coef": self.coef_.tolist(),
        }
        Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return a fitted ranker from a file of `Ranker.save`; rankbench runs no code from the file.

        Parameters
        ----------
        path : path

        Raises
        ------
        InputError
            The file is no such file, or a later version of rankbench wrote it.
        """
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
            if (record["format"], record["format_version"]) != ("rankbench-ranker", FORMAT):
                raise InputError(f"not a ranker's file of format version {FORMAT}", path=Path(path))
            unknown = sorted(record["parameters"].keys() - inspect.signature(cls).parameters.keys())
            if unknown:
                known = nearest(unknown[0], inspect.signature(cls).parameters)
                raise InputError(f"a ranker has no parameter {unknown[0]!r}{known}", path=Path(path))
            ranker = cls(**record["parameters"])
            ranker.coef_ = np.array(record["coef"], np.float64)
            ranker.n_features_in_, ranker.n_iter_ = int(record["features"]), int(record["iterations"])
            ranker.optimality_ = float(record["optimality"])
            ranker.n_queries_ = int(record.get("queries", 1))  # earlier files have none
            if record["names"]:
                ranker.feature_names_in_ = np.array(record["names"], object)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a file of Ranker.save: {error!r}", path=Path(path)) from error
        return ranker


def _found(base: Any, part: str | Component) -> Any:
    return get(base, part) if isinstance(part, str) else part


def _chosen(queries: Queries) -> NDArray[np.int64]:
    """Return the queries that have an order to learn or judge, with a warning where some have none."""
    chosen = usable(queries)
    if not len(chosen):
        raise ValueError(
            "no query has two items with different labels: "
            f"n_samples = {queries.offsets[-1]}, n_queries = {len(queries)}"
        )
    if len(chosen) < len(queries):
        left = count_text(len(queries) - len(chosen), "query")
        warnings.warn(f"Ranker leaves out {left} of {len(queries)}, with one item or equal labels", stacklevel=3)
    return chosen


def _queries(
    x: NDArray[np.float32], y: NDArray[np.float64] | None, qid: ArrayLike | None
) -> tuple[Queries, NDArray[np.int64]]:
    """Return queries in the order in which they first appear, and the row of X of each of their items."""
    of = np.zeros(len(x), np.int64) if qid is None else check_array(qid, ensure_2d=False, dtype=None)
    check_consistent_length(x, of)
    names, first, number = np.unique(of, return_index=True, return_inverse=True)
    order = np.argsort(first[number], kind="stable")
    offsets = np.append(np.flatnonzero(np.diff(first[number][order], prepend=-1)), len(x)).astype(np.int64)
    truth = None if y is None else np.asarray(y, np.float64)[order]
    ids = [str(name) for name in names[np.argsort(first)]]
    return Queries(ids, offsets, x[order], truth), order


def _comparisons(said: ArrayLike | None, queries: Queries, rows: NDArray[np.int64]) -> Comparisons:
    """Return comparisons of rows of X, sorted by query, in their order within a query."""
    pairs = check_array(said, dtype=np.int64)
    if pairs.shape[1] != 2 or pairs.min() < 0 or pairs.max() >= len(rows):
        raise ValueError(f"comparisons are rows (winner, loser) of X, from 0 to {len(rows) - 1}, shape (n, 2)")
    place = np.argsort(rows)[pairs]
    query = np.searchsorted(queries.offsets, place, side="right") - 1
    wrong = np.flatnonzero((query[:, 0] != query[:, 1]) | (place[:, 0] == place[:, 1]))
    if len(wrong):
        raise ValueError(f"comparison {wrong[0]}, {pairs[wrong[0]].tolist()}, is not of two items of one query")
    order = np.argsort(query[:, 0], kind="stable")
    within = (place - queries.offsets[query])[order].astype(np.int32)
    starts = np.searchsorted(query[order, 0], np.arange(len(queries) + 1)).astype(np.int64)
    winners, losers = (np.ascontiguousarray(column) for column in within.T)
    return Comparisons(starts, winners, losers, np.ones(len(pairs)))
