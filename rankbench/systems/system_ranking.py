"""Systems are ranked by one method, with intervals from a bootstrap over tasks and seeds."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import count_text
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.sequential_aggregator import ScoreAggregator, TaskScores
from rankbench.ranking.rank import Ranking
from rankbench.stats.bootstrap import counts, crossed
from rankbench.stats.contender_ranks import (
    best_of_arms,
    rank_ranges_of_signs,
    significance_tiers,
    top_shares,
)
from rankbench.stats.contrast_columns import AllPairs, ContrastMatrix, Contrasts, VarianceSources
from rankbench.stats.contrasts import studentized_contrasts
from rankbench.stats.simultaneous import FEW, OwnErrors, Studentized, allowing_for_resamples
from rankbench.stats.skewness import hidden_by_skewness
from rankbench.systems.score_sample import LEVEL, cannot_reject


def turned(ranking: Ranking, sign: float, least: float) -> Ranking:
    """Return a ranking with a constant added to the scores, and their sign turned if `sign` is -1."""
    ends = (ranking.lower, ranking.upper)[:: 1 if sign > 0 else -1]
    scores, lower, upper = (sign * (each + least) + 0.0 for each in (ranking.scores, *ends))
    return replace(ranking, scores=scores, lower=lower, upper=upper)


def system_table(method: ScoreAggregator, systems: list[str], found: Ranking, *, less: bool) -> pl.DataFrame:
    """Return a ranking as rows of `rankbench.systems.score_ranking.ScoreRanking`, the best first.

    `less` says whether less is better of its scores.
    """
    first = ("method", "system", "score", "lower", "upper")
    table = pl.DataFrame({"method": [str(method)] * len(systems), "system": systems, **found.columns(), **found.more})
    table = table.select(*first, pl.exclude(first)).with_columns(pl.col("lower", "upper").fill_nan(None))
    return table.sort("score", "system", descending=[not less, False])


def turns(method: ScoreAggregator, whole: TaskScores) -> bool:
    """Return whether all tasks are minimized, and a method's scores change sign with the table.

    Then they can be in the table's own direction: a mean of losses is a loss.
    """
    if not whole.all_less:
        return False
    once = np.ones(whole.values.shape[:2])
    return np.array_equal(method.checked_scores(whole.better, once), -method.checked_scores(whole.values, once))


def is_mean(method: ScoreAggregator, values: NDArray[np.float64]) -> bool:
    """Return whether a method's scores are means of the table's own, shape (R, T, S)."""
    return method.has_cells() and np.array_equal(method.checked_cells(values), values)


def rank_systems(
    values: NDArray[np.float64],
    method: ScoreAggregator,
    *,
    k: int,
    replicates: int,
    seed: int,
    known: dict[bytes, Ranking] | None = None,
) -> Ranking:
    """Rank systems by one method, with the paired crossed bootstrap over tasks and seeds.

    Its table has ``tier``, 1 where no system is significantly better, and the shares of resamples in which a system is
    first, ``p_first``, and among the first k, ``p_top_k``.

    Parameters
    ----------
    values : ndarray of float64, shape (R, T, S)
        Finite, more is better; one seed, or as many as can be resampled.
    method : ScoreAggregator
    k : int
        Of the first k places.
    replicates, seed : int
        The same seed, R and T resample the same tasks and seeds for any method.
    known : dict, optional
        Rankings of the same table with the same parameters, by a digest of cells: methods whose cells differ by a
        constant, as ranks and Borda counts do, share their resamples. New ones are added.

    Raises
    ------
    ContenderDiverged
        The method has no finite scores.
    """
    sign = 1.0 if method.direction == "maximize" else -1.0
    if values.shape[2] == 1:
        return _single_system(method, values, replicates, seed)
    if not method.has_cells():
        arms = values.shape[2]
        scores = sign * method.checked_scores(values, np.ones(values.shape[:2]))
        drawn = sign * resampled_systems(values, method, replicates, seed)
        single, paired = (
            studentized_scores(wanted, scores, drawn, values.shape)
            for wanted in (ContrastMatrix(np.eye(arms)), AllPairs(arms))
        )
        nothing = slice(None) if cannot_reject(values.shape[1], arms) else None
        return turned(_ranking(single, paired, drawn, nothing, k, replicates, None), sign, 0.0)
    cells = sign * method.checked_cells(values)
    least = float(cells.min())
    cells -= least
    key = hashlib.sha256(np.ascontiguousarray(cells).tobytes()).digest()
    known = {} if known is None else known
    if key not in known:
        known[key] = _of_cells(cells, k, replicates, seed)
    return turned(known[key], sign, least)


def _single_system(method: ScoreAggregator, values: NDArray[np.float64], replicates: int, seed: int) -> Ranking:
    """Return the score of one system, first without a comparison; one task alone gives no interval."""
    scores, half = method.checked_scores(values, np.ones(values.shape[:2])), np.full(1, np.nan)
    if method.has_cells() and values.shape[1] > 1:
        sample = crossed(method.checked_cells(values), seed, replicates)
        half = _half_lengths(studentized_contrasts(sample, ContrastMatrix(np.eye(1))))
    place, one = np.ones(1, np.int64), {"p_first": np.ones(1), "p_top_k": np.ones(1)}
    ends = scores, scores - half, scores + half
    return Ranking([], *ends, place, place, place == 1, place - 1, more={"tier": place, **one})


def _half_lengths(single: Studentized) -> NDArray[np.float64]:
    """Return half the length of each score's own interval."""
    if single.sources is None:
        return np.full(len(single.estimate), np.nan)
    # A value that all resamples of a few tasks share need not hold on all tasks.
    return np.where(single.se > 0, single.sources.quantile(1 - LEVEL) * single.se, np.nan)


