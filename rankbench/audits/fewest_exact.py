"""The fewest votes whose removal changes the first place, proved minimal for win rates and Borda counts.

Each rival b of the first item a is asked by itself: fewest removals after which b scores higher than a. The minimum
over rivals is the answer, because a loses the first place as soon as one rival passes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.logs.votes import Votes

_ROUNDED = 1e-9


class Fewest(NamedTuple):
    """The fewest units whose removal changes the first place.

    Attributes
    ----------
    rival : int
        Item that then scores higher than the first; -1 where no set was found.
    units : ndarray of int64, shape (k,)
        Numbers of the removed units; none: no set was found.
    bound : int
        Proved lower bound of the minimum: k where the minimum is proved.
    """

    rival: int
    units: NDArray[np.int64]
    bound: int


def fewest_for_borda(votes: Votes, units: NDArray[np.integer], first: int, rivals: NDArray[np.int64]) -> Fewest | None:
    """Return the minimum for Borda counts, of any units and weights.

    A removed unit takes its net wins of the first item, less its net wins of the rival, off the lead.

    Parameters
    ----------
    votes : Votes
    units : ndarray of int, shape (n,)
        Number of the unit of each row: its vote, judge or query.
    first : int
    rivals : ndarray of int64
        Items that are compared with the first.

    Returns
    -------
    Fewest or None
        None: no removal changes the first place.
    """
    count = int(units.max()) + 1
    weight = np.where(votes.ties, 0.0, votes.weights)

    def net(item: int) -> NDArray[np.float64]:
        wins, losses = votes.winners == item, votes.losers == item
        won, gone = (np.bincount(units[rows], weight[rows], count) for rows in (wins, losses))
        lead: NDArray[np.float64] = np.subtract(won, gone)
        return lead

    of_first = net(first)
    return fewest_of_sums((rival, of_first - net(rival)) for rival in rivals.tolist())


def fewest_of_sums(leads: Iterable[tuple[int, NDArray[np.float64]]]) -> Fewest | None:
    """Return the minimum where a lead is a sum over units: the largest ones are the cheapest.

    Parameters
    ----------
    leads : iterable of (int, ndarray of float64 of shape (U,))
        Rivals, and the lead of the first over each by unit.
    """
    best: Fewest | None = None
    for rival, lead in leads:
        order = np.argsort(-lead, kind="stable")
        passed = np.cumsum(lead[order]) > lead.sum() + _ROUNDED * max(1.0, float(np.abs(lead).sum()))
        size = int(np.argmax(passed)) + 1
        if passed.any() and (best is None or size < best.bound):
            best = Fewest(rival, order[:size].astype(np.int64), size)
    return best


def fewest_for_win_rate(votes: Votes, first: int, rivals: NDArray[np.int64]) -> Fewest | None:
    """Return the minimum for win rates, of votes of equal weight.

    A win of a over b is the cheapest: any other removed vote can be exchanged for it without loss. Once these are
    gone, the first item loses its other wins, then its ties; the rival loses its losses, then its ties. Ties between
    the two move both rates, so every number of them is tried.

    Parameters
    ----------
    votes : Votes
        Of equal weights; a vote is a row.
    first : int
    rivals : ndarray of int64

    Returns
    -------
    Fewest or None
        None: no removal changes the first place.
    """
    best: Fewest | None = None
    won, lost = (np.flatnonzero((side == first) & ~votes.ties) for side in (votes.winners, votes.losers))
    tied = np.flatnonzero(((votes.winners == first) | (votes.losers == first)) & votes.ties)
    for rival in rivals.tolist():
        between = votes.losers[won] == rival
        with_rival = (votes.winners[tied] == rival) | (votes.losers[tied] == rival)
        own = _Rate(won[~between], tied[~with_rival], len(won) + len(tied) / 2, len(won) + len(tied) + len(lost))
        found = _cheapest(votes, own, won[between], tied[with_rival], first, rival)
        if found is not None and (best is None or len(found) < best.bound):
            best = Fewest(rival, votes.numbers[found], len(found))
    return best


class _Rate(NamedTuple):
    """The win rate of an item, with the votes that are not on the other item, in the order of their removal."""

    decisive: NDArray[np.int64]
    ties: NDArray[np.int64]
    wins: float
    votes: int

    def after(self, won: float, votes: int, each: float) -> NDArray[np.float64]:
        """Return the rates after 0, 1, .. removals of its own votes, and some wins and votes against the other."""
        gone = np.concatenate([[0.0], np.full(len(self.decisive), each), np.full(len(self.ties), 0.5)]).cumsum()
        left = self.votes - votes - np.arange(len(gone))
        rates: NDArray[np.float64] = np.full(len(gone), 0.5)
        np.divide(self.wins - won - gone, left, out=rates, where=left > 0)
        return rates


def _cheapest(
    votes: Votes, own: _Rate, over: NDArray[np.int64], even: NDArray[np.int64], first: int, rival: int
) -> NDArray[np.int64] | None:
    """Return the rows whose removal puts a rival above the first item; `over` are its wins over the rival."""
    wins = int(((votes.winners == rival) & ~votes.ties).sum())
    losses = np.flatnonzero((votes.losers == rival) & ~votes.ties & (votes.winners != first))
    ties = np.flatnonzero(
        ((votes.winners == rival) | (votes.losers == rival))
        & votes.ties & (votes.winners != first) & (votes.losers != first)
    )  # fmt: skip
    all_ties = len(ties) + len(even)
    other = _Rate(losses, ties, wins + all_ties / 2, wins + all_ties + len(losses) + len(over))
    # Wins over the rival alone are removed from both.
    shared = (rate._replace(decisive=over, ties=over[:0]) for rate in (own, other))
    ahead = np.less(*(rate.after(0, 0, each) for rate, each in zip(shared, (1.0, 0.0), strict=True)))
    if ahead.any():
        return over[: int(np.argmax(ahead))]
    best: NDArray[np.int64] | None = None
    for drawn in range(len(even) + 1):
        against = len(over) + drawn
        rates = own.after(len(over) + drawn / 2, against, 1.0)
        needed = np.searchsorted(other.after(drawn / 2, against, 0.0), rates, side="right")
        fits = np.flatnonzero(needed <= len(losses) + len(ties))
        if not len(fits):
            continue
        at = fits[np.argmin(fits + needed[fits])]
        if best is None or against + at + needed[at] < len(best):
            mine, theirs = (np.concatenate([rate.decisive, rate.ties]) for rate in (own, other))
            best = np.concatenate([over, even[:drawn], mine[:at], theirs[: needed[at]]])
    return best


def fewest_units_for_win_rate(
    votes: Votes, units: NDArray[np.integer], first: int, rivals: NDArray[np.int64]
) -> Fewest:
    r"""Return the minimum for win rates, of units that are several votes or of votes with weights, or bounds of it.

    Let t be a number between the two rates after the removal. The first item's wins less t times its votes are then
    not positive, and the rival's not negative. For each t and each weight of these two conditions the removed units
    are the largest of one list, which gives a set for an upper bound and, over intervals of t, a lower bound. Where
    the bounds differ, sets of the sizes between them are enumerated as far as they are few.

    Parameters
    ----------
    votes : Votes
    units : ndarray of int, shape (n,)
        Number of the unit of each row.
    first : int
    rivals : ndarray of int64

    Returns
    -------
    Fewest
        Without units: no set was found.
    """
    own = sums_by_unit(votes, units, first)
    every = [(rival, _UnitRates(*own, *sums_by_unit(votes, units, rival))) for rival in rivals.tolist()]
    best, bound = None, len(own[0]) + 1
    for rival, rates in every:
        found = rates.found()
        if found is not None and (best is None or len(found) < len(best.units)):
            best = Fewest(rival, found, 1)
    if best is None:
        return Fewest(-1, np.zeros(0, np.int64), min((rates.bound() for _, rates in every), default=1))
    for rival, rates in every:
        size = rates.bound()
        while size < len(best.units):
            sets = rates.sets(size)
            if sets is None:
                break
            passed = rates.passes(*(part[sets].sum(axis=1) for part in rates))
            if passed.any():
                best = Fewest(rival, sets[int(np.argmax(passed))], 1)
                break
            size += 1
        bound = min(bound, size)
    return best._replace(bound=min(bound, len(best.units)))


def sums_by_unit(
    votes: Votes, units: NDArray[np.integer], item: int, gone: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the wins and the votes of an item by unit, ties being half wins, shapes (U,); of units that are not gone.

    Parameters
    ----------
    votes : Votes
    units : ndarray of int, shape (n,)
        Number of the unit of each row.
    item : int
    gone : ndarray of bool, shape (U,), optional
    """
    count = int(units.max()) + 1
    judged = (votes.winners == item) | (votes.losers == item)
    judged = judged if gone is None else judged & ~gone[units]
    won = votes.share_won(item) * votes.weights
    wins, weights = (np.bincount(units[judged], each[judged], count) for each in (won, votes.weights))
    return np.asarray(wins, np.float64), np.asarray(weights, np.float64)


