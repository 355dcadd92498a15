"""The interface of losses L(alpha, s): what contenders are judged by."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Component, StructureKind
from rankbench.kinds.bayes import BayesRisk, enumerated, weights_of
from rankbench.returned import Promise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["Loss"]


class Loss(Component):
    """A loss of scores alpha against one query's structure.

    Ties in alpha are averaged over unless the loss's source says otherwise.

    Attributes
    ----------
    structure : StructureKind
        What it is judged against: ``scores``, shape (m,), or ``edges``, an adjacency
        matrix of shape (m, m).
    direction : {"minimize", "maximize"}
    range : tuple of float
        Smallest and largest possible value whatever the parameters, ``inf`` where
        unbounded; `bounds` narrows it for one set of parameters.
    """

    kind: ClassVar[str] = "loss"
    compiled_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"kernel": ("value",), "ranked_kernel": ("value",)}
    promises: ClassVar[Mapping[str, Promise]] = {"value": "number", "expected": "number"}
    structure: ClassVar[StructureKind] = "scores"
    direction: ClassVar[Literal["minimize", "maximize"]] = "minimize"
    range: ClassVar[tuple[float, float]]

    @abstractmethod
    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query's scores alpha, shape (m,); both arrays may be read-only."""

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and largest possible value with these parameters."""
        return self.range

    def expected(
        self, alpha: NDArray[np.float64], structures: NDArray[np.float64], probabilities: NDArray[np.float64]
    ) -> float:
        """Return the mean loss of alpha over S structures, with probabilities of shape (S,): [DMJ13]_ (2)."""
        values = [self.value(alpha, structure) for structure in structures]
        return float(np.dot(probabilities, values))

    def bayes_risk(
        self, structures: NDArray[np.float64], probabilities: NDArray[np.float64] | None = None
    ) -> BayesRisk:
        """Return the least expected loss of one query, whatever alpha, where the law of s is known.

        What a contender loses beyond it is its excess risk. Unless a loss knows better, all
        orders are tried, of at most 8 items; where ties are averaged over, none of them is
        better than every order.

        Parameters
        ----------
        structures : ndarray of float64, shape (S, m) or (S, m, m)
            The values that s takes; of a single one ``structure[None]``.
        probabilities : ndarray of float64, shape (S,), optional
            Of these values; equal ones unless given.

        Raises
        ------
        InputError
            Shapes that do not fit, no finite numbers, no probabilities; or too many items.
        """
        weights = weights_of(structures, probabilities, 1 if self.structure == "scores" else 2)
        sign = 1.0 if self.direction == "minimize" else -1.0
        found = enumerated(lambda alpha: sign * self.expected(alpha, structures, weights), structures.shape[1])
        return BayesRisk(sign * found.lower, sign * found.upper, found.alpha)

    def kernel(self) -> Kernel | None:
        """Return the compiled form (`LOSS` or `MATRIX_LOSS`), or None: interpreted."""
        return None

    def ranked_kernel(self) -> tuple[Kernel, int] | None:
        """Return a compiled form (`RANKED`) and its cutoff, if the loss looks at the top 16 at most, or None.

        `rankbench.losses.evaluate.evaluate_all` computes several of them with one sort.
        """
        return None