def _of_cells(cells: NDArray[np.float64], k: int, replicates: int, seed: int) -> Ranking:
    """Rank systems by means of cells, shape (R, T, S); more is better."""
    sample, arms = crossed(cells, seed, replicates), cells.shape[2]
    single = studentized_contrasts(sample, ContrastMatrix(np.eye(arms)))
    paired = studentized_contrasts(sample, AllPairs(arms))
    nothing = few_values(sample.queries) if cannot_reject(cells.shape[1], arms) else None
    own = OwnErrors.of_pairs(cells[0], seed, replicates) if len(cells) == 1 and paired.units >= FEW else None
    return _ranking(single, paired, sample.replicates, nothing, k, replicates, own, cells.mean(axis=0))


def _ranking(
    single: Studentized,
    paired: Studentized,
    drawn: NDArray[np.float64],
    nothing: slice | NDArray[np.bool_] | None,
    k: int,
    replicates: int,
    own: OwnErrors | None,
    means: NDArray[np.float64] | None = None,
) -> Ranking:
    """Return a ranking by scores to maximize; pairs in `nothing` stay undecided.

    `means`, of systems on tasks, tell which differences are skewed.
    """
    arms = len(single.estimate)
    quantile = allowing_for_resamples(LEVEL, len(drawn if own is None else own.values))
    signs, hidden, skewed = paired.signs(LEVEL, own, quantile), np.zeros(len(paired.estimate), np.bool_), 0
    if means is not None and paired.sources is not None:
        t = np.divide(paired.estimate, paired.se, out=np.zeros_like(paired.se), where=paired.se > 0)
        hidden, skewed = hidden_by_skewness(means, t, paired.sources.quantile(1 - LEVEL))
        signs[hidden] = 0
    if nothing is not None:
        paired = replace(paired, se=paired.se.copy())
        signs[nothing], paired.se[nothing] = 0, 0.0
    ranks = rank_ranges_of_signs(signs, arms)
    first = ranks[:, 0] == 1
    best = best_of_arms(
        single.estimate,
        drawn,
        paired,
        level=LEVEL,
        quantile=quantile,
        own=own,
        possible=first,
        hidden=hidden,
    )
    half = _half_lengths(single)
    ends = single.estimate - half, single.estimate + half
    shares = {"p_first": top_shares(drawn, 1), "p_top_k": top_shares(drawn, k)}
    more = {"tier": significance_tiers(signs, arms), **shares}
    notes, left_out = list[str](), replicates - len(drawn)
    if skewed:
        pairs = count_text(arms * (arms - 1) // 2, "pair")
        notes.append(f"differences are skewed in {skewed:,} of {pairs} of systems; rankbench corrects their tests")
    if left_out:
        notes.append(f"rankbench leaves out {left_out:,} of {replicates:,} resamples without scores")
    one_scale = np.zeros(arms, np.int64)
    low, high = ranks.T
    return Ranking([], single.estimate, *ends, low, high, best, one_scale, more=more, notes=tuple(notes))


def few_values(by_task: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether two tasks have the same difference of a pair, shape (P,): too few values for the t test.

    Parameters
    ----------
    by_task : ndarray of float64, shape (T, S)
        T is small.
    """
    first, second = np.triu_indices(by_task.shape[1], 1)
    differences = np.sort(by_task[:, first] - by_task[:, second], axis=0)
    size = np.abs(by_task).max(initial=0.0)
    return np.asarray((np.diff(differences, axis=0) <= 1e-12 * size).any(axis=0))


def resampled_systems(
    values: NDArray[np.float64], method: ScoreAggregator, replicates: int, seed: int
) -> NDArray[np.float64]:
    """Return the scores of resamples, without resamples that have none."""
    seeds, tasks = (np.random.default_rng([seed, which]) for which in (0, 1))
    of_seeds, of_tasks = counts(seeds, replicates, values.shape[0]), counts(tasks, replicates, values.shape[1])
    found = method.resampled_scores(values, of_seeds, of_tasks)
    kept = found[np.isfinite(found).all(axis=1)]
    if len(kept) < 2:
        raise ContenderDiverged(f"{method.name!r} scores the table, but only {len(kept)} resamples of its tasks")
    return kept


def studentized_scores(
    wanted: Contrasts, scores: NDArray[np.float64], drawn: NDArray[np.float64], shape: tuple[int, ...]
) -> Studentized:
    """Return contrasts of scores other than means, with the degrees of freedom of the fewer of seeds and tasks."""
    units = min(size for size in shape[:2] if size > 1)
    return Studentized.from_replicates(
        wanted.means(scores),
        wanted.contrast_rows(drawn),
        VarianceSources.only(wanted.count, units - 1.0),
        units=units,
        size=float(np.abs(scores).max()),
    )
