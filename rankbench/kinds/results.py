"""What figures and claims see of an experiment: who raced at which n, how that went, and with which numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Layout, Split
from rankbench.kinds.metric import Metric

if TYPE_CHECKING:
    from rankbench.stats.draw_intervals import MeanIntervals

__all__ = ["ArmResults", "CurveIntervals", "ExperimentResults", "PairedIntervals", "RaceResults"]

CurveIntervals: TypeAlias = "tuple[NDArray[np.int64], MeanIntervals]"
"""Steps of a curve, shape (P,), and its means at them, with intervals over draws."""


class PairedIntervals(NamedTuple):
    """Paired differences with the intervals that tell whether they are real.

    Attributes
    ----------
    estimate, lower, upper : ndarray of float64, shape (C,)
        Of a contender's mean minus that of another one; nan where there is no interval.
    words : str
        What the intervals are, as "95% over queries and draws".
    """

    estimate: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    words: str


class ArmResults(Protocol):
    """One contender at one n."""

    @property
    def label(self) -> str:
        """Its name on the leaderboard."""

    @property
    def config(self) -> dict[str, Any]:
        """All its parameters as plain values; infinite ones are ``"inf"``."""

    @property
    def order(self) -> int:
        """Its place among the experiment's contenders."""

    @property
    def status(self) -> str:
        """The worst status of all its repetitions; ``pending`` if none has a row yet."""

    @property
    def finished(self) -> bool:
        """Whether a repetition is done."""

    @property
    def racing(self) -> bool:
        """Whether something is done and nothing went wrong: it is compared."""

    @property
    def equals(self) -> str:
        """Label of the contender that this one is the same as, on these data; else empty."""


class RaceResults(Protocol):
    """The contenders of an experiment at one n, and the repetitions that they are compared on."""

    @property
    def n(self) -> int:
        """Number of judgments."""

    @property
    def n_declared(self) -> int:
        """What the suite's file says instead, before any scaling."""

    @property
    def arms(self) -> Sequence[ArmResults]:
        """All contenders, in the suite's order."""

    @property
    def racing(self) -> Sequence[ArmResults]:
        """Those that are compared."""

    @property
    def repetitions(self) -> tuple[int, ...]:
        """Repetitions that all of `racing` have finished."""


class ExperimentResults(Protocol):
    """One experiment: what was measured, of whom and on what."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, the headline first."""

    @property
    def splits(self) -> tuple[Split, ...]:
        """Splits that have units, in the order in which they are shown."""

    @property
    def races(self) -> Sequence[RaceResults]:
        """One for each n, the smallest first."""

    @property
    def added(self) -> frozenset[str]:
        """Labels of contenders that are not of the suite but were added to the run."""

    @property
    def layout(self) -> Layout:
        """Whether contenders are compared, give exact numbers, or rank named items."""

    @property
    def counts(self) -> str:
        """What n counts, in the plural; empty where nothing is drawn."""

    def metric(self, name: str) -> Metric:
        """Return what is known of a metric, or of a curve: which way is better, what a coin gets."""

    def units(self, split: Split) -> Sequence[str]:
        """Return the names of a split's units."""

    def split_title(self, split: Split) -> str:
        """Return a split's title in a few words: "design queries"."""

    def intervals(self, n: int, labels: Sequence[str], metric: str, split: Split, level: float) -> MeanIntervals:
        """Return the means of contenders that race at an n, with their intervals over draws."""

    def differences(
        self, n: int, labels: Sequence[str], base: str, metric: str, split: Split, level: float
    ) -> PairedIntervals:
        """Return the means of contenders that race at an n minus that of `base`, with the intervals of the page.

        Where a recommendation is drawn they hold together, for all pairs of contenders at once, whatever the level;
        else each holds alone, over queries and draws.
        """

    def values(self, n: int, label: str, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's value for every unit, of its first finished repetition, shape (U,)."""

    def curve(self, n: int, label: str, metric: str, level: float, *, per_decade: int = 0) -> CurveIntervals | None:
        """Return a contender's curve with intervals over draws; None unless all repetitions have it.

        With `per_decade` above 0 it has so many points a decade of steps, each the mean of the values there.
        """
