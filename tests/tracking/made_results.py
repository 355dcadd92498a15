"""Results in memory, with losses as a test likes them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import synthetic
from numpy.typing import NDArray

from rankbench.interfaces.cell import Curve, Split
from rankbench.store.records import Member, StoredCell, SuiteRecord


class MadeResults:
    """One experiment at one n: losses of each contender, shape (R, U), smaller is better.

    Parameters
    ----------
    losses : dict of str to ndarray of float64, shape (R, U)
    change : dict, optional
        Of the suite's record; of its only source where a key is its.
    """

    def __init__(self, losses: dict[str, NDArray[np.float64]], **change: Any) -> None:
        self.held = losses
        draws, units = next(iter(losses.values())).shape
        contenders = [synthetic.Contender(label, {}) for label in losses]
        plan = synthetic.Plan("e", contenders, n=(100,), repetitions=draws, baseline="")
        record = synthetic.record([plan], {"design": units})
        for key, value in change.items():
            (record if key in record else record["sources"][0])[key] = value
        self.text = json.dumps(record)
        self.path = Path("made")

    def suite_text(self) -> str:
        return self.text

    def record(self) -> SuiteRecord:
        return SuiteRecord.model_validate_json(self.text)

    def members(self) -> list[Member]:
        return [
            Member("e", label, label, {}, 100, 100, r, f"{label}|{r}", order)
            for order, (label, losses) in enumerate(self.held.items())
            for r in range(len(losses))
        ]

    def cells(self) -> dict[str, StoredCell]:
        return {member.cell: StoredCell("done", "", math.nan, {}) for member in self.members()}

    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        label, _, repetition = cell.rpartition("|")
        return self.held[label][int(repetition)]

    def curves(self, cell: str) -> dict[str, Curve]:
        return {}

    def progress(self) -> tuple[int, int]:
        return len(self.members()), len(self.members())
