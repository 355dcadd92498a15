"""What one method makes of a score table: scores, intervals, ranks, tiers, and how often each system is first."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged
from rankbench.kinds.score_aggregator import ScoreAggregator
from rankbench.kinds.scores import finite_scores
from rankbench.ranking.complete_scores import LEVEL, tell_nothing
from rankbench.stats.bootstrap import counts, crossed
from rankbench.stats.columns import AllPairs, ContrastMatrix, Contrasts
from rankbench.stats.contrasts import studentized_contrasts
from rankbench.stats.critical import VarianceSources
from rankbench.stats.own_errors import OwnErrors, allowing_for_resamples
from rankbench.stats.ranks import rank_ranges_of_signs, significance_tiers, top_shares
from rankbench.stats.simultaneous import FEW, Studentized

__all__ = ["SystemRanking", "rank_systems"]


@dataclass(frozen=True, eq=False)
class SystemRanking:
    """A ranking of S systems.

    Attributes
    ----------
    scores, lower, upper : ndarray of float64, shape (S,)
        Scores with their own 95% intervals; nan for a score that is the same in all resamples.
    ranks : ndarray of int64, shape (S, 2)
        Smallest and largest rank, all together at 95%.
    tiers : ndarray of int64, shape (S,)
        1: nobody is shown to be better.
    first, top : ndarray of float64, shape (S,)
        Shares of resamples in which a system is first, and among the first k.
    dropped : int
        Resamples of which the method had no scores.
    """

    scores: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    ranks: NDArray[np.int64]
    tiers: NDArray[np.int64]
    first: NDArray[np.float64]
    top: NDArray[np.float64]
    dropped: int

    def turned(self, sign: float, least: float) -> SystemRanking:
        """Return it with scores, of which more is better, plus a constant, times 1 or -1."""
        lower, upper = (self.lower, self.upper) if sign > 0 else (self.upper, self.lower)
        return replace(
            self,
            scores=sign * (self.scores + least) + 0.0,
            lower=sign * (lower + least) + 0.0,
            upper=sign * (upper + least) + 0.0,
        )


def rank_systems(
    values: NDArray[np.float64],
    method: ScoreAggregator,
    *,
    k: int,
    replicates: int,
    seed: int,
    known: dict[bytes, SystemRanking] | None = None,
) -> SystemRanking:
    """Rank systems by one method, with the paired crossed bootstrap over tasks and seeds.

    Parameters
    ----------
    values : ndarray of float64, shape (R, T, S)
        Finite, more is better; one seed, or as many as can be resampled.
    method : ScoreAggregator
    k : int
        Of the first k places.
    replicates, seed : int
        The same seed, R and T resample the same tasks and seeds, whatever the method.
    known : dict, optional
        Rankings of the same table with the same parameters, by a digest of cells: methods whose cells differ by a
        constant, as ranks and Borda counts do, share their resamples. New ones are added.

    Raises
    ------
    ContenderDiverged
        The method has no finite scores.
    """
    sign = 1.0 if method.direction == "maximize" else -1.0
    if not method.has_cells():
        arms = values.shape[2]
        scores = sign * finite_scores(method.from_scores(values, np.ones(values.shape[:2])), arms)
        drawn = sign * _resampled(values, method, replicates, seed)
        single, paired = (
            _studentized(wanted, scores, drawn, values.shape)
            for wanted in (ContrastMatrix(np.eye(arms)), AllPairs(arms))
        )
        nothing = slice(None) if tell_nothing(values.shape[1], arms) else None
        return _ranking(single, paired, drawn, nothing, k, replicates, None).turned(sign, 0.0)
    cells = sign * method.checked_cells(values)
    least = float(cells.min())
    cells -= least
    key = hashlib.sha256(np.ascontiguousarray(cells).tobytes()).digest()
    known = {} if known is None else known
    if key not in known:
        known[key] = _of_cells(cells, k, replicates, seed)
    return known[key].turned(sign, least)


def _of_cells(cells: NDArray[np.float64], k: int, replicates: int, seed: int) -> SystemRanking:
    """Rank systems by means of cells, shape (R, T, S); more is better."""
    sample, arms = crossed(cells, seed, replicates), cells.shape[2]
    single = studentized_contrasts(sample, ContrastMatrix(np.eye(arms)))
    paired = studentized_contrasts(sample, AllPairs(arms))
    nothing = _coarse(sample.queries) if tell_nothing(cells.shape[1], arms) else None
    own = OwnErrors.of_pairs(cells[0], seed, replicates) if len(cells) == 1 and paired.units >= FEW else None
    return _ranking(single, paired, sample.replicates, nothing, k, replicates, own)


def _ranking(
    single: Studentized,
    paired: Studentized,
    drawn: NDArray[np.float64],
    nothing: slice | NDArray[np.bool_] | None,
    k: int,
    replicates: int,
    own: OwnErrors | None,
) -> SystemRanking:
    """Return a ranking by scores of which more is better; of pairs in `nothing` nothing is said."""
    arms = len(single.estimate)
    signs = paired.signs(LEVEL, own, allowing_for_resamples(LEVEL, len(drawn if own is None else own.values)))
    if nothing is not None:
        signs[nothing] = 0
    half = np.full(arms, np.nan) if single.sources is None else single.sources.quantile(1 - LEVEL) * single.se
    # What is the same in all resamples of a few tasks need not be the same on all tasks.
    half = np.where(single.se > 0, half, np.nan)
    return SystemRanking(
        single.estimate,
        single.estimate - half,
        single.estimate + half,
        rank_ranges_of_signs(signs, arms),
        significance_tiers(signs, arms),
        top_shares(drawn, 1),
        top_shares(drawn, k),
        replicates - len(drawn),
    )


def _coarse(by_task: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return of which pairs two tasks have the same difference, shape (P,): the t test is not made for such few values.

    Parameters
    ----------
    by_task : ndarray of float64, shape (T, S)
        T is small.
    """
    first, second = np.triu_indices(by_task.shape[1], 1)
    differences = np.sort(by_task[:, first] - by_task[:, second], axis=0)
    size = np.abs(by_task).max(initial=0.0)
    return np.asarray((np.diff(differences, axis=0) <= 1e-12 * size).any(axis=0))


def _resampled(values: NDArray[np.float64], method: ScoreAggregator, replicates: int, seed: int) -> NDArray[np.float64]:
    """Return the scores of resamples, those without scores left out."""
    seeds, tasks = (np.random.default_rng([seed, which]) for which in (0, 1))
    of_seeds, of_tasks = counts(seeds, replicates, values.shape[0]), counts(tasks, replicates, values.shape[1])
    found = method.resampled_scores(values, of_seeds, of_tasks)
    kept = found[np.isfinite(found).all(axis=1)]
    if len(kept) < 2:
        raise ContenderDiverged(f"{method.name!r} has scores of the table, but of {len(kept)} resamples of its tasks")
    return kept


def _studentized(
    wanted: Contrasts, scores: NDArray[np.float64], drawn: NDArray[np.float64], shape: tuple[int, ...]
) -> Studentized:
    """Return contrasts of scores that are no means: the fewer of seeds and tasks count for the whole variance."""
    units = min(size for size in shape[:2] if size > 1)
    return Studentized.from_replicates(
        wanted.means(scores),
        wanted.contrast_rows(drawn),
        VarianceSources.only(wanted.count, units - 1.0),
        units=units,
        size=float(np.abs(scores).max()),
    )
