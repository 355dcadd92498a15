"""Losses L(alpha, s) judge contenders; the hook registers the built-in ones."""

from __future__ import annotations

from rankbench.interfaces.surrogate import Loss
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement, WholeOrder
from rankbench.losses.positions import ERR, NDCG, Precision
from rankbench.losses.relevant import (
    AveragePrecision,
    PrecisionAt,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
    RPrecision,
    Success,
)
from rankbench.plugin.registry import hookimpl


@hookimpl
def rankbench_register() -> list[type[Loss]]:
    """Register the built-in losses."""
    return [
        NDCG,
        Precision,
        ERR,
        AveragePrecision,
        ReciprocalRank,
        PrecisionAt,
        Recall,
        RPrecision,
        Success,
        RankBiasedPrecision,
        PairwiseDisagreement,
        WholeOrder,
    ]
