"""rankbench's own checks of components, on every one that this package brings."""

from hypothesis import settings

from rankbench.testing import parametrize_with_checks
from rankbench_rankad.adbench import TABLES
from rankbench_rankad.pair_risk import PairRisk
from rankbench_rankad.peers import IsolationForest, KnnDistance, LocalOutlierFactor, OneClassSvm
from rankbench_rankad.plugin import SUITES
from rankbench_rankad.protocol import Anomaly
from rankbench_rankad.rank_ad import RankAD
from rankbench_rankad.readers import CsvPoints, NpzPoints, ParquetPoints
from rankbench_rankad.simulator import KnownDensity

FULL = settings.get_current_profile_name() != "quick"


@parametrize_with_checks(
    [
        *([RankAD(), RankAD(anchored=True, calibration=0.25)] if FULL else [RankAD(folds=2)]),
        KnnDistance(),
        OneClassSvm(),
        IsolationForest() if FULL else IsolationForest(trees=20),
        LocalOutlierFactor(),
        NpzPoints(),
        CsvPoints(),
        ParquetPoints(),
        KnownDensity(nominal=50, anomalies=5),
        Anomaly(),
        *TABLES,
        PairRisk(),
        *SUITES,
    ]
)
def test_it_does_what_it_declares(check):
    check()
