"""Histories of several models are averaged; judges give a design effect.

A model that takes votes for independent is as sure as their number says. The variance of Bradley-Terry scores by judge,
over that by vote (both sandwiches), is the number of votes that are worth one: Kish's design effect [Kish65]_. Votes
that weigh so much less have the likelihood, and the spread, of what judges know (a quasi-likelihood). So do votes whose
points are split and vary less than whole votes: they weigh more.

References
----------
.. [Kish65] L. Kish. Survey Sampling. Wiley, 1965.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import listed
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.aggregator import MOST_DENSE, Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of
from rankbench.interfaces.pair_counts import ClusterCounts
from rankbench.interfaces.sequential_aggregator import ScoreHistory, SequentialAggregator, TimedCounts
from rankbench.logs.votes import Votes
from rankbench.plugin.manager import get
from rankbench.ranking.rank_ranges import reference_items, relative_covariance
from rankbench.ranking.sampling_units import Units, few_judges, grade_variance_ratio, has_interval, units_of_counts

_DRAWS = 10_000
_LEAST = 0.005
"""Models whose chance is so much smaller than that of the likeliest are left out."""

_DROP = 1.28
"""By how much the log chance falls from the likeliest point to the next at most: steps of 1.6 standard deviations. Sums
over such steps are integrals of a normal density to 1e-3 (the trapezoidal rule)."""

_HALVINGS = 8

_STEP = 1.0
"""Of a search, in logarithms, before it is halved."""

_BEYOND = 1000.0
"""So many times beyond the ends of the default grid likelier parameters are looked for."""

_GRID_SHOWN = 6


def timed_counts(votes: Votes, place: NDArray[np.int64], gaps: NDArray[np.float64]) -> TimedCounts:
    """Return the votes summed by time, pair and, if any, covariates.

    Parameters
    ----------
    votes : Votes
    place : ndarray of int64, shape (n,)
        Number of the time of each row.
    gaps : ndarray of float64, shape (T,)
        Units of time since the time before.
    """
    pairs, pair = votes.pairs()
    known, code, covariates = np.zeros((1, 0)), np.zeros(len(votes), np.int64), None
    if votes.covariates is not None:
        signs = np.where(votes.winners < votes.losers, 1.0, -1.0)
        # 0.0 and -0.0 are alike.
        known, code = np.unique(votes.covariates.values * signs[:, None] + 0.0, axis=0, return_inverse=True)
    keys, cell = np.unique((place * len(pairs) + pair) * len(known) + code.reshape(-1), return_inverse=True)
    cell = cell.reshape(-1)
    share = votes.share_won(np.minimum(votes.winners, votes.losers))
    sums = (np.bincount(cell, votes.weights * part, len(keys)) for part in (share, 1 - share))
    won, lost = (np.asarray(one, np.float64) for one in sums)
    if votes.covariates is not None:
        covariates = known[keys % len(known)]
    time, of_cell = np.divmod(keys // len(known), len(pairs))
    starts = np.searchsorted(time, np.arange(len(gaps) + 1))
    first, second = np.ascontiguousarray(pairs[of_cell].T)
    return TimedCounts(len(votes.items), gaps, starts, first, second, won, lost, covariates)


def model_chances(log_chances: Sequence[float]) -> NDArray[np.float64]:
    """Return the chances of models, which sum to 1; next to none is 0."""
    chances = np.exp(np.array(log_chances) - max(log_chances))
    chances[chances < _LEAST] = 0.0
    return np.asarray(chances / chances.sum())


def even_lattice(
    log_chance: Callable[[tuple[float, ...]], float], start: Sequence[float], ends: Sequence[tuple[float, float]]
) -> list[tuple[float, ...]]:
    """Return points, even in each coordinate, that hold nearly all of a density with one peak.

    From the start uphill, step by step; steps are halved until the density falls little from the highest point to the
    next; then all points around are taken whose density is not negligible.

    Parameters
    ----------
    log_chance : callable
        Of a point; minus infinity where there is no such point.
    start : sequence of float
    ends : sequence of (float, float)
        No point lies beyond them, in any coordinate.
    """
    axes = range(len(start))
    steps, found = [_STEP] * len(start), dict[tuple[float, ...], float]()

    def moved(point: tuple[float, ...], by: Sequence[int]) -> tuple[float, ...]:
        return tuple(x + k * step for x, k, step in zip(point, by, steps, strict=True))

    def value(point: tuple[float, ...]) -> float:
        if any(not low <= x <= high for x, (low, high) in zip(point, ends, strict=True)):
            return -math.inf
        if point not in found:
            found[point] = log_chance(point)
        return found[point]

    def beside(point: tuple[float, ...], axis: int) -> list[tuple[float, ...]]:
        return [moved(point, [sign * (axis == other) for other in axes]) for sign in (-1, 1)]

    best = tuple(map(float, start))
    for _ in range(_HALVINGS):
        while (higher := max((near for axis in axes for near in beside(best, axis)), key=value)) and (
            value(higher) > value(best)
        ):
            best = higher
        falls = [[value(best) - value(near) for near in beside(best, axis) if value(near) > -math.inf] for axis in axes]
        if not (wide := [axis for axis in axes if falls[axis] and sum(falls[axis]) / len(falls[axis]) > _DROP]):
            break
        for axis in wide:
            steps[axis] /= 2
    # Whole steps from the highest point: sums of floats would name one point in several ways.
    kept, new = set[tuple[int, ...]](), [(0,) * len(start)]
    turns = [*product((-1, 0, 1), repeat=len(start))]
    while new:
        kept.update(new)
        around = {tuple(k + turn for k, turn in zip(at, by, strict=True)) for at in new for by in turns} - kept
        new = sorted(at for at in around if value(moved(best, at)) >= value(best) + math.log(_LEAST))
    return sorted(moved(best, at) for at in kept)


def weighed_models(
    points: Sequence[SequentialAggregator], counts: TimedCounts, worth: float, *, search: bool
) -> tuple[Sequence[SequentialAggregator], list[ScoreHistory], NDArray[np.float64]]:
    """Return models at points of a grid, their scores over time and their chances, for votes of weight 1 / `worth`.

    With `search`, `points` are the starts of a search, and a finer grid is returned.
    """
    fewer = replace(counts, won=counts.won / worth, lost=counts.lost / worth)
    if not search:
        histories = [point.history(fewer) for point in points]
        return points, histories, model_chances([one.evidence + one.log_prior for one in histories])
    ranges = _ranges(points)
    found: dict[tuple[float, ...], tuple[SequentialAggregator, ScoreHistory]] = {}

    def log_chance(at: tuple[float, ...]) -> float:
        values = {name: float(f"{math.exp(x):.6g}") for name, x in zip(ranges, at, strict=True)}
        point = type(points[0]).model_validate({**points[0].model_dump(by_alias=True), **values})
        try:
            history = point.history(fewer)
        except ContenderDiverged:
            return -math.inf
        found[at] = point, history
        return history.evidence + history.log_prior

    corners = [tuple(math.log(getattr(point, point.attributes()[name])) for name in ranges) for point in points]
    ends = [(math.log(low / _BEYOND), math.log(high * _BEYOND)) for low, high in ranges.values()]
    start = max(corners, key=log_chance)
    chosen = [found[at] for at in even_lattice(log_chance, start, ends)]
    histories = [history for _, history in chosen]
    weights = model_chances([one.evidence + one.log_prior for one in histories])
    return [point for point, _ in chosen], histories, weights


def _ranges(points: Sequence[SequentialAggregator]) -> dict[str, tuple[float, float]]:
    """Return the least and the largest value of each parameter that points differ in, numbers above 0."""
    found = {}
    for name, attribute in points[0].attributes().items():
        values = {getattr(point, attribute) for point in points}
        if len(values) > 1 and all(isinstance(value, float) and value > 0 for value in values):
            found[name] = min(values), max(values)
    return found


def _at_edge(points: Sequence[SequentialAggregator], best: SequentialAggregator, beyond: float) -> list[str]:
    """Return the likeliest point's parameters at the edge of the grid."""
    found = []
    for name, (low, high) in _ranges(points).items():
        value = getattr(best, best.attributes()[name])
        reach = math.exp(_STEP) if beyond > 1 else 1.0
        if not low / beyond * reach < value < high * beyond / reach:
            found.append(f"{name} {value:g}")
    return found


