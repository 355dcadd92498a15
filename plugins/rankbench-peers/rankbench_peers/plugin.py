"""What rankbench finds here: the hooks. No peer is imported by them."""

from __future__ import annotations

from pathlib import Path

import rankbench

__all__ = ["rankbench_register_aggregators", "rankbench_register_methods", "rankbench_register_suites"]


@rankbench.hookimpl
def rankbench_register_aggregators() -> list[type[rankbench.Aggregator]]:
    """Return the aggregators of choix and evalica."""
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
    ]


@rankbench.hookimpl
def rankbench_register_methods() -> list[type[rankbench.Method]]:
    """Return the methods of scikit-learn and LightGBM."""
    from rankbench_peers.from_lightgbm import LightgbmRanker
    from rankbench_peers.from_sklearn import SklearnLogistic, SklearnSgd

    return [SklearnLogistic, SklearnSgd, LightgbmRanker]


@rankbench.hookimpl
def rankbench_register_suites() -> list[Path]:
    """Return the suites ``peers`` and ``peers-features``."""
    folder = Path(__file__).parent / "suites"
    return [folder / "peers.toml", folder / "peers-features.toml"]
