"""Sequential aggregators learn in time; score aggregators rank by tables of scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import JudgmentKind
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator, ComparisonAggregator, finite_scores
from rankbench.interfaces.queries import Comparisons
from rankbench.kernels import Kernel


@dataclass(frozen=True, eq=False)
class TimedCounts:
    """Judgments summed by time and pair of items.

    Only they hold sums in the order of time.

    Attributes
    ----------
    m : int
        Number of items; each was judged at some time.
    gaps : ndarray of float64, shape (T,)
        Units of time since the time before, above 0; the first is not used.
    starts : ndarray of int64, shape (T + 1,)
        Sums of time t are ``starts[t]:starts[t + 1]``, at least one.
    first, second : ndarray of int32, shape (K,)
        The smaller and the larger item; of one time each pair once.
    won, lost : ndarray of float64, shape (K,)
        Weight of the judgments that the first won, and that it lost; ties are half of both.
    covariates : ndarray of float64, shape (K, p), optional
        Of the first item less the second; each pair then comes once for each row of covariates.
    """

    m: int
    gaps: NDArray[np.float64]
    starts: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    won: NDArray[np.float64]
    lost: NDArray[np.float64]
    covariates: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.gaps)

    @property
    def times(self) -> NDArray[np.int64]:
        """The time of each sum, shape (K,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def born(self) -> NDArray[np.int64]:
        """Return the time of the first judgment of each item, shape (m,)."""
        found = np.full(self.m, len(self))
        for items in (self.first, self.second):
            np.minimum.at(found, items, self.times)
        return found


@dataclass(frozen=True, eq=False)
class ScoreSpread:
    """Uncertainty of scores over time, by the joint posterior.

    Attributes
    ----------
    deviation : ndarray of float64, shape (T, m)
        Standard deviation of each score less the mean score, of its time, of known items; nan where an item has none.
    now, then : ndarray of float64, shape (m, m)
        Covariance of the scores of the last time, and of an earlier one; nan where an item has none.
    across : ndarray of float64, shape (m, m)
        Covariance of the earlier scores (rows) and the last ones.
    """

    deviation: NDArray[np.float64]
    now: NDArray[np.float64]
    then: NDArray[np.float64]
    across: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScoreHistory:
    """Scores over time by a model.

    Attributes
    ----------
    scores : ndarray of float64, shape (T, m)
        nan before an item was judged.
    evidence : float
        Log of the chance of all judgments: the sum, over times, of the log of the chance that was given to the
        judgments of a time by those before it. Models of the same judgments compare by it.
    log_prior : float
        Log of the chance of its parameters before any judgment, on a grid that is even in their logarithms; without a
        constant.
    spread : callable
        Of an earlier time, from 0, and of the items that are known, shape (m,), by default all: see `ScoreSpread`.
    effects : ndarray of float64, shape (p,)
        Effects of covariates, the same at all times.
    effects_covariance : ndarray of float64, shape (p, p)
    """

    scores: NDArray[np.float64]
    evidence: float
    log_prior: float
    spread: Callable[..., ScoreSpread]
    effects: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    effects_covariance: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))


