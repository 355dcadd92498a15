r"""Items whose strength changes with time: each against the items that it was compared with, before and after.

With r the residual of a vote (what happened less the chance that Bradley-Terry scores of the whole log give it, from
the item's side), w = p (1 - p) its weight in the information, and a whether it was cast after some moment, an item's
score changes at that moment by about

.. math:: \delta = \frac{\sum r (a - \bar a)}{\sum w (a - \bar a)^2}, \qquad \bar a = \frac{\sum w a}{\sum w}

(one step of Fisher's scoring). The numerator is a sum of what is independent: of judges where the log names them,
else of votes. It is compared with the root of the sum of their squares by Student's t, with
:math:`(\sum c^2)^2 / \sum c^4` degrees of freedom (Satterthwaite): few judges, or few votes that weigh much, make it
careful. Moments are the quarters of the log; levels are Holm's over all items and moments. An item that is found is put
aside with its votes, so that those who won against it are not found too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from rankbench.kinds.counts import PairCounts

__all__ = ["Drift", "Drifting", "drift"]

LEVEL = 0.05
MOMENTS = (0.25, 0.5, 0.75)
"""Shares of the log's votes after which strengths may be others."""

_SCORES = "bradley-terry:ridge=1"
_SAMPLE = 1 << 21
_FEWEST = 5.0
"""Votes before and after a moment, without which nothing is said of it."""
_MOST = 50
"""Items that are put aside; on a log where more drift, nobody reads on."""


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
    """Whether strengths change with time.

    Attributes
    ----------
    items : list of Drifting
        The largest evidence first; at most fifty.
    by_judge : bool
        Whether judges are what is independent; else votes.
    sampled : float
        Share of the votes that was looked at.
    """

    items: list[Drifting]
    by_judge: bool
    sampled: float


@dataclass(frozen=True, eq=False)
class _Looked:
    """Votes from the side of each of their two items: arrays of shape (2 n,)."""

    item: NDArray[np.int64]
    other: NDArray[np.int64]
    residual: NDArray[np.float64]
    weight: NDArray[np.float64]
    share: NDArray[np.float64]
    votes: NDArray[np.float64]
    place: NDArray[np.float64]
    cluster: NDArray[np.int64]

    def without(self, item: int) -> _Looked:
        """Return the votes that an item is not in."""
        kept = (self.item != item) & (self.other != item)
        return _Looked(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))


