"""Losses L(alpha, s), which contenders are judged by; one a file."""

from __future__ import annotations

from rankbench.kinds.bayes import BayesRisk
from rankbench.kinds.loss import Loss
from rankbench.losses.err import ERR, ERRFamily
from rankbench.losses.ndcg import NDCG, NDCGFamily
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.losses.precision import Precision
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["ERR", "NDCG", "BayesRisk", "ERRFamily", "NDCGFamily", "PairwiseDisagreement", "Precision"]


@hookimpl
def rankbench_register() -> list[type[Loss]]:
    """Register the built-in losses."""
    return [NDCG, Precision, ERR, PairwiseDisagreement]
