"""What a contender says of votes that were not cast yet, and how wrong it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.scales import connected_components
from rankbench.kinds.scores import finite_scores
from rankbench.kinds.sequential_aggregator import SequentialAggregator
from rankbench.protocols.isolation import disposable_judgments, is_ours
from rankbench.protocols.links import BINS, LINKS, Link, PairOutcomes, fit_link, fit_tie_link
from rankbench.protocols.steps import Steps
from rankbench.protocols.trial import EQUAL, SMALLEST

__all__ = ["Foreseen", "foreseen", "stretch_losses", "walked"]

LAST = 100_000
"""Votes, the last that were predicted, by which points of a grid and links are chosen."""

_BETTER = 1e-12
"""Nats a vote by which a later point of a grid, or link, must be better than those before it."""


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What was said of each vote that is judged, arrays of shape (n',).

    Attributes
    ----------
    margins : ndarray of float64
        By how much the first item was expected to win.
    probit : ndarray of bool
        Which link was chosen; otherwise the logistic one.
    scale : ndarray of float64
        b of that link.
    tie_scale, nu : ndarray of float64
        b and nu of Davidson's link.
    points : list of int
        Which point of the grid was chosen, at one choice after the other.
    """

    margins: NDArray[np.float64]
    probit: NDArray[np.bool_]
    scale: NDArray[np.float64]
    tie_scale: NDArray[np.float64]
    nu: NDArray[np.float64]
    points: list[int]


def foreseen(grid: Sequence[Aggregator], steps: Steps, items: list[str], *, ties: bool) -> Foreseen:
    """Predict all votes, one time after the other, each from what came before it.

    Points of a grid and links are those of the least log loss on what was predicted so far, on the last `LAST` votes.

    Parameters
    ----------
    grid : sequence of Aggregator
        One point, or several to choose from.
    steps : Steps
    items : list of str
        Names of the items.
    ties : bool
        Whether Davidson's link is asked for; it is 0 otherwise.

    Raises
    ------
    ContenderDiverged, SpecError
        No finite margins; or more scales than the votes have, or more items than it can rank.
    """
    if not grid:
        raise SpecError("the grid has no point")
    of_points = [walked(point, steps, items) for point in grid]
    n, first, begin = len(steps), int(steps.starts[steps.moments[0]]), steps.tested.start
    margins, probit = np.zeros(n), np.zeros(n, np.bool_)
    scale, tie_scale, nu = np.zeros(n), np.zeros(n), np.zeros(n)
    points = []
    cuts = [*steps.starts[steps.choices].tolist(), n]
    for cut, end in pairwise(cuts):
        since = max(first, cut - LAST)
        point, link, b = _chosen(of_points, steps, since, cut)
        points.append(point)
        margins[cut:end], probit[cut:end], scale[cut:end] = of_points[point][cut:end], link == "probit", b
        if ties:
            tie_scale[cut:end], nu[cut:end] = fit_tie_link(outcomes(steps, of_points[point], since, cut))
    return Foreseen(margins[begin:], probit[begin:], scale[begin:], tie_scale[begin:], nu[begin:], points)


def _chosen(margins: Sequence[NDArray[np.float64]], steps: Steps, begin: int, end: int) -> tuple[int, Link, float]:
    """Return the point, the link and its b that would have predicted these votes best."""
    best, least = (0, LINKS[0], 0.0), math.inf
    for number, of_point in enumerate(margins):
        seen = outcomes(steps, of_point, begin, end)
        for link in LINKS:
            b, loss = fit_link(seen, link)
            if loss < least - _BETTER:
                best, least = (number, link, b), loss
    return best


def outcomes(steps: Steps, margins: NDArray[np.float64], begin: int, end: int) -> PairOutcomes:
    """Return votes with their margins, a row each."""
    rows = slice(begin, end)
    outcome, weights = steps.outcome[rows], steps.weights[rows]
    won, lost, tied = (np.where(outcome == value, weights, 0.0) for value in (1, -1, 0))
    return PairOutcomes(margins[rows], won, lost, tied, (outcome != 0).astype(np.float64), np.ones(end - begin))


