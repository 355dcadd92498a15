"""All differences between the contenders of a table, and their means, by intervals that hold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Split
from rankbench.kinds.figure import matches
from rankbench.reports.sample import Race, Sampler
from rankbench.stats.columns import AllPairs
from rankbench.stats.contrasts import contrasts, contrasts_over_draws

__all__ = ["Differences", "differences_of"]


@dataclass(frozen=True)
class Differences:
    """Intervals of the differences between all contenders of a table, whoever they are compared with.

    An interval from a reference that was named beforehand would be shorter, but no longer hold where the data choose
    the reference, as the best mean does.

    Attributes
    ----------
    labels : tuple of str
        C contenders.
    lower, upper : ndarray of float64, shape (C, C)
        Of the row's mean minus that of the column, with the sign that has less be better; nan where there is none.
    means : dict of str to (float, float)
        Intervals of the means, by label, where it is known what a coin gets.
    """

    labels: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    means: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def interval(self, label: str, other: str) -> tuple[float, float]:
        """Return the interval of a contender minus another, below 0 where the contender is better."""
        if label not in self._place or other not in self._place:
            return np.nan, np.nan
        at = self._place[label], self._place[other]
        return float(self.lower[at]), float(self.upper[at])

    def places(self, label: str) -> tuple[int, int]:
        """Return the best and the worst place that a contender may hold."""
        if label not in self._place:
            return 1, len(self.labels)
        at = self._place[label]
        beaten, beating = int((self.lower[at] > 0).sum()), int((self.upper[at] < 0).sum())
        return 1 + beaten, len(self.labels) - beating


def differences_of(
    sampler: Sampler, race: Race, metric: str, split: Split, level: float, *, oracles: bool = True
) -> Differences:
    """Return the differences of all that race, oracles or not, and their means; either's intervals hold together."""
    known = () if oracles else sampler.experiment.oracles
    racing = [arm for arm in race.racing if not matches(arm.label, known)]
    labels = tuple(arm.label for arm in racing)
    lower, upper = _nothing(labels), _nothing(labels)
    means: dict[str, tuple[float, float]] = {}
    sample = sampler.sample(racing, metric, split, race.repetitions) if labels else None
    if sample is not None and sampler.source.metric(metric).chance is not None:
        # Repeated splits of one log have no interval over queries.
        of_means = contrasts if sampler.source.test_share is None else contrasts_over_draws
        each = of_means(sample, np.eye(len(labels)), level)
        means = dict(zip(labels, zip(each.lower.tolist(), each.upper.tolist(), strict=True), strict=True))
    if sample is not None and len(labels) > 1:
        found = contrasts(sample, AllPairs(len(labels)), level)
        low, high = found.lower, found.upper
        if sampler.source.direction(metric) == "maximize":
            low, high = -high, -low
        first, second = np.triu_indices(len(labels), 1)
        lower[first, second], upper[first, second] = low, high
        lower[second, first], upper[second, first] = -high, -low
    return Differences(labels, lower, upper, means)


def _nothing(labels: Sequence[str]) -> NDArray[np.float64]:
    return np.full((len(labels), len(labels)), np.nan)
