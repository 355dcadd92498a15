"""Kernels compute losses of links and sums over folds.

Of each pair: the margin d of its first item over its second, and the weights of the votes that the
first won, that the second won, and (where there are some) of ties. Sums are made in blocks, whose
rounding errors do not grow with the number of pairs.
"""

from __future__ import annotations

import math

import numpy as np

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import (
    ReadRows,
    ReadVector,
    Rows,
    Vector,
    annotated_signatures,
    declared,
    looped,
)

settle_runtime()


_BLOCK = 512
_ROOT = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_FAR = 30.0
"""Beyond, tails of Phi come from their asymptotic series: its first term that is left out is below 1e-11 of them."""


@declared()
def normal_tails(x: float) -> tuple[float, float, float]:
    """Return, of x >= 0, Phi(-x), and the density over Phi(x) and over Phi(-x)."""
    density = _DENSITY * math.exp(-0.5 * x * x)
    if x < _FAR:
        tail = 0.5 * math.erfc(x * _ROOT)
        return tail, density / (1 - tail), density / tail
    u = 1 / (x * x)
    return 0.0, density, x / (1 - u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u))))


def _of_logistic(along: float, against: float, d: float, x: float, valued: bool) -> tuple[float, float, float, float]:
    """Return slope and curvature in b of the votes on one pair, and their loss as two summands; x = b d, d >= 0."""
    small = math.exp(-x)
    more, less = 1 / (1 + small), small / (1 + small)
    slope, root = d * (against * more - along * less), d * math.sqrt(more * less)
    if not valued:
        return slope, (along + against) * root * root, 0.0, 0.0
    tail = math.log1p(small)
    return slope, (along + against) * root * root, along * tail + against * (tail + x), 0.0


def _of_probit(along: float, against: float, d: float, x: float, valued: bool) -> tuple[float, float, float, float]:
    """Return the terms of `_of_logistic` for the probit link."""
    tail, near, far = normal_tails(x)
    slope = d * (against * far - along * near)
    root = d * math.sqrt(along * near * (near + x) + against * max(far * (far - x), 0.0))
    if not valued:
        return slope, root * root, 0.0, 0.0
    loss = 0.0
    if against > 0:
        loss = against * (math.log(tail) if x < _FAR else math.log(_DENSITY / far) - 0.5 * x * x)
    return slope, root * root, -(along * math.log1p(-tail)), -loss


def _summed(margins: ReadVector, won: ReadVector, lost: ReadVector, b: float, valued: bool, out: Vector) -> None:
    """Add to `out` the slope and the curvature in b of the sum of -log P, and its value if `valued`."""
    for begin in range(0, len(margins), _BLOCK):
        slope, curvature, value = 0.0, 0.0, 0.0
        for e in range(begin, min(begin + _BLOCK, len(margins))):
            d = abs(margins[e])
            # Votes that go the way of the margin, and the others.
            along, against = (won[e], lost[e]) if margins[e] >= 0 else (lost[e], won[e])
            found = of(along, against, d, b * d, valued)  # type: ignore[name-defined]  # noqa: F821
            slope += found[0]
            curvature += found[1]
            value += found[2]
            value += found[3]
        out[0] += slope
        out[1] += curvature
        out[2] += value


logistic, probit = (looped(_summed, *annotated_signatures(_summed), of=link) for link in (_of_logistic, _of_probit))


@declared()
def davidson(
    margins: ReadVector, won: ReadVector, lost: ReadVector, tied: ReadVector, b: float, eta: float, out: Vector
) -> None:
    """Add to `out` the sum of -log P, its two slopes and its three curvatures.

    Slopes are in b and eta = log nu, curvatures in bb, b eta and eta eta.
    """
    for begin in range(0, len(margins), _BLOCK):
        value, in_b, in_eta, bb, be, ee = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for e in range(begin, min(begin + _BLOCK, len(margins))):
            half = margins[e] / 2
            x = b * half
            most = max(abs(x), eta)
            up, down, even = math.exp(x - most), math.exp(-x - most), math.exp(eta - most)
            whole = up + down + even
            up, down, even = up / whole, down / whole, even / whole
            weight = won[e] + lost[e] + tied[e]
            value += weight * (most + math.log(whole)) - (won[e] - lost[e]) * x
            if tied[e] > 0:
                value -= tied[e] * eta
            in_b += half * (weight * (up - down) - (won[e] - lost[e]))
            in_eta += weight * even - tied[e]
            root = half * math.sqrt(up + down - (up - down) * (up - down))
            bb += weight * root * root
            be -= weight * (half * even) * (up - down)
            ee += weight * even * (1 - even)
        out[0] += value
        out[1] += in_b
        out[2] += in_eta
        out[3] += bb
        out[4] += be
        out[5] += ee


@declared()
def assign_folds(order: ReadRows, total: ReadRows, decisive: ReadRows, folds: int, place: Rows) -> None:
    """Put each group, in this order, into the fold with the fewest decisive votes so far.

    Of equally few the one with the fewest votes, of those the first. As soon as a group has no
    decisive vote, all votes count for decisive ones, those before too.
    """
    least, size = np.zeros(folds, np.int64), np.zeros(folds, np.int64)
    balanced = False
    for t in range(len(order)):
        group = order[t]
        if decisive[group] == 0 and not balanced:
            least[:] = size
            balanced = True
        best = 0
        for fold in range(1, folds):
            if least[fold] < least[best] or (least[fold] == least[best] and size[fold] < size[best]):
                best = fold
        place[group] = best
        least[best] += total[group] if balanced else decisive[group]
        size[best] += total[group]
