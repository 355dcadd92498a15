"""A forecast gives chances to votes that were not cast yet; losses tell how wrong it was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.covariate_aggregator import CovariateAggregator, sees_covariates
from rankbench.interfaces.sequential_aggregator import SequentialAggregator
from rankbench.protocols.links import BINS, Link, PairOutcomes, chosen_link, fit_tie_link, leveled
from rankbench.protocols.steps import Steps
from rankbench.protocols.trial import fit_with_covariates, scores_of_counts

LAST = 100_000
"""Votes, the last that were predicted, by which points of a grid and links are chosen."""

_TOGETHER = 1 << 18
"""Votes whose losses are computed at once: temporary arrays of all votes would take more memory than the log."""


@dataclass(frozen=True)
class Choice:
    """Parameters that predicted some consecutive votes.

    Attributes
    ----------
    begin, end : int
        The votes, counted from the first that is judged.
    point : int
        Index of a point of the grid.
    link : str
    scale : float
        b of that link.
    tie_scale, nu : float
        b and nu of Davidson's link; 0 where it is not asked for.
    """

    begin: int
    end: int
    point: int
    link: Link
    scale: float
    tie_scale: float = 0.0
    nu: float = 0.0


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts of the votes that are judged.

    Attributes
    ----------
    margins : ndarray of float64, shape (n',)
        Expected lead of the first item.
    choices : list of Choice
        Choices of parameters, each for some consecutive votes, together for all of them.
    """

    margins: NDArray[np.float64]
    choices: list[Choice]


