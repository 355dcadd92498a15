"""The estimator `Ranker` learns scores of items from labels or comparisons, by scikit-learn's conventions."""

from __future__ import annotations

import inspect
import json
import math
import warnings
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError

from rankbench.core.code_digest import version
from rankbench.core.component import Component, first_problem
from rankbench.core.text import count_text
from rankbench.data.tables.items import usable
from rankbench.errors import InputError, SpecError, nearest
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Block, Model, Optimizer
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.surrogate import Surrogate
from rankbench.methods.erm import ERM
from rankbench.methods.ranker_rows import (
    UNSAID,
    compared_rows,
    contents_of,
    queries_of_rows,
    query_weights,
    warn_of_cut_queries,
    warn_of_query_features,
    with_queries,
    without_queries,
)
from rankbench.plugin.manager import get
from rankbench.plugin.third_party import distributions_of

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import ndcg_score
    from sklearn.utils.validation import (
        assert_all_finite,
        check_array,
        check_is_fitted,
        check_random_state,
        validate_data,
    )
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

    Scores order the items of a query, so `fit` and `score` need the query of each row: by `qid`, or by a column of a
    frame that `query` names.

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
    random_state : int, RandomState, Generator or None
        Seed of all draws, at least 0; or the source of such a seed, None being NumPy's global one.
    query : str or None
        Column of a frame with the query of each row, which is no feature; `predict` needs none. It needs no metadata
        routing. None: all rows are one list. Empty: `qid` says it.

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
        A component is unknown, or two do not go together. The message names what to write instead. A `ValueError`.

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
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        query: str | None = UNSAID,
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
        self.query = query

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
        surrogate = _found(Surrogate, "surrogate", self.surrogate)
        aggregator = self.aggregator
        if aggregator is None:
            aggregator = "labels" if surrogate.structure == "scores" else "label-pairs"
        parts: dict[str, Any] = {
            "aggregator": _found(Aggregator, "aggregator", aggregator),
            "surrogate": surrogate,
            "optimizer": _found(Optimizer, "optimizer", self.optimizer),
            "model": _found(Model, "model", self.model),
        }
        numbers = {"k": self.k, "lambda": self.l2, "l1": self.l1, "draws": self.draws}
        try:
            return ERM.model_validate(parts | numbers)
        except ValidationError as error:
            where, reason = first_problem(error)
            at = f", parameter {'l2' if where == 'lambda' else where!r}" if where else ""
            raise SpecError(f"Ranker{at}: {reason}") from error

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
        qid : array-like, shape (N,) or (N, 1), optional
            Query of each item, in any order: numbers or texts. It is needed unless the parameter `query` says more.
        comparisons : array-like of int, shape (n, 2), optional
            Rows of X of winner and loser, in place of labels; both belong to one query.

        Returns
        -------
        Ranker
            Itself.

        Raises
        ------
        ValueError
            An array has another shape, or numbers that are not finite; a row has no query; no query has two items with
            different labels; or a comparison is of two queries.
        SpecError
            See `Ranker`; nothing says which rows belong to which query, or two things do; labels and comparisons; an
            aggregator of labels with comparisons, or the reverse.

        Warns
        -----
        UserWarning
            Queries have fewer than two items, or all their labels are equal: no surrogate learns an order from them. Or
            a column of X is qid.
        ConvergenceWarning
            The optimizer did not reach its tolerance.
        """
        labelled = comparisons is None
        if not labelled and y is not None:
            raise SpecError("labels y and comparisons both say what is better: give one of them")
        X, of = with_queries(X, qid, self.query)
        if labelled:
            x, labels = self._labelled(X, y, reset=True)
        else:
            x, labels = validate_data(self, X, dtype=np.float32), None
        method = self.contender()
        if method.aggregator.needs_truth != labelled:
            told = "labels y" if labelled else "comparisons"
            other = "None, labels or label-pairs" if labelled else "another one, such as mean-log-odds"
            raise SpecError(f"aggregator {method.aggregator.name!r} does not work on {told}; take {other}")
        queries, rows = queries_of_rows(x, labels, of)
        warn_of_query_features(x, of)
        entropy = (_seed(self.random_state),)
        if labelled:
            block = Block.from_labels(queries.take(_chosen(queries)), 0, entropy)
        else:
            said = compared_rows(check_array(comparisons, dtype=np.int64), queries, rows)
            block = Block(queries.unlabelled(), said, len(said), 0, entropy)
        fitted = method.fit(block)
        self.coef_ = np.asarray(fitted.theta, np.float64)
        self.optimality_ = fitted.optimality
        self.n_iter_ = int(fitted.info["iterations"])
        self.n_queries_ = len(queries)
        self._learned = {} if of is None else contents_of(queries)
        if not fitted.converged:
            warnings.warn(
                f"{method.optimizer.name} did not reach its tolerance: optimality {fitted.optimality:.2g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _labelled(
        self, X: ArrayLike, y: ArrayLike | None, *, reset: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        x, labels = validate_data(self, X, y, dtype=np.float32, y_numeric=True, reset=reset)
        assert_all_finite(labels, input_name="y")  # None among objects is nan from here on
        return x, labels

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a score for each item, shape (N,); higher is better, within a query.

        Parameters
        ----------
        X : array-like, shape (N, d)
            A frame may have the column that `query` names.
        """
        check_is_fitted(self)
        return self._scores(validate_data(self, without_queries(X, self.query), dtype=np.float32, reset=False))

    def _scores(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(_found(Model, "model", self.model).features(x) @ self.coef_, np.float64)

    def score(
        self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mean NDCG@10 over queries, from 0 to 1; higher is better.

        The NDCG of a query is `sklearn.metrics.ndcg_score`: gains are labels, tied items share their mean gain.

        Parameters
        ----------
        X : array-like, shape (N, d)
        y : array-like, shape (N,)
            Graded labels, at least 0.
        qid : array-like, shape (N,) or (N, 1), optional
            As of `fit`.
        sample_weight : array-like, shape (N,), optional
            Weight of each item's query in the mean, at least 0 and the same for all items of a query.

        Raises
        ------
        ValueError
            No query has two items with different labels, or a positive weight; items of a query have different weights.
        SpecError
            As of `fit`, where nothing says which rows belong to which query.

        Warns
        -----
        UserWarning
            Queries have fewer than two items, or all their labels are equal: the mean leaves them out. Or `fit` had
            other items of these queries, as where a split cuts them.
        """
        check_is_fitted(self)
        X, of = with_queries(X, qid, self.query)
        x, labels = self._labelled(X, y, reset=False)
        queries, rows = queries_of_rows(x, labels, of)
        if of is not None:
            warn_of_cut_queries(contents_of(queries), self._learned)
        scores, chosen = self._scores(x)[rows], _chosen(queries)
        weights = None
        if sample_weight is not None:
            given = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
            weights = query_weights(given, queries, rows, chosen)
        spans = [slice(queries.offsets[q], queries.offsets[q + 1]) for q in chosen]
        each = [ndcg_score([queries.labels[own]], [scores[own]], k=10) for own in spans]
        return float(np.average(each, weights=weights))

    def save(self, path: str | PathLike[str]) -> None:
        """Write parameters and theta to a JSON file, which `Ranker.load` reads again to the last bit.

        A `random_state` that is no number is written as None.

        Parameters
        ----------
        path : path
        """
        check_is_fitted(self)
        plain = {name: str(part) if isinstance(part, Component) else part for name, part in self.get_params().items()}
        plain["random_state"] = int(self.random_state) if isinstance(self.random_state, Integral) else None
        defaults = inspect.signature(type(self)).parameters
        record = {
            "format": "rankbench-ranker",
            "format_version": FORMAT,
            "versions": {name: version(name) for name in sorted(distributions_of(self.contender()))},
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
            ranker._learned = {}
            if record["names"]:
                ranker.feature_names_in_ = np.array(record["names"], object)
        except InputError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a file of Ranker.save: {error!r}", path=Path(path)) from error
        return ranker


def _found(base: Any, name: str, part: object) -> Any:
    found = get(base, part) if isinstance(part, str) else part
    if not isinstance(found, base):
        raise SpecError(f"Ranker, parameter {name!r}: write a name, or a {base.__name__}, not {part!r}")
    return found


def _seed(random_state: object) -> int:
    """Return the seed of the draws of one fit."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise SpecError(f"Ranker, parameter 'random_state': a seed is at least 0, not {random_state}")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise SpecError(f"Ranker, parameter 'random_state': {error}") from error


def _chosen(queries: Queries) -> NDArray[np.int64]:
    """Return the queries that have an order to learn or judge, with a warning if some have none."""
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
