"""Aggregators of labels: graded relevance as scores or as pairs, and the limit of mean log-odds under BTL."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Property, StructureKind
from rankbench.interfaces.aggregator import LabelAggregator


class LimitScores(LabelAggregator):
    r"""Full information: the limit of the mean log-odds under BTL, from the labels.

    .. math:: s(i) = \frac{1}{m-1} \sum_{j \ne i}
       [\log(1 + e^{r_i - r_j}) - \log(1 + e^{r_j - r_i})]
       = \frac{1}{m-1} \sum_{j \ne i} (r_i - r_j) = \frac{m r_i - \sum_j r_j}{m - 1}

    since :math:`\log(1 + e^x) - \log(1 + e^{-x}) = x`. The scores sum to zero. No
    judgment is looked at: this is the reference that no method on judgments can have.

    Prefer it as the reference in simulations, where the truth is known.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "limit-scores").from_labels(np.array([2.0, 1.0, 0.0]))
    array([ 1.5,  0. , -1.5])
    """

    name: ClassVar[str] = "limit-scores"
    source: ClassVar[str] = "[DMJ13]_ eq. (27)"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "shift-invariant"})

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the limit scores of m items, shape (m,); 0 for one alone, the empty sum."""
        m = len(labels)
        above = labels - labels.min()  # any equal labels make zeros
        return np.asarray((m * above - above.sum()) / max(m - 1, 1), np.float64)


class LabelScores(LabelAggregator):
    """The labels themselves, as scores: one judgment of a query grades all its items.

    Prefer it where people graded items and methods learn from the grades, as under `graded`.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "labels").from_labels(np.array([2.0, 1.0, 0.0]))
    array([2., 1., 0.])
    """

    name: ClassVar[str] = "labels"
    source: ClassVar[str] = "[DMJ13]_ section 2: a structure of one judgment"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a copy of the labels, shape (m,)."""
        return np.array(labels, np.float64)


class LabelPairs(LabelAggregator):
    r"""The graph of all pairs with different labels, each with the same weight; the weights sum to one.

    .. math:: A_{ij} = \frac{[r_i > r_j]}{\sum_{k,l} [r_k > r_l]}

    A query with many items weighs no more than a query with few. Sizes of differences of labels do not matter.

    Prefer it to learn from grades with a pairwise surrogate.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "label-pairs").from_labels(np.array([2.0, 0.0, 0.0]))
    array([[0. , 0.5, 0.5],
           [0. , 0. , 0. ],
           [0. , 0. , 0. ]])
    """

    name: ClassVar[str] = "label-pairs"
    source: ClassVar[str] = "[DMJ13]_ section 2; R. Herbrich, T. Graepel and K. Obermayer 2000"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "shift-invariant"})
    structure: ClassVar[StructureKind] = "edges"

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the adjacency matrix, shape (m, m); zeros for equal labels."""
        above = (labels[:, None] > labels).astype(np.float64)
        return above / max(float(above.sum()), 1.0)
