"""The interface of detectors: methods that learn from nominal points alone which points are unusual."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.errors import InputError
from rankbench_rankad.margins import Floats
from rankbench_rankad.pvalues import conformal_p_values, flagged, p_values

if TYPE_CHECKING:
    from rankbench.interfaces.method import Block, Fitted
    from rankbench.interfaces.queries import Queries

__all__ = ["Detection", "Detector", "Learned", "Trained"]


@dataclass(frozen=True, eq=False)
class Learned:
    """Scores that a detector learned from standardized points.

    Attributes
    ----------
    score : callable
        Points, shape (N, d), to scores, shape (N,); higher is denser.
    training : ndarray of float64, shape (n,)
        Scores of the points learned from, as fair as the detector can make them: one that
        looks at neighbors leaves the point itself out.
    optimality : float
        Distance from optimal at which the fit stopped; nan if nothing was optimized.
    info : dict of str to float
    """

    score: Callable[[Floats], Floats]
    training: Floats
    optimality: float = float("nan")
    info: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Detection:
    """Scores, p-values and verdicts of points, each of shape (N,)."""

    scores: Floats
    p_values: Floats
    anomalies: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Trained:
    """A detector that has seen its nominal points, with the scores that p-values compare to.

    Attributes
    ----------
    learned : Learned
    center, scale : ndarray of float64, shape (d,)
        Features are standardized by these.
    own : ndarray of float64, shape (n,)
        Scores of all nominal points that were given, in their order.
    held : ndarray of bool, shape (n,)
        True for points that were held out of learning, for calibration; perhaps none.
    nominal : ndarray of float64
        Increasing: the scores that p-values compare to, of the calibration points if there
        are any, else of the training points.
    """

    learned: Learned
    center: Floats
    scale: Floats
    own: Floats
    held: NDArray[np.bool_]
    nominal: Floats

    @property
    def conformal(self) -> bool:
        """True if p-values compare to points that were not learned from."""
        return bool(self.held.any())

    def score(self, points: Floats) -> Floats:
        """Return the score of each point, shape (N,); higher is denser.

        Raises
        ------
        InputError
            Points that are not finite numbers, or have not the d features of the nominal ones.
        """
        if points.ndim != 2 or points.shape[1] != len(self.center):
            raise InputError(f"points of shape {points.shape} do not have the {len(self.center)} features learned from")
        return self.learned.score((_finite(points) - self.center) / self.scale)

    def p_values(self, scores: Floats) -> Floats:
        """Return p-values of scores, shape (N,): eq. (3), or conformal ones after calibration."""
        return (conformal_p_values if self.conformal else p_values)(scores, self.nominal)

    def detect(self, points: Floats, alpha: float = 0.05) -> Detection:
        """Score new points and declare those with ``p <= alpha`` anomalies."""
        return self.judge(self.score(points), alpha)

    def judge(self, scores: Floats, alpha: float = 0.05) -> Detection:
        """Decide on points whose scores are known."""
        p = self.p_values(scores)
        return Detection(scores, p, flagged(p, alpha))

    def judge_own(self, alpha: float = 0.05) -> Detection:
        """Decide on the points that the detector was given, as if one did not know them to be nominal.

        A calibration point is compared to the others, not to itself.
        """
        p = self.p_values(self.own)
        # (1 + number of others not above) / (1 + number of others) is eq. (3) again.
        p[self.held] = p_values(self.own[self.held], self.nominal)
        return Detection(self.own, p, flagged(p, alpha))


class Detector(rankbench.Method):
    """A method that learns from nominal points; subclasses say how, in `learn`."""

    calibration: float = Field(
        default=0.0,
        ge=0,
        le=0.9,
        description="Share of the nominal points held out of learning, for p-values that keep their level.",
    )

    @abstractmethod
    def learn(self, points: Floats, generator: np.random.Generator) -> Learned:
        """Learn from standardized nominal points, shape (n, d).

        Raises
        ------
        InputError
            The points are too few, or otherwise not enough to learn from.
        """

    def train(self, points: Floats, generator: np.random.Generator) -> Trained:
        """Hold out the calibration share, standardize, learn, and score the nominal points.

        Parameters
        ----------
        points : ndarray of float64, shape (n, d)
            Nominal points.
        generator : numpy.random.Generator
            Of everything random.

        Raises
        ------
        InputError
            The points are not finite numbers, or not enough.
        """
        if points.ndim != 2 or not points.shape[1]:
            raise InputError(f"points must be a table of rows and at least one feature, not of shape {points.shape}")
        points = _finite(points)
        held = round(self.calibration * len(points))
        if self.calibration and not 0 < held < len(points):
            raise InputError(f"calibration={self.calibration:g} of {len(points)} points leaves one part empty")
        order = generator.permutation(len(points)) if held else np.arange(len(points))
        kept, calibrating = order[held:], order[:held]
        if len(kept) < 3:
            raise InputError(f"{len(kept)} nominal points are too few to learn from; three are the least")
        center, scale = points[kept].mean(axis=0), points[kept].std(axis=0)
        scale[scale == 0] = 1.0
        learned = self.learn((points[kept] - center) / scale, generator)
        own = np.empty(len(points))
        own[kept] = learned.training
        if held:
            own[calibrating] = learned.score((points[calibrating] - center) / scale)
        mask = np.zeros(len(points), dtype=np.bool_)
        mask[calibrating] = True
        nominal = np.sort(own[calibrating if held else kept])
        return Trained(learned, center, scale, own, mask, nominal)

    def fit(self, block: Block) -> Fitted:
        """Learn from the features of a block's items, whatever the judgments say: dense items first."""
        from rankbench.interfaces.method import Fitted

        trained = self.train(block.design.x.astype(np.float64), block.generator(self))

        def score(queries: Queries) -> Floats:
            return trained.score(queries.x.astype(np.float64))

        return Fitted(score, optimality=trained.learned.optimality, info=trained.learned.info)


def _finite(points: Floats) -> Floats:
    points = np.ascontiguousarray(points, dtype=np.float64)
    wrong = np.argwhere(~np.isfinite(points))
    if len(wrong):
        row, column = wrong[0]
        raise InputError("not a finite number", row=int(row) + 1, column=f"feature {int(column) + 1}")
    return points
