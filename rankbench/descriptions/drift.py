r"""Drift tests compare each item before and after, against the items that it met.

With r the residual of a vote (what happened less the chance that Bradley-Terry scores of the whole log give it, from
the item's side), w = p (1 - p) its weight in the information, and a whether it was cast after some moment, an item's
score changes at that moment by about

.. math:: \delta = \frac{\sum r (a - \bar a)}{\sum w (a - \bar a)^2}, \qquad \bar a = \frac{\sum w a}{\sum w}

(one step of Fisher's scoring). The numerator is a sum over independent units: judges where the log names them,
else of votes. It is compared with the root of the sum of their squares by Student's t, with
:math:`(\sum c^2)^2 / \sum c^4` degrees of freedom (Satterthwaite): few judges, or few votes that weigh much, make it
careful. Moments are the quarters of the log; levels are Holm's over all items and moments. An item that is found is put
aside with its votes, so that those who won against it are not found too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.descriptions.judges import share_of_winner
from rankbench.descriptions.suspicions import count_and_first
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.plugin.manager import get

LEVEL = 0.05
MOMENTS = (0.25, 0.5, 0.75)
"""Shares of the log's votes after which strengths may be others."""

_SCORES = "bradley-terry:ridge=1"
_SAMPLE = 1 << 21
_FEWEST = 5.0
"""Votes before and after a moment, without which nothing is said of it."""
_MOST = 50
"""Most items that are put aside; more drifting items are not reported."""


@dataclass(frozen=True)
class Drifting:
    """An item that wins more, or less, from some moment on than its opponents let expect.

    Attributes
    ----------
    item : str
    since : str
        The first time after the moment.
    change : float
        Of its score, in log-odds.
    before, after : float
        Its share of wins, a tie being half a win.
    p : float
        Two-sided, after Holm's adjustment for all items and moments.
    """

    item: str
    since: str
    change: float
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class Drift:
    """Evidence that strengths change with time.

    Attributes
    ----------
    items : list of Drifting
        The largest evidence first; at most fifty.
    by_judge : bool
        Judges are the independent units; else votes are.
    sampled : float
        Share of the votes that was tested.
    """

    items: list[Drifting]
    by_judge: bool
    sampled: float

    def __str__(self) -> str:
        who = "judges" if self.by_judge else "votes"
        about = "" if self.sampled == 1 else f"; of {self.sampled:.0%} of the votes"
        if not self.items:
            return f"no item changes significantly at a quarter of the log ({who} taken as independent{about})"
        said = [
            f"{short_repr(one.item)} ({one.change:+.2f} log-odds from {one.since} on; won {one.before:.0%} before, "
            f"{one.after:.0%} after)"
            for one in self.items
        ]
        return f"{count_and_first(said)} ({who} taken as independent{about})"


