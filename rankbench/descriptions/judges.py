r"""Judges are described: side preferences, repeated votes.

Honest judges differ in how often they say left, if only because they saw other pairs. So a judge's share is
compared with the *others*: their share, and the variance of shares between judges. The share of votes for
the left of a judge with n votes is taken for one of mean p and variance

.. math:: p (1 - p) \, \frac{1 + (n - 1) \rho}{n}

(beta-binomial) and :math:`\rho` is estimated from the others by moments. Few judges tell little of it: it is
shrunk toward `_RHO`, a spread of judges' shares of 0.11 around one half, as if `_PRIOR` more degrees of freedom
had said so. The distribution is a beta of these moments, and in its far tails the beta-binomial itself where votes
are few, with Student's tails for the estimate; and a judge is never more suspicious than by the exact binomial test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.data.tables.schemas import REST
from rankbench.stats.contrasts import within_range
from rankbench.stats.multiple_tests import holm

LEVEL = 0.05
_SAMPLE = 1 << 21
_LEAST_VARIANCE, _MOST_WORTH = 1e-12, 1e6
_FEWEST_FREEDOM = 0.1
"""Degrees of freedom below which Student's quantile overflows; the interval is all of 0 to 1 well before."""


@dataclass(frozen=True)
class Position:
    """Share of the decisive votes that the item on the left won.

    Attributes
    ----------
    votes : int
        Decisive votes.
    share : float
    lower, upper : float
        95%: over judges where there are two or more, never shorter than if votes were
        independent; else Wilson's.
    by_judge : bool
    points : bool
        Points of some votes are split: `share` is of points.
    weighted : bool
        Votes have weights: `share` is of the weight.
    """

    votes: int
    share: float
    lower: float
    upper: float
    by_judge: bool
    points: bool = False
    weighted: bool = False


@dataclass(frozen=True)
class BiasedJudge:
    """A judge whose share of votes for the left deviates from the other judges'.

    Attributes
    ----------
    judge : str
    votes, left : int
        Decisive votes, and those for the left.
    p : float
        Two-sided, against the other judges, after Holm's adjustment for all: `rankbench.descriptions.judges`.
    """

    judge: str
    votes: int
    left: int
    p: float


@dataclass(frozen=True)
class Repeats:
    """Judges who voted on the same pair under the same query again, with the same sides where sides are known.

    Attributes
    ----------
    votes : float
        Votes beyond a judge's first on a pair and query. A judgment in both orders of sides is none of them.
    contradictions : float
        Pairs and queries, with one order of sides, on which a judge said different things.
    sampled : float
        Share of the (judge, pair, query) that was looked at; numbers are scaled up from it.
    queries : bool
        There is more than one query.
    sides : bool
        The log has sides.
    """

    votes: float
    contradictions: float
    sampled: float
    queries: bool
    sides: bool = False


def votes_with_points(table: pl.LazyFrame) -> pl.LazyFrame:
    """Return a row a vote, with a column ``points``, the winner's share, if points are split.

    Parameters
    ----------
    table : LazyFrame
        Comparisons in the schema.
    """
    if REST not in table.collect_schema():
        return table
    weight = pl.col("weight")
    more = pl.when(pl.col(REST).shift(-1)).then(weight.shift(-1)).otherwise(0.0)
    split = table.with_columns(points=weight / (weight + more), weight=weight + more)
    return split.filter(~pl.col(REST)).drop(REST)


def share_of_winner(names: Sequence[str]) -> pl.Expr:
    """Return the winner's share of each vote: its points, 1/2 of a tie; `names` are the columns of the votes."""
    won = pl.col("points") if "points" in names else pl.lit(1.0)
    return pl.when(pl.col("tie")).then(0.5).otherwise(won) if "tie" in names else won


