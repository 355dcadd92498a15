"""Kinds of claims compare means, runs and curves: less, equivalent, flat, wider, wins, bounded, coincide, rate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.interfaces.claim import Bounds, ClaimKind, Compared, Evidence, NoEvidenceError, WeightedContrast
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
        """Return a sentence on the intervals."""
        return "Differences of mean losses, first minus second; claimed: below 0."

    def evidence(self, compared: Compared) -> Evidence:
        """Return differences of means."""
        return compared.differences()

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval is below zero."""
        return np.asarray(upper < 0)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval is above zero."""
        return np.asarray(lower > 0)


class _Within(ClaimKind):
    """A claim that a difference lies within a margin of zero."""

    margin: NonnegativeMargin = Field(default=0.0, description="Largest distance from zero that does not matter.")

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval lies within the margin: two one-sided tests in one."""
        return equivalent(lower, upper, self.margin)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval lies outside the margin."""
        return not_equivalent(lower, upper, self.margin)

    def excess(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of estimates beyond the margin."""
        return np.abs(estimate) - self.margin


class Equivalent(_Within):
    """Every contrast of mean losses is within a margin of zero.

    Prefer it for *no difference*: `margin` is the largest difference that does not matter.
    """

    name: ClassVar[str] = "equivalent"
    source: ClassVar[str] = "Two one-sided tests: D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987"

    def measured(self) -> str:
        """Return a sentence on the intervals."""
        return f"Differences of mean losses, first minus second; claimed: within ±{self.margin:g}."

    def evidence(self, compared: Compared) -> Evidence:
        """Return differences of means."""
        return compared.differences()


class Flat(_Within):
    r"""Mean losses of several contenders do not change with a number of theirs: the slope is within a margin of zero.

    .. math:: \frac{\sum_i x_i \bar L_i}{\sum_i x_i^2}, \qquad x_i = \log_{10} p_i - \overline{\log_{10} p}

    Prefer it for *a curve flattens*: `places` are numbers from the curve's end, such as its last decade.
    """

    name: ClassVar[str] = "flat"
    source: ClassVar[str] = "[DMJ13]_ section 6.2"

    places: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = Field(
        default=(), description="Number of each contender, as contrasts name them one after the other."
    )

    def lacks(self) -> str:
        """Return an error text for a missing parameter, or ``""``."""
        return "" if len(set(self.places)) > 1 else "a claim of kind 'flat' needs two places at least"

    def measured(self) -> str:
        """Return a sentence on the intervals."""
        return f"Slopes of mean losses for each tenfold of the number; claimed: within ±{self.margin:g}."

    def evidence(self, compared: Compared) -> Evidence:
        """Return the slope of the least-squares line through means, for each n."""
        x = np.log10(np.asarray(self.places))
        x -= x.mean()
        if any(len(contrast.weights) > 2 for contrast in compared.contrasts):
            raise NoEvidenceError("a slope is of contenders at one n: at = 'each', 'first' or 'last'")
        by_n: dict[int, dict[str, None]] = {}
        for contrast in compared.contrasts:
            for (n, label), _ in contrast.weights:
                by_n.setdefault(n, {})[label] = None
        slopes = []
        for n, labels in by_n.items():
            if len(labels) != len(x):
                raise NoEvidenceError(f"{len(x)} places are given for {len(labels)} contenders at n = {n:,}")
            weights = tuple(((n, label), float(w)) for label, w in zip(labels, x / (x @ x), strict=True))
            slopes.append(WeightedContrast(f"slope at n = {n:,}", weights))
        return replace(compared, contrasts=tuple(slopes)).differences()


class Wider(ClaimKind):
    """Every first contender has a larger standard deviation over repetitions than its second.

    Prefer it for *a varies more than b* from repetition to repetition.
    """

    name: ClassVar[str] = "wider"
    source: ClassVar[str] = "Paired variances: E. J. G. Pitman and W. A. Morgan, Biometrika 31, 1939"
    ratio: ClassVar[bool] = True

    def measured(self) -> str:
        """Return a sentence on the intervals."""
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
        """Return whether the logarithm of a ratio is above zero."""
        return np.asarray(lower > 0)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether the logarithm of a ratio is below zero."""
        return np.asarray(upper < 0)

    def shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ratios."""
        return np.exp(values)


