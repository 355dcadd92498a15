"""Protocols prepare data, cut it into blocks and judge contenders.

A protocol says what is drawn, which kind of component competes, and how a contender is
judged. The runner does the rest: it plans the blocks (n, repetition), hands each to
`Protocol.execute`, here or in a worker process, and keeps what comes back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component
from rankbench.errors import SpecError
from rankbench.interfaces.cell import BlockKey, CellResult, Direction, Layout, ScoredItems, Split
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import BUDGET, COLUMN_FACTS, Budget, Fact, Metric
from rankbench.interfaces.surrogate import Loss

JUDGMENT = 12
"""Bytes of a judgment where nothing else is known: query, winner and loser."""


STRETCHES = "stretches of time"
"""Name of units that follow one another (`Protocol.judged_on`): neighbors may be alike, which intervals allow for."""

NOBODY = "Nobody compared these items"
"""Beginning of the assumption that judgments are simulated, where items and labels may be real."""


def untold(cell: str, share: float) -> None:
    """Ignore progress on a cell."""


@dataclass(frozen=True)
class BlockTask:
    """One block with the cells to compute on it.

    Attributes
    ----------
    key : BlockKey
    source : int
        Index of the `Prepared` that the block is drawn from.
    metrics : tuple of str
        Metrics of every contender: names of the protocol's own metrics, or the specs of `losses`.
    cells : dict of cell id to Contender
        Of the kind `Protocol.contender`; more than one point are choices that the protocol makes on
        validation data.
    losses : tuple of Loss
        The loss components that `metrics` name; none where the protocol has metrics of its own.
    advance : callable
        Is told a cell and the share of its work, in (0, 1], that has been done since it was told last; optional. It
        moves the progress of a run, and nothing else.
    """

    key: BlockKey
    source: int
    metrics: tuple[str, ...]
    cells: dict[str, Contender]
    losses: tuple[Loss, ...] = ()
    advance: Callable[[str, float], None] = field(default=untold, compare=False, repr=False)

    def of_size(self, n: int) -> BlockTask:
        """Return the task of a block of n judgments; of its own n if these are fewer."""
        return replace(self, key=replace(self.key, n=min(n, self.key.n)))


@dataclass(frozen=True, eq=False)
class Prepared:
    """Parts that all blocks of a protocol on a data set share.

    Attributes
    ----------
    protocol : Protocol
    dataset : Dataset or None
    fingerprint : str
        sha256 (hex) of the data; of nothing, where there are none.
    units : dict of Split to tuple of str
        Names of the units that losses are given for: queries, as a rule. Losses of a split have
        this many values, in this order.
    arrays : dict of str to ndarray
        Read-only; worker processes map them into memory.
    scale : float
        By which the suite's n are multiplied.
    notes : tuple of str
        Notes for a reader.
    splits : dict of Split to str
        Titles, where the data decide what losses are given for; else the protocol's.
    test_share : float or None
        The protocol's `Protocol.test_share`, unless the data decide it.
    metrics : tuple of Metric
        Where the data decide ranges or chance levels; else the protocol's.
    pool : int or None
        Number of observations from which each repetition samples n without replacement; all repetitions evaluate
        the same units. With n >= `pool` there is one repetition. None, without a `test_share`: each
        repetition draws new judgments.
    fixed : int or None
        Number of repetitions that the plan always has, each of them another part of the design.
    unused : tuple of str
        Sentences about judgments of the data that no contender gets; a run ends with them, and they are notes too.
    reduced : tuple of str
        Notes on parameters that the data are too small for, as on the number of queries; a run says them, too.
    """

    protocol: Protocol
    dataset: Dataset | None
    fingerprint: str
    units: Mapping[Split, tuple[str, ...]]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    scale: float = 1.0
    notes: tuple[str, ...] = ()
    splits: Mapping[Split, str] = field(default_factory=dict)
    test_share: float | None = None
    metrics: tuple[Metric, ...] = ()
    pool: int | None = None
    fixed: int | None = None
    unused: tuple[str, ...] = ()
    reduced: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.splits:
            object.__setattr__(self, "splits", dict(self.protocol.splits))
        if not self.metrics:
            object.__setattr__(self, "metrics", self.protocol.metrics)
        if self.test_share is None:
            object.__setattr__(self, "test_share", self.protocol.test_share)

    def repetitions(self, n: int, wanted: int) -> int:
        """Return the number of repetitions planned for n observations, given the number wanted."""
        if self.pool is not None and n >= self.pool:
            return 1
        return wanted if self.fixed is None else self.fixed

    def scaled(self, n: int) -> int:
        """Return the number of judgments for the suite's n, scaled."""
        return max(1, round(n * self.scale))

    def sizes(self, declared: Sequence[int]) -> dict[int, int]:
        """Map each scaled number of judgments to the suite's n; if several n scale to one number, the last n wins."""
        return {self.scaled(n): n for n in declared}

    @property
    def simulated(self) -> bool:
        """True if all judgments are simulated."""
        return self.protocol.simulated if self.dataset is None else self.dataset.simulated

    def assumptions(self) -> list[str]:
        """Return the assumptions to show on a leaderboard, one sentence each."""
        return [*(self.dataset.assumptions() if self.dataset else []), *self.protocol.assumptions()]


