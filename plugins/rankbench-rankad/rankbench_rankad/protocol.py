"""The protocol ``anomaly``: learn from nominal points, judge on others and on anomalies."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.cell import CellResult, Curve, Direction, Split, failed, guarded
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench_rankad.detector import Detector
from rankbench_rankad.items import from_items
from rankbench_rankad.margins import Floats
from rankbench_rankad.roc import PER_MILLE, auc, detected_at

__all__ = ["Anomaly"]


class Anomaly(Protocol):
    """Detectors learn from n nominal points and are judged on n/2 others and all anomalies.

    All n of a repetition are prefixes of one random order of the nominal points, whose
    end is tested on. ``auc`` is the chance that a nominal point scores above an anomaly;
    ``false-alarm-rate`` is the share of nominal test points with a p-value of at most
    alpha, which should be alpha, and ``detection-rate`` that of anomalies. The curve
    ``roc`` is the share of anomalies found against false alarms per 1000 nominal points.

    Where a table has fewer nominal points than ``nominal``, every n shrinks in proportion.
    """

    name: ClassVar[str] = "anomaly"
    source: ClassVar[str] = "rank-AD, supplementary appendix, eq. (3)"
    contender: ClassVar[str] = "method"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("auc", "maximize", "Chance that a nominal point scores above an anomaly.", low=0, high=1, chance=0.5),
        Metric("detection-rate", "maximize", "Share of anomalies that are called so.", low=0, high=1),
        Metric("false-alarm-rate", "minimize", "Share of nominal points that are called anomalies.", low=0, high=1),
    )
    curves: ClassVar[dict[str, tuple[Split, Direction]]] = {"roc": ("heldout", "maximize")}
    splits: ClassVar[dict[Split, str]] = {
        "heldout": "Held-out points (nominal ones that nobody learned from, anomalies)"
    }
    counts: ClassVar[str] = "nominal points"
    # Of n + n/2 nominal points, n/2 are tested on; repetitions draw from one table.
    test_share: ClassVar[float | None] = 1 / 3

    alpha: float = Field(default=0.05, gt=0, lt=1, description="Level of the test that declares anomalies.")
    nominal: int = Field(
        default=3000, ge=6, description="Nominal points that the suite's n are for: one and a half times the largest n."
    )

    def prepare(self, dataset: rankbench.Dataset | None, seed: int) -> Prepared:
        """Load a table of points with labels."""
        if dataset is None:
            raise SpecError(f"protocol {self.name!r} needs a data set of points")
        x, labels = from_items(dataset.scan())
        nominal, anomalies = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
        if len(nominal) < 6 or not len(anomalies):
            raise InputError(
                f"data set {dataset!s} has {len(nominal)} nominal points and {len(anomalies)} anomalies; "
                "six and one are the least"
            )
        scale = min(1.0, len(nominal) / self.nominal)
        notes = [f"Learned from nominal points alone; p-values at level {self.alpha:g}."]
        if scale < 1:
            notes.append(f"{len(nominal)} nominal points instead of {self.nominal}; every n is scaled by {scale:.4g}.")
        arrays = pack("points", nominal=x[nominal], anomalies=x[anomalies])
        return Prepared(self, dataset, dataset.fingerprint(), {"heldout": ("all points",)}, arrays, scale, tuple(notes))

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the block's points, train every detector, judge each."""
        key = task.key
        entropy = (key.seed, int(prepared.fingerprint[:16], 16), key.repetition)
        nominal, anomalies = prepared.arrays["points.nominal"], prepared.arrays["points.anomalies"]
        tested = key.n // 2
        if not tested or key.n + tested > len(nominal):
            raise InputError(
                f"n = {key.n} nominal points to learn from and half as many to test on do not come out of "
                f"{len(nominal)}. n must be at least 2, and the protocol's nominal at least 1.5 times the largest n"
            )
        order = np.random.default_rng([*entropy, 0]).permutation(len(nominal))
        test = np.concatenate([nominal[order[-tested:]], anomalies])
        anomalous = np.repeat([False, True], [tested, len(anomalies)])
        cells = []
        for cell, contender in task.cells.items():
            # A detector's fault, whatever it raises, is its own row's, not the block's.
            judged = guarded(
                partial(self._judged, cell, contender, nominal[order[: key.n]], test, anomalous, [*entropy, key.n])
            )
            cells.append(failed(cell, judged) if isinstance(judged, Exception) else judged)
        return cells

    def _judged(
        self,
        cell: str,
        contender: Contender,
        training: Floats,
        test: Floats,
        anomalous: NDArray[np.bool_],
        entropy: list[int],
    ) -> CellResult:
        detector = contender.component(Detector)
        own = int(detector.digest()[:16], 16)
        trained = detector.train(training, np.random.default_rng([*entropy, own]))
        scores = trained.score(test)
        if not np.isfinite(scores).all():
            raise ContenderDiverged("a score is not a finite number")
        flagged = trained.judge(scores, self.alpha).anomalies
        values = {
            "auc": auc(scores, anomalous),
            "detection-rate": float(flagged[anomalous].mean()),
            "false-alarm-rate": float(flagged[~anomalous].mean()),
        }
        losses: dict[tuple[str, Split], Floats] = {
            (metric, "heldout"): np.array([value]) for metric, value in values.items()
        }
        curves = {"roc": Curve(PER_MILLE, detected_at(scores, anomalous))}
        learned = trained.learned
        return CellResult(cell, "done", "", learned.optimality, losses, curves, dict(learned.info))

    def misfit(self, contender: rankbench.Component) -> str:
        """Return why a contender cannot compete: it is no detector."""
        if isinstance(contender, Detector):
            return ""
        return f"method {contender.name!r} is not a detector: it cannot learn from points alone"
