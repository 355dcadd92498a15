"""Populations of click sessions whose truth is known: what aggregators of selections are judged on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rankbench.kinds.dataset import Dataset

if TYPE_CHECKING:
    from rankbench.kinds.queries import Queries, Selections

__all__ = ["ClickPopulation"]


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

        The first sessions of a longer draw are those of a shorter one.

        Parameters
        ----------
        n : int
        entropy : sequence of int
            Non-negative integers that name the random stream.
        """
