"""Kinds of figures turn results into drawings, given as data.

A figure's kind makes a `Drawing` of an experiment's results: plots with lines, levels and dots, which hold
numbers and names. Colors, sizes, legends and file formats are the report's: one contender looks the same in all
figures of a suite, of any plugin's kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component
from rankbench.errors import nearest
from rankbench.interfaces.cell import Layout, Split
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.suite import Figure
from rankbench.stats.contrasts import MeanIntervals, PairedIntervals

CurveIntervals: TypeAlias = tuple[NDArray[np.int64], MeanIntervals]
"""Steps of a curve, shape (P,), and its means at them, with intervals over repetitions."""


@dataclass(frozen=True)
class ContenderResults:
    """One contender at one n.

    Attributes
    ----------
    label : str
        Its name on the leaderboard.
    order : int
        Its place among the experiment's contenders.
    config : dict of str to Any
        All its parameters as plain values; infinite ones are ``"inf"``.
    status : str
        The worst status of all its repetitions; ``pending`` if none has a row yet.
    finished : bool
        Whether a repetition is done.
    compared : bool
        Whether something is done and nothing went wrong: it is compared.
    equals : str
        Label of the contender that this one is the same as, on these data; else empty.
    """

    label: str
    order: int
    config: dict[str, Any]
    status: str
    finished: bool
    compared: bool
    equals: str


@dataclass(frozen=True)
class MatchedResults:
    """The contenders of an experiment at one n, and the repetitions that they are compared in.

    Attributes
    ----------
    n : int
        Number of judgments.
    n_declared : int
        Number in the suite's file, before any scaling.
    contenders : tuple of ContenderResults
        All contenders, in the suite's order.
    repetitions : tuple of int
        Repetitions that all of `compared` have finished.
    """

    n: int
    n_declared: int
    contenders: tuple[ContenderResults, ...]
    repetitions: tuple[int, ...]

    @property
    def compared(self) -> tuple[ContenderResults, ...]:
        """The contenders that are compared."""
        return tuple(runs for runs in self.contenders if runs.compared)


@dataclass(eq=False)
class ExperimentResults(ABC):
    """One experiment: its contenders, units and measured values.

    Attributes
    ----------
    metrics : tuple of str
        Names of the metrics, the headline first.
    splits : tuple of Split
        Splits that have units, in the order in which they are shown.
    by_n : tuple of MatchedResults
        One for each n, the smallest first.
    added : frozenset of str
        Labels of contenders that are not of the suite but were added to the run.
    layout : Layout
        Whether contenders are compared, give exact numbers, or rank named items.
    counts : str
        Noun for n, in the plural; empty where nothing is drawn.
    """

    metrics: tuple[str, ...]
    splits: tuple[Split, ...]
    by_n: tuple[MatchedResults, ...]
    added: frozenset[str]
    layout: Layout
    counts: str

    @abstractmethod
    def metric(self, name: str) -> Metric:
        """Return the facts about a metric, or a curve: its better direction, its chance level."""

    @abstractmethod
    def units(self, split: Split) -> Sequence[str]:
        """Return the names of a split's units."""

    @abstractmethod
    def split_title(self, split: Split) -> str:
        """Return a short title of a split: "design queries"."""

    @abstractmethod
    def intervals(self, n: int, labels: Sequence[str], metric: str, split: Split, level: float) -> MeanIntervals:
        """Return the means of contenders compared at an n, with their intervals over repetitions."""

    @abstractmethod
    def differences(
        self, n: int, labels: Sequence[str], base: str, metric: str, split: Split, level: float
    ) -> PairedIntervals:
        """Return the means of contenders compared at an n minus that of `base`, with the intervals of the page.

        In a recommendation they hold simultaneously for all pairs of contenders, at any level;
        else each holds alone, over queries and repetitions.
        """

    @abstractmethod
    def values(self, n: int, label: str, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's value for every unit, of its first finished repetition, shape (U,)."""

    @abstractmethod
    def curve(self, n: int, label: str, metric: str, level: float, *, per_decade: int = 0) -> CurveIntervals | None:
        """Return a contender's curve with intervals over repetitions; None unless all repetitions have it.

        With `per_decade` above 0 it has so many points a decade of steps, each the mean of the values there.
        """


MOST_SERIES = 64
"""Series of a figure; of more the first ones are drawn, of dots the best ones."""

_WORDS = {
    "pending": "not computed yet",
    "done": "no repetition that all contenders have finished",
    "error": "failed",
    "timeout": "gave no answer in time",
}


class Omission(NamedTuple):
    """A contender that a figure does not show.

    Attributes
    ----------
    label : str
    why : str
        In a few words: "skipped", "it has no curve of 'exact-gap'".
    cause : {"choice", "status", "misfit"}
        The suite does not ask for it; it gave no numbers; or it was asked for, has numbers, and the
        figure cannot show them.
    where : str
        As in "n = 200,000", if the figure shows it elsewhere.
    """

    label: str
    why: str
    cause: Literal["choice", "status", "misfit"]
    where: str = ""


@dataclass(frozen=True, eq=False)
class Line:
    """Points from left to right, with a band.

    Attributes
    ----------
    name : str
        Name of the series in the figure.
    x, y : ndarray of float64, shape (P,)
    lower, upper : ndarray of float64, shape (P,)
        Edges of the band; nan where there is none.
    label : str
        Name in a plot's own legend; else its name.
    hollow : ndarray of bool, shape (P,), optional
        Points with hollow markers; see `Drawing.hollow`.
    """

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    label: str = ""
    hollow: NDArray[np.bool_] | None = None


class Level(NamedTuple):
    """A value that has no place on the horizontal axis: a horizontal line with its band."""

    name: str
    value: float
    lower: float
    upper: float


class Dot(NamedTuple):
    """A value with its interval, in a row with a name, and perhaps a text at its right end."""

    name: str
    row: str
    value: float
    lower: float
    upper: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Plot:
    """One pair of axes: lines and levels, or rows of dots, the first on top.

    Attributes
    ----------
    zero : bool
        Values are differences: 0 has a line.
    notes : str
        Meaning of the dots' notes.
    """

    title: str = ""
    x_label: str = ""
    y_label: str = ""
    lines: tuple[Line, ...] = ()
    levels: tuple[Level, ...] = ()
    dots: tuple[Dot, ...] = ()
    zero: bool = False
    notes: str = ""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure as data, and who is in it.

    Attributes
    ----------
    plots : tuple of tuple of Plot
        Rows, all of one length.
    names : tuple of str
        Its series as the legend names them, in the suite's order: contenders, or lines of several.
    added : frozenset of str
        Series that are not of the suite but were added to the run.
    quiet : frozenset of str
        Series that are drawn as gray lines.
    variants : dict of str to str
        By name the other name whose color it has: one contender, drawn at several n.
    left_out : tuple of Omission
        Contenders that it does not show.
    x_scale : {"linear", "log", "ticks", "time"}
        ``ticks``: logarithmic, with a tick at each value, where zero and infinity have places of their own. ``time``:
        dates, in days since 1970 (UTC).
    y_scale : {"linear", "log"}
        Logarithmic only where all means are positive.
    same_y : bool
        Plots of one row share their vertical axis.
    legends : {"figure", "columns", "none"}
        One under all plots; one under each column, for its own lines; or none.
    hollow : str
        Meaning of hollow markers.
    size : tuple of float
        Width and height of a plot in inches.
    n : tuple of int, optional
        Numbers of judgments (as run) that it shows; None: all of the experiment's.
    bands : str
        Kind of bands and intervals as text; empty: over repetitions, at the figure's level.
    note : str
        Note for a reader of the figure, a line of its own.
    """

    plots: tuple[tuple[Plot, ...], ...]
    names: tuple[str, ...] = ()
    added: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()
    variants: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[Omission, ...] = ()
    x_scale: Literal["linear", "log", "ticks", "time"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    same_y: bool = False
    legends: Literal["figure", "columns", "none"] = "figure"
    hollow: str = ""
    size: tuple[float, float] = (3.6, 2.6)
    n: tuple[int, ...] | None = None
    bands: str = ""
    note: str = ""


class FigureKind(Component):
    """A kind of figure; its parameters are the keys that a figure's table may hold beside the keys of all figures.

    Attributes
    ----------
    name : str
        Value of ``kind`` in a suite's file.
    """

    kind: ClassVar[str] = "figure"

    def lacks(self) -> str:
        """Return an error text for keys that are missing in the table, or ``""``."""
        return ""

    def patterns(self) -> Sequence[str]:
        """Return the labels named in the table, ``*`` matching any text; each must match a contender."""
        return ()

    def misfit(self, metrics: Collection[str], n: Collection[int], configs: Sequence[Mapping[str, Any]]) -> str:
        """Return an error text for names in the table that the experiment does not have, or ``""``.

        Asked before anything is computed. By default nothing but labels is named.

        Parameters
        ----------
        metrics : collection of str
            Names of metrics that the experiment computes, as in results.
        n : collection of int
            Numbers of judgments as the suite's file writes them.
        configs : sequence of dict
            Of every contender all parameters as plain values, see `Component.config`.
        """
        return ""

    @abstractmethod
    def drawing(self, figure: Figure, results: ExperimentResults) -> Drawing:
        """Return the drawing, with the contenders in it and left out; a function of the arguments, without matplotlib.

        Parameters
        ----------
        figure : Figure
            Entries of its table beside the parameters of this kind: file, title, level of bands.
        results : ExperimentResults
        """


def unknown_metric(named: Sequence[str], metrics: Collection[str]) -> str:
    """Return an error text for the first unknown metric, or ``""``."""
    unknown = [metric for metric in named if metric not in metrics]
    return f"the experiment does not compute {unknown[0]!r}{nearest(unknown[0], metrics)}" if unknown else ""


def order_of(results: ExperimentResults) -> list[str]:
    """Return the labels of all contenders, in the order of the suite."""
    order = {runs.label: runs.order for matched in results.by_n for runs in matched.contenders}
    return sorted(order, key=order.__getitem__)


def unfinished(results: ExperimentResults, labels: Iterable[str], n: Collection[int] | None = None) -> list[Omission]:
    """Return which of `labels` have no numbers, at any n or at some.

    Parameters
    ----------
    results : ExperimentResults
    labels : iterable of str
    n : collection of int, optional
        Numbers of judgments (as run) that are drawn; all by default.
    """
    found = []
    by_n = [matched for matched in results.by_n if n is None or matched.n in n]
    for label in labels:
        contenders = [(matched, runs) for matched in by_n for runs in matched.contenders if runs.label == label]
        without: dict[str, list[int]] = {}
        for matched, runs in contenders:
            if not (runs.compared and matched.repetitions):
                without.setdefault(_WORDS.get(runs.status, runs.status), []).append(matched.n)
        for why, places in without.items():
            where = "" if len(places) == len(contenders) else ", ".join(f"n = {place:,}" for place in places)
            found.append(Omission(label, why, "status", where))
    return found


def limited(names: Sequence[str]) -> tuple[tuple[str, ...], list[Omission]]:
    """Return the names that a figure has room for, and the others."""
    why = f"the figure has room for {MOST_SERIES}"
    return tuple(names[:MOST_SERIES]), [Omission(name, why, "misfit") for name in names[MOST_SERIES:]]
