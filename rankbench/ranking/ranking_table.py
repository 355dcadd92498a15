"""Rankings become a table, a row an item; so does the difference of two items, with the votes that tell them apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import InputError, OptionError, closest, option
from rankbench.ranking.rank import Ranking
from rankbench.ranking.sampling_units import has_interval, lacking

_TOGETHER = 1000
"""Rankings that become a table together: a table of two items takes a thousand times their memory."""


def _places(scales: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each item's scale, the largest scale first."""
    numbers, first, sizes = np.unique(scales, return_index=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    place = np.empty(len(numbers), np.int64)
    place[order] = np.arange(1, len(numbers) + 1)
    return place[np.searchsorted(numbers, scales)]


def _columns(ranking: Ranking) -> dict[str, Any]:
    """Return the columns of a ranking of items, with those of the one without covariates."""
    found = ranking.columns() | {"scale": _places(ranking.scales)}
    if ranking.tallies:
        found |= {"votes": ranking.tallies.judged, "wins": ranking.tallies.won}
    if ranking.winners is not None:
        found["winner"] = ranking.winners
    others = ranking.unadjusted.columns() if ranking.unadjusted else {}
    return found | {f"unadjusted_{name}": column for name, column in others.items() if name != "may_be_first"}


def ranking_table(rankings: Mapping[Any, Ranking]) -> pl.DataFrame:
    """Return rankings of queries as a table, sorted by their names, in each query the largest scale first.

    One without a name is of the whole log: there is no column of queries.
    """
    parts, items = [*map(_columns, rankings.values())], [one.items for one in rankings.values()]
    numbers = {
        name: None if first is None else np.concatenate([part[name] for part in parts])
        for name, first in parts[0].items()
    }
    ends = [name for name in numbers if name.endswith(("lower", "upper"))]
    table = pl.DataFrame(
        {"item": list(itertools.chain.from_iterable(items))} | numbers, schema_overrides={"may_be_first": pl.Boolean}
    ).with_columns(pl.col(ends).fill_nan(None))
    if None in rankings:
        return table.sort("scale", "score", "item", descending=[False, True, False])
    of = np.repeat(np.arange(len(items)), [*map(len, items)])
    named = table.select(pl.Series("query", [*rankings], pl.String).gather(of), pl.all())
    return named.sort("query", "scale", "score", "item", descending=[False, False, True, False])


def query_tables(rankings: Iterable[tuple[str, Ranking]]) -> pl.DataFrame | None:
    """Return the table of many rankings of queries, made of `_TOGETHER` at a time; None without any."""
    light = ((query, replace(ranking, errors=None)) for query, ranking in rankings)
    tables = list[pl.DataFrame]()
    while some := dict(itertools.islice(light, _TOGETHER)):
        tables.append(ranking_table(some))
    return pl.concat(tables) if tables else None


LEVEL = 0.05
"""Level of the test, two-sided, and one minus the confidence of the interval."""

POWER = 0.8
"""Probability with which that many more votes tell the two items apart."""

_LEAST = 1e-300
"""Variance that shows a lead of 0."""

_TYPES = {
    "query": pl.String,
    "item": pl.String,
    "other": pl.String,
    "difference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "p": pl.Float64,
    "votes": pl.Int64,
    "more_votes": pl.Float64,
    "reason": pl.String,
}


def pair_difference(ranking: Ranking, pair: Sequence[str], query: str | None = None) -> pl.DataFrame:
    r"""Return the difference of the scores of two items, a row.

    The standard error and the number of more votes follow from `variances_and_goals`. The interval and the p-value are
    Student's, with the fewer degrees of freedom of the two items. They are those of this difference alone: the pair was
    chosen before the scores were seen.

    Parameters
    ----------
    ranking : Ranking
        With intervals, and its tallies.
    pair : (str, str)
        The item, and the other one.
    query : str, optional
        Category of the ranking.

    Returns
    -------
    DataFrame
        ``query, item, other, difference, lower, upper, p, votes, more_votes, reason``; where there is no interval
        ``reason`` says why, and numbers that are not known are null. ``votes`` are those of the log.

    Raises
    ------
    InputError
        The log has no such item; of one category: the reason says so.
    """
    votes = ranking.tallies.judgments if ranking.tallies else 0
    row: dict[str, object] = {"query": query, "item": pair[0], "other": pair[1], "votes": votes}
    missing = [name for name in pair if name not in ranking.items]
    if missing and query is None:
        raise InputError(f"{option('between')}: there is no item {missing[0]!r}{closest(missing[0], ranking.items)}")
    first, second = (-1, -1) if missing else map(ranking.items.index, pair)
    if missing:
        row["reason"] = f"no votes on {' and '.join(missing)}"
    elif ranking.scales[first] != ranking.scales[second]:
        row["reason"] = "no comparisons connect the two"
    else:
        row["difference"] = float(ranking.scores[first] - ranking.scores[second])
        row |= _inference(ranking, first, second)
    return pl.DataFrame([row], _TYPES)


def _inference(ranking: Ranking, first: int, second: int) -> dict[str, object]:
    from scipy.special import stdtr, stdtrit

    errors, pair = ranking.errors, [first, second]
    if errors is None or ranking.units is None:
        return {"reason": "the method has no intervals, or the log too few votes"}
    if not has_interval(ranking.units)[pair].all():
        return {"reason": f"one of the two has {' and one has '.join(lacking(ranking.units, pair))}"}
    variance, goal = (float(one) for one in variances_and_goals(ranking.scores, errors.covariance, first, second))
    se = float(np.sqrt(variance))
    lead, freedom = float(ranking.scores[first] - ranking.scores[second]), float(errors.freedom[pair].min())
    if se <= 1e-9 * max(1.0, abs(lead)):
        return {"reason": "the difference is the same in all resamples"}
    t, half = abs(lead) / se, -float(stdtrit(freedom, LEVEL / 2)) * se
    more = None
    if t > 0 and ranking.tallies:
        more = float(np.ceil(ranking.tallies.judgments * max(0.0, variance / goal - 1)))
    return {"lower": lead - half, "upper": lead + half, "p": float(2 * stdtr(freedom, -t)), "more_votes": more}


def variances_and_goals(
    scores: NDArray[np.float64],
    covariance: NDArray[np.float64],
    first: int | NDArray[np.integer],
    second: int | NDArray[np.integer],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return variances of leads, and the variances at which tests of the leads have 80% power.

    A two-sided test of one lead d at level .05 has it at the variance

    .. math:: \left( \frac{d}{z_{.975} + z_{.8}} \right)^2

    if d is the true lead. Variances fall as 1 / n with n votes that are spread over pairs (and judges) as today's: a
    log that has n needs n (variance / goal - 1) more.

    Parameters
    ----------
    scores : ndarray of float64, shape (m,)
    covariance : ndarray of float64, shape (m, m)
        The one that ranges of ranks rest on, `Ranking.errors`: by judge, it is moderated
        (`rankbench.stats.moderation`).
    first, second : int, or ndarray of int, shape (P,)
        Items of each pair.

    Returns
    -------
    ndarray of float64, shape (P,)
        Variances.
    ndarray of float64, shape (P,)
        Goals, above 0.
    """
    own = np.diag(covariance)
    variances = np.maximum(own[first] + own[second] - 2 * covariance[first, second], 0.0)
    return variances, goal_of(scores[first] - scores[second])


def goal_of(leads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances, above 0, at which tests of leads have 80% power: see `variances_and_goals`."""
    from scipy.special import ndtri

    goals: NDArray[np.float64] = np.maximum((leads / (ndtri(1 - LEVEL / 2) + ndtri(POWER))) ** 2, _LEAST)
    return goals


def check_pair(pair: Sequence[str]) -> None:
    """Raise for a pair of one item twice."""
    if len(pair) != 2 or pair[0] == pair[1]:
        raise OptionError("between", "takes two different names")
