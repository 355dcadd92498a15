"""An aggregator that trains a linear support vector machine on rows of the matrix of shares.

References
----------
.. [RA14] A. Rajkumar and S. Agarwal. A statistical convergence perspective of algorithms for rank aggregation from
   pairwise data. ICML 2014, PMLR 32(1).
.. [LH74] C. L. Lawson and R. J. Hanson. Solving least squares problems. Prentice-Hall, 1974.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.interfaces.aggregator import CountAggregator
from rankbench.interfaces.pair_counts import PairCounts

_INSEPARABLE = 1e-6
"""A residual of the least distance problem that is rounding error: a separating vector would be a million long."""


class SVMRankAggregation(CountAggregator):
    r"""Scores that a linear support vector machine separates best: it learns which row of shares wins.

    .. math:: s = \hat P a, \qquad a = \operatorname{argmin}_{a \in R^m} |a|^2 \quad \text{such that} \quad
       a^\top (\hat P_i - \hat P_j) \ge 1 \quad \text{wherever} \quad \hat p_{ij} > \hat p_{ji}

    with :math:`\hat p_{ij}` the share of the judgments of i and j that prefer i, and :math:`\hat P_i` row i. The
    diagonal and pairs that nobody compared have 1/2. Each pair that leans is an example. If no hyperplane
    through the origin separates the examples (where preferences have a cycle, none does), the margin is soft:
    :math:`|a|^2 + c \sum \xi^2` is minimal, and :math:`\xi` is what an example lacks to 1. Scores are centered.

    Matrix Borda (`budgeted`) is a = (1, ..., 1). [RA14]_ prove that the machine finds the best order of pairwise
    disagreement wherever *some* a orders the items as their pairs lean, which they call generalized low noise.

    Prefer it for a few dozen items with many judgments of every pair, whose pairs lean the right way by amounts that no
    score explains. An example is a pair, and each has the same say however few votes it has.

    Notes
    -----
    Limit, all pairs compared, k to infinity: the same of the true probabilities. Multiplying all weights by a constant
    changes nothing. The exact solution comes from a problem of least distance [LH74]_ by nonnegative least squares,
    over all pairs at once.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada"] * 9 + ["bob"] * 6 + ["cy"] * 3,
    ...          "loser": ["bob"] * 3 + ["cy"] * 6 + ["ada"] + ["cy"] * 5 + ["ada"] + ["bob"] * 2}
    >>> rankbench.aggregate(votes, "svm-rank-aggregation").table.select("item", "score").rows()
    [('ada', 1.0493...), ('bob', -0.0246...), ('cy', -1.0246...)]
    """

    name: ClassVar[str] = "svm-rank-aggregation"
    source: ClassVar[str] = "[RA14]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = 40

    cost: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="c of the soft margin.")

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,)."""
        self.check_size(counts.m)
        low, high = counts.low, counts.high
        forward, backward = counts.wins()
        shares = np.full((counts.m, counts.m), 0.5)
        shares[low, high], shares[high, low] = forward / (forward + backward), backward / (forward + backward)
        leans = forward != backward
        first, second = np.where(forward > backward, [low, high], [high, low])[:, leans]
        examples = shares[first] - shares[second]
        vector = least_vector(examples)
        if not vector.any():
            # One more unknown for what each example lacks, in units in which its square costs 1.
            vector = least_vector(np.hstack([examples, np.eye(len(examples)) / np.sqrt(self.cost)]))
        scores = np.asarray(shares @ vector[: counts.m], dtype=np.float64)
        return np.asarray(scores - scores.mean())


def least_vector(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shortest vector a with ``rows @ a >= 1``, shape (d,); zeros if none exists, or without rows.

    Parameters
    ----------
    rows : ndarray of float64, shape (P, d)

    Notes
    -----
    [LH74]_ chapter 23, section 4: with r the residual of the nonnegative least squares fit of (0, ..., 0, 1) by the
    columns (rows, 1), a is ``-r[:d] / r[d]``, and r = 0 tells that no vector satisfies the constraints.
    """
    from scipy.optimize import nnls

    columns = np.vstack([rows.T, np.ones(len(rows))])
    wanted = np.append(np.zeros(rows.shape[1]), 1.0)
    residual = columns @ nnls(columns, wanted)[0] - wanted if len(rows) else wanted
    return residual[:-1] / -residual[-1] if np.linalg.norm(residual) > _INSEPARABLE else wanted[:-1]
