"""The fewest votes whose removal changes the first place, proved minimal for win rates and Borda counts.

Each rival b of the first item a is asked by itself: fewest removals after which b scores higher than a. The minimum
over rivals is the answer, because a loses the first place as soon as one rival passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.ranking.votes import Votes

_ROUNDED = 1e-9


class Fewest(NamedTuple):
    """The fewest units whose removal changes the first place.

    Attributes
    ----------
    rival : int
        Item that then scores higher than the first.
    units : ndarray of int64, shape (k,)
        Numbers of the removed units; none: no removal changes the first place.
    bound : int
        Proved lower bound of the minimum: k where the minimum is proved.
    """

    rival: int
    units: NDArray[np.int64]
    bound: int


def fewest_for_borda(votes: Votes, units: NDArray[np.integer], first: int, rivals: NDArray[np.int64]) -> Fewest | None:
    """Return the minimum for Borda counts, of any units and weights.

    A removed unit takes its own net wins of a, less its net wins of b, off their difference; so the largest ones are
    the cheapest.

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
    count, best = int(units.max()) + 1, None
    weight = np.where(votes.ties, 0.0, votes.weights)

    def net(item: int) -> NDArray[np.float64]:
        wins, losses = votes.winners == item, votes.losers == item
        won, gone = (np.bincount(units[rows], weight[rows], count) for rows in (wins, losses))
        lead: NDArray[np.float64] = np.subtract(won, gone)
        return lead

    of_first = net(first)
    for rival in rivals.tolist():
        lead = of_first - net(rival)
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