def _sides(table: pl.LazyFrame, names: list[str]) -> pl.DataFrame | None:
    """Return the numbers of decisive votes and of votes for the left, by judge; None if sides are unknown."""
    if "first" not in names:
        return None
    decisive = table.filter(~pl.col("tie").fill_null(False)) if "tie" in names else table
    judge = pl.col("judge").cast(pl.String) if "judge" in names else pl.lit(None, pl.String)
    won = pl.col("first").cast(pl.Int64)
    if "points" in names:
        won = pl.when("first").then(pl.col("points")).otherwise(1 - pl.col("points"))
    weight = pl.col("weight") if "weight" in names else pl.lit(1.0)
    grouped = decisive.select(judge.alias("judge"), won.alias("left"), weight.alias("weight")).group_by("judge")
    sums = [pl.col("left").sum(), (pl.col("left") ** 2).sum().alias("squares"), pl.col("weight").sum()]
    sums += [(pl.col("weight") * pl.col("left")).sum().alias("heavy"), (pl.col("weight") ** 2).sum().alias("heavier")]
    return grouped.agg(pl.len().cast(pl.Int64).alias("votes"), *sums).sort("judge").collect(engine="streaming")


def position_bias(table: pl.LazyFrame, *, accuse: bool = True) -> tuple[Position | None, list[BiasedJudge] | None]:
    """Return the left's share of wins, and the judges who favor a side.

    Memory grows with the judges alone.

    Parameters
    ----------
    table : LazyFrame
        Comparisons in the schema.
    accuse : bool
        Look for position-biased judges, which takes a tenth of a second; else they are not known.

    Returns
    -------
    position : Position or None
        None without the sides of items, or without a decisive vote.
    judges : list of BiasedJudge or None
        Worst first; None where sides or judges are not known.
    """
    names = table.collect_schema().names()
    sides = _sides(table, names)
    if sides is None or not sides.height:
        return None, None
    votes, left = (sides[name].to_numpy() for name in ("votes", "left"))
    known = sides["judge"].is_not_null().to_numpy()
    by_judge = bool(known.all()) and len(votes) > 1
    n, share, points = int(votes.sum()), float(left.sum() / votes.sum()), "points" in names
    worth = _worth(n, share, float(sides["squares"].sum())) if points else 1.0
    # A row is one vote of any weight: Kish's number of equally weighted votes has the same variance.
    weight, heavy = (sides[name].to_numpy() for name in ("weight", "heavy"))
    total = float(weight.sum())
    if weighted := not math.isclose(total**2, n * float(sides["heavier"].sum()), rel_tol=1e-9):
        votes, left, share = weight, heavy, float(heavy.sum()) / total
        worth *= total / float(sides["heavier"].sum())
    lower, upper = share_interval(votes, left, by_judge=by_judge, worth=worth)
    position = Position(n, share, lower, upper, by_judge, points, weighted)
    if not accuse or not known.any():
        return position, None
    return position, _accused(sides.filter(sides["judge"].is_not_null()))


def _worth(n: int, share: float, squares: float) -> float:
    """Return the number of votes with whole points of equal variance, for each vote with split points."""
    variance = max(squares - n * share**2, 0.0) / max(n - 1, 1)
    return min(max(share * (1 - share) / max(variance, _LEAST_VARIANCE), 1.0), _MOST_WORTH)


def share_interval(
    votes: NDArray[np.number], left: NDArray[np.number], *, by_judge: bool, worth: float = 1.0
) -> tuple[float, float]:
    """Return the 95% interval of the share of votes for the left.

    Parameters
    ----------
    votes, left : ndarray, shape (J,)
        Votes of each group, and those for the left.
    by_judge : bool
        Groups are judges, who are independent; else votes are (Wilson's interval).
    worth : float
        Independent votes that vary as little as one.
    """
    if by_judge and len(votes) > 1:
        return _clustered(votes, left, worth)
    return _wilson(votes.sum() * worth, left.sum() * worth)


def _wilson(n: float, k: float, z: float = 1.959963984540054) -> tuple[float, float]:
    center, half = k + z * z / 2, z * math.sqrt(k * (n - k) / n + z * z / 4)
    return max(0.0, (center - half) / (n + z * z)), min(1.0, (center + half) / (n + z * z))