class SequentialAggregator(ComparisonAggregator):
    """Base of aggregators of comparisons that keep a state and learn after each time.

    A *time* is what the protocol takes for one: all votes of a day, for instance. They are predicted from
    the state before it, and learned from together afterwards, so that their order means nothing. A subclass gives
    `start`, `ratings` and `learn`; `margins` too, if predictions depend on more than a difference of ratings. Its
    compiled form, optional, goes through all times in one call.
    """

    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **ComparisonAggregator.derived_forms,
        "walk_kernel": ("start", "ratings", "margins", "learn"),
    }

    @abstractmethod
    def start(self, m: int) -> NDArray[np.float64]:
        """Return the state before any judgment, shape (m, s)."""

    @abstractmethod
    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the items' scores by a state, shape (m,)."""

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return the predicted margin of one item over another, shape (k,): odd in the two.

        By default the difference of their ratings.

        Parameters
        ----------
        state : ndarray of float64, shape (m, s)
            As it was left by the times before.
        first, second : ndarray of int32, shape (k,)
            Pairs of the time's votes, each once.
        time : int
            Its number, from 0.
        """
        ratings = self.ratings(state)
        return np.asarray(ratings[first] - ratings[second])

    @abstractmethod
    def learn(self, state: NDArray[np.float64], votes: Comparisons, time: int) -> None:
        """Update the state in place by all votes of one time together; their order has no effect.

        Parameters
        ----------
        state : ndarray of float64, shape (m, s)
        votes : Comparisons
            Comparisons of one query with positive weights; ties are marked.
        time : int
            Its number, from 0.
        """

    def history(self, counts: TimedCounts) -> ScoreHistory:
        """Return the scores of all times, each from all judgments, earlier and later; optional.

        Raises
        ------
        SpecError
            It has no model of scores over time; or the log is too large for it.
        """
        raise SpecError(f"aggregator {self.name!r} has no model of scores over time")

    def walk_kernel(self) -> Kernel | None:
        """Return the compiled form of all times one after the other (`WALK`), or None: interpreted."""
        return None


class ScoreAggregator(Aggregator):
    """Base of aggregators of score tables.

    A subclass gives `cells`, where its scores are means over seeds and tasks of something that each cell of the table
    shows by itself: intervals and rank ranges then need no second look at the table. Any other gives `from_scores`,
    which is asked for each resample.

    Attributes
    ----------
    direction : {"minimize", "maximize"}
        Direction of better scores.
    unit : str
        Unit of a score, in words.

    Examples
    --------
    .. code-block:: python

        class ShareOfBest(rankbench.ScoreAggregator):
            '''A system's share of the best score on each task, on average.'''

            name: ClassVar[str] = "share-of-best"
            source: ClassVar[str] = "Example of the documentation"
            unit: ClassVar[str] = "share of the best score"

            def cells(self, values):
                best = np.abs(values).max(axis=-1, keepdims=True)
                return values / np.where(best > 0, best, 1.0)
    """

    judgments: ClassVar[JudgmentKind] = "measurements"
    direction: ClassVar[Literal["minimize", "maximize"]] = "maximize"
    unit: ClassVar[str] = "score"

    @classmethod
    def defect(cls) -> str:
        """Return an error text for missing or duplicate formulas; see `Component.defect`."""
        own = [name for name in ("cells", "from_scores") if getattr(cls, name) is not vars(ScoreAggregator)[name]]
        if len(own) != 1:
            return "it has cells and from_scores, two formulas" if own else "it has neither cells nor from_scores"
        if cls.direction not in ("minimize", "maximize"):
            return f"direction is {cls.direction!r}, neither 'minimize' nor 'maximize'"
        return super().defect()

    @classmethod
    def has_cells(cls) -> bool:
        """Return whether scores are means of `cells`."""
        return cls.from_scores is ScoreAggregator.from_scores

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each cell's contribution to each system, shape (R, T, S); its mean over seeds and tasks is the score.

        Parameters
        ----------
        values : ndarray of float64, shape (R, T, S)
            Finite; R seeds, T tasks, S systems, at least two of these. More is better.
        """
        raise TypeError(f"aggregator {self.name!r} makes no mean over cells; ask from_scores")

    def from_scores(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the systems' scores, shape (S,).

        Parameters
        ----------
        values : ndarray of float64, shape (R, T, S)
            As `cells` gets them.
        weights : ndarray of float64, shape (R, T)
            Number of times that each cell counts: whole numbers, some of them 0, not all.
        """
        shares = weights / weights.sum()
        return np.asarray(np.einsum("rt,rts->s", shares, self.checked_cells(values)))

    def checked_cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `cells`, which must be finite and of the shape of the values.

        Raises
        ------
        ContenderDiverged
            A cell is not finite.
        SpecError
            They have another shape.
        """
        found = np.asarray(self.checked_numbers("cells", self.cells(values)), dtype=np.float64)
        if found.shape != values.shape:
            raise SpecError(f"aggregator {self.name!r}: cells have shape {found.shape}, not {values.shape}")
        finite_scores(found.ravel(), found.size)
        return found

    def checked_scores(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `from_scores`, which must be finite numbers, one a system."""
        returned = self.checked_numbers("from_scores", self.from_scores(values, weights))
        return finite_scores(returned, values.shape[2])

    def resampled_scores(
        self, values: NDArray[np.float64], of_seeds: NDArray[np.float64], of_tasks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return `from_scores` of B resamples, shape (B, S); a row without scores is nan.

        Parameters
        ----------
        values : ndarray of float64, shape (R, T, S)
        of_seeds, of_tasks : ndarray of float64, shapes (B, R) and (B, T)
            Number of times that each is in a resample.
        """
        found = np.full((len(of_tasks), values.shape[2]), np.nan)
        for row, seeds, tasks in zip(found, of_seeds, of_tasks, strict=True):
            try:
                row[:] = self.checked_scores(values, np.outer(seeds, tasks))
            except (ContenderDiverged, InputError):
                continue
        return found


@dataclass(frozen=True, eq=False)
class TaskScores:
    """Scores of systems on tasks, by seed.

    Attributes
    ----------
    systems, tasks, seeds : list of str, of lengths S, T and R
        Names, in the order in which they first appear. Without seeds there is one, of the empty name.
    values : ndarray of float64, shape (R, T, S)
        As they were given; nan where a cell is missing.
    less : frozenset of str
        Tasks in which less is better.
    """

    systems: list[str]
    tasks: list[str]
    seeds: list[str]
    values: NDArray[np.float64]
    less: frozenset[str] = frozenset()

    @cached_property
    def better(self) -> NDArray[np.float64]:
        """The values, with the sign turned where less is better: more is better everywhere."""
        down = np.array([task in self.less for task in self.tasks], np.bool_)
        return np.where(down[None, :, None], -self.values, self.values) if down.any() else self.values

    @property
    def all_less(self) -> bool:
        """True if less is better on all tasks."""
        return bool(self.less) and self.less.issuperset(self.tasks)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Cells with a score of one seed at least, shape (T, S)."""
        return np.asarray((~np.isnan(self.values)).any(axis=0))
