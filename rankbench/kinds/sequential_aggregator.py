"""The interface of aggregators that learn as time goes by: they can be asked before each time, and told after it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.queries import Comparisons
from rankbench.returned import Promise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.score_history import ScoreHistory, TimedCounts

__all__ = ["SequentialAggregator"]


class SequentialAggregator(Aggregator):
    """Base of aggregators of comparisons that keep a state and learn after each time.

    A *time* is what the protocol takes for one: all votes of a day, for instance. They are predicted from
    the state before it, and learned from together afterwards, so that their order means nothing. A subclass gives
    `start`, `ratings` and `learn`; `margins` too, where a difference of ratings is not all that it knows. Its
    compiled form, optional, goes through all times in one call.
    """

    compiled_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **Aggregator.compiled_forms,
        "walk_kernel": ("start", "ratings", "margins", "learn"),
    }
    promises: ClassVar[Mapping[str, Promise]] = {
        **Aggregator.promises,
        "start": "array",
        "ratings": "array",
        "margins": "array",
    }

    @abstractmethod
    def start(self, m: int) -> NDArray[np.float64]:
        """Return the state in which nothing was learned, shape (m, s)."""

    @abstractmethod
    def ratings(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the items' scores by a state, shape (m,)."""

    def margins(
        self, state: NDArray[np.float64], first: NDArray[np.int32], second: NDArray[np.int32], time: int
    ) -> NDArray[np.float64]:
        """Return by how much one item is expected to win over another, shape (k,): odd in the two.

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
        """Learn from all votes of one time together, in place; their order means nothing.

        Parameters
        ----------
        state : ndarray of float64, shape (m, s)
        votes : Comparisons
            Of one query, of which each weighs something; ties are marked.
        time : int
            Its number, from 0.
        """

    def history(self, counts: TimedCounts) -> ScoreHistory:
        """Return the scores of all times, each from all judgments, those after it too; optional.

        Raises
        ------
        SpecError
            It has no model of scores over time; or the log is too large for it.
        """
        raise SpecError(f"aggregator {self.name!r} has no model of scores over time")

    def walk_kernel(self) -> Kernel | None:
        """Return the compiled form of all times one after the other (`WALK`), or None: interpreted."""
        return None