class BlockPart(NamedTuple):
    """A small block, and the share that it has of a block's work."""

    prepared: Prepared
    task: BlockTask
    share: float


class Protocol(Component):
    """The way in which an experiment draws judgments and evaluates contenders.

    Attributes
    ----------
    contender : str
        Kind of the components that compete.
    table : str or None
        Kind of the data sets that it takes, the name of a kind of table; None: it makes its
        own populations, or needs none.
    metrics : tuple of Metric
        Its own metrics. Empty: loss components evaluate contenders.
    facts : tuple of Fact
        Facts about fits that reports show beside losses; by default the facts of `erm`.
    budget : Budget or None
        Fact with the budget of stochastic contenders.
    curves : dict of str to (Split, Direction)
        Split and direction of the curves that it records itself. Methods record other curves:
        the objectives that they minimize on the design units.
    splits : dict of Split to str
        The sets of units that contenders are evaluated on, with a title for each.
    counts : str
        Noun for n, in the plural. Empty: nothing is drawn.
    judged_on : str
        Noun for the units, in the plural: intervals are over these.
    test_share : float or None
        Share of the observations that each repetition holds out, if repetitions share observations. rankbench then
        uses the corrected resampled t; a repetition has one loss in each split. None, without a `Prepared.pool`:
        repetitions are independent.
    layout : Layout
        ``race``: contenders are compared. ``exact``: results are exact numbers, one for
        each unit, without intervals or ranks. ``ranking``: units are named items, and each
        contender ranks them; the metrics are those of `RANKING`. ``series``: the same of stretches of time, which are
        shown in their order.
    tunes : bool
        Whether it chooses among the points of a contender's grid.
    teaches_labels : bool
        Whether contenders learn from labels of other queries; a contender that looks at labels is then no oracle.
    simulated : bool
        Whether the populations that it makes, if it takes no data set, are simulated.
    one_by_one : bool
        Whether each contender of a block is computed and stored by itself: a block takes long, and contenders share
        nothing of it. A run that is killed then loses one contender's work, not the block's.
    few : int
        Judgments of a small block that compiles the kernels of larger ones in a moment; 0: there is no such block.
    """

    kind: ClassVar[str] = "protocol"
    contender: ClassVar[str] = "method"
    table: ClassVar[str | None] = "items"
    metrics: ClassVar[tuple[Metric, ...]] = ()
    facts: ClassVar[tuple[Fact, ...]] = COLUMN_FACTS
    budget: ClassVar[Budget | None] = BUDGET
    curves: ClassVar[dict[str, tuple[Split, Direction]]] = {}
    splits: ClassVar[dict[Split, str]]
    counts: ClassVar[str] = "judgments"
    judged_on: ClassVar[str] = "queries"
    test_share: ClassVar[float | None] = None
    layout: ClassVar[Layout] = "race"
    tunes: ClassVar[bool] = False
    teaches_labels: ClassVar[bool] = False
    simulated: ClassVar[bool] = False
    one_by_one: ClassVar[bool] = False
    few: ClassVar[int] = 0

    @classmethod
    def metric_names(cls) -> tuple[str, ...]:
        """Return the names of its own metrics."""
        return tuple(metric.name for metric in cls.metrics)

    @abstractmethod
    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load, check and split the data: once a run.

        Parameters
        ----------
        dataset : Dataset or None
            One that `refusal` has nothing against.
        seed : int
            The suite's.

        Raises
        ------
        InputError
            The data are not there, cannot be read, or are too few.
        """

    @abstractmethod
    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Compute the cells of one block.

        The result is a function of the arguments alone, and that of a cell does not depend
        on its neighbors. A contender that diverges, does not fit or fails becomes a result
        with its reason: call third-party code by `rankbench.interfaces.cell.guarded`, and give what it
        raised to `rankbench.interfaces.cell.failed`.
        """

    def scored(self, prepared: Prepared, task: BlockTask) -> tuple[list[CellResult], list[ScoredItems]]:
        """Return the results of `execute`, and the scores that contenders give to items of queries; optional.

        There are none by default: TREC runs cannot be made of the protocol.
        """
        return self.execute(prepared, task), []

    def in_time_units(self, unit: str) -> Protocol | None:
        """Return this protocol with judgments grouped by a unit of time, such as ``day``; optional.

        None: it does not go by time.

        Raises
        ------
        SpecError
            There is no such unit.
        """
        return None

    def refusal(self, dataset: Dataset) -> str:
        """Return an error text for a data set that the protocol cannot use, or ``""``."""
        if self.table is None:
            return f"protocol {self.name!r} takes no data set"
        if dataset.table != self.table:
            return f"protocol {self.name!r} takes {self.table}, data set {dataset!s} has {dataset.table}"
        return ""

    def required(self, dataset: Dataset | None) -> Dataset:
        """Return the data set; raise `SpecError` if there is none."""
        if dataset is None:
            raise SpecError(f"protocol {self.name!r} needs a data set of {self.table}")
        return dataset

    def misfit(self, contender: Component) -> str:
        """Return an error text for a contender that cannot compete, or ``""``."""
        return ""

    def cannot_judge(self, loss: Loss) -> str:
        """Return an error text for a loss that cannot judge contenders, or ``""``."""
        return ""

    def smaller(self, prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
        """Return a block that compiles all that `task` needs, in a moment; None: not worth it."""
        return (prepared, task.of_size(self.few)) if self.few else None

    def part(self, prepared: Prepared, task: BlockTask, share: float) -> BlockPart:
        """Return a block with about a share of a block's work, to estimate the whole block's time.

        By default it has fewer judgments; where n is no number of judgments that are drawn, it is the whole block.
        """
        if not self.counts or prepared.pool is not None:
            return BlockPart(prepared, task, 1.0)
        small = task.of_size(max(1, round(task.key.n * share)))
        return BlockPart(prepared, small, small.key.n / task.key.n)

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of memory that a block's judgments take at once while it is computed, at least.

        Blocks that need more than there is are refused before the first one begins. Where it is not
        said, a judgment takes `JUDGMENT` bytes, and a sample of observations (`Prepared.pool`) nothing.
        """
        return 0 if not self.counts or prepared.pool is not None else task.key.n * JUDGMENT

    def assumptions(self) -> list[str]:
        """Return the protocol's assumptions to show on a leaderboard, in sentences.

        The first sentence of a simulator says how much is simulated. The leaderboard's first screen shows it up to its
        first punctuation mark. It also shows the sentence that begins with "Losses", which names the truth behind the
        losses. `NOBODY` begins the sentence that judgments are simulated.
        """
        return []


def unpack(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays packed under a prefix, by their own names."""
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def pack(prefix: str, **arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return arrays under ``prefix.name``, C-contiguous and read-only: for `Prepared.arrays`."""
    packed = {}
    for name, array in arrays.items():
        view = np.ascontiguousarray(array).view()
        view.flags.writeable = False
        packed[f"{prefix}.{name}"] = view
    return packed
