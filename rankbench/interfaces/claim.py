"""The interface of kinds of claims: what a suite may state, and the intervals that decide it.

A claim is about contrasts of contenders. Its kind says what is measured of them (`ClaimKind.evidence`), where an
interval lies on the claimed side and where on the other one. The verdict follows from these, by one rule for all
kinds: *held* if the own 95% interval of every contrast lies on the claimed side, *did not hold* if one of the
intervals that cover all contrasts at once lies on the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component
from rankbench.interfaces.cell import Direction, Split
from rankbench.stats.bootstrap import Crossed
from rankbench.stats.contrast_columns import VarianceSources
from rankbench.stats.contrasts import contrasts, contrasts_over_draws, too_few
from rankbench.stats.simultaneous import SimultaneousIntervals, Studentized


@dataclass(frozen=True)
class WeightedContrast:
    """A contrast with its contenders: a sum of weights times contenders at an n.

    Attributes
    ----------
    text : str
        The contrast as text, with the claim's names.
    weights : tuple of ((int, str), float)
        n (as run) and label, with 1 for a and -1 for b; of a difference between two n: a, b, a, b.
    """

    text: str
    weights: tuple[tuple[tuple[int, str], float], ...]


@dataclass(frozen=True)
class Bounds:
    """Intervals of P contrasts, on the scale that is judged: differences, or logarithms of ratios.

    Attributes
    ----------
    estimate : ndarray of float64, shape (P,)
    lower, upper : ndarray of float64, shape (P,)
        Simultaneous: all cover at once at 95%.
    own_lower, own_upper : ndarray of float64, shape (P,)
        Each covers at 95%; inside the simultaneous ones.
    """

    estimate: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    own_lower: NDArray[np.float64]
    own_upper: NDArray[np.float64]

    @classmethod
    def from_intervals(cls, intervals: Callable[[NDArray[np.intp]], SimultaneousIntervals], contrasts: int) -> Bounds:
        """Compute the intervals of all contrasts together, and of each alone.

        Parameters
        ----------
        intervals : callable
            Takes the indices of contrasts, returns their simultaneous intervals.
        contrasts : int
            P, at least 1.
        """
        together = intervals(np.arange(contrasts))
        single = [intervals(np.array([j])) for j in range(contrasts)]
        return cls(
            together.estimate,
            together.lower,
            together.upper,
            np.concatenate([one.lower for one in single]),
            np.concatenate([one.upper for one in single]),
        )


@dataclass(frozen=True)
class Evidence:
    """Evidence on which a claim rests.

    Attributes
    ----------
    texts : tuple of str
        Comparison as text, for each of P contrasts.
    bounds : Bounds
        Over queries and repetitions.
    by_draws : Bounds
        Over repetitions alone; the same object where there are no others.
    """

    texts: tuple[str, ...]
    bounds: Bounds
    by_draws: Bounds


class NoEvidenceError(Exception):
    """Nothing can be compared, for the reason in the message: the run is inconclusive."""


@dataclass(eq=False)
class Compared:
    """The contenders of a claim, on the repetitions that all of them have finished.

    Attributes
    ----------
    contrasts : tuple of WeightedContrast
        At least one, no two of them the same.
    contenders : tuple of (int, str)
        n (as run) and label of all A of them, sorted.
    metric : str
        The experiment's headline.
    direction : {"minimize", "maximize"}
        Of the headline.
    split : Split
        Split that they are judged on.
    repetitions : tuple of int
        R, at least one.
    seed : int
        Of all resampling in this suite.
    resampled : callable
        Returns `sample`.
    curve : callable
        Takes a contender, a metric and steps; returns the contender's curve at them, shape (R, len(steps)), or None
        unless all repetitions have it.
    draws : callable
        Returns the contenders' means in the headline as they were measured, shape (R, A).
    losses : callable
        Takes a contender and a metric; returns the contender's values on all units, shape (R, Q), or None unless the
        metric is the experiment's.
    overlapping : bool
        Whether repetitions share training data, or are subsets of one pool.
    """

    contrasts: tuple[WeightedContrast, ...]
    contenders: tuple[tuple[int, str], ...]
    metric: str
    direction: Direction
    split: Split
    repetitions: tuple[int, ...]
    seed: int
    resampled: Callable[[], Crossed]
    curve: Callable[[tuple[int, str], str, Sequence[int]], NDArray[np.float64] | None]
    draws: Callable[[], NDArray[np.float64]]
    losses: Callable[[tuple[int, str], str], NDArray[np.float64] | None]
    overlapping: bool

    @cached_property
    def sample(self) -> Crossed:
        """Means of the A contenders in the headline, by draw and by query, and resampled."""
        return self.resampled()

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The contrasts' weights, shape (A, P)."""
        place = {contender: i for i, contender in enumerate(self.contenders)}
        matrix = np.zeros((len(place), len(self.contrasts)))
        for j, contrast in enumerate(self.contrasts):
            for contender, weight in contrast.weights:
                matrix[place[contender], j] += weight
        return matrix

    def differences(self) -> Evidence:
        """Return the contrasts of means in the headline, with their intervals."""
        sample, matrix, texts = self.sample, self.matrix, tuple(contrast.text for contrast in self.contrasts)
        over_both = Bounds.from_intervals(lambda some: contrasts(sample, matrix[:, some]), len(texts))
        over_draws = Bounds.from_intervals(lambda some: contrasts_over_draws(sample, matrix[:, some]), len(texts))
        return Evidence(texts, over_both, over_draws)

    def of_means(self, statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Evidence:
        """Return any function of the contenders' means, a number for each contrast, with bootstrap intervals.

        Parameters
        ----------
        statistic : callable
            Takes means of the A contenders, shape (N, A), one row a resample, and returns the P numbers of each,
            shape (N, P). Smooth, on a scale on which its spread is about normal: logarithms of ratios.
        """
        sample = self.sample
        estimate = statistic(sample.mean[np.newaxis])[0]
        units = [count for count in (len(sample.draws), len(sample.queries)) if count > 1]

        def intervals(
            replicates: NDArray[np.float64], some: NDArray[np.intp], size: list[int]
        ) -> SimultaneousIntervals:
            smallest = min(size, default=1)
            sources = VarianceSources.only(len(some), smallest - 1.0)
            return Studentized.from_replicates(
                estimate[some],
                replicates[:, some],
                sources,
                units=smallest,
                spread=bool(size) and not too_few(len(sample.draws)),
            ).intervals()

        both, draws = statistic(sample.replicates), statistic(sample.draw_replicates)
        count, own = len(estimate), [len(sample.draws)] if len(sample.draws) > 1 else []
        return Evidence(
            tuple(contrast.text for contrast in self.contrasts),
            Bounds.from_intervals(lambda some: intervals(both, some, units), count),
            Bounds.from_intervals(lambda some: intervals(draws, some, own), count),
        )


class ClaimKind(Component):
    """A kind of claim; its parameters are the keys that a claim's table may hold beside the keys of all claims.

    Attributes
    ----------
    name : str
        Value of ``kind`` in a suite's file.
    ratio : bool
        Whether a ratio is shown, instead of a difference.
    on_splits : bool
        Whether it is about the units of splits, and has a verdict on each; else it is about curves.
    """

    kind: ClassVar[str] = "claim"
    ratio: ClassVar[bool] = False
    on_splits: ClassVar[bool] = True

    def lacks(self) -> str:
        """Return an error text for keys that are missing in the table, or ``""``."""
        return ""

    def curve_metric(self) -> str:
        """Return the name of the curve that the claim uses, if it is not about splits."""
        return ""

    @abstractmethod
    def measured(self) -> str:
        """Return a sentence on the quantity of the intervals and the side that they are claimed to lie on."""

    @abstractmethod
    def evidence(self, compared: Compared) -> Evidence:
        """Return the contrasts with their intervals, on the scale that is judged.

        Raises
        ------
        NoEvidenceError
            Nothing can be compared.
        """

    @abstractmethod
    def claimed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval lies on the claimed side, shape (P,); False for nan."""

    @abstractmethod
    def opposed(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether an interval lies entirely on the opposite side, shape (P,); False for nan."""

    def excess(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of estimates from the claim, shape (P,): the contrast with the largest is named first."""
        return np.abs(estimate)

    def shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of the judged scale in the unit that is printed: exponentials of logarithms."""
        return values