_MIXES = np.linspace(0, 1, 9)[:, None]
_CUTS = 16
_SETS = 200_000
"""Sets of units that are enumerated, of one size and for one rival."""


class _UnitRates(NamedTuple):
    """Wins and votes of the first item and of a rival by unit, shapes (U,)."""

    won: NDArray[np.float64]
    judged: NDArray[np.float64]
    rival_won: NDArray[np.float64]
    rival_judged: NDArray[np.float64]

    def passes(self, *removed: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether the rival's rate is higher after so much was removed of the four sums."""
        left = [part.sum() - gone for part, gone in zip(self, removed, strict=True)]
        rates = []
        for won, judged in zip(left[::2], left[1::2], strict=True):
            some = judged > _ROUNDED
            rates.append(np.where(some, won / np.where(some, judged, 1.0), 0.5))
        return np.asarray(rates[1] > rates[0] + _ROUNDED)

    def cuts(self) -> NDArray[np.float64]:
        """Return numbers that part [0, 1], most of them between the rates of the two items."""
        low, high = sorted([self.rival_won.sum() / self.rival_judged.sum(), self.won.sum() / self.judged.sum()])
        return np.unique(np.concatenate([np.linspace(0, 1, 5), np.linspace(low, high, _CUTS)]))

    def values(self, cut: float) -> NDArray[np.float64]:
        """Return the contribution of each unit at a cut, by mix of the two conditions, shape (mixes, U)."""
        ours, theirs = self.won - cut * self.judged, cut * self.rival_judged - self.rival_won
        return _MIXES * ours + (1 - _MIXES) * theirs

    def found(self) -> NDArray[np.int64] | None:
        """Return the smallest set that a list gives at a cut."""
        best: NDArray[np.int64] | None = None
        for cut in self.cuts():
            for order in np.argsort(-self.values(cut), axis=1, kind="stable"):
                passed = self.passes(*(np.cumsum(part[order]) for part in self))
                if passed.any() and (best is None or np.argmax(passed) + 1 < len(best)):
                    best = order[: int(np.argmax(passed)) + 1]
        return best

    def bound(self) -> int:
        """Return a lower bound: over the intervals between cuts, the fewest units that may be enough."""
        least, cuts = len(self.won), self.cuts()
        for values in zip(map(self.values, cuts[:-1]), map(self.values, cuts[1:]), strict=True):
            wanted = np.minimum(*(value.sum(axis=1) for value in values))
            largest = np.cumsum(-np.sort(-np.maximum(*values), axis=1), axis=1)
            needed = (largest < wanted[:, None] - _ROUNDED).sum(axis=1) + 1
            least = min(least, int(np.where(wanted <= _ROUNDED, 1, needed).max()))
        return least

    def sets(self, size: int) -> NDArray[np.int64] | None:
        """Return all sets of units with a vote on either item, shape (sets, size); None: they are too many."""
        known = np.flatnonzero(self.judged + self.rival_judged)
        if comb(len(known), size) > _SETS:
            return None
        return known[np.array(list(itertools.combinations(range(len(known)), size)), np.int64).reshape(-1, size)]
