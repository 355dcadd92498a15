"""Protocols do experiments; the hook registers the built-in ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankbench.plugin.registry import hookimpl

if TYPE_CHECKING:
    from rankbench.interfaces.protocol import Protocol


@hookimpl
def rankbench_register() -> list[type[Protocol]]:
    """Return the built-in protocols."""
    from rankbench.protocols.aggregation import AggregationTrial, Selection
    from rankbench.protocols.click_prediction import ClickPrediction
    from rankbench.protocols.graded import Graded
    from rankbench.protocols.held_out_ballots import HeldOutBallots
    from rankbench.protocols.items import Items
    from rankbench.protocols.own_log import OneStepAhead, OwnLog
    from rankbench.protocols.paper import BTL
    from rankbench.protocols.periods import LeftAdvantage, PeriodLeaders
    from rankbench.protocols.score_tables import BestOfClones, ScoreTables
    from rankbench.protocols.table_1 import Table1

    return [
        AggregationTrial,
        BestOfClones,
        BTL,
        ClickPrediction,
        Graded,
        HeldOutBallots,
        Items,
        LeftAdvantage,
        OneStepAhead,
        OwnLog,
        PeriodLeaders,
        ScoreTables,
        Selection,
        Table1,
    ]
