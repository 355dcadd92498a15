r"""From scores to the chances of a vote's outcomes, and how good those chances were.

Any method that scores items becomes a model of votes by a *link*: the chance that i beats
j depends on ``b (s_i - s_j)``, b >= 0 fitted on votes that the scores have not seen. All
votes on a pair have one margin, so that sums over pairs are sums over votes.

The losses are convex in b, and Davidson's in (b, log nu): sums of -log of chances that are log-concave
in the margin, and of a log-sum-exp of functions that are linear in (b, log nu).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, SpecError

Link: TypeAlias = Literal["logistic", "probit"]
LINKS: tuple[Link, ...] = ("logistic", "probit")

BINS = 10
"""Classes of predicted chances for `calibration_error`."""

_PRIOR = 1.0
"""Pseudo-votes that keep b finite where scores separate all votes: one that the margin was wrong about. Each weighs
the mean weight of a vote, so that the unit of weights has no effect."""

_ROUNDS = 500
_CLOSE = 1e-8
"""Relative length of the step with which Newton's method, whose steps double the digits, has arrived."""

_ROUNDING = 1e-15
"""Of a slope, against the sum of the sizes of its terms."""

_LEAST = 1e-250
"""No smaller b changes a chance."""

GAIN = 1e-12
"""Nats a vote by which a link must be better than chances of one half, or than an earlier link or grid point."""


@dataclass(frozen=True, eq=False)
class PairOutcomes:
    """Votes on R pairs as the link sees them; arrays of shape (R,), a pair may come more than once.

    Only they hold votes beside predicted margins.

    Attributes
    ----------
    margins : ndarray of float64
        Score of the pair's first item less that of its second.
    won, lost, tied : ndarray of float64
        Weight of the votes that the first item won, that the second won, and of ties.
    decided, votes : ndarray of float64
        Number of the votes that someone won, and of all.
    """

    margins: NDArray[np.float64]
    won: NDArray[np.float64]
    lost: NDArray[np.float64]
    tied: NDArray[np.float64]
    decided: NDArray[np.float64]
    votes: NDArray[np.float64]

    @property
    def decisive(self) -> float:
        """Weight of all decisive votes."""
        return float(self.won.sum() + self.lost.sum())


SMALLEST = 1e-100
"""Scores that are closer count as equal: a link's scale, one over their differences, must be finite."""

EQUAL = 1e-12
"""Scores closer than this share of the largest count as equal: rounding separates items of the same record."""


