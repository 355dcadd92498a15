"""The interface of aggregators: structure functions s(Y_1, ..., Y_k), [DMJ13]_ section 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Component, JudgmentKind, StructureKind
from rankbench.errors import SpecError
from rankbench.kinds.zeros import GUARDS
from rankbench.returned import Promise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Comparisons, Orders, Selections

__all__ = ["MOST_DENSE", "Aggregator"]

MOST_DENSE = 4000
"""Most items of those that fill a matrix of all pairs: 128 MB each."""


class Aggregator(Component):
    """A structure function: k judgments of one query's m items to one structure.

    Judgments of weight 0 are left out before `aggregate`, `from_comparisons` and `from_orders` of any class are
    called; where all weights are 0 there is an `InputError`. Compiled forms are given positive weights alone.

    Attributes
    ----------
    judgments : JudgmentKind
        What it aggregates: ``comparisons`` (by `aggregate`, the only ones that an order-k
        U-statistic of the runner is made of, and by `from_comparisons`, which takes ties; ballots
        too, as the comparisons that they imply), ``selections`` (`from_selections`) or
        ``orders`` (`from_orders`).
    structure : StructureKind
        ``scores``: `aggregate` returns shape (m,). ``edges``: it returns the weighted
        adjacency matrix, shape (m, m), entry [i, j] the preference for i over j.
    needs_truth : bool
        Whether the structure is made from the labels instead of the judgments
        (`limit-scores`); then `from_labels` is called, and order k means nothing.
    most_items : int or None
        Most items that it can rank, for those that fill an m x m matrix; None: no limit.
    """

    kind: ClassVar[str] = "aggregator"
    compiled_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"kernel": ("aggregate",)}
    promises: ClassVar[Mapping[str, Promise]] = dict.fromkeys(
        ("aggregate", "from_comparisons", "from_selections", "from_orders", "from_labels"), "array"
    )
    judgments: ClassVar[JudgmentKind] = "comparisons"
    structure: ClassVar[StructureKind] = "scores"
    needs_truth: ClassVar[bool] = False
    most_items: ClassVar[int | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Put the rule about weights of 0 before the class's own methods, a plugin's too."""
        super().__pydantic_init_subclass__(**kwargs)
        for method, guard in GUARDS.items():
            if method in vars(cls):
                setattr(cls, method, guard(vars(cls)[method]))

    def check_size(self, m: int) -> None:
        """Refuse more items than `most_items`, before anything is allocated.

        Raises
        ------
        SpecError
            There are more.
        """
        if self.most_items is not None and m > self.most_items:
            raise SpecError(
                f"{self.name!r} needs an m x m matrix, and m = {m:,} items are too many (at most {self.most_items:,}); "
                "take win-rate or borda"
            )

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Aggregate k comparisons, arrays of shape (k,), k >= 1, over m items."""
        raise TypeError(f"aggregator {self.name!r} works on {self.judgments}, not on comparisons")

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Aggregate the comparisons of one query, at least one, over its m items.

        A tie is half a win each way, unless the aggregator has a better idea.
        """
        whole = comparisons.without_ties()
        return self.aggregate(whole.winners, whole.losers, whole.weights, m)

    def from_selections(self, selections: Selections, m: int) -> NDArray[np.float64]:
        """Aggregate the selections of one query over its m items."""
        raise TypeError(f"aggregator {self.name!r} works on {self.judgments}, not on selections")

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Aggregate the ballots of one query, at least one, over its m items.

        Aggregators of comparisons get those that the ballots imply
        (`rankbench.kinds.ballots.implied_comparisons`).

        Raises
        ------
        InputError
            The ballots say nothing: none of them ranks two items.
        TypeError
            The aggregator works on selections.
        """
        if self.judgments != "comparisons":
            raise TypeError(f"aggregator {self.name!r} works on {self.judgments}, not on orders")
        from rankbench.kinds.ballots import implied_comparisons

        return self.from_comparisons(implied_comparisons(orders, m), m)

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Make the structure from the relevance labels, shape (m,); see `needs_truth`."""
        raise TypeError(f"aggregator {self.name!r} works on judgments, not on labels")

    def kernel(self) -> Kernel | None:
        """Return the compiled form (`AGGREGATE` or `EDGES`), or None: interpreted."""
        return None