def said_of_grid(
    grid: Sequence[Mapping[str, Any]],
    points: Sequence[SequentialAggregator],
    best: SequentialAggregator,
    *,
    search: bool,
) -> str:
    """Return a text on the weights of points, the likeliest ones, and whether the likeliest is at an edge."""
    order = sorted(grid, key=lambda one: -one["log_likelihood"])
    said = "; ".join(
        f"{one['method']} {one['log_likelihood'] - order[0]['log_likelihood']:.1f} ({one['weight']:.0%})"
        for one in order[:_GRID_SHOWN]
    )
    how = ". rankbench extended their grid until the likeliest is inside, and refined it there" if search else ""
    if edge := _at_edge(points, best, _BEYOND if search else 1.0):
        where = "what was looked at" if search else "the grid"
        how = f"; the likeliest has {listed(edge)}, at the edge of {where}: likelier ones may lie beyond"
    return (
        f"scores average {len(grid)} random-walk variances, weighted by prequential likelihood{how}. Log likelihoods "
        f"relative to the best, {order[0]['log_likelihood']:,.1f}, and weights: {said}"
    )


@dataclass(frozen=True, eq=False)
class AveragedHistory:
    """Scores over several models, by their chances.

    Attributes
    ----------
    scores : ndarray of float64, shape (T, m)
    deviation : ndarray of float64, shape (T, m)
        Of a score less the mean of its time: within models and between them.
    now : ndarray of float64, shape (m, m)
        Covariance of the last scores, within models and between them.
    changes : list of (float, ndarray, ndarray)
        Of each model its chance, the changes between then and now, (k,), less their mean, and their covariance.
    effects, effects_deviation : ndarray of float64, shape (p,)
        Effects of covariates, and how uncertain they are: within models and between them.
    reference : ndarray of bool, shape (m,)
        Items from whose mean scores are told: see `rankbench.ranking.rank_ranges.reference_items`.
    """

    scores: NDArray[np.float64]
    deviation: NDArray[np.float64]
    now: NDArray[np.float64]
    changes: list[tuple[float, NDArray[np.float64], NDArray[np.float64]]]
    effects: NDArray[np.float64]
    effects_deviation: NDArray[np.float64]
    reference: NDArray[np.bool_]

    @classmethod
    def from_models(
        cls,
        histories: Sequence[ScoreHistory],
        weights: NDArray[np.float64],
        then: int,
        known: NDArray[np.bool_] | None = None,
    ) -> AveragedHistory:
        """Return the mean over models, with its uncertainty; scores and changes are relative to the known items."""
        chosen = [(histories[i].scores, histories[i], float(weights[i])) for i in np.flatnonzero(weights).tolist()]
        scores = np.asarray(sum(w * own for own, _, w in chosen))
        effects = np.asarray(sum(w * history.effects for _, history, w in chosen))
        squares, now, of_effects = np.zeros(scores.shape), np.zeros((scores.shape[1],) * 2), np.zeros(len(effects))
        known = np.ones(scores.shape[1], np.bool_) if known is None else known
        likeliest = histories[int(np.argmax(weights))].spread(then, known).now
        known = reference_items(likeliest, np.zeros(len(known), np.int64), known)
        there = np.flatnonzero(np.isfinite(scores[then]))
        beside = known[there] if known[there].any() else np.ones(len(there), np.bool_)
        around, cells = np.eye(len(there)) - beside / beside.sum(), np.ix_(there, there)
        changes = []
        for own, history, w in chosen:
            spread, off = history.spread(then, known), own - scores
            squares += w * (spread.deviation**2 + told_from(off, known) ** 2)
            now += w * (spread.now + np.outer(off[-1], off[-1]))
            of_effects += w * (history.effects_covariance.diagonal() + (history.effects - effects) ** 2)
            across = spread.across[cells]
            covariance = spread.now[cells] + spread.then[cells] - across - across.T
            changes.append((w, around @ (own[-1] - own[then])[there], around @ covariance @ around.T))
        return cls(scores, np.sqrt(squares), now, changes, effects, np.sqrt(of_effects), known)