def leveled(margins: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return margins, in place, with 0 for differences by rounding alone."""
    margins[np.abs(margins) < max(SMALLEST, EQUAL * float(np.abs(scores).max()))] = 0.0
    return margins


def margin_disagreement(pairs: PairOutcomes) -> float:
    """Return the weighted share of decisive votes that margins order the other way, 0 counting half; nan if none."""
    wrong = np.where(pairs.margins < 0, pairs.won, 0.0) + np.where(pairs.margins > 0, pairs.lost, 0.0)
    even = np.where(pairs.margins == 0, pairs.won + pairs.lost, 0.0)
    total = pairs.decisive
    return float(wrong.sum() + even.sum() / 2) / total if total > 0 else math.nan


def win_log_loss(pairs: PairOutcomes, b: float, link: Link) -> float:
    """Return the weighted mean of ``-log P(winner wins)`` over the decisive votes, in nats.

    nan if there are none.
    """
    total = pairs.decisive
    return float(_terms(pairs.margins, pairs.won, pairs.lost, b, link, valued=True)[2]) / total if total else math.nan


Vector: TypeAlias = NDArray[np.float64]


def _terms(margins: Vector, won: Vector, lost: Vector, b: float, link: Link, *, valued: bool) -> Vector:
    """Return slope, curvature and (if `valued`) value of the summed loss at b, shape (3,)."""
    from rankbench.protocols import kernels as links

    out = np.zeros(3)
    (links.logistic if link == "logistic" else links.probit)(margins, won, lost, b, valued, out)
    return out


def middle(margins: NDArray[np.float64], numbers: NDArray[np.float64]) -> float:
    """Return the median size of the margins other than 0, each counted once a vote; 0 without any."""
    kept = (margins != 0) & (numbers >= 1)
    if not kept.any():
        return 0.0
    sizes = np.abs(margins[kept])
    order = np.argsort(sizes)
    upto = np.cumsum(numbers[kept].astype(np.int64)[order])
    low, high = sizes[order][np.searchsorted(upto, [(upto[-1] - 1) // 2, upto[-1] // 2], side="right")]
    return float((low + high) / 2)


def fit_link(pairs: PairOutcomes, link: Link) -> tuple[float, float]:
    """Return the b >= 0 of least log loss on the decisive votes, and that loss (see `win_log_loss`).

    One pseudo-vote of the median margin for, and one against, keep b finite; they are not in the loss. They
    have the mean weight of a decisive vote.

    Raises
    ------
    ContenderDiverged
        Margins are so different in size that no b is found.
    """
    unit, total = middle(pairs.margins, pairs.decided), pairs.decisive
    even = 0.0, math.log(2) if total > 0 else math.nan
    if unit == 0:
        return even
    margins = pairs.margins / unit
    pseudo = _PRIOR * total / float(pairs.decided.sum())
    prior = np.ones(1), np.full(1, pseudo), np.full(1, pseudo)

    def terms(b: float) -> NDArray[np.float64]:
        return _terms(margins, pairs.won, pairs.lost, b, link, valued=False) + _terms(*prior, b, link, valued=False)

    hidden = _ROUNDING * float(np.abs(margins) @ (pairs.won + pairs.lost) + 2 * pseudo)
    first = terms(0.0)
    # A wrong sign on the whole: chances of one half are the best that b >= 0 can do.
    if first[0] >= -hidden:
        return even

    def hidden_at(b: float) -> float:
        # Votes that went the way of their margins, and the others: no terms of one of them cancel out.
        up = margins >= 0
        sides = (pairs.won * up, pairs.lost * ~up), (pairs.won * ~up, pairs.lost * up)
        sizes = sum(abs(float(_terms(margins, *side, b, link, valued=False)[0])) for side in sides)
        return min(hidden, 2 * _ROUNDING * (sizes + pseudo))

    b = _rising_root(terms, float(-first[0] / first[1]), hidden, hidden_at)
    value = float(_terms(margins, pairs.won, pairs.lost, b, link, valued=True)[2])
    padded = value + float(_terms(*prior, b, link, valued=True)[2])
    if padded >= (math.log(2) - GAIN) * (total + 2 * pseudo):
        return even
    return b / unit, value / total


def _rising_root(
    terms: Callable[[float], NDArray[np.float64]], b: float, hidden: float, hidden_at: Callable[[float], float]
) -> float:
    """Return the root b > 0 of a rising slope that is negative at 0, by Newton's method between bounds.

    Slopes up to ``hidden_at(b)`` are taken for zero: rounding hides their sign. It is nowhere more than `hidden`, and
    much less where the largest margins have been decided, whose terms vanish.
    """
    low, high = 0.0, math.inf
    b = b if 0 < b < math.inf else 1.0
    for _ in range(_ROUNDS):
        slope, curvature, _ = terms(b).tolist()
        low, high = (b, high) if slope < 0 else (low, b)
        if low >= (1 - _CLOSE) * high or high < _LEAST or (abs(slope) <= hidden and abs(slope) <= hidden_at(b)):
            return b
        nearer = b - slope / curvature if curvature > 0 and math.isfinite(curvature) else math.nan
        if abs(nearer - b) <= _CLOSE * b:
            return nearer
        if not low < nearer < min(high, 8 * b):
            # The root may be orders of magnitude away: the middle is that of the logarithms.
            nearer = 8 * b if high == math.inf else (math.sqrt(low) * math.sqrt(high) if low > 0 else high / 64)
        b = nearer
    raise ContenderDiverged("no link fits scores whose differences are of such different sizes")


def chosen_link(grid: Iterable[PairOutcomes], *, stated: bool) -> tuple[int, Link, float, PairOutcomes]:
    """Return the point of a grid, the link and its b of least log loss, and the votes with that point's margins.

    Parameters
    ----------
    grid : iterable of PairOutcomes
        The same votes, with the margins of each point.
    stated : bool
        Whether margins are log-odds as they are: b is 1.

    Raises
    ------
    SpecError
        The grid has no point.
    """
    best, least = None, math.inf
    for number, seen in enumerate(grid):
        for link in LINKS[:1] if stated else LINKS:
            b, loss = (1.0, win_log_loss(seen, 1.0, link)) if stated else fit_link(seen, link)
            if best is None or loss < least - GAIN:
                best, least = (number, link, b, seen), loss
    if best is None:
        raise SpecError("the grid has no point")
    return best


def fit_tie_link(pairs: PairOutcomes) -> tuple[float, float]:
    r"""Return b >= 0 and nu >= 0 of Davidson's model of least three-outcome log loss.

    Chances are proportional to ``exp(d/2), exp(-d/2), nu`` for win, loss and tie, with
    ``d = b (s_i - s_j)``. One pseudo-vote of each outcome, at the median margin and of the weight of a vote on average,
    keeps both finite.

    Raises
    ------
    ContenderDiverged
        See `fit_link`.
    """
    from rankbench.protocols.kernels import davidson

    unit = float(middle(pairs.margins, pairs.votes)) or 1.0
    margins = pairs.margins / unit
    total, number = pairs.decisive + float(pairs.tied.sum()), float(pairs.votes.sum())
    pseudo = _PRIOR * total / number if total > 0 else _PRIOR
    prior = np.full(1, pseudo)

    def terms(at: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros(6)
        davidson(margins, pairs.won, pairs.lost, pairs.tied, at[0], at[1], out)
        davidson(np.ones(1), prior, prior, prior, at[0], at[1], out)
        return out

    def hidden_at(at: NDArray[np.float64]) -> float:
        # As in `fit_link`.
        none, up, sizes = np.zeros(len(margins)), margins >= 0, 3 * pseudo / 2
        for won, lost, tied in (
            (pairs.won * up, pairs.lost * ~up, none),
            (pairs.won * ~up, pairs.lost * up, none),
            (none, none, pairs.tied),
        ):
            out = np.zeros(6)
            davidson(margins, won, lost, tied, at[0], at[1], out)
            sizes += abs(float(out[1]))
        return min(hidden, 2 * _ROUNDING * sizes)

    whole = total + 3 * pseudo
    hidden = _ROUNDING * float(np.abs(margins) @ (pairs.won + pairs.lost + pairs.tied) / 2 + 3 * pseudo / 2)
    even = math.log(2 * (float(pairs.tied.sum()) + pseudo) / (pairs.decisive + 2 * pseudo))
    at = np.array([0.0, even])
    now = terms(at)
    if now[1] >= -hidden:
        # As in `fit_link`; without margins nu is a ratio of counts.
        return 0.0, math.exp(even)
    for _ in range(_ROUNDS):
        step = _newton_step(now)
        length = 1.0
        while length > 1e-12:
            next_at = at + length * step
            found = terms(next_at) if next_at[0] >= 0 else now
            # Half of the decrease by the slope, except for rounding.
            if next_at[0] >= 0 and found[0] <= now[0] + 1e-4 * length * float(step @ now[1:3]) + 1e-15 * whole:
                break
            length /= 2
        else:
            return float(at[0]) / unit, math.exp(at[1])
        moved = np.abs(next_at - at)
        at, now = next_at, found
        close = moved[0] <= _CLOSE * at[0] or (abs(now[1]) <= hidden and abs(now[1]) <= hidden_at(at))
        if close and moved[1] <= _CLOSE * max(1.0, abs(at[1])):
            return float(at[0]) / unit, math.exp(at[1])
    raise ContenderDiverged("no link fits scores whose differences are of such different sizes")


def _newton_step(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Newton's step of (b, log nu); along the diagonal where the curvature is none in floating point."""
    _, in_b, in_eta, bb, be, ee = terms.tolist()
    determinant = bb * ee - be * be
    if math.isfinite(determinant) and determinant > 1e-14 * bb * ee:
        return np.array([(be * in_eta - ee * in_b) / determinant, (be * in_b - bb * in_eta) / determinant])
    return np.array([-in_b / bb if bb > 0 else -in_b, -in_eta / ee if ee > 0 else -in_eta])


def tie_log_loss(pairs: PairOutcomes, b: float, nu: float) -> float:
    """Return the weighted mean of ``-log P(outcome)`` over wins, losses and ties, in nats."""
    from rankbench.protocols.kernels import davidson

    out = np.zeros(6)
    davidson(pairs.margins, pairs.won, pairs.lost, pairs.tied, b, math.log(nu) if nu > 0 else -math.inf, out)
    return float(out[0]) / (pairs.decisive + float(pairs.tied.sum()))


def calibration_error(pairs: PairOutcomes, b: float, link: Link) -> float:
    """Return the expected calibration error on the decisive votes, in [0, 1]; nan without any.

    Chances are put into `BINS` classes of equal width; the mean of |share of wins - mean
    chance| over the classes, weighted by their votes. A vote counts as a win at p and as
    a loss at 1 - p, half each: which of the two items is named first means nothing.
    """
    from scipy.special import expit, ndtr

    if not pairs.decided.any():
        return math.nan
    chance_of = expit if link == "logistic" else ndtr
    gaps = np.zeros(BINS)
    for margins, weights in ((pairs.margins, pairs.won), (-pairs.margins, pairs.lost)):
        p = np.clip(chance_of(b * margins), 0, 1)
        for chance, gap in ((p, 1 - p), (1 - p, p - 1)):
            bins = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
            gaps += np.bincount(bins, weights / 2 * gap, BINS)
    return float(np.abs(gaps).sum() / pairs.decisive)
