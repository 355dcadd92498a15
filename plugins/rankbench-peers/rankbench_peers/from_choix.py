"""Aggregators of choix: Luce's choice axiom, by spectral, minorization and Newton methods.

References
----------
.. [MG15] L. Maystre and M. Grossglauser. Fast and accurate inference of Plackett-Luce models. NeurIPS, 2015.
.. [H04] D. R. Hunter. MM algorithms for generalized Bradley-Terry models. Annals of Statistics 32(1), 2004.
.. [NOS12] S. Negahban, S. Oh and D. Shah. Iterative ranking from pair-wise comparisons. NeurIPS, 2012.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench_peers.packages import package
from rankbench_peers.votes import listed, wins

__all__ = ["ChoixIlsr", "ChoixLsr", "ChoixMm", "ChoixOpt", "ChoixPeer", "ChoixRankCentrality"]


class ChoixPeer(rankbench.ComparisonAggregator):
    """Base of the aggregators of choix: scores are log-odds, as choix gives them.

    choix knows no ties: one is half a win each way. Where it takes votes one by one, they
    are listed as often as needed, and ``alpha``, which is on the scale of votes, is divided
    by the weight of each, so that it means the same.

    choix's own default is ``alpha=0``, which has a solution only where every item is
    connected to every other by a chain of wins; without one the contender has diverged.
    """

    packages: ClassVar[tuple[str, ...]] = ("choix",)
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    alpha: float = Field(default=0.01, ge=0, allow_inf_nan=False, description="Regularization, as choix has it.")

    @abstractmethod
    def solve(self, choix: Any, counts: NDArray[np.float64]) -> Any:
        """Call choix on the weights of wins, shape (m, m); return the parameters."""

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return choix's parameters, shape (m,).

        Raises
        ------
        ContenderDiverged
            choix says that there is no solution, or gives one that is not finite.
        InputError
            choix takes votes one by one, and the weights cannot be told in votes.
        SpecError
            choix is not installed.
        """
        choix = package("choix", "choix")
        try:
            # Without regularization an item that never wins has a score of -inf: that is the answer.
            with np.errstate(all="ignore"):
                found = self.solve(choix, wins(winners, losers, weights, m))
        except (RuntimeError, ValueError, np.linalg.LinAlgError) as error:
            raise ContenderDiverged(f"choix: {error}") from error
        scores = np.array(found, dtype=np.float64)
        if not np.isfinite(scores).all():
            raise ContenderDiverged("choix: a parameter is not finite; a larger alpha may help")
        return scores


class ChoixLsr(ChoixPeer):
    """choix's Luce spectral ranking: one stationary distribution."""

    name: ClassVar[str] = "choix-lsr"
    source: ClassVar[str] = "[MG15]_; choix.lsr_pairwise_dense"

    def solve(self, choix: Any, counts: NDArray[np.float64]) -> Any:
        """Call `choix.lsr_pairwise_dense`."""
        return choix.lsr_pairwise_dense(counts, alpha=self.alpha)


class ChoixIlsr(ChoixPeer):
    """choix's iterative Luce spectral ranking: Bradley-Terry by maximum likelihood, for ``alpha=0``."""

    name: ClassVar[str] = "choix-ilsr"
    source: ClassVar[str] = "[MG15]_; choix.ilsr_pairwise_dense"

    iterations: int = Field(default=100, ge=1, le=1_000_000, description="Iterations at most; then it gives up.")
    tolerance: float = Field(default=1e-8, gt=0, lt=1, description="L1 change an item at which it stops.")

    def solve(self, choix: Any, counts: NDArray[np.float64]) -> Any:
        """Call `choix.ilsr_pairwise_dense`."""
        return choix.ilsr_pairwise_dense(counts, alpha=self.alpha, max_iter=self.iterations, tol=self.tolerance)


class ChoixRankCentrality(ChoixPeer):
    """choix's Rank Centrality: the stationary distribution of a walk by win ratios."""

    name: ClassVar[str] = "choix-rank-centrality"
    source: ClassVar[str] = "[NOS12]_; choix.rank_centrality"

    def solve(self, choix: Any, counts: NDArray[np.float64]) -> Any:
        """Call `choix.rank_centrality`."""
        votes, weight = listed(counts)
        return choix.rank_centrality(len(counts), votes, alpha=self.alpha / weight)


class ChoixMm(ChoixPeer):
    """choix's minorization-maximization: Bradley-Terry by maximum likelihood, for ``alpha=0``."""

    name: ClassVar[str] = "choix-mm"
    source: ClassVar[str] = "[H04]_; choix.mm_pairwise"

    iterations: int = Field(default=10_000, ge=1, le=1_000_000, description="Iterations at most; then it gives up.")
    tolerance: float = Field(default=1e-8, gt=0, lt=1, description="L1 change an item at which it stops.")

    def solve(self, choix: Any, counts: NDArray[np.float64]) -> Any:
        """Call `choix.mm_pairwise`."""
        votes, weight = listed(counts)
        return choix.mm_pairwise(
            len(counts), votes, alpha=self.alpha / weight, max_iter=self.iterations, tol=self.tolerance
        )


class ChoixOpt(ChoixPeer):
    """choix's penalized likelihood by SciPy: Bradley-Terry with the penalty ``alpha |s|^2``.

    That is twice the `ridge` of rankbench's `bradley-terry`: ``alpha=0.5`` is ``ridge=1``.
    """

    name: ClassVar[str] = "choix-opt"
    source: ClassVar[str] = "choix.opt_pairwise"
    # It stops at a tolerance of its own, on the way to which the items' order matters.
    properties: ClassVar[frozenset[Property]] = frozenset()

    alpha: float = Field(default=1e-6, ge=0, allow_inf_nan=False, description="Penalty, as choix has it.")
    optimizer: Literal["Newton-CG", "BFGS"] = Field(default="Newton-CG", description="SciPy's.")
    tolerance: float = Field(default=1e-5, gt=0, lt=1, description="xtol of Newton-CG, gtol of BFGS.")

    def solve(self, choix: Any, counts: NDArray[np.float64]) -> Any:
        """Call `choix.opt_pairwise`."""
        votes, weight = listed(counts)
        return choix.opt_pairwise(
            len(counts), votes, alpha=self.alpha / weight, method=self.optimizer, tol=self.tolerance
        )
