"""The difference of two systems of a score table: its interval, its p-value, and how many more tasks show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.errors import InputError, closest, option
from rankbench.interfaces.sequential_aggregator import ScoreAggregator, TaskScores
from rankbench.ranking.ranking_table import goal_of
from rankbench.stats.bootstrap import crossed
from rankbench.stats.contrast_columns import ArmContrast
from rankbench.stats.contrasts import studentized_contrasts
from rankbench.stats.skewness import mean_reach
from rankbench.systems.score_sample import LEVEL, cannot_reject, least_tasks
from rankbench.systems.system_ranking import few_values, resampled_systems, studentized_scores, turns

_DIFFERENCES = {
    **dict.fromkeys(("method", "system", "other"), pl.String),
    **dict.fromkeys(("difference", "lower", "upper", "p"), pl.Float64),
    **{"tasks": pl.Int64, "more_tasks": pl.Float64, "reason": pl.String},
}


def system_differences(
    whole: TaskScores, methods: Sequence[ScoreAggregator], pair: tuple[str, str], *, replicates: int, seed: int
) -> pl.DataFrame:
    """Return the difference of two systems by each method: see `rankbench.systems.score_ranking.ScoreRanking`.

    Raises
    ------
    InputError
        The completed table has no such system.
    """
    for name in pair:
        if name not in whole.systems:
            near = closest(name, whole.systems)
            raise InputError(f"{option('between')}: no system {short_repr(name)} is ranked{near}")
    places = whole.systems.index(pair[0]), whole.systems.index(pair[1])
    rows = []
    for method in methods:
        values = whole.values if turns(method, whole) else whole.better
        found = system_difference(values, method, places, replicates=replicates, seed=seed)
        rows.append({"method": str(method), "system": pair[0], "other": pair[1]} | found)
    return pl.DataFrame(rows, _DIFFERENCES)


def system_difference(
    values: NDArray[np.float64], method: ScoreAggregator, pair: tuple[int, int], *, replicates: int, seed: int
) -> dict[str, object]:
    r"""Return the difference of the scores of two systems, as `rank_systems` resamples it.

    The interval and the p-value are for this difference alone; both correct skewed differences, see
    `rankbench.stats.skewness`. Of the variance, the part of the tasks falls as 1 / T with T tasks, the part of the
    seeds stays. A test of the difference at level .05 has 80% power with so many more tasks, and
    :math:`z_{.975}^2 / 2` for Student's t [Gue81]_.

    Parameters
    ----------
    values : ndarray of float64, shape (R, T, S)
    method : ScoreAggregator
    pair : (int, int)
        Places of the two systems.
    replicates, seed : int

    Returns
    -------
    dict
        ``difference, lower, upper, p, tasks, more_tasks, reason``; `reason` says why there is no interval. There are no
        ``more_tasks`` where none tell the two apart with these seeds, or nothing tells the part of the seeds.

    References
    ----------
    .. [Gue81] W. C. Guenther. Sample size formulas for normal theory t tests. The American Statistician 35(4), 1981.
    """
    from scipy.special import ndtri

    tasks, by_task = values.shape[1], None
    if method.has_cells():
        cells = method.checked_cells(values)[..., pair]
        by_task = cells.mean(axis=0)
        found = studentized_contrasts(crossed(cells, seed, replicates), ArmContrast(0, 1))
    else:
        scores = method.checked_scores(values, np.ones(values.shape[:2]))
        drawn = resampled_systems(values, method, replicates, seed)
        found = studentized_scores(ArmContrast(*pair), scores, drawn, values.shape)
    lead, se, sources = float(found.estimate[0]), float(found.se[0]), found.sources
    answer: dict[str, object] = {"difference": lead, "tasks": tasks}
    if cannot_reject(tasks, 2) and (by_task is None or few_values(by_task)[0]):
        why = f"{tasks} tasks are too few: one of two equal systems may lead on all by chance"
        return answer | {"reason": f"{why}; at least {least_tasks(2)} are needed"}
    if sources is None or se == 0:
        return answer | {"reason": "the difference is the same in all resamples"}
    t, critical = lead / se, float(sources.quantile(1 - LEVEL)[0])
    size, (below, above) = abs(t), (critical, critical)
    if by_task is not None and tasks > 2:
        size, (below, above) = mean_reach(by_task[:, 0] - by_task[:, 1], t, critical)
    answer |= {"lower": lead - below * se, "upper": lead + above * se, "p": float(sources.p(np.array([size]))[0])}
    of_seeds = (float(sources.share[0]) if by_task is not None else np.nan) if len(values) > 1 else 0.0
    left = float(goal_of(np.array([lead]))[0]) - of_seeds * se**2
    if lead != 0 and left > 0:
        wanted = tasks * (1 - of_seeds) * se**2 / left + ndtri((1 + LEVEL) / 2) ** 2 / 2
        answer["more_tasks"] = max(0.0, float(np.ceil(wanted - tasks)))
    return answer
