"""What figure kinds see of an experiment, from its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Layout, Split
from rankbench.kinds.metric import Metric
from rankbench.kinds.results import CurveIntervals
from rankbench.reports.curve_steps import curve_steps, curve_values
from rankbench.reports.sample import Arm, Race, Sampler
from rankbench.stats.draw_intervals import MeanIntervals, mean_intervals

__all__ = ["View"]


class View:
    """A sampler as `rankbench.kinds.results.ExperimentResults`."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, the headline first."""
        return self._sampler.metrics

    @property
    def splits(self) -> tuple[Split, ...]:
        """Splits that have units."""
        return self._sampler.source.shown_splits()

    @property
    def races(self) -> Sequence[Race]:
        """One for each n."""
        return self._sampler.races

    @property
    def added(self) -> frozenset[str]:
        """Labels of contenders that were added to the run."""
        return self._sampler.added

    @property
    def layout(self) -> Layout:
        """What contenders do."""
        return self._sampler.source.layout

    @property
    def counts(self) -> str:
        """What n counts."""
        return self._sampler.source.counts

    def metric(self, name: str) -> Metric:
        """Return what is known of a metric, or of a curve."""
        source = self._sampler.source
        return source.metric(name) if name in self.metrics else Metric(name, source.curve(name)[1])

    def units(self, split: Split) -> Sequence[str]:
        """Return the names of a split's units."""
        return self._sampler.source.units[split]

    def split_title(self, split: Split) -> str:
        """Return a split's title in a few words."""
        return self._sampler.source.short(split)

    def intervals(self, n: int, labels: Sequence[str], metric: str, split: Split, level: float) -> MeanIntervals:
        """Return the means of contenders that race at an n, with their intervals over draws."""
        race = next(race for race in self.races if race.n == n)
        arms = [arm for label in labels for arm in race.racing if arm.label == label]
        return self._sampler.intervals(arms, metric, split, race.repetitions, level)

    def values(self, n: int, label: str, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's value for every unit, of its first finished repetition."""
        return self._sampler.values(self._arm(n, label), metric, split)

    def curve(self, n: int, label: str, metric: str, level: float) -> CurveIntervals | None:
        """Return a contender's curve with intervals over draws; None unless all repetitions have it."""
        race, arm = next(race for race in self.races if race.n == n), self._arm(n, label)
        steps = curve_steps(self._sampler, arm, metric)
        if not len(steps):
            return None
        values = curve_values(self._sampler, arm, metric, steps.tolist(), race.repetitions)
        return None if values is None else (steps, mean_intervals(values, level))

    def _arm(self, n: int, label: str) -> Arm:
        return next(arm for race in self.races if race.n == n for arm in race.arms if arm.label == label)
