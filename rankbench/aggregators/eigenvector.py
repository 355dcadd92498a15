"""Saaty's principal eigenvector method.

References
----------
.. [S77] T. L. Saaty. A scaling method for priorities in hierarchical structures. Journal of
   Mathematical Psychology 15(3), 1977.
.. [S03] T. L. Saaty. Decision-making with the AHP: why is the principal eigenvector
   necessary. European Journal of Operational Research 145, 2003.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.pair_sums import log_odds
from rankbench.aggregators.priorities import Scale, on_scale
from rankbench.component import Property
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["Eigenvector"]

_POLISH = 50


class Eigenvector(Aggregator):
    r"""Perron vector of the reciprocal matrix of smoothed ratios.

    .. math:: A s = \lambda_{\max} s, \quad s > 0, \quad
       A_{ij} = \frac{w_{ij} + c}{w_{ji} + c} = \frac{1}{A_{ji}}, \quad A_{ii} = 1

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A pair that was
    not observed has ratio 1, as the formula says: it counts as undecided. So the matrix is
    positive, and the vector exists and is unique whatever was observed. If the ratios are
    consistent, :math:`A_{ij} A_{jl} = A_{il}`, then :math:`s_i / s_j = A_{ij}`.

    With ``scale=ratio`` the scores are positive, with mean 1 (Saaty's sum to 1: divide by m);
    with ``scale=log`` they are the logarithms, which sum to zero. An item without judgments
    scores as one that is tied with everybody, which is not exactly 1 in general.
    Reversing every judgment does *not* invert the scores beyond three items, a known flaw
    of the method that `geometric-mean` does not have.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity, with ``counts``: proportional to
    :math:`e^{r_i}`; on the log scale :math:`r_i - \bar r`. With ``joint`` frequencies the
    smoothing never fades. Multiplying all weights by a constant leaves ``joint`` as it is; for
    ``counts`` it makes the smoothing count for less.
    """

    name: ClassVar[str] = "eigenvector"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, principal eigenvector method; [S77]_, [S03]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    smoothing: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="Added to both sides, c.")
    frequencies: Literal["counts", "joint"] = Field(
        default="counts", description="Whether c is added to counts or to frequencies among the k judgments."
    )
    scale: Scale = Field(default="ratio", description="Positive scores with mean 1, or their logarithms.")

    def score_unit(self) -> str:
        """Return what the scores are in, with this scale."""
        return "logarithms of strength" if self.scale == "log" else "strength, 1 on average"

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by a dense eigenvalue decomposition."""
        m = counts.m
        self.check_size(m)
        odds = log_odds(counts, self.smoothing, joint=self.frequencies == "joint")
        ratios = np.ones((m, m))
        ratios[counts.low, counts.high], ratios[counts.high, counts.low] = np.exp(odds), np.exp(-odds)
        values, vectors = np.linalg.eig(ratios)
        vector = np.abs(vectors[:, np.argmax(values.real)])
        # The decomposition is accurate relative to the largest entry only. Sums of positive
        # terms make the small ones as accurate as the large.
        for _ in range(_POLISH):
            vector = ratios @ vector
            vector /= vector.max()
        return on_scale(np.log(vector), self.scale)

    def kernel(self) -> Kernel:
        """Return the compiled form, by power iteration; its scratch memory is the matrix."""
        from rankbench.aggregators.kernels.eigenvector import eigenvector
        from rankbench.aggregators.kernels.pair_table import table_size
        from rankbench.kernels.signatures import Kernel

        joint, log = float(self.frequencies == "joint"), float(self.scale == "log")
        return Kernel(eigenvector, np.array([self.smoothing, joint, log]), table_size)
