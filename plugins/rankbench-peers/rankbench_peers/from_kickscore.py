"""Scores of kickscore: a Gaussian process for each item.

References
----------
.. [MKG19] L. Maystre, V. Kristof and M. Grossglauser. Pairwise comparisons with flexible time-dynamics. KDD, 2019.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged, SpecError
from rankbench_peers.packages import package
from rankbench_peers.votes import one_by_one, runs

__all__ = ["Kickscore"]


class Kickscore(rankbench.ComparisonAggregator):
    r"""kickscore: scores that walk at random (a Wiener process for each item), fitted to all votes at once.

    The model is that of rankbench's `dynamic-bradley-terry`: a score has variance v at the first vote of its item and
    takes a step N(0, q) from each vote of the log to the next, equal votes in a row being of one time. The posterior
    is not: kickscore gives each item a normal distribution of its own, without covariances between items, by
    expectation propagation, and takes its mean; `dynamic-bradley-terry` keeps all covariances and takes the mode. The
    scores are those of an item's last vote.

    A vote of weight w is w votes. Ties need a ``margin``, by which one score must exceed the other to win (the
    package's ternary model); with 0 there are none (its binary model).
    """

    name: ClassVar[str] = "kickscore"
    source: ClassVar[str] = "[MKG19]_; kickscore.BinaryModel, kickscore.TernaryModel"
    packages: ClassVar[tuple[str, ...]] = ("kickscore",)
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    drift: float = Field(default=0.01, ge=0, le=100, allow_inf_nan=False, description="q, of one time to the next.")
    variance: float = Field(default=1.0, gt=0, le=1e4, allow_inf_nan=False, description="v, of items not judged yet.")
    link: Literal["logit", "probit"] = Field(default="logit", description="Of votes.")
    margin: float = Field(default=0.0, ge=0, le=100, allow_inf_nan=False, description="Lead of a win; 0: no ties.")
    iterations: int = Field(default=100, ge=1, le=100_000, description="At most; then it gives up.")
    tolerance: float = Field(default=1e-3, gt=0, lt=1, description="Change at which it stops.")

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the scores of the last votes, shape (m,)."""
        return self.from_comparisons(rankbench.Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons: rankbench.Comparisons, m: int) -> NDArray[np.float64]:
        """Return the scores of the last votes, in the order of the votes, shape (m,).

        Raises
        ------
        ContenderDiverged
            It did not converge, or a score is not finite.
        InputError
            A weight is no whole number.
        SpecError
            There are ties, and `margin` is 0; or kickscore is not installed.
        """
        peer = package("kickscore", "kickscore")
        whole = one_by_one(comparisons)
        ties = np.zeros(len(whole), np.bool_) if whole.ties is None else whole.ties
        if ties.any() and self.margin == 0:
            raise SpecError(f"aggregator {self.name!r} takes ties where a win takes a margin, as margin=0.1")
        starts = runs(whole)
        times = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).astype(np.float64).tolist()
        votes = list(zip(whole.winners.tolist(), whole.losers.tolist(), ties.tolist(), times, strict=True))
        began: dict[int, float] = {}
        for winner, loser, _, time in votes:
            began.setdefault(winner, time)
            began.setdefault(loser, time)
        model = peer.TernaryModel(self.margin, self.link) if self.margin else peer.BinaryModel(self.link)
        for i, time in began.items():
            model.add_item(str(i), peer.kernel.Wiener(self.drift, time, self.variance))
        try:
            for winner, loser, tie, time in votes:
                more = {"tie": tie} if self.margin else {}
                model.observe([str(winner)], [str(loser)], time, **more)
            converged = model.fit(tol=self.tolerance, max_iter=self.iterations)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise ContenderDiverged(f"kickscore: {error}") from error
        if not converged:
            raise ContenderDiverged(f"kickscore: it did not converge in {self.iterations} iterations")
        scores = np.zeros(m)
        for i in began:
            scores[i] = model.item[str(i)].scores[1][-1]
        if not np.isfinite(scores).all():
            raise ContenderDiverged("kickscore: a score is not finite")
        return scores
