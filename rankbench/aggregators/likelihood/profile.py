r"""Profile penalized likelihood intervals of Bradley-Terry scores with Firth's penalty.

The log-likelihood with Firth's penalty, :math:`\ell^*(s) = \ell(s) + \tfrac12 \log \det I(s)`, falls much slower on one
side of its maximum than on the other where an item has few wins, or few losses. The interval of a score holds the
values that votes do not reject by likelihood ratio,

.. math:: \{ v : 2 \ell^*(\hat s) - 2 \max_{s_i - \bar s = v} \ell^*(s) \le z^2 \}

with the mean over items of the connected component for the reference [HS02]_. Both ends are finite for all votes:
the log determinant falls, too, as a score runs away. Each end is found directly, by the Newton steps of [VM88]_ with
the information in place of the Hessian, as in R's package logistf.

References
----------
.. [HS02] G. Heinze and M. Schemper. A solution to the problem of separation in logistic regression. Statistics in
   Medicine 21(16), 2002.
.. [VM88] D. J. Venzon and S. H. Moolgavkar. A method for computing profile-likelihood-based confidence intervals.
   Applied Statistics 37(1), 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.pair_counts import PairCounts

_STEPS = 100

_CLOSE = 1e-5
"""The last step changes no score by more; each step leaves a third of the error, or less."""

_FAR = 2.0
"""Most that a step changes a score by: farther away the information is another one."""


def profile_ends(
    counts: PairCounts,
    scores: NDArray[np.float64],
    items: Sequence[int],
    level: float,
    known: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    r"""Return the ends of profile penalized likelihood intervals, shape (k, 2); nan where steps do not come to rest.

    Ties are half wins, which vary less than whole ones: :math:`z^2` is multiplied by the dispersion
    :math:`\sum (y - p)^2 / \sum p (1 - p)` over all votes where there are ties, as in a quasi-likelihood.
    O(m^3) a step, some six steps an end.

    Parameters
    ----------
    counts : PairCounts
        Votes of weight 1.
    scores : ndarray of float64, shape (m,)
        The maximum: see `rankbench.aggregators.likelihood.davidson_firth.firth_bradley_terry`.
    items : sequence of int
        k items that someone judged.
    level : float, in (0, 1)
    known : ndarray of bool, shape (m,), optional
        Items whose mean score is the reference; all by default.
    """
    from scipy.special import ndtri

    if not len(items):
        return np.empty((0, 2))
    found = _Penalized(counts, np.ones(counts.m, np.bool_) if known is None else known)
    start = found.at(scores)
    least = start.value - float(ndtri((1 + level) / 2)) ** 2 / 2 * found.dispersion(counts, scores)
    ends = [[found.end(scores, start, item, least, side) for side in (-1.0, 1.0)] for item in items]
    return np.array(ends).reshape(-1, 2)


class _Place(NamedTuple):
    """Value and gradient, (m,), at some scores, and the inverse information, (m, m), with one score held at 0."""

    value: float
    slope: NDArray[np.float64]
    inverse: NDArray[np.float64]


class _Penalized:
    """The log-likelihood of counts with Firth's penalty."""

    def __init__(self, counts: PairCounts, known: NDArray[np.bool_]) -> None:
        self.known = known
        self.graph = Laplacian(counts.starts, counts.high, 0.0, counts.connected)
        self.forward, self.backward = counts.wins()
        self.judged = self.forward + self.backward

    def at(self, scores: NDArray[np.float64]) -> _Place:
        from scipy.special import expit

        graph = self.graph
        lead = scores[graph.low] - scores[graph.high]
        p, q = expit(lead), expit(-lead)
        edge = self.judged * p * q
        inverse, determinant = graph.inverse_and_determinant(edge)
        half = edge * graph.distances(inverse) / 2
        slope = graph.item_sums((self.forward + half) * q - (self.backward + half) * p)
        value = -float(self.forward @ np.logaddexp(0, -lead) + self.backward @ np.logaddexp(0, lead))
        return _Place(value + determinant / 2, slope, inverse)

    def dispersion(self, counts: PairCounts, scores: NDArray[np.float64]) -> float:
        """Return the ratio of the variance of outcomes to that of wins and losses alone; 1 without ties."""
        from scipy.special import expit

        if not counts.ties.any():
            return 1.0
        p = expit(scores[self.graph.low] - scores[self.graph.high])
        squares = counts.forward * (1 - p) ** 2 + counts.backward * p**2 + counts.ties * (0.5 - p) ** 2
        return float(squares.sum() / (self.judged * p * (1 - p)).sum())

    def end(self, scores: NDArray[np.float64], place: _Place, item: int, least: float, side: float) -> float:
        """Return the lower (`side` -1) or the upper end of the interval of an item's score; nan: none was found."""
        trial, centered = scores, self.graph.balanced
        here = self.graph.scales.scale_of == self.graph.scales.scale_of[item]
        beside = here & self.known

        def reference(change: NDArray[np.float64]) -> float:
            """Return the mean change of the known items; changes of all items of a scale sum to zero."""
            return 0.0 if (beside == here).all() else float(change[beside].mean())

        own = np.zeros(len(scores))
        own[beside] = -1 / beside.sum()
        own[item] += 1.0
        length, last = 1.0, np.zeros(len(scores))
        try:
            for _ in range(_STEPS):
                ahead, toward = centered(place.inverse @ place.slope), centered(place.inverse @ own)
                # A quadratic stands for the likelihood: its value at the end of the step is `least`, and it falls
                # there along the item's own score alone.
                above = 2 * (place.value - least) + float(place.slope @ ahead)
                step = ahead + side * np.sqrt(max(above, 0.0) / (toward[item] - reference(toward))) * toward
                size = float(np.abs(step).max())
                # The information leaves out that the penalty bends, too: after a step too long the next leads back.
                length, last = length / 2 if float(step @ last) < 0 else min(1.5 * length, 1.0), step
                trial = trial + step * min(length, _FAR / max(size, _CLOSE))
                if size <= _CLOSE:
                    return float(trial[item] - reference(trial - scores))
                place = self.at(trial)
        except ContenderDiverged:  # the information vanished on the way
            pass
        return float("nan")
