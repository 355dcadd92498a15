"""The interface of methods: whole contenders behind one face, ``fit(block) -> scores``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Component
from rankbench.kinds.cell import Curve
from rankbench.kinds.model import Model
from rankbench.kinds.queries import Comparisons, Queries

__all__ = ["Block", "Fitted", "Method"]


@dataclass(frozen=True)
class Block:
    """One matched draw, as contenders see it: nothing held out is in it.

    Attributes
    ----------
    design : Queries
        The queries that were judged. Their labels are the truth: only contenders that declare
        `Method.needs_truth` get them.
    comparisons : Comparisons
        The n judgments of the block.
    n, repetition : int
    entropy : tuple of int
        Seeds every draw of the block, see `generator`.
    """

    design: Queries
    comparisons: Comparisons
    n: int
    repetition: int
    entropy: tuple[int, ...]

    def generator(self, contender: Component) -> np.random.Generator:
        """Return a random generator of the contender's own, the same for every run."""
        own = int.from_bytes(bytes.fromhex(contender.digest())[:8], "little")
        return np.random.default_rng(np.random.SeedSequence([*self.entropy, own]))


@dataclass(frozen=True)
class Fitted:
    """What a method learned from a block.

    Attributes
    ----------
    score : callable
        Queries to one score an item, shape (N,); higher is better. The queries have labels only if the method
        declares `Method.needs_truth`.
    model, theta : Model and ndarray of float64, shape (d',), optional
        Of a linear contender, whose scores are then computed together with the others'.
    optimality : float
        How far from optimal the fit stopped (gradient norm, duality gap); nan if the
        method optimizes nothing.
    converged : bool
    info : dict of str to float
        Anything worth a column in the results.
    curves : dict of str to Curve
        What was recorded along the way, by metric.
    """

    score: Callable[[Queries], NDArray[np.float64]]
    model: Model | None = None
    theta: NDArray[np.float64] | None = None
    optimality: float = float("nan")
    converged: bool = True
    info: dict[str, float] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)


class Method(Component):
    """A whole contender.

    Attributes
    ----------
    needs_features : bool
        Whether it can only be run on items with features.
    needs_truth : bool
        Whether it looks at the relevance labels that contenders are judged by. The labels are hidden from methods
        that do not declare it. A method that does is an oracle: a yardstick, no competitor.
    """

    kind: ClassVar[str] = "method"
    needs_features: ClassVar[bool] = True
    needs_truth: ClassVar[bool] = False

    @abstractmethod
    def fit(self, block: Block) -> Fitted:
        """Learn from a block.

        Raises
        ------
        ContenderDiverged
            The optimization left the finite numbers; the cell becomes a row that says so.
        """