@dataclass(frozen=True, eq=False)
class _Looked:
    """Votes under test, one judge after another: arrays of shape (n,).

    Attributes
    ----------
    winners, losers : ndarray of int32
    quarter : ndarray of int32
        Moments that the vote was not cast before.
    residual, information, weight : ndarray of float64
        The residual is the winner's.
    won : ndarray of float64
        The winner's share of the win.
    starts : ndarray of int64, shape (G + 1,), or None
        Where the votes of each judge begin; None where votes are the independent units.
    """

    winners: NDArray[np.int32]
    losers: NDArray[np.int32]
    quarter: NDArray[np.int32]
    residual: NDArray[np.float64]
    information: NDArray[np.float64]
    weight: NDArray[np.float64]
    won: NDArray[np.float64]
    starts: NDArray[np.int64] | None

    @cached_property
    def items(self) -> NDArray[np.int64]:
        """The winner and the loser of each vote in turn, (2 n,)."""
        return _in_turn(self.winners, self.losers).astype(np.int64)

    @cached_property
    def judged(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Different pairs of a judge and an item, as the item of each, and the pair of each vote's items, (2 n,)."""
        starts = np.zeros(1, np.int64) if self.starts is None else self.starts
        judge, m = np.repeat(np.arange(len(starts) - 1), 2 * np.diff(starts)), int(self.items.max()) + 1
        pairs, place = np.unique(judge * m + self.items, return_inverse=True)
        return pairs % m, place.reshape(-1)


def drift(table: pl.LazyFrame, rows: int, counts: PairCounts) -> Drift | None:
    """Return the items that drift; None without times, or if the log cannot be cut into quarters.

    Of logs longer than two million votes every so many-th one is looked at, so that memory stays bounded.

    Parameters
    ----------
    table : LazyFrame
        Comparisons in the schema.
    rows : int
    counts : PairCounts
        All of it.
    """
    step = -(-rows // _SAMPLE)
    votes = _votes(table, step, counts.items)
    if votes is None or votes["time"].null_count() or not votes.height:
        return None
    times = votes["time"]
    if not times.is_sorted():
        votes = votes.sort("time", maintain_order=True)
        times = votes["time"]
    n, cuts = votes.height, []
    for share in MOMENTS:
        begin = int(times.search_sorted(times[int(share * n)], side="left"))
        if 0 < begin < n and begin not in cuts:
            cuts.append(begin)
    if not cuts:
        return None
    looked, by_judge = _looked(votes, cuts, counts)
    found = _found(looked, len(cuts), counts.m)
    drifting = [
        Drifting(counts.items[i], str(times[cuts[k]]), change, before, after, p)
        for i, k, change, before, after, p in found
    ]
    return Drift(drifting, by_judge, 1 / step)


def _votes(table: pl.LazyFrame, step: int, items: list[str] | list[int]) -> pl.DataFrame | None:
    """Return every `step`-th vote, names as numbers of 4 bytes; None where votes have no times."""
    schema = table.collect_schema().names()
    if "time" not in schema:
        return None
    kept = [name for name in ("winner", "loser", "weight", "time", "judge") if name in schema]
    chosen = table.select(*kept, won=share_of_winner(schema))
    if step > 1:
        # In less memory than `gather_every` takes.
        chosen = chosen.with_row_index("row").filter(pl.col("row") % step == 0).drop("row")
    numbers = [pl.col("winner", "loser").cast(pl.String).cast(pl.Enum([str(item) for item in items])).to_physical()]
    if "judge" in schema:
        judges = pl.Categorical(pl.Categories.random(namespace="judge"))
        numbers.append(pl.col("judge").cast(pl.String).cast(judges).to_physical())
    return chosen.with_columns(numbers).collect(engine="streaming")


def _looked(votes: pl.DataFrame, cuts: list[int], counts: PairCounts) -> tuple[_Looked, bool]:
    """Return votes in the order of time with their residual data, and whether judges are independent units."""
    n = len(votes)
    winners, losers = (votes[name].to_numpy().astype(np.int32) for name in ("winner", "loser"))
    weight = votes["weight"].cast(pl.Float64).to_numpy() if "weight" in votes.columns else np.ones(n)
    won = votes["won"].to_numpy()
    quarter = np.repeat(np.arange(len(cuts) + 1, dtype=np.int32), np.diff([0, *cuts, n]))
    judges = _numbered(votes["judge"]) if "judge" in votes.columns and not votes["judge"].null_count() else None
    by_judge = judges is not None and bool(judges.any())
    starts = None
    if judges is not None and by_judge:
        each = np.bincount(judges)
        if len(each) < n:
            starts, order = np.concatenate([[0], np.cumsum(each)]), np.argsort(judges, kind="stable")
            winners, losers, quarter = winners[order], losers[order], quarter[order]
            weight, won = weight[order], won[order]
    scores = call_aggregator(get(Aggregator, _SCORES), counts, counts.m)
    chance = 0.5 + 0.5 * np.tanh((scores[winners] - scores[losers]) / 2)
    residual, information = weight * (won - chance), weight * chance * (1 - chance)
    return _Looked(winners, losers, quarter, residual, information, weight, won, starts), by_judge


def _numbered(judges: pl.Series) -> NDArray[np.integer]:
    """Return numbers from 0 in the order of first votes, (n,): Polars' own follow the order in its threads."""
    from rankbench.logs.kernels import renumber

    given = judges.to_numpy().astype(np.uint32)[:, None]
    codes = np.empty(given.shape, np.int32)
    count = renumber(given, np.full(int(given.max()) + 1, -1, np.int32), 0, codes)
    # NumPy sorts 2 bytes in linear time.
    return codes[:, 0].astype(np.uint16 if count <= 1 << 16 else np.int32)


def _found(looked: _Looked, moments: int, m: int) -> list[tuple[int, int, float, float, float, float]]:
    """Return the items that drift: item, moment, change, shares of wins before and after, adjusted p."""
    found: list[tuple[int, int, float, float, float, float]] = []
    worst, aside = 0.0, np.zeros(m, np.bool_)
    while len(found) < _MOST:
        t, freedom, change, before, after = _tested(looked, aside, moments)
        tests = moments * (m - len(found))
        # No tail of Student's is thinner than the normal distribution's: most logs end here, and do without SciPy.
        if math.erfc(float(np.nanmax(t, initial=0.0)) / math.sqrt(2)) * tests >= LEVEL:
            break
        from scipy.special import stdtr

        p = 2 * stdtr(freedom, -t)
        k, item = divmod(int(np.nanargmin(p)), m)
        worst = max(worst, float(p[k, item]) * tests)
        if worst >= LEVEL:
            break
        found.append((item, k, float(change[k, item]), float(before[k, item]), float(after[k, item]), worst))
        aside[item] = True
    return found


def _tested(looked: _Looked, aside: NDArray[np.bool_], moments: int) -> tuple[NDArray[np.float64], ...]:
    """Return |t| of each moment and item (nan: unknown), its degrees of freedom, the change, and the shares of wins.

    Those are shares before and after the moment. Each has the shape (moments, m); votes on items that are put aside do
    not count.
    """
    counted = ~(aside[looked.winners] | aside[looked.losers])
    residual, weight, won = looked.residual * counted, looked.weight * counted, looked.won
    information, square = looked.information * counted, residual * residual
    at, size = looked.items * (moments + 1) + np.repeat(looked.quarter, 2), len(aside) * (moments + 1)
    of_winner = [information, residual, square, square * square, weight, weight * won]
    of_loser = [information, -residual, square, square * square, weight, weight * (1 - won)]
    sums = np.stack([np.bincount(at, _in_turn(*sides), size) for sides in zip(of_winner, of_loser, strict=True)])
    sums = sums.reshape(6, len(aside), moments + 1)
    upto = np.ascontiguousarray(sums.cumsum(axis=2).transpose(0, 2, 1))
    before, whole = upto[:, :-1], upto[:, -1:]
    after = whole - before
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = after[0] / whole[0]
        rest = 1 - mean
        total = after[1] * rest - before[1] * mean
        information = after[0] * rest**2 + before[0] * mean**2
        squares = after[2] * rest**2 + before[2] * mean**2
        fourths = after[3] * rest**4 + before[3] * mean**4
        squares, fourths = _of_judges(looked, residual, mean, squares, fourths)
        t, freedom = np.abs(total) / np.sqrt(squares), squares**2 / fourths
        known = (np.minimum(before[4], after[4]) >= _FEWEST) & (squares > 0) & (freedom > 1)
        t = np.where(known, t, np.nan)
        return t, np.maximum(freedom - 1, 1e-3), total / information, before[5] / before[4], after[5] / after[4]


def _of_judges(
    looked: _Looked,
    residual: NDArray[np.float64],
    mean: NDArray[np.float64],
    squares: NDArray[np.float64],
    fourths: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums of squares and of fourth powers over judges if larger than the given ones over votes.

    Of a change at a moment a judge says the sum of the item's residuals from then on, less the mean times all of them.
    """
    if looked.starts is None:
        return squares, fourths
    (item, place), quarters = looked.judged, len(mean) + 1
    at = place * quarters + np.repeat(looked.quarter, 2)
    own = np.bincount(at, _in_turn(residual, -residual), len(item) * quarters).reshape(-1, quarters)
    total = own.sum(axis=1)
    after, of_judges, powers = total.copy(), np.empty_like(mean), np.empty_like(mean)
    for k, share in enumerate(mean):
        after -= own[:, k]
        square = (after - share[item] * total) ** 2
        of_judges[k], powers[k] = np.bincount(item, square, len(share)), np.bincount(item, square**2, len(share))
    more = of_judges > squares
    return np.where(more, of_judges, squares), np.where(more, powers, fourths)


def _in_turn(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return the elements of two arrays in turn."""
    return np.column_stack([one, other]).ravel()