class Wins(ClaimKind):
    """Every first contender is better than its second in more than a share of all repetitions.

    Prefer it for *a is better than b in nearly every run*: `less` compares means instead. A tie is no win. Without a
    verdict are splits that share training data, and subsets of one pool: they are not independent.
    """

    name: ClassVar[str] = "wins"
    source: ClassVar[str] = "Exact binomial intervals: C. J. Clopper and E. S. Pearson, Biometrika 26, 1934"
    ratio: ClassVar[bool] = True

    share: float = Field(default=0.5, gt=0, lt=1, description="Share of repetitions that the first contender exceeds.")

    def measured(self) -> str:
        """Return a sentence on the intervals."""
        return f"Shares of repetitions in which the first contender is better; claimed: above {self.share:g}."

    def evidence(self, compared: Compared) -> Evidence:
        """Return shares of repetitions won, with exact intervals over repetitions."""
        from scipy.special import betaincinv

        texts = tuple(contrast.text for contrast in compared.contrasts)
        sign = 1.0 if compared.direction == "minimize" else -1.0
        won = (sign * (compared.draws() @ compared.matrix) < 0).sum(axis=0)
        runs = len(compared.repetitions)
        if compared.overlapping:
            counted = "; ".join(f"{text}: {count} of {runs}" for text, count in zip(texts, won, strict=True))
            raise NoEvidenceError(f"repetitions won, of repetitions that overlap and are not independent: {counted}")
        # A bound is 0 or 1 where all repetitions agree: a beta law with a parameter of 0 has no quantile.
        tails = np.array([[0.025 / len(texts)], [0.025]])
        lower = np.where(won > 0, betaincinv(np.maximum(won, 1), runs - won + 1, tails), 0.0)
        upper = np.where(won < runs, betaincinv(won + 1, np.maximum(runs - won, 1), 1 - tails), 1.0)
        bounds = Bounds(won / runs, lower[0], upper[0], lower[1], upper[1])
        return Evidence(texts, bounds, bounds)

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval is above the share."""
        return np.asarray(lower > self.share)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval is below the share."""
        return np.asarray(upper < self.share)

    def excess(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of estimates below the share."""
        return self.share - estimate


class Bounded(ClaimKind):
    """The headline metric of every named contender is at most another metric, on every unit in every repetition.

    Prefer it for a theorem's bound beside the quantity that it bounds. Values are compared as they are, without
    intervals, up to a rounding error of 1e-12. Contrasts name contenders only.
    """

    name: ClassVar[str] = "bounded"
    source: ClassVar[str] = "[DMJ13]_ Definition 2, eq. (9)"

    bound: str = Field(default="", description="Metric that is the bound.")

    def lacks(self) -> str:
        """Return an error text for a missing parameter, or ``""``."""
        return "" if self.bound else "a claim of kind 'bounded' needs bound"

    def measured(self) -> str:
        """Return a sentence on the comparison."""
        return f"Largest difference of the first metric and {self.bound} on a unit; claimed: at most 0."

    def evidence(self, compared: Compared) -> Evidence:
        """Return the largest difference from the bound of each contender."""
        texts, largest = [], []
        for n, label in compared.contenders:
            values, limits = (compared.losses((n, label), metric) for metric in (compared.metric, self.bound))
            if values is None or limits is None:
                raise NoEvidenceError(f"the experiment has no metric {self.bound!r}")
            texts.append(f"{label} at n = {n:,}")
            largest.append(float((values - limits).max()))
        found = np.array(largest)
        bounds = Bounds(found, found, found, found, found)
        return Evidence(tuple(texts), bounds, bounds)

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether no value exceeds its bound."""
        return np.asarray(upper <= _ROUNDING)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether a value exceeds its bound."""
        return np.asarray(lower > _ROUNDING)

    def excess(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the excess of values over their bound."""
        return estimate


_ROUNDING = 1e-12


class _OfCurves(ClaimKind):
    """A claim about a curve at given steps."""

    on_splits: ClassVar[bool] = False
    metric: str = Field(default="", description="Name of a curve, as contenders call it.")
    steps: tuple[int, ...] = Field(default=(), description="Steps that are compared.")

    def lacks(self) -> str:
        """Return an error text for a missing parameter, or ``""``."""
        return "" if self.metric and self.steps else f"a claim of kind {self.name!r} needs metric and steps"

    def curve_metric(self) -> str:
        """Return the curve's name."""
        return self.metric

    def log_curves(self, compared: Compared) -> dict[tuple[int, str], NDArray[np.float64]]:
        """Return each contender's decimal logarithm of the mean curve, by draws, shape (R, len(steps)).

        To first order: a row is the influence of its draw, around the logarithm itself.
        """
        found: dict[tuple[int, str], NDArray[np.float64]] = {}
        for contender in compared.contenders:
            n, label = contender
            values = compared.curve(contender, self.metric, self.steps)
            if values is None:
                raise NoEvidenceError(f"{label} at n = {n:,} has no curve {self.metric!r}")
            mean = values.mean(axis=0)
            if (mean <= 0).any():
                raise NoEvidenceError(
                    f"the mean of {self.metric} of {label} is not positive at some step: there is no ratio"
                )
            found[contender] = np.log10(mean) + (values / mean - 1) / math.log(10)
        return found


class Coincide(_Within, _OfCurves):
    """Mean curves of two contenders are within a factor of each other, at given steps.

    Prefer it for curves that shall lie on one another.
    """

    name: ClassVar[str] = "coincide"
    source: ClassVar[str] = "[DMJ13]_ figure 2"
    ratio: ClassVar[bool] = True

    margin: NonnegativeMargin = Field(
        default=0.0, description="Decimal logarithm of the largest factor that does not matter."
    )

    def measured(self) -> str:
        """Return a sentence on the intervals."""
        return f"Ratios of mean curves, first to second; claimed: within a factor of {10**self.margin:.3g}."

    def evidence(self, compared: Compared) -> Evidence:
        """Return decimal logarithms of ratios of mean curves, over repetitions."""
        curves = self.log_curves(compared)
        pairs = [[contender for contender, _ in contrast.weights] for contrast in compared.contrasts]
        texts = [f"{contrast.text}, step {step:,}" for contrast in compared.contrasts for step in self.steps]
        bounds = _over_draws(np.concatenate([curves[a] - curves[b] for a, b in pairs], axis=1), compared.seed)
        return Evidence(tuple(texts), bounds, bounds)

    def shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ratios."""
        return np.asarray(10**values)


class Rate(_OfCurves):
    r"""The mean curve of every named contender falls at least as fast as a power of the step.

    .. math:: \text{curve}(T) = O(T^{-r})

    Prefer it for rates of convergence. The slope is that of the least-squares line through the logarithms of the mean
    curve at the given steps. A slope is a contender's own: contrasts name contenders only.
    """

    name: ClassVar[str] = "rate"
    source: ClassVar[str] = "[DMJ13]_ section 6.1"

    exponent: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="r, the power that is claimed.")

    def lacks(self) -> str:
        """Return an error text for a missing parameter, or ``""``."""
        return super().lacks() or (
            "" if len(set(self.steps)) > 1 else "a claim of kind 'rate' needs two steps at least"
        )

    def measured(self) -> str:
        """Return a sentence on the intervals."""
        return f"Slopes of log mean curves against log steps; claimed: below -{self.exponent:g}."

    def evidence(self, compared: Compared) -> Evidence:
        """Return the slope of each contender's curve, over repetitions."""
        x = np.log10(np.asarray(self.steps, dtype=np.float64))
        x -= x.mean()
        slopes = {key: curve @ x / (x @ x) for key, curve in self.log_curves(compared).items()}
        texts = tuple(f"{label} at n = {n:,}" for n, label in slopes)
        bounds = _over_draws(np.stack(list(slopes.values()), axis=1), compared.seed)
        return Evidence(texts, bounds, bounds)

    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval is below the claimed slope."""
        return np.asarray(upper < -self.exponent)

    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval is above the claimed slope."""
        return np.asarray(lower > -self.exponent)

    def excess(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of estimates above the claimed slope."""
        return estimate + self.exponent


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
