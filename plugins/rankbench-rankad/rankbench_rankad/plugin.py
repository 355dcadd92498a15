"""What rankbench finds here: the hooks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rankbench

if TYPE_CHECKING:
    from rankbench.kinds.protocol import Protocol

__all__ = [
    "rankbench_register_datasets",
    "rankbench_register_methods",
    "rankbench_register_protocols",
    "rankbench_register_readers",
    "rankbench_register_suites",
]


@rankbench.hookimpl
def rankbench_register_methods() -> list[type[rankbench.Method]]:
    """Return rank-AD and its peers."""
    from rankbench_rankad.peers import IsolationForest, KnnDistance, LocalOutlierFactor, OneClassSvm
    from rankbench_rankad.rank_ad import RankAD

    return [RankAD, KnnDistance, OneClassSvm, IsolationForest, LocalOutlierFactor]


@rankbench.hookimpl
def rankbench_register_readers() -> list[type[rankbench.Reader]]:
    """Return the readers of tables of points."""
    from rankbench_rankad.readers import CsvPoints, NpzPoints, ParquetPoints

    return [NpzPoints, CsvPoints, ParquetPoints]


@rankbench.hookimpl
def rankbench_register_datasets() -> list[type[rankbench.Dataset]]:
    """Return the simulator and the tables of ADBench."""
    from rankbench_rankad.adbench import TABLES
    from rankbench_rankad.simulator import KnownDensity

    return [KnownDensity, *TABLES]


@rankbench.hookimpl
def rankbench_register_protocols() -> list[type[Protocol]]:
    """Return the protocol of the suite."""
    from rankbench_rankad.protocol import Anomaly

    return [Anomaly]


@rankbench.hookimpl
def rankbench_register_suites() -> list[Path]:
    """Return the suite ``rank-ad``."""
    return [Path(__file__).parent / "suites" / "rank-ad.toml"]
