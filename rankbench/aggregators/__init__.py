"""Aggregators: structure functions s(Y_1, ..., Y_k) of comparisons, one a file."""

from __future__ import annotations

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.clicks import COEC, Cascade, ClickThroughRate, PositionDebiased
from rankbench.aggregators.davidson import Davidson
from rankbench.aggregators.dynamic_bradley_terry import DynamicBradleyTerry
from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph
from rankbench.aggregators.eigenvector import Eigenvector
from rankbench.aggregators.elo import Elo
from rankbench.aggregators.geometric_mean import GeometricMean
from rankbench.aggregators.glicko_2 import Glicko2
from rankbench.aggregators.identity import Identity
from rankbench.aggregators.kemeny import Kemeny
from rankbench.aggregators.limit_scores import LimitScores
from rankbench.aggregators.mean_log_odds import MeanLogOdds
from rankbench.aggregators.pagerank import PageRank
from rankbench.aggregators.plackett_luce import PlackettLuce
from rankbench.aggregators.rank_centrality import RankCentrality
from rankbench.aggregators.rates import Borda, Budgeted, NetWeights, WinRate
from rankbench.aggregators.score_tables import BordaCount, MeanRank, MeanScore
from rankbench.aggregators.thurstone_mosteller import ThurstoneMosteller
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.selection_aggregator import ClickModel, SelectionAggregator
from rankbench.plugin.hookspecs import hookimpl

__all__ = [
    "COEC",
    "Aggregator",
    "AverageAdjacency",
    "Borda",
    "BordaCount",
    "BradleyTerry",
    "Budgeted",
    "Cascade",
    "ClickModel",
    "ClickThroughRate",
    "Davidson",
    "DifferenceGraph",
    "DynamicBradleyTerry",
    "Eigenvector",
    "Elo",
    "GeometricMean",
    "Glicko2",
    "Identity",
    "Kemeny",
    "LimitScores",
    "MeanLogOdds",
    "MeanRank",
    "MeanScore",
    "NetWeights",
    "PageRank",
    "PlackettLuce",
    "PositionDebiased",
    "RankCentrality",
    "SelectionAggregator",
    "ThurstoneMosteller",
    "WinRate",
    "rankbench_register",
]


@hookimpl
def rankbench_register() -> list[type[Aggregator]]:
    """Return the built-in aggregators."""
    return [
        AverageAdjacency,
        Borda,
        BordaCount,
        BradleyTerry,
        Budgeted,
        Cascade,
        ClickThroughRate,
        COEC,
        Davidson,
        DifferenceGraph,
        DynamicBradleyTerry,
        Eigenvector,
        Elo,
        GeometricMean,
        Glicko2,
        Identity,
        Kemeny,
        LimitScores,
        MeanLogOdds,
        MeanRank,
        MeanScore,
        NetWeights,
        PageRank,
        PositionDebiased,
        PlackettLuce,
        RankCentrality,
        ThurstoneMosteller,
        WinRate,
    ]
