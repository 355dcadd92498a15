"""Kinds of claims compare means: less, equivalent, wider, coincide."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.interfaces.claim import Bounds, ClaimKind, Compared, Evidence, NoEvidenceError
from rankbench.stats.bootstrap import REPLICATES, counts
from rankbench.stats.contrast_columns import VarianceSources
from rankbench.stats.contrasts import pitman_morgan, sd_ratios
from rankbench.stats.multiple_tests import equivalent, not_equivalent
from rankbench.stats.simultaneous import SimultaneousIntervals, Studentized

NonnegativeMargin = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class Less(ClaimKind):
    """Every contrast of mean losses is below zero.

    Prefer it for *a is better than b*.
    """

    name: ClassVar[str] = "less"
    source: ClassVar[str] = "Intersection-union test: R. L. Berger, Technometrics 24(4), 1982"

    def measured(self) -> str:
        """Return what the intervals are of."""
        return "Differences of mean losses, first minus second; claimed: below 0."

    def evidence(self, compared: Compared) -> Evidence:
        """Return differences of means."""
        return compared.differences()

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where an interval is below zero."""
        return np.asarray(upper < 0)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where an interval is above zero."""
        return np.asarray(lower > 0)


class _Within(ClaimKind):
    """A claim that a difference lies within a margin of zero."""

    margin: NonnegativeMargin = Field(default=0.0, description="Largest distance from zero that does not matter.")

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where an interval lies within the margin: two one-sided tests in one."""
        return equivalent(lower, upper, self.margin)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where an interval lies outside the margin."""
        return not_equivalent(lower, upper, self.margin)

    def excess(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far estimates are past the margin."""
        return np.abs(estimate) - self.margin


class Equivalent(_Within):
    """Every contrast of mean losses is within a margin of zero.

    Prefer it for *no difference*: `margin` is the largest difference that does not matter.
    """

    name: ClassVar[str] = "equivalent"
    source: ClassVar[str] = "Two one-sided tests: D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987"

    def measured(self) -> str:
        """Return what the intervals are of."""
        return f"Differences of mean losses, first minus second; claimed: within ±{self.margin:g}."

    def evidence(self, compared: Compared) -> Evidence:
        """Return differences of means."""
        return compared.differences()


class Wider(ClaimKind):
    """Every first contender has a larger standard deviation over repetitions than its second.

    Prefer it for *a varies more than b* from repetition to repetition.
    """

    name: ClassVar[str] = "wider"
    source: ClassVar[str] = "Paired variances: E. J. G. Pitman and W. A. Morgan, Biometrika 31, 1939"
    ratio: ClassVar[bool] = True

    def measured(self) -> str:
        """Return what the intervals are of."""
        return "Ratios of standard deviations over repetitions, first to second; claimed: above 1."

    def evidence(self, compared: Compared) -> Evidence:
        """Return logarithms of ratios of standard deviations."""
        place = {contender: i for i, contender in enumerate(compared.contenders)}
        index = np.array([[place[contender] for contender, _ in one.weights] for one in compared.contrasts])
        sample = compared.sample
        over_both = Bounds.from_intervals(lambda some: sd_ratios(sample, index[some]), len(index))
        # Bonferroni makes those over repetitions alone simultaneous.
        levels = (1 - 0.05 / len(index), 0.95)
        found = [[pitman_morgan(sample.draws[:, a], sample.draws[:, b], level) for a, b in index] for level in levels]
        together, own = (np.log(np.array(rows)) for rows in found)
        over_draws = Bounds(together[:, 0], together[:, 1], together[:, 2], own[:, 1], own[:, 2])
        return Evidence(tuple(one.text for one in compared.contrasts), over_both, over_draws)

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where the logarithm of a ratio is above zero."""
        return np.asarray(lower > 0)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where the logarithm of a ratio is below zero."""
        return np.asarray(upper < 0)

    def shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ratios."""
        return np.exp(values)


class Coincide(_Within):
    """Mean curves of two contenders are within a factor of each other, at given steps.

    Prefer it for curves that shall lie on one another.
    """

    name: ClassVar[str] = "coincide"
    source: ClassVar[str] = "[DMJ13]_ figure 2"
    ratio: ClassVar[bool] = True
    on_splits: ClassVar[bool] = False

    margin: NonnegativeMargin = Field(
        default=0.0, description="Decimal logarithm of the largest factor that does not matter."
    )
    metric: str = Field(default="", description="Name of a curve, as contenders call it.")
    steps: tuple[int, ...] = Field(default=(), description="Steps that are compared.")

    def lacks(self) -> str:
        """Return what is missing."""
        return "" if self.metric and self.steps else "a claim of kind 'coincide' needs metric and steps"

    def curve_metric(self) -> str:
        """Return the curve's name."""
        return self.metric

    def measured(self) -> str:
        """Return what the intervals are of."""
        return f"Ratios of mean curves, first to second; claimed: within a factor of {10**self.margin:.3g}."

    def evidence(self, compared: Compared) -> Evidence:
        """Return decimal logarithms of ratios of mean curves, over repetitions."""
        values: dict[tuple[int, str], NDArray[np.float64]] = {}
        for contender in compared.contenders:
            n, label = contender
            found = compared.curve(contender, self.metric, self.steps)
            if found is None:
                raise NoEvidenceError(f"{label} at n = {n:,} has no curve {self.metric!r}")
            if (found.mean(axis=0) <= 0).any():
                raise NoEvidenceError(
                    f"the mean of {self.metric} of {label} is not positive at some step: there is no ratio"
                )
            values[contender] = found
        logs: list[NDArray[np.float64]] = []
        texts: list[str] = []
        for contrast in compared.contrasts:
            (a, _), (b, _) = contrast.weights
            # log of a mean, to first order: the influence of each draw, around the log itself
            logs.append(_log_mean(values[a]) - _log_mean(values[b]))
            texts.extend(f"{contrast.text}, step {step:,}" for step in self.steps)
        bounds = _over_draws(np.concatenate(logs, axis=1), compared.seed)
        return Evidence(tuple(texts), bounds, bounds)

    def shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ratios."""
        return np.asarray(10**values)


def _log_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = values.mean(axis=0)
    return np.asarray(np.log10(mean) + (values / mean - 1) / math.log(10))


def _over_draws(draws: NDArray[np.float64], seed: int) -> Bounds:
    """Return the intervals of the columns' means, over resampled rows."""
    count = len(draws)

    def intervals(some: NDArray[np.intp]) -> SimultaneousIntervals:
        own = draws[:, some]
        weights = counts(np.random.default_rng([seed, 0]), REPLICATES, count) / max(count - 1, 1)
        sources = VarianceSources.only(own.shape[1], count - 1.0)
        se = own.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else None
        found = Studentized.from_replicates(
            own.mean(axis=0), weights @ own, sources, units=count, spread=count > 1, se=se
        )
        return found.intervals()

    return Bounds.from_intervals(intervals, draws.shape[1])
