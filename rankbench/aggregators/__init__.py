"""Aggregators: structure functions s(Y_1, ..., Y_k) of comparisons, one a file."""

from __future__ import annotations

from rankbench.aggregators.average_adjacency import AverageAdjacency
from rankbench.aggregators.borda import Borda
from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.budgeted import Budgeted
from rankbench.aggregators.cascade import Cascade
from rankbench.aggregators.click_through_rate import ClickThroughRate
from rankbench.aggregators.coec import COEC
from rankbench.aggregators.davidson import Davidson
from rankbench.aggregators.difference_graph import DifferenceGraph
from rankbench.aggregators.eigenvector import Eigenvector
from rankbench.aggregators.elo import Elo
from rankbench.aggregators.geometric_mean import GeometricMean
from rankbench.aggregators.identity import Identity
from rankbench.aggregators.kemeny import Kemeny
from rankbench.aggregators.limit_scores import LimitScores
from rankbench.aggregators.mean_log_odds import MeanLogOdds
from rankbench.aggregators.net_weights import NetWeights
from rankbench.aggregators.pagerank import PageRank
from rankbench.aggregators.plackett_luce import PlackettLuce
from rankbench.aggregators.position_debiased import PositionDebiased
from rankbench.aggregators.rank_centrality import RankCentrality
from rankbench.aggregators.thurstone_mosteller import ThurstoneMosteller
from rankbench.aggregators.win_rate import WinRate
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.selection_aggregator import ClickModel, SelectionAggregator
from rankbench.plugin.hookspecs import hookimpl

__all__ = [
    "COEC",
    "Aggregator",
    "AverageAdjacency",
    "Borda",
    "BradleyTerry",
    "Budgeted",
    "Cascade",
    "ClickModel",
    "ClickThroughRate",
    "Davidson",
    "DifferenceGraph",
    "Eigenvector",
    "Elo",
    "GeometricMean",
    "Identity",
    "Kemeny",
    "LimitScores",
    "MeanLogOdds",
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
        BradleyTerry,
        Budgeted,
        Cascade,
        ClickThroughRate,
        COEC,
        Davidson,
        DifferenceGraph,
        Eigenvector,
        Elo,
        GeometricMean,
        Identity,
        Kemeny,
        LimitScores,
        MeanLogOdds,
        NetWeights,
        PageRank,
        PositionDebiased,
        PlackettLuce,
        RankCentrality,
        ThurstoneMosteller,
        WinRate,
    ]
