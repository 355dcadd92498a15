"""Click aggregators estimate relevance from sessions; click populations draw sessions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import JudgmentKind, Property
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.queries import Queries, Selections
from rankbench.kernels import Kernel


@dataclass(frozen=True, eq=False)
class ClickModel:
    """Scores of items, with parameters for the probability of a selection at each position.

    Attributes
    ----------
    scores : ndarray of float64, shape (N,)
        Not negative; of the items of all queries, concatenated.
    examination : ndarray of float64, shape (L,)
        Factor of each position of a list, the top first; the last one holds for longer lists.
    stops : bool
        Whether the user scans from the top and stops at the first click. If not, the
        products of score and examination are the shares of lists in which a
        position is selected.
    """

    scores: NDArray[np.float64]
    examination: NDArray[np.float64]
    stops: bool

    def probabilities(self, selections: Selections, item_offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        r"""Return the chance that each shown position is the selected one.

        With :math:`x_j` the product of score and examination at position j, within [0, 1],
        :math:`x_j \prod_{l<j} (1 - x_l)` for a user who stops, else
        :math:`x_j / \max(1, \sum_l x_l)`. The rest of a list's chances, up to 1, is the chance of
        selecting nothing.

        Parameters
        ----------
        selections : Selections
            Lists that were shown; clicks are not looked at.
        item_offsets : ndarray of int64, shape (Q + 1,)

        Returns
        -------
        ndarray of float64, shape (P,)
            One for each row of ``selections.items``.
        """
        items, positions = rows_of(selections, item_offsets)
        place = np.minimum(positions, len(self.examination) - 1)
        x = np.minimum(self.scores[items] * self.examination[place], 1.0)
        first = selections.starts[:-1]
        lengths = np.diff(selections.starts)
        if not self.stops:
            total = np.add.reduceat(x, first) if len(first) else np.zeros(0)
            return np.asarray(x / np.repeat(np.maximum(total, 1.0), lengths), np.float64)
        longest = int(lengths.max(initial=0))
        left = np.ones(len(lengths))
        result = np.empty_like(x)
        for position in range(longest):
            row = (first + position)[lengths > position]
            result[row] = x[row] * left[lengths > position]
            left[lengths > position] *= 1.0 - x[row]
        return result


class SelectionAggregator(Aggregator):
    """Base of aggregators of selections: a score for each item, and a prediction of clicks.

    A subclass gives `estimate`, and a `selection_kernel` if it can.

    Attributes
    ----------
    stops : bool
        Whether the user stops at the first click, as of `ClickModel`.
    """

    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"selection_kernel": ("estimate",)}
    judgments: ClassVar[JudgmentKind] = "selections"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    stops: ClassVar[bool] = False

    smoothing: float = Field(
        default=0.0,
        ge=0,
        le=1e9,
        description="Weight of the query's own average in each item's score, in the unit of the score's denominator.",
    )

    @abstractmethod
    def estimate(
        self, selections: Selections, item_offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scores, shape (N,), and examination, shape (L,), of the selections of Q queries.

        L >= 1 is the length of the longest list. This is the plain NumPy form.
        """

    def selection_kernel(self) -> Kernel | None:
        """Return the compiled form of `estimate` (`SELECT`), or None: interpreted."""
        return None

    def observed(self, selections: Selections) -> NDArray[np.bool_]:
        """Return which rows were examined, shape (P,): of a user who stops, the rows down to the click."""
        lengths = np.diff(selections.starts)
        last = topmost(selections) if self.stops else lengths
        return positions_of(selections) <= np.repeat(last, lengths)

    def fit(self, selections: Selections, item_offsets: NDArray[np.int64]) -> ClickModel:
        """Estimate scores from the selections of all queries together.

        Parameters of positions are estimated from all queries, items' scores from
        the items' own queries.

        Parameters
        ----------
        selections : Selections
        item_offsets : ndarray of int64, shape (Q + 1,)
            Items of query q are ``item_offsets[q]:item_offsets[q + 1]``, one at least.
        """
        kernel = self.selection_kernel()
        if kernel is None:
            scores, examination = self.estimate(selections, item_offsets)
            scores, examination = (self.checked_numbers("estimate", one) for one in (scores, examination))
            return ClickModel(scores, examination, self.stops)
        n = int(item_offsets[-1])
        out = np.zeros(n + longest_list(selections))
        kernel.function(
            np.require(selections.offsets, np.int64, ["C", "W"]),
            np.require(selections.starts, np.int64, ["C", "W"]),
            np.require(selections.items, np.int32, ["C", "W"]),
            np.require(selections.clicked, np.bool_, ["C", "W"]),
            np.require(item_offsets, np.int64, ["C", "W"]),
            kernel.params,
            out,
        )
        return ClickModel(out[:n], out[n:], self.stops)

    def from_selections(self, selections: Selections, m: int) -> NDArray[np.float64]:
        """Return the scores of one query's items, shape (m,)."""
        return self.fit(selections, np.array([0, m], np.int64)).scores


def longest_list(selections: Selections) -> int:
    """Return the length of the longest list shown, 1 at least."""
    return int(np.diff(selections.starts).max(initial=1))


def positions_of(selections: Selections) -> NDArray[np.int64]:
    """Return the position of each row, from 0, shape (P,)."""
    positions: NDArray[np.int64] = np.arange(len(selections.items))
    return positions - np.repeat(selections.starts[:-1], np.diff(selections.starts))


def rows_of(selections: Selections, item_offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the item of each row, numbered over all queries, and its position from 0, shape (P,) both."""
    first = np.repeat(item_offsets[:-1], selections.counts)
    return np.repeat(first, np.diff(selections.starts)) + selections.items, positions_of(selections)


def topmost(selections: Selections) -> NDArray[np.int64]:
    """Return the position of the topmost click of each selection, from 0, shape (n,); its length without a click."""
    lengths = np.diff(selections.starts)
    candidates = np.where(selections.clicked, positions_of(selections), np.repeat(lengths, lengths))
    return np.minimum.reduceat(candidates, selections.starts[:-1]) if len(lengths) else np.zeros(0, np.int64)


class ClickPopulation(Dataset):
    """A simulator of selections that knows how relevant its items are.

    `Dataset.scan` gives one log; `draw` as many sessions as are wanted.
    """

    table: ClassVar[str] = "selections"
    simulated: ClassVar[bool] = True

    @abstractmethod
    def truth(self) -> Queries:
        """Return the queries with the grades of their items; there may be no features."""

    @abstractmethod
    def draw(self, n: int, entropy: Sequence[int]) -> Selections:
        """Draw n sessions, of the items as `truth` has them.

        A longer draw begins with the sessions of a shorter one.

        Parameters
        ----------
        n : int
        entropy : sequence of int
            Non-negative integers that name the random stream.
        """
