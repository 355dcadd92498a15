"""What figure kinds see of an experiment, from its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Layout, Split
from rankbench.kinds.metric import Metric
from rankbench.kinds.results import CurveIntervals, PairedIntervals
from rankbench.reports.contender_differences import differences_of
from rankbench.reports.curve_steps import curve_steps, curve_values, in_windows
from rankbench.reports.sample import Arm, Race, Sampler
from rankbench.stats.columns import OnePair
from rankbench.stats.contrasts import contrasts
from rankbench.stats.draw_intervals import MeanIntervals, mean_intervals

__all__ = ["View"]


class View:
    """A sampler as `rankbench.kinds.results.ExperimentResults`.

    Parameters
    ----------
    sampler : Sampler
    together : float, optional
        Level at which the differences between all contenders hold together, in each table of a page that
        recommends something; None: each difference has an interval of its own.
    """

    def __init__(self, sampler: Sampler, together: float | None = None) -> None:
        self._sampler, self._together = sampler, together

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

    def differences(
        self, n: int, labels: Sequence[str], base: str, metric: str, split: Split, level: float
    ) -> PairedIntervals:
        """Return the means of contenders that race at an n minus that of `base`, with the intervals of the page."""
        sampler = self._sampler
        race = next(race for race in self.races if race.n == n)
        at = {arm.label: i for i, arm in enumerate(race.racing)}
        means = sampler.intervals(race.racing, metric, split, race.repetitions).mean
        estimate = np.array([means[at[label]] - means[at[base]] for label in labels])
        if self._together is not None:
            known = differences_of(sampler, race, metric, split, self._together)
            pairs = np.array([known.interval(label, base) for label in labels]).reshape(-1, 2)
            sign = -1 if sampler.source.direction(metric) == "maximize" else 1
            lower, upper = np.sort(sign * pairs, axis=1).T
            words = "95% intervals of the differences between all contenders, which hold together"
            return PairedIntervals(estimate, lower, upper, words)
        sample = sampler.sample(race.racing, metric, split, race.repetitions)
        found = [contrasts(sample, OnePair(at[label], at[base]), level) for label in labels]
        lower, upper = (np.array([getattr(one, end)[0] for one in found]) for end in ("lower", "upper"))
        resampled = sampler.source.test_share is not None
        words = f"{level:.0%} of the corrected resampled t" if resampled else f"{level:.0%} over queries and draws"
        return PairedIntervals(estimate, lower, upper, words)

    def values(self, n: int, label: str, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's value for every unit, of its first finished repetition."""
        return self._sampler.values(self._arm(n, label), metric, split)

    def curve(self, n: int, label: str, metric: str, level: float, *, per_decade: int = 0) -> CurveIntervals | None:
        """Return a contender's curve with intervals over draws; None unless all repetitions have it."""
        race, arm = next(race for race in self.races if race.n == n), self._arm(n, label)
        steps = curve_steps(self._sampler, arm, metric)
        if not len(steps):
            return None
        values = curve_values(self._sampler, arm, metric, steps.tolist(), race.repetitions)
        if values is None:
            return None
        if per_decade:
            steps, values = in_windows(steps, values, per_decade)
        return steps, mean_intervals(values, level)

    def _arm(self, n: int, label: str) -> Arm:
        return next(arm for race in self.races if race.n == n for arm in race.arms if arm.label == label)
