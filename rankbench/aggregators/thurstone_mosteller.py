"""Thurstone-Mosteller least squares on the pairs that were observed, [DMJ13]_ eq. (22)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.pairs import log_odds, observed_pairs
from rankbench.component import Property
from rankbench.errors import InputError
from rankbench.kinds.aggregator import MOST_DENSE, Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["ThurstoneMosteller", "least_squares_scores"]


class ThurstoneMosteller(Aggregator):
    r"""Least-squares scores of the observed pairs' smoothed log-odds.

    .. math:: s = (D_\Omega - \Omega)^\dagger (\Omega \circ A) \mathbf{1}, \quad
       A_{ij} = \log \frac{w_{ij} + c}{w_{ji} + c}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j, and
    :math:`\Omega` the mask of the pairs with at least one judgment.

    The observed pairs need not connect the items. By the pseudo-inverse the scores of each
    connected component sum to zero, so the scores of different components are on no common
    scale: their order says nothing. An item without judgments scores 0.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27). Multiplying all weights by a constant makes the
    smoothing count for less.
    """

    name: ClassVar[str] = "thurstone-mosteller"
    source: ClassVar[str] = "[DMJ13]_ eq. (22)"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    smoothing: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="Added to both counts, c.")

    def aggregate(
        self,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Return the least-squares scores, shape (m,), by a dense m x m factorization."""
        pairs = observed_pairs(winners, losers, weights, m)
        low, high = pairs.low, pairs.high
        preferences, mask = np.zeros((m, m)), np.eye(m, dtype=bool)
        preferences[low, high] = log_odds(pairs, self.smoothing)
        preferences -= preferences.T
        mask[low, high] = mask[high, low] = True
        return least_squares_scores(preferences, mask)

    def kernel(self) -> Kernel:
        """Return the compiled form, O(k + m) memory: conjugate gradients on the Laplacian."""
        from rankbench.aggregators.kernels.thurstone_mosteller import thurstone_mosteller, work_size
        from rankbench.kernels.signatures import Kernel

        return Kernel(thurstone_mosteller, np.array([self.smoothing]), work_size)


def least_squares_scores(preferences: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    r"""Minimize (22), :math:`\frac14 \sum_{ij} \Omega_{ij} (A_{ij} - (x_i - x_j))^2`.

    Parameters
    ----------
    preferences : ndarray of float64, shape (m, m)
        A, skew-symmetric on the mask; entries off the mask are not looked at.
    mask : ndarray of bool, shape (m, m)
        Omega, symmetric: which pairs were observed. Its diagonal does not matter.

    Returns
    -------
    ndarray of float64, shape (m,)
        The minimizer of least norm: the scores of each connected component sum to zero.

    Raises
    ------
    InputError
        The shapes do not fit, the mask is not symmetric, or A is not skew-symmetric on it.
    """
    from scipy.linalg import solve
    from scipy.sparse.csgraph import connected_components

    m = len(preferences)
    if preferences.shape != (m, m) or mask.shape != (m, m):
        raise InputError(
            f"preferences {preferences.shape} and mask {mask.shape} must be square matrices of the same size"
        )
    if not np.array_equal(mask, mask.T):
        raise InputError("the mask is not symmetric; a pair is observed in both directions or in none")
    observed = np.where(mask, preferences, 0.0)
    if not np.allclose(observed, -observed.T):
        raise InputError("the preferences are not skew-symmetric on the mask; entry [i, j] must be -[j, i]")

    omega = mask.astype(np.float64)
    laplacian = np.diag(omega.sum(axis=1)) - omega
    _, component = connected_components(mask, directed=False)
    same = component[:, None] == component[None, :]
    # The null space holds what is constant on components. Adding the projector on it makes
    # the matrix invertible and leaves the solution alone: no rank has to be guessed.
    projector = same / same.sum(axis=1)
    scores: NDArray[np.float64] = solve(laplacian + projector, observed.sum(axis=1), assume_a="pos")
    return scores
