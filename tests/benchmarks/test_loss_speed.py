"""Losses of many queries in one pass, against scikit-learn and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import ndcg_score
from turns import against

from rankbench.interfaces.surrogate import Loss
from rankbench.losses.evaluate import evaluate, evaluate_all
from rankbench.plugin.manager import get

QUERIES, M = 5000, 50
OFFSETS = np.arange(QUERIES + 1) * M


def made() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.choice(5, p=[0.5, 0.3, 0.15, 0.04, 0.01], size=(QUERIES, M)).astype(float), rng.normal(size=(QUERIES, M))


def test_top_ten_losses(benchmark: Any) -> None:
    """NDCG@10, P@10 and ERR@10 together; scikit-learn has NDCG@10 alone."""
    labels, scores = made()
    chosen = [get(Loss, spec) for spec in ("ndcg:cutoff=10", "precision:k=10", "err:cutoff=10")]
    alpha, structures = scores.reshape(1, -1), labels.ravel()
    against(
        benchmark,
        lambda: evaluate_all(chosen, alpha, structures, OFFSETS),
        lambda: ndcg_score(labels, scores, k=10),
        "scikit-learn, NDCG@10",
        at_least=1.0,
    )


def test_whole_ndcg(benchmark: Any) -> None:
    labels, scores = made()
    loss, alpha = get(Loss, "ndcg"), scores.reshape(1, -1)

    def numpy() -> object:
        order = np.argsort(-scores, axis=1, kind="stable")
        discount = 1 / np.log2(np.arange(2, M + 2))
        gains = 2.0**labels - 1
        best = -np.sort(-gains, axis=1) @ discount
        got = np.take_along_axis(gains, order, axis=1) @ discount
        return np.divide(got, best, out=np.ones(QUERIES), where=best > 0)

    against(benchmark, lambda: evaluate(loss, alpha, labels.ravel(), OFFSETS), numpy, "NumPy, queries of one length")


def test_err_of_a_tie_of_thousands_that_are_worth_nothing(benchmark: Any) -> None:
    """Readers of TREC runs ask what one document costs behind so many; each pair of ties would take a second."""
    n = 30_000
    loss, alpha, labels = get(Loss, "err:discount=log2"), np.r_[np.ones(n), 0.0], np.r_[np.zeros(n), 4.0]
    tables = np.random.default_rng(0).random((40, n))
    against(benchmark, lambda: loss.value(alpha, labels), lambda: np.sort(tables), "40 sorts by NumPy", at_least=1.0)
