"""The hook of rankbench-peers imports no other library."""

from __future__ import annotations

from pathlib import Path

import rankbench

__all__ = ["rankbench_register"]


@rankbench.hookimpl
def rankbench_register() -> list[type[rankbench.Component] | Path]:
    """Return the contenders of other libraries, and the suites that compare them with rankbench's."""
    from rankbench_peers.from_choix import ChoixIlsr, ChoixLsr, ChoixMm, ChoixOpt, ChoixRankCentrality
    from rankbench_peers.from_evalica import (
        EvalicaAverageWinRate,
        EvalicaBradleyTerry,
        EvalicaCounting,
        EvalicaEigen,
        EvalicaElo,
        EvalicaNewman,
        EvalicaPageRank,
    )
    from rankbench_peers.from_glicko2 import Glicko2Package
    from rankbench_peers.from_kickscore import Kickscore
    from rankbench_peers.from_lightgbm import LightgbmRanker
    from rankbench_peers.from_openskill import Openskill
    from rankbench_peers.from_sklearn import SklearnLogistic, SklearnMlp, SklearnSgd
    from rankbench_peers.from_trueskill import TrueskillThroughTime
    from rankbench_peers.from_xgboost import XgboostRanker

    suites = Path(__file__).parent / "suites"
    return [
        ChoixLsr,
        ChoixIlsr,
        ChoixMm,
        ChoixOpt,
        ChoixRankCentrality,
        EvalicaAverageWinRate,
        EvalicaBradleyTerry,
        EvalicaCounting,
        EvalicaEigen,
        EvalicaElo,
        EvalicaNewman,
        EvalicaPageRank,
        Glicko2Package,
        Kickscore,
        Openskill,
        TrueskillThroughTime,
        SklearnLogistic,
        SklearnSgd,
        SklearnMlp,
        LightgbmRanker,
        XgboostRanker,
        suites / "peers.toml",
        suites / "peers-features.toml",
        suites / "peers-graded.toml",
    ]
