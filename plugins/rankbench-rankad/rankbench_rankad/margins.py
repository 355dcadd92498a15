"""Margin losses L(t) that can be summed over all pairs of two sets without visiting the pairs.

Proposition 3 asks of a loss that it is convex, nowhere increasing, not negative, and
differentiable at 0 with ``L'(0) < 0``. All of these are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LOSSES", "Exponential", "Hinge", "MarginLoss", "TruncatedSquares"]

Floats = NDArray[np.float64]


class MarginLoss(ABC):
    """A loss of the margin ``t = g(x_i) - g(x_j)`` of a pair whose i should be above j."""

    @abstractmethod
    def value(self, t: Floats) -> Floats:
        """Return L(t), elementwise."""

    @abstractmethod
    def derivative(self, t: Floats) -> Floats:
        """Return L'(t), elementwise."""

    @abstractmethod
    def across(self, upper: Floats, lower: Floats) -> tuple[float, Floats, Floats]:
        """Sum over all pairs of an upper with a lower score.

        Parameters
        ----------
        upper, lower : ndarray of float64, shapes (a,) and (b,)
            Scores in increasing order.

        Returns
        -------
        total : float
            ``sum_ij L(upper_i - lower_j)``.
        by_upper, by_lower : ndarray of float64, shapes (a,) and (b,)
            Its derivatives in the scores.
        """


@dataclass(frozen=True)
class TruncatedSquares(MarginLoss):
    """A sum of truncated squares, ``L(t) = sum_k c_k max(0, b_k - t)^2``.

    The squared hinge is one of them, the hinge with a rounded corner the difference of
    two. The sum over pairs takes O((a + b) log(a + b)): which of the other set's scores
    are within a knot is one place in their order, and their sums are prefix sums.

    Attributes
    ----------
    pieces : tuple of (float, float)
        Coefficients c_k and knots b_k.
    """

    pieces: tuple[tuple[float, float], ...]

    def value(self, t: Floats) -> Floats:
        """Return L(t), elementwise."""
        return sum((c * np.square(np.maximum(b - t, 0.0)) for c, b in self.pieces), np.zeros_like(t))

    def derivative(self, t: Floats) -> Floats:
        """Return L'(t), elementwise."""
        return sum((-2.0 * c * np.maximum(b - t, 0.0) for c, b in self.pieces), np.zeros_like(t))

    def across(self, upper: Floats, lower: Floats) -> tuple[float, Floats, Floats]:
        """Sum over all pairs by prefix sums; see `MarginLoss.across`."""
        # Only differences count: near zero the squares below lose the fewest digits.
        shift = 0.5 * (float(upper.mean()) + float(lower.mean()))
        upper, lower = upper - shift, lower - shift
        up1, up2 = _prefix(upper), _prefix(upper * upper)
        low1 = _prefix(lower)
        total, by_upper, by_lower = 0.0, np.zeros_like(upper), np.zeros_like(lower)
        for c, b in self.pieces:
            near = np.searchsorted(upper, lower + b, side="left")
            reach = lower + b
            total += c * float(np.sum(near * reach * reach - 2.0 * reach * up1[near] + up2[near]))
            by_lower += 2.0 * c * (near * reach - up1[near])
            above = np.searchsorted(lower, upper - b, side="right")
            within = len(lower) - above
            by_upper -= 2.0 * c * (low1[-1] - low1[above] + within * (b - upper))
        return total, by_upper, by_lower


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """The paper's loss, ``L(t) = max(0, 1 - t)``; `rankbench_rankad.objective.minimize` lists its pairs."""

    def value(self, t: Floats) -> Floats:
        """Return L(t), elementwise."""
        return np.maximum(1.0 - t, 0.0)

    def derivative(self, t: Floats) -> Floats:
        """Return a slope of L at t, elementwise: 0 at the corner."""
        return np.where(t < 1.0, -1.0, 0.0)

    def across(self, upper: Floats, lower: Floats) -> tuple[float, Floats, Floats]:
        """Sum over all pairs by prefix sums; see `MarginLoss.across`."""
        near = np.searchsorted(upper, lower + 1.0, side="left")
        within = len(lower) - np.searchsorted(lower, upper - 1.0, side="right")
        total = float(np.sum(near * (lower + 1.0) - _prefix(upper)[near]))
        return total, -within.astype(np.float64), near.astype(np.float64)


@dataclass(frozen=True)
class Exponential(MarginLoss):
    """The loss of boosting, ``L(t) = exp(-t)``: its sum over pairs is a product of two sums."""

    def value(self, t: Floats) -> Floats:
        """Return L(t), elementwise."""
        value: Floats = np.exp(-t)
        return value

    def derivative(self, t: Floats) -> Floats:
        """Return L'(t), elementwise."""
        value: Floats = -np.exp(-t)
        return value

    def across(self, upper: Floats, lower: Floats) -> tuple[float, Floats, Floats]:
        """Sum over all pairs as a product; see `MarginLoss.across`."""
        shift = float(upper[0])
        falling, rising = np.exp(shift - upper), np.exp(lower - shift)
        left, right = float(falling.sum()), float(rising.sum())
        return left * right, -right * falling, left * rising


ROUNDED = 0.1
"""Width of the rounded corner of ``smooth-hinge``."""

LOSSES: dict[str, MarginLoss] = {
    "hinge": Hinge(),
    "squared-hinge": TruncatedSquares(((1.0, 1.0),)),
    "smooth-hinge": TruncatedSquares(((0.5 / ROUNDED, 1.0), (-0.5 / ROUNDED, 1.0 - ROUNDED))),
    "exponential": Exponential(),
}
"""The losses by name; ``smooth-hinge`` is the paper's hinge with a rounded corner, so that it has a gradient."""


def _prefix(values: Floats) -> Floats:
    """Return sums of the first 0, 1, ..., n values."""
    return np.concatenate([np.zeros(1), np.cumsum(values)])