def drift(table: pl.LazyFrame, rows: int, counts: PairCounts) -> Drift | None:
    """Return the items that drift; None where votes have no times, or there are no two quarters of the log.

    Of logs longer than two million votes every so many-th one is looked at, so that memory stays bounded.

    Parameters
    ----------
    table : LazyFrame
        Comparisons in the schema.
    rows : int
    counts : PairCounts
        All of it.
    """
    import polars as pl

    names = table.collect_schema().names()
    if "time" not in names:
        return None
    step = -(-rows // _SAMPLE)
    wanted = [name for name in ("winner", "loser", "tie", "weight", "time", "judge") if name in names]
    chosen = table.select(wanted).gather_every(step) if step > 1 else table.select(wanted)
    items = pl.Enum(counts.items)
    votes = chosen.with_columns(pl.col("winner", "loser").cast(pl.String).cast(items).to_physical()).collect(
        engine="streaming"
    )
    if votes["time"].null_count() or not votes.height:
        return None
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


def _looked(votes: pl.DataFrame, cuts: list[int], counts: PairCounts) -> tuple[_Looked, bool]:
    import polars as pl

    from rankbench.kinds.aggregator import Aggregator
    from rankbench.plugin.manager import get

    scores = get(Aggregator, _SCORES).from_counts(counts)
    winner, loser = (votes[name].to_numpy().astype(np.int64) for name in ("winner", "loser"))
    tied = votes["tie"].fill_null(False).to_numpy() if "tie" in votes.columns else np.zeros(len(votes), np.bool_)
    weight = votes["weight"].cast(pl.Float64).to_numpy() if "weight" in votes.columns else np.ones(len(votes))
    won = np.where(tied, 0.5, 1.0)
    chance = 0.5 + 0.5 * np.tanh((scores[winner] - scores[loser]) / 2)
    residual, bend = weight * (won - chance), weight * chance * (1 - chance)
    place = np.searchsorted(cuts, np.arange(len(votes)), side="right").astype(np.float64)
    by_judge = "judge" in votes.columns and votes["judge"].null_count() == 0 and votes["judge"].n_unique() > 1
    judges = votes["judge"].rank("dense").to_numpy() if by_judge else np.arange(len(votes))
    both = np.concatenate
    return (
        _Looked(
            both([winner, loser]),
            both([loser, winner]),
            both([residual, -residual]),
            both([bend, bend]),
            both([weight * won, weight * (1 - won)]),
            both([weight, weight]),
            both([place, place]),
            both([judges, judges]).astype(np.int64),
        ),
        by_judge,
    )


def _found(looked: _Looked, moments: int, m: int) -> list[tuple[int, int, float, float, float, float]]:
    """Return the items that drift: item, moment, change, shares of wins before and after, adjusted p."""
    found: list[tuple[int, int, float, float, float, float]] = []
    worst, clusters = 0.0, int(looked.cluster.max()) + 1
    while len(found) < _MOST:
        tests = [_tested(looked, k, m, clusters) for k in range(1, moments + 1)]
        p = np.stack([test[0] for test in tests])
        if not np.isfinite(p).any():
            break
        k, item = divmod(int(np.nanargmin(p)), m)
        worst = max(worst, float(p[k, item]) * moments * (m - len(found)))
        if worst >= LEVEL:
            break
        _, change, before, after = tests[k]
        found.append((item, k, float(change[item]), float(before[item]), float(after[item]), worst))
        looked = looked.without(item)
    return found


def _tested(looked: _Looked, moment: int, m: int, clusters: int) -> tuple[NDArray[np.float64], ...]:
    """Return of each item the p-value (nan: not known), the change, and its shares of wins before and after."""
    from scipy.special import stdtr

    item = looked.item
    after = (looked.place >= moment).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(item, looked.weight * after, m) / np.bincount(item, looked.weight, m)
        apart = after - mean[item]
        score = looked.residual * apart
        total = np.bincount(item, score, m)
        information = np.bincount(item, looked.weight * apart**2, m)
        squares, fourths = _sums_of_clusters(looked, score, m, clusters)
        votes = np.bincount(item, looked.votes * after, m), np.bincount(item, looked.votes * (1 - after), m)
        wins = np.bincount(item, looked.share * after, m), np.bincount(item, looked.share * (1 - after), m)
        t, freedom = np.abs(total) / np.sqrt(squares), squares**2 / fourths
        known = (np.minimum(*votes) >= _FEWEST) & (squares > 0) & (freedom > 1)
        p = np.where(known, 2 * stdtr(np.maximum(freedom - 1, 1e-3), -t), np.nan)
        return p, total / information, wins[1] / votes[1], wins[0] / votes[0]


def _sums_of_clusters(
    looked: _Looked, score: NDArray[np.float64], m: int, clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums of squares and of fourth powers over what is independent, (m,): the larger, of votes or judges."""
    own = tuple(np.bincount(looked.item, score**power, m).astype(np.float64) for power in (2, 4))
    if clusters * 2 >= len(score):
        return own[0], own[1]
    key = looked.cluster * m + looked.item
    if clusters * m <= max(4 * len(key), 1 << 22):
        sums = np.bincount(key, score, clusters * m)
        of_item = np.tile(np.arange(m), clusters)
    else:
        known, place = np.unique(key, return_inverse=True)
        sums, of_item = np.bincount(place.reshape(-1), score), known % m
    squares, fourths = np.bincount(of_item, sums**2, m), np.bincount(of_item, sums**4, m)
    more = squares > own[0]
    return np.where(more, squares, own[0]), np.where(more, fourths, own[1])