def _clustered(votes: NDArray[np.number], left: NDArray[np.number], worth: float = 1.0) -> tuple[float, float]:
    """Return the interval of a ratio of sums over judges, who are independent.

    Each judge is left out in turn (the jackknife), and Student's t has the effective number
    of judges less one for degrees of freedom: both allow for a judge who cast most of the
    votes. Judges whose shares happen to agree do not make the interval short: it covers
    Wilson's of independent votes with the same quantile.
    """
    from scipy.special import stdtrit

    total, groups = float(votes.sum()), len(votes)
    weight, share = votes / total, float(left.sum() / total)
    variance = (groups - 1) / groups * float(((left / total - weight * share) ** 2 / (1 - weight) ** 2).sum())
    freedom = max(1 / float((weight**2).sum()) - 1, _FEWEST_FREEDOM)
    quantile = float(stdtrit(freedom, 0.975))
    lower, upper = _wilson(total * worth, float(left.sum()) * worth, quantile)
    mean, half = np.array([share]), quantile * math.sqrt(variance)
    ends = within_range(mean, mean - half, mean + half, (0.0, 1.0))
    return min(lower, float(ends[0][0])), max(upper, float(ends[1][0]))


def _accused(sides: pl.DataFrame) -> list[BiasedJudge]:
    """Return the judges of ``judge, votes, left`` who are position-biased, the likeliest by chance last."""
    votes, left = (sides[name].to_numpy().astype(np.float64) for name in ("votes", "left"))
    p = bias_p_values(votes, left, LEVEL)
    names = sides["judge"]
    return [
        BiasedJudge(names[i], int(votes[i]), round(left[i]), float(p[i]))
        for i in np.argsort(p, kind="stable").tolist()
        if p[i] < LEVEL
    ]


