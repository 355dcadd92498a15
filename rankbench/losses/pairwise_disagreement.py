"""Losses of preference graphs: the weights that a ranking reverses, or whether it reverses any."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property, StructureKind
from rankbench.errors import InputError
from rankbench.interfaces.exact import BayesRisk, weights_of
from rankbench.interfaces.surrogate import Loss
from rankbench.kernels import Kernel


class PairwiseDisagreement(Loss):
    r"""Sum the weights of the preferences that alpha orders the other way.

    .. math:: L(\alpha, Y) = \sum_{i<j} Y_{ij} 1(\alpha_i \leq \alpha_j)
                           + \sum_{i>j} Y_{ij} 1(\alpha_i < \alpha_j)

    Y_ij >= 0 is the weight of "i over j"; the diagonal does not count.

    Prefer it for preferences without grades. Its other name is pairwise error rate, with ``normalize=true``.

    Notes
    -----
    The two sums differ so that a tie is not charged twice: ``alpha_i = alpha_j`` with
    i < j is charged Y_ij and not Y_ji, as if the item that stands later in the file had
    won. A tie is thus charged in one direction only, neither averaged over nor in favor
    of the contender, and with ties the value depends on the numbering of the items. This
    is the paper's convention, kept as it is.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "pairwise-disagreement")
    >>> alpha, graph = np.array([3.0, 2.0, 1.0]), np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    >>> loss.value(alpha, graph)
    3.0
    """

    name: ClassVar[str] = "pairwise-disagreement"
    source: ClassVar[str] = "[DMJ13]_ eq. (10)"
    properties: ClassVar[frozenset[Property]] = frozenset({"shift-invariant"})
    structure: ClassVar[StructureKind] = "edges"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    normalize: bool = Field(
        default=False, description="Divide by the sum of the weights: the share of preferences ordered wrongly."
    )

    def bounds(self) -> tuple[float, float]:
        """Return [0, 1] if normalized; else the weights have no bound."""
        return (0.0, 1.0) if self.normalize else self.range

    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query; nan if alpha holds a nan, 0 without preferences.

        Parameters
        ----------
        alpha : ndarray of float64, shape (m,)
        structure : ndarray of float64, shape (m, m)
            Adjacency matrix, entry [i, j] >= 0 the weight of i over j.
        """
        if np.isnan(alpha).any():
            return math.nan
        own, other = alpha[:, None], alpha[None, :]
        value = float(np.triu(structure, 1)[own <= other].sum() + np.tril(structure, -1)[own < other].sum())
        if not self.normalize:
            return value
        weight = float(structure.sum() - np.trace(structure))
        return value / weight if weight > 0 else 0.0

    def bayes_risk(
        self, structures: NDArray[np.float64], probabilities: NDArray[np.float64] | None = None
    ) -> BayesRisk:
        """Return the Bayes risk: as the loss is linear in Y, that of the mean graph.

        Exact where no more than 14 items share cycles of the mean difference graph, and so
        wherever it has no cycles, as under BTL (26); else between bounds. It is Kemeny's
        problem, NP-hard in general ([DMJ13]_ Proposition 3).
        """
        weights = weights_of(structures, probabilities, 2)
        if (structures < 0).any():
            raise InputError("weights of preferences must be at least 0")
        graphs = structures * (1.0 - np.eye(structures.shape[1]))
        if self.normalize:
            totals = graphs.sum(axis=(1, 2))
            graphs = graphs / np.where(totals > 0, totals, 1.0)[:, None, None]
        from rankbench.kernels.best_order import best_order

        order, gap = best_order(np.einsum("s,sij->ij", weights, graphs))
        alpha = np.empty(len(order))
        alpha[order] = np.arange(len(order), 0, -1)
        upper = self.expected(alpha, structures, weights)
        return BayesRisk(max(upper - gap, 0.0), upper, alpha)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.losses.kernels.rankings import disagreement

        return Kernel(disagreement, np.array([float(self.normalize)]), lambda m: 2 * m)


class WholeOrder(Loss):
    r"""Charge 1 unless alpha obeys every preference strictly.

    .. math:: L(\alpha, Y) = 1\bigl(\alpha_i \leq \alpha_j \text{ for some } Y_{ij} > 0,\ i \neq j\bigr)

    Y_ij > 0 says "i over j"; weights and the diagonal do not count. A tie does not obey a preference, and a graph with
    a cycle always costs 1.

    Prefer it where one error spoils the whole order, as in a schedule. Otherwise take `pairwise-disagreement`: it is a
    mean over preferences, and tells more of few queries.

    Notes
    -----
    The risk is a probability, of an order that some graph contradicts. It is not a function of the mean graph, unlike
    (10): ``certify`` rejects the loss. The Bayes risk takes all orders, of at most 8 items.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "whole-order")
    >>> graph = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    >>> loss.value(np.array([3.0, 2.0, 1.0]), graph), loss.value(np.array([3.0, 1.0, 2.0]), graph)
    (0.0, 1.0)
    """

    name: ClassVar[str] = "whole-order"
    source: ClassVar[str] = "[DMJ10]_ section 3.1"
    properties: ClassVar[frozenset[Property]] = frozenset({"shift-invariant"})
    structure: ClassVar[StructureKind] = "edges"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query, 0 or 1; nan if alpha holds a nan.

        Parameters
        ----------
        alpha : ndarray of float64, shape (m,)
        structure : ndarray of float64, shape (m, m)
            Adjacency matrix, entry [i, j] > 0 where i is preferred to j.
        """
        if np.isnan(alpha).any():
            return math.nan
        above, below = np.nonzero(structure > 0)
        return float(((above != below) & (alpha[above] <= alpha[below])).any())
