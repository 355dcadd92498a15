"""The hook gives rankbench the components of this package."""

from __future__ import annotations

from pathlib import Path

import rankbench

__all__ = ["SUITES", "rankbench_register"]

SUITES = sorted((Path(__file__).parent / "suites").glob("*.toml"))


@rankbench.hookimpl
def rankbench_register() -> list[type[rankbench.Component] | Path]:
    """Return rank-AD and other detectors, readers of tables of points, the data, the protocols and the suites."""
    from rankbench_rankad.adbench import TABLES
    from rankbench_rankad.pair_risk import PairRisk
    from rankbench_rankad.peers import IsolationForest, KnnDistance, LocalOutlierFactor, OneClassSvm
    from rankbench_rankad.protocol import Anomaly
    from rankbench_rankad.rank_ad import RankAD
    from rankbench_rankad.readers import CsvPoints, NpzPoints, ParquetPoints
    from rankbench_rankad.simulator import KnownDensity

    return [
        RankAD,
        KnnDistance,
        OneClassSvm,
        IsolationForest,
        LocalOutlierFactor,
        NpzPoints,
        CsvPoints,
        ParquetPoints,
        KnownDensity,
        *TABLES,
        Anomaly,
        PairRisk,
        *SUITES,
    ]