def prequential_forecasts(grid: Sequence[Aggregator], steps: Steps, items: list[str], *, ties: bool) -> Forecasts:
    """Predict all votes in the order of time, each from the votes before it.

    Points of a grid and links are chosen for the least log loss of the last `LAST` predictions.

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
    of_points = [sequential_margins(point, steps, items) for point in grid]
    n, first, begin = len(steps), int(steps.starts[steps.moments[0]]), steps.tested.start
    margins, choices = np.empty(n - begin), []
    cuts = [*steps.starts[steps.choices].tolist(), n]
    for cut, end in pairwise(cuts):
        since = max(first, cut - LAST)
        point, link, b, seen = chosen_link(
            (outcomes(steps, of_point, since, cut) for of_point in of_points), stated=grid[0].stated
        )
        tie_scale, nu = fit_tie_link(seen) if ties else (0.0, 0.0)
        margins[cut - begin : end - begin] = of_points[point][cut:end]
        choices.append(Choice(cut - begin, end - begin, point, link, b, tie_scale, nu))
    return Forecasts(margins, choices)


def outcomes(steps: Steps, margins: NDArray[np.float64], begin: int, end: int) -> PairOutcomes:
    """Return votes with their margins, a row each."""
    rows = slice(begin, end)
    outcome, weights = steps.outcome[rows], steps.weights[rows]
    won, lost, tied = (np.where(outcome == value, weights, 0.0) for value in (1, -1, 0))
    return PairOutcomes(margins[rows], won, lost, tied, (outcome != 0).astype(np.float64), np.ones(end - begin))


def sequential_margins(aggregator: Aggregator, steps: Steps, items: list[str]) -> NDArray[np.float64]:
    """Return the margin of each vote by the votes before its time, shape (n,); 0 without any.

    Raises
    ------
    ContenderDiverged, SpecError
        See `prequential_forecasts`.
    """
    aggregator.check_size(steps.m)
    if isinstance(aggregator, SequentialAggregator):
        at_once = len(steps.asks) == len(steps.starts) - 1
        compiled = at_once and aggregator.walk_kernel()
        margins = _compiled(aggregator, steps) if compiled else _learning(aggregator, steps)
        if not np.isfinite(margins).all():
            raise ContenderDiverged("margins are not finite")
        return leveled(margins, margins)
    if sees_covariates(aggregator):
        return _with_effects(aggregator, steps, items)
    return _refitted(aggregator, steps, items)


def _compiled(aggregator: SequentialAggregator, steps: Steps) -> NDArray[np.float64]:
    kernel = aggregator.walk_kernel()
    if kernel is None:
        raise SpecError(f"aggregator {aggregator.name!r} has no compiled form")
    margins, state = np.zeros(len(steps)), np.ascontiguousarray(aggregator.start(steps.m), np.float64)
    # Copies: arrays mapped into memory are read-only, unlike the signature's.
    votes = (np.array(column) for column in (steps.first, steps.second, steps.outcome, steps.weights, steps.starts))
    kernel.function(*votes, state, kernel.params, np.zeros(kernel.work(steps.m)), margins)
    return margins


def _learning(aggregator: SequentialAggregator, steps: Steps) -> NDArray[np.float64]:
    margins, state = np.zeros(len(steps)), aggregator.start(steps.m)
    pairs, pair = steps.pairs
    for begin, end in pairwise([*steps.asks.tolist(), len(steps.starts) - 1]):
        rows = slice(int(steps.starts[begin]), int(steps.starts[end]))
        # Asked once for each pair.
        named, which = np.unique(pair[rows], return_inverse=True)
        low, high = np.ascontiguousarray(pairs[named].T)
        asked = aggregator.margins(state, low, high, begin)
        margins[rows] = aggregator.checked_numbers("margins", asked)[which]
        for time in range(begin, end):
            aggregator.learn(state, steps.comparisons(time, time + 1), time)
    return margins


def _refitted(aggregator: Aggregator, steps: Steps, items: list[str]) -> NDArray[np.float64]:
    margins, scores = np.zeros(len(steps)), None
    cells, known, times = np.zeros((len(steps.pairs[0]), 3)), 0, len(steps.starts) - 1
    for moment, until in zip(steps.moments.tolist(), [*steps.moments.tolist()[1:], times], strict=True):
        cells += steps.cells(known, moment)
        known = moment
        if isinstance(aggregator, CountAggregator):
            counts = steps.counts(cells, steps.votes_before(int(steps.starts[moment])), items)
            scores = scores_of_counts(aggregator, counts, "votes before a moment", scores)
        else:
            scores = call_aggregator(aggregator, steps.comparisons(0, moment), steps.m)
        rows = slice(int(steps.starts[moment]), int(steps.starts[until]))
        margins[rows] = leveled(scores[steps.first[rows]] - scores[steps.second[rows]], scores)
    return margins


def _with_effects(aggregator: CovariateAggregator, steps: Steps, items: list[str]) -> NDArray[np.float64]:
    """Return margins by scores and effects of covariates, both of the votes before a moment."""
    margins, times = np.zeros(len(steps)), len(steps.starts) - 1
    for moment, until in zip(steps.moments.tolist(), [*steps.moments.tolist()[1:], times], strict=True):
        training = steps.with_covariates(aggregator, 0, moment, items).summed()
        fit = fit_with_covariates(aggregator, training, "votes before a moment")
        rows = slice(int(steps.starts[moment]), int(steps.starts[until]))
        asked = steps.with_covariates(aggregator, moment, until, items)
        found = np.array(fit.margins(replace(asked, outcomes=np.zeros_like(asked.outcomes))))
        if found.shape != (len(asked),) or not np.isfinite(found).all():
            raise ContenderDiverged("its margins are not finite")
        margins[rows] = leveled(found, fit.scores)
    return margins


def stretch_losses(forecasts: Forecasts, steps: Steps, losses: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    r"""Return each loss of each stretch of time, shape (B,): their mean is the loss of all votes.

    With D_b the weight of the votes of stretch b that a loss is about, and L_b the sum of their losses, the mean
    loss is :math:`\theta = \sum L_b / \sum D_b`, and a stretch has
    :math:`\theta + B (L_b - \theta D_b) / \sum D`: a ratio and its variance, however unequal stretches are. The
    calibration error is :math:`\sum_k |\sum_b S_{kb}| / \sum D` over classes k, linear where the sums keep their
    signs.

    Parameters
    ----------
    forecasts : Forecasts
    steps : Steps
    losses : sequence of str
        Of `rankbench.protocols.own_log.OwnLog.metrics`.
    """
    sums = {loss: np.zeros(steps.count) for loss in losses}
    weights = {loss: np.zeros(steps.count) for loss in losses}
    gaps = np.zeros((2, steps.count * BINS))  # of the winners' chances, and of the losers'
    stretch_of_vote = steps.block_of_vote()
    for choice in forecasts.choices:
        for first in range(choice.begin, choice.end, _TOGETHER):
            here = slice(first, min(first + _TOGETHER, choice.end))
            rows = slice(here.start + steps.tested.start, here.stop + steps.tested.start)
            margins, outcome, stretch = forecasts.margins[here], steps.outcome[rows], stretch_of_vote[here]
            decisive = np.where(outcome != 0, steps.weights[rows], 0.0)
            # One by one: sums are the same to the bit, however many votes come at once.
            for loss in losses:
                about = steps.weights[rows] if loss == "three-outcome-loss" else decisive
                np.add.at(weights[loss], stretch, about)
                if loss == "calibration":
                    chance = _chances_of_winners(choice, margins, outcome)
                    for of_side, p, gap in zip(gaps, (chance, 1 - chance), (1 - chance, chance - 1), strict=True):
                        bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
                        np.add.at(of_side, stretch * BINS + bins, decisive / 2 * gap)
                else:
                    np.add.at(sums[loss], stretch, about * _loss_of_votes(loss, choice, margins, outcome))
    if "calibration" in sums:
        of_class = gaps.sum(axis=0).reshape(-1, BINS)
        sums["calibration"] = of_class @ np.sign(of_class.sum(axis=0))
    return {loss: _spread(sums[loss], weights[loss]) for loss in losses}


def _loss_of_votes(
    loss: str, choice: Choice, margins: NDArray[np.float64], outcome: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Return the loss of each vote: the misordered share, or -log of the predicted chance of the outcome."""
    from scipy.special import log_ndtr

    if loss == "disagreement":
        along = margins * outcome
        return np.where(along < 0, 1.0, np.where(along == 0, 0.5, 0.0))
    if loss == "log-loss":
        along = choice.scale * margins * outcome
        return np.asarray(-log_ndtr(along) if choice.link == "probit" else np.logaddexp(0.0, -along))
    half = choice.tie_scale * margins / 2
    even = np.log(np.maximum(np.full(1, choice.nu), 1e-300))
    whole = np.logaddexp(np.logaddexp(half, -half), even)
    return np.asarray(whole - np.where(outcome == 0, even, half * outcome))


def _chances_of_winners(choice: Choice, margins: NDArray[np.float64], outcome: NDArray[np.int8]) -> NDArray[np.float64]:
    from scipy.special import expit, ndtr

    return np.asarray(np.clip((ndtr if choice.link == "probit" else expit)(choice.scale * margins * outcome), 0, 1))


def _spread(sums: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each period's contribution to the ratio of all sums to all weights."""
    total = float(weights.sum())
    if total == 0:
        return np.full(len(sums), math.nan)
    whole = float(sums.sum()) / total
    return np.asarray(whole + len(sums) * (sums - whole * weights) / total)