def walked(aggregator: Aggregator, steps: Steps, items: list[str]) -> NDArray[np.float64]:
    """Return the margin of each vote by what was known before its time, shape (n,); 0 where nothing was.

    Raises
    ------
    ContenderDiverged, SpecError
        See `foreseen`.
    """
    aggregator.check_size(steps.m)
    if isinstance(aggregator, SequentialAggregator):
        margins = _compiled(aggregator, steps) if aggregator.walk_kernel() else _learning(aggregator, steps)
        if not np.isfinite(margins).all():
            raise ContenderDiverged("margins are not finite")
        margins[np.abs(margins) < max(SMALLEST, EQUAL * float(np.abs(margins).max()))] = 0.0
        return margins
    return _refitted(aggregator, steps, items)


def _compiled(aggregator: SequentialAggregator, steps: Steps) -> NDArray[np.float64]:
    kernel = aggregator.walk_kernel()
    if kernel is None:
        raise SpecError(f"aggregator {aggregator.name!r} has no compiled form")
    margins, state = np.zeros(len(steps)), np.ascontiguousarray(aggregator.start(steps.m), np.float64)
    # Copies: what is mapped into memory is read-only, which the signature does not know.
    votes = (np.array(column) for column in (steps.first, steps.second, steps.outcome, steps.weights, steps.starts))
    kernel.function(*votes, state, kernel.params, np.zeros(kernel.work(steps.m)), margins)
    return margins


def _learning(aggregator: SequentialAggregator, steps: Steps) -> NDArray[np.float64]:
    margins, state = np.zeros(len(steps)), aggregator.start(steps.m)
    for time in range(len(steps.starts) - 1):
        rows = slice(int(steps.starts[time]), int(steps.starts[time + 1]))
        margins[rows] = aggregator.margins(state, np.array(steps.first[rows]), np.array(steps.second[rows]), time)
        aggregator.learn(state, steps.comparisons(time, time + 1), time)
    return margins


def _refitted(aggregator: Aggregator, steps: Steps, items: list[str]) -> NDArray[np.float64]:
    margins, scores = np.zeros(len(steps)), None
    cells, known, times = np.zeros((len(steps.pairs[0]), 3)), 0, len(steps.starts) - 1
    for moment, until in zip(steps.moments.tolist(), [*steps.moments.tolist()[1:], times], strict=True):
        cells += steps.cells(known, moment)
        known = moment
        scores = _scores(aggregator, steps, cells, moment, items, scores)
        rows = slice(int(steps.starts[moment]), int(steps.starts[until]))
        own = scores[steps.first[rows]] - scores[steps.second[rows]]
        own[np.abs(own) < max(SMALLEST, EQUAL * float(np.abs(scores).max()))] = 0.0
        margins[rows] = own
    return margins