def told_from(scores: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return scores over time, (T, m), less the mean of the known items of each time; of all where none is known."""
    some = np.where(known, scores, np.nan)
    lacking = np.isnan(some).all(axis=1)
    some[lacking] = scores[lacking]
    return np.asarray(scores - np.nanmean(some, axis=1, keepdims=True))


def simultaneous_changes(
    changes: Sequence[tuple[float, NDArray[np.float64], NDArray[np.float64]]], seed: int, freedom: float = np.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean changes, simultaneous intervals and adjusted p-values, by draws from all models together.

    Draws are of Student's t together, with so many degrees of freedom; normal if these are infinite.
    """
    k = len(changes[0][1])
    if k < 2:
        nothing = np.full(k, np.nan)
        return nothing, nothing, nothing, nothing
    generator = np.random.default_rng([seed, 7])
    mean = np.asarray(sum(w * change for w, change, _ in changes))
    ends = np.round(_DRAWS * np.cumsum([w for w, _, _ in changes])).astype(np.int64)
    drawn = generator.standard_normal((_DRAWS, k))
    for (_, change, covariance), begin, end in zip(changes, [0, *ends[:-1]], ends, strict=True):
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0))
        drawn[begin:end] = change - mean + drawn[begin:end] @ root.T
    deviation = np.sqrt(np.maximum((drawn**2).mean(axis=0), 1e-300))
    largest = np.abs(drawn / deviation).max(axis=1)
    if np.isfinite(freedom):
        largest /= np.sqrt(generator.chisquare(freedom, _DRAWS) / freedom)
    largest.sort()
    half = largest[int(np.ceil(0.95 * (_DRAWS + 1))) - 1] * deviation
    beyond = _DRAWS - np.searchsorted(largest, np.abs(mean) / deviation)
    return mean, mean - half, mean + half, (1 + beyond) / (1 + _DRAWS)