def repeats(table: pl.LazyFrame, rows: int) -> Repeats | None:
    """Return the agreement of judges with their own repeated votes; None without judges.

    Of logs longer than two million votes a sample of (judge, pair, query) is looked at, with
    all their votes, so that memory stays bounded.
    """
    names = table.collect_schema().names()
    if "judge" not in names:
        return None
    winner, loser = pl.col("winner").cast(pl.String), pl.col("loser").cast(pl.String)
    tie = pl.col("tie").fill_null(False) if "tie" in names else pl.lit(False)
    low_won = (winner < loser) == (pl.col("points") > 0.5) if "points" in names else winner < loser
    keys = table.filter(pl.col("judge").is_not_null()).select(
        key=pl.struct(
            pl.col("query_id").cast(pl.String),
            pl.col("judge").cast(pl.String),
            pl.when(winner < loser).then(winner).otherwise(loser).alias("low"),
            pl.when(winner < loser).then(loser).otherwise(winner).alias("high"),
            *([((winner < loser) == pl.col("first")).alias("low is left")] if "first" in names else []),
        ).hash(seed=20130501),
        query=pl.col("query_id").cast(pl.String).hash(seed=20130501),
        said=pl.when(tie).then(0).when(low_won).then(1).otherwise(2).cast(pl.Int8),
    )
    step = -(-rows // _SAMPLE)
    if step > 1:
        keys = keys.filter(pl.col("key") % step == 0)
    grouped = keys.group_by("key").agg(
        pl.len(), (pl.col("said").min() != pl.col("said").max()).alias("other"), pl.col("query").first()
    )
    found = grouped.select(
        votes=(pl.col("len") - 1).cast(pl.Int64).sum(),
        contradictions=pl.col("other").sum(),
        queries=pl.col("query").min() != pl.col("query").max(),
    ).collect(engine="streaming")
    counts = float(found["votes"][0] * step), float(found["contradictions"][0] * step)
    return Repeats(*counts, 1 / step, bool(found["queries"][0]), "first" in names)


_RHO = 0.05
_PRIOR = 8.0
_MOST = 0.25
"""Share of the judges that may be accused: a position-biased judge differs from most."""
_AT_ONCE = 200
_FAR, _MANY = 0.01, 2000
_LOOKS = 2
"""Factor of p-values, since the log is tested again after each judge is put aside."""


def _sums(votes: NDArray[np.float64], left: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each judge's terms for `_p`, (5, J): 1, votes n, votes for the left k, k^2 / n and n^2."""
    return np.stack([np.ones(len(votes)), votes, left, left**2 / votes, votes**2])


def bias_p_values(votes: NDArray[np.float64], left: NDArray[np.float64], level: float = 0.05) -> NDArray[np.float64]:
    """Return each judge's p-value, adjusted for all judges by Holm's method, shape (J,); 1 if not suspected.

    The most suspicious judges are put aside one after the other, each judged by those that are left without
    him, until a quarter is: so several position-biased judges do not hide one another. Those put aside up to the last
    one whose p-value, times the number of judges then left, is below the level are suspected, and judged once
    more by all who are not.

    Parameters
    ----------
    votes, left : ndarray of float64, shape (J,)
        Decisive votes of each judge, one at least, and those for the left.
    level : float
    """
    count = len(votes)
    remaining = np.ones(count, np.bool_)
    aside: list[NDArray[np.int64]] = []
    suspected = 0
    while remaining.sum() - 1 >= (1 - _MOST) * count:
        rows = np.flatnonzero(remaining)
        sums = _sums(votes[rows], left[rows])
        p = _p(votes[rows], left[rows], sums.sum(axis=1, keepdims=True) - sums)
        # Of very many judges some at a time.
        few = min(-(-len(rows) // _AT_ONCE), int(len(rows) - (1 - _MOST) * count))
        worst = np.argsort(p, kind="stable")[:few]
        aside.append(rows[worst])
        remaining[rows[worst]] = False
        if _LOOKS * p.min() * len(rows) < level:
            suspected = len(aside)
    values = np.ones(count)
    if suspected:
        accused = np.concatenate(aside[:suspected])
        rest = np.ones(count, np.bool_)
        rest[accused] = False
        others = _sums(votes[rest], left[rest]).sum(axis=1)
        values[accused] = np.minimum(1, _LOOKS * _p(votes[accused], left[accused], others))
    return holm(values)


def _p(votes: NDArray[np.float64], left: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each judge's two-sided p-value against the other judges, given as `_sums` over them: (5,), or (5, J)."""
    from scipy.special import bdtr, betainc, ndtri, stdtr

    count, cast, for_left, shares, squares = others
    p = np.clip((for_left + 0.5) / (cast + 1.0), 1e-12, 1 - 1e-12)
    apart = p * (1 - p)
    freedom = np.maximum(cast**2 / squares - 1, 0)
    # Expected of sum n (x - p)^2 / (p (1 - p)): J - 1 without spread, and `room` more for all of it.
    room = np.maximum(cast - squares / cast - (count - 1), 1e-9)
    found = ((shares - for_left**2 / cast) / apart - (count - 1)) / room
    rho = (_PRIOR * _RHO + freedom * np.clip(found, 0, 1)) / (_PRIOR + freedom)
    own = (1 + (votes - 1) * rho) / votes
    of_others = (cast + rho * (squares - cast)) / cast**2
    size = np.maximum(1 / (own + of_others) - 1, 1e-9)
    low = betainc(p * size, (1 - p) * size, np.minimum(1, (left + 0.5) / votes))
    high = betainc((1 - p) * size, p * size, np.minimum(1, (votes - left + 0.5) / votes))
    tail = np.minimum(0.5, np.minimum(low, high))
    # Few votes are steps, whose far tails a beta misses; only suspicious judges have theirs summed up.
    alpha, other = np.broadcast_to(p * size, votes.shape), np.broadcast_to((1 - p) * size, votes.shape)
    for j in np.flatnonzero((tail < _FAR) & (votes <= _MANY)):
        n, k, right = int(votes[j]), math.ceil(left[j]), math.ceil(votes[j] - left[j])
        inflated = votes[j] * (own + of_others)[j]
        if inflated <= 1 + 1e-9:
            continue
        weight = (n - 1) / (inflated - 1) - 1
        mean = float(alpha[j] / (alpha[j] + other[j]))
        a, b = weight * mean, weight * (1 - mean)
        tail[j] = max(tail[j], min(_betabinomial(k, n, a, b), _betabinomial(right, n, b, a)))
    spread = 2 * stdtr(_PRIOR + freedom, ndtri(tail))
    whole = votes.astype(np.int64)
    below, above = bdtr(np.ceil(left), whole, p), bdtr(np.ceil(votes - left), whole, 1 - p)
    exact = np.minimum(1.0, 2 * np.minimum(below, above))
    return np.asarray(np.maximum(spread, exact))


def _betabinomial(k: int, n: int, a: float, b: float) -> float:
    """Return the chance of at most k of n, of a share that is beta(a, b)."""
    from scipy.special import betaln, gammaln

    x = np.arange(k + 1)
    terms = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) + betaln(x + a, n - x + b) - betaln(a, b)
    return float(np.exp(terms).sum())