def _scores(
    aggregator: Aggregator,
    steps: Steps,
    cells: NDArray[np.float64],
    moment: int,
    items: list[str],
    near: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return an aggregator's scores from all votes before a moment, shape (m,), starting from those of the last."""
    if not aggregator.ranks_counts():
        return finite_scores(aggregator.from_comparisons(steps.comparisons(0, moment), steps.m), steps.m)
    counts = steps.counts(cells, int(steps.starts[moment]), items)
    if type(aggregator).scales is not Aggregator.scales:
        own, whole = len(aggregator.scales(counts)), len(connected_components(counts))
        if own > whole:
            raise ContenderDiverged(
                f"its scores stand on {own:,} scales of the votes before a moment, of which {whole:,} can be told: "
                "margins between scales mean nothing; give it a ridge"
            )
    lent = counts if is_ours(aggregator) else disposable_judgments(counts)
    made = aggregator.from_counts(lent) if near is None else aggregator.from_counts_near(lent, near.copy())
    return finite_scores(made, steps.m)


def stretch_losses(foreseen: Foreseen, steps: Steps, losses: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    r"""Return each loss of each stretch of time, shape (B,): their means are those of all votes.

    With D_b the weight of the votes of stretch b that a loss is about, and L_b the sum of their losses, the mean
    loss is :math:`\theta = \sum L_b / \sum D_b`, and a stretch has
    :math:`\theta + B (L_b - \theta D_b) / \sum D`: a ratio and its variance, however unequal stretches are. The
    calibration error is :math:`\sum_k |\sum_b S_{kb}| / \sum D` over classes k, linear where the sums keep their
    signs.

    Parameters
    ----------
    foreseen : Foreseen
    steps : Steps
    losses : sequence of str
        Of `rankbench.protocols.own_log.OwnLog.metrics`.
    """
    rows = steps.tested
    judged = replace(
        steps,
        first=steps.first[rows],
        second=steps.second[rows],
        outcome=steps.outcome[rows],
        weights=steps.weights[rows],
    )
    block, count = steps.block_of_vote(), steps.count
    return {loss: _LOSSES[loss](foreseen, judged, block, count) for loss in losses}


def _spread(sums: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return what each stretch contributes to a ratio of sums."""
    total = float(weights.sum())
    if total == 0:
        return np.full(len(sums), math.nan)
    whole = float(sums.sum()) / total
    return np.asarray(whole + len(sums) * (sums - whole * weights) / total)


def _disagreement(said: Foreseen, votes: Steps, block: NDArray[np.int32], count: int) -> NDArray[np.float64]:
    along = said.margins * votes.outcome
    weights = np.where(votes.outcome != 0, votes.weights, 0.0)
    wrong = weights * np.where(along < 0, 1.0, np.where(along == 0, 0.5, 0.0))
    return _spread(np.bincount(block, wrong, count), np.bincount(block, weights, count))


def _log_loss(said: Foreseen, votes: Steps, block: NDArray[np.int32], count: int) -> NDArray[np.float64]:
    from rankbench.special import log_ndtr

    along = said.scale * said.margins * votes.outcome
    weights = np.where(votes.outcome != 0, votes.weights, 0.0)
    loss = np.where(said.probit, -log_ndtr(along), np.logaddexp(0.0, -along))
    return _spread(np.bincount(block, weights * loss, count), np.bincount(block, weights, count))


def _calibration(said: Foreseen, votes: Steps, block: NDArray[np.int32], count: int) -> NDArray[np.float64]:
    from rankbench.special import expit, ndtr

    along = said.scale * said.margins * votes.outcome
    weights = np.where(votes.outcome != 0, votes.weights, 0.0)
    chance = np.clip(np.where(said.probit, ndtr(along), expit(along)), 0, 1)
    gaps = np.zeros((count, BINS))
    for p, gap in ((chance, 1 - chance), (1 - chance, chance - 1)):
        bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
        gaps += np.bincount(block * BINS + bins, weights / 2 * gap, count * BINS).reshape(count, BINS)
    return _spread(gaps @ np.sign(gaps.sum(axis=0)), np.bincount(block, weights, count))


def _three_outcome_loss(said: Foreseen, votes: Steps, block: NDArray[np.int32], count: int) -> NDArray[np.float64]:
    half = said.tie_scale * said.margins / 2
    even = np.log(np.maximum(said.nu, 1e-300))
    whole = np.logaddexp(np.logaddexp(half, -half), even)
    loss = whole - np.where(votes.outcome == 0, even, half * votes.outcome)
    return _spread(np.bincount(block, votes.weights * loss, count), np.bincount(block, votes.weights, count))


_LOSSES: dict[str, Callable[[Foreseen, Steps, NDArray[np.int32], int], NDArray[np.float64]]] = {
    "disagreement": _disagreement,
    "log-loss": _log_loss,
    "calibration": _calibration,
    "three-outcome-loss": _three_outcome_loss,
}
