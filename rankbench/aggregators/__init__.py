"""Aggregators estimate a structure s(Y_1, ..., Y_k) from k judgments; the hook registers the built-in ones."""

from __future__ import annotations

from rankbench.aggregators.ballot_rules import InstantRunoff, MaximalLotteries, Plurality
from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.clicks import COEC, Cascade, ClickThroughRate, PositionDebiased
from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph, Identity
from rankbench.aggregators.eigenvector import Eigenvector, GeometricMean, PageRank, RankCentrality
from rankbench.aggregators.labels import (
    GraphRelevance,
    LabelPairs,
    LabelScores,
    LimitScores,
    OrderRelevance,
    Predictions,
)
from rankbench.aggregators.log_odds import MeanLogOdds, ThurstoneMosteller
from rankbench.aggregators.permuted_elo import PermutedElo
from rankbench.aggregators.plackett_luce import PlackettLuce
from rankbench.aggregators.rates import Borda, Budgeted, Coin, Kemeny, NetWeights, WinRate
from rankbench.aggregators.score_tables import BordaCount, MeanRank, MeanScore
from rankbench.aggregators.sequential import DynamicBradleyTerry, Elo, Glicko2
from rankbench.aggregators.social_choice import Copeland, Minimax, RankedPairs, Schulze
from rankbench.aggregators.svm import SVMRankAggregation
from rankbench.interfaces.aggregator import Aggregator
from rankbench.plugin.registry import hookimpl


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
        Coin,
        Copeland,
        Davidson,
        DifferenceGraph,
        DynamicBradleyTerry,
        Eigenvector,
        Elo,
        GeometricMean,
        Glicko2,
        GraphRelevance,
        Identity,
        InstantRunoff,
        Kemeny,
        LabelPairs,
        LabelScores,
        LimitScores,
        MaximalLotteries,
        MeanLogOdds,
        MeanRank,
        MeanScore,
        Minimax,
        NetWeights,
        OrderRelevance,
        PageRank,
        PermutedElo,
        PositionDebiased,
        PlackettLuce,
        Plurality,
        Predictions,
        RankCentrality,
        RankedPairs,
        Schulze,
        SVMRankAggregation,
        ThurstoneMosteller,
        WinRate,
    ]