_METHOD = "bradley-terry:penalty=firth"


class DesignEffect(NamedTuple):
    """Independent units of a log, and the worth of its votes.

    Attributes
    ----------
    worth : float
        Number of votes that are worth one independent vote, for scores: 1 at least, times `points`.
    of_changes : float
        The same for changes of scores: what judges who vote early and late prefer cancels.
    units : Units
    judges : int
        Number of judges; 0 where votes are the independent units.
    points : float
        Variance of the points of votes over that of whole votes; 1 where no points are split.
    few : Units or None
        Judges that are too few to be the independent units.
    """

    worth: float
    of_changes: float
    units: Units
    judges: int
    points: float = 1.0
    few: Units | None = None


def alike_votes(votes: Votes, place: NDArray[np.int64], late: NDArray[np.bool_]) -> DesignEffect:
    """Return the design effect of votes; `points` unless all votes have a judge and judges are enough.

    Parameters
    ----------
    votes : Votes
    place : ndarray of int64, shape (n,)
        Number of the time of each row.
    late : ndarray of bool, shape (n,)
        Between which votes, and the others, scores may change.
    """
    pair = votes.pairs()[1].astype(np.int64)
    # Scores walk: votes of one time tell how points vary, or those of half of the log.
    points = grade_variance_ratio(votes, pair * (int(place[-1]) + 1) + place, 2 * pair + late)
    few = few_judges(votes)
    if votes.judges is None or votes.judge_count < 2 or few is not None:
        return DesignEffect(points, points, units_of_counts(votes.counts()), 0, points, few)
    m = len(votes.items)
    by_judge = votes.clusters(votes.judges)
    units = units_of_counts(by_judge, split=votes.rest is not None)
    spread, single = _spreads(votes, (votes.winners, votes.losers), by_judge)
    known, scales = has_interval(units), by_judge.counts.connected.scale_of.astype(np.int64)
    reference = reference_items(spread, scales, known)
    spread, single = (relative_covariance(one, scales, reference) for one in (spread, single))
    worth = of_changes = _ratio(np.diag(spread), np.diag(single), known)
    # An item before and after is two items.
    ends = np.stack([votes.winners, votes.losers]) + m * late
    nodes, place = np.unique(ends, return_inverse=True)
    if len(nodes) <= MOST_DENSE:
        winners, losers = place.reshape(ends.shape)
        apart = votes.clusters(votes.judges, ends=(winners, losers), m=len(nodes))
        enough = has_interval(units_of_counts(apart, split=votes.rest is not None))
        both = np.intersect1d(nodes[enough & (nodes < m)], nodes[enough & (nodes >= m)] - m)
        early, after = np.searchsorted(nodes, both), np.searchsorted(nodes, both + m)
        if len(both):
            spread, single = (
                one[early, early] + one[after, after] - 2 * one[early, after]
                for one in _spreads(votes, (winners, losers), apart)
            )
            of_changes = _ratio(spread, single, np.ones(len(both), np.bool_))
    return DesignEffect(worth * points, of_changes * points, units, len(by_judge.clusters), points)


def _spreads(
    votes: Votes, ends: tuple[NDArray[np.integer], NDArray[np.integer]], by_judge: ClusterCounts
) -> list[NDArray[np.float64]]:
    """Return the covariances of scores by judge and by vote, (m, m)."""
    counts, aggregator = by_judge.counts, get(Aggregator, _METHOD)
    scores = call_aggregator(aggregator, counts, counts.m)
    each = votes.single(ends=ends, m=counts.m)
    return [covariance_of(aggregator, counts, scores, one) for one in (by_judge, each)]


def _ratio(spread: NDArray[np.float64], single: NDArray[np.float64], known: NDArray[np.bool_]) -> float:
    known = known & (single > 0)
    return max(float((spread[known] / single[known]).mean()), 1.0) if known.any() else 1.0
