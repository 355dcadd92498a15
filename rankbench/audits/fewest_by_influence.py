r"""The fewest votes whose removal changes the first place: found by influence, then refitted.

No method finds the minimum for Bradley-Terry in reasonable time, nor any minimum where removals must leave the first
item and its rival on one scale. The influence of a vote approximates the change of the lead of one item over another
without it ([BGM20]_; [HSW25]_ on arenas of language models):

.. math:: \psi_v = w_v (y_v - p_v) (e_i - e_j)^T \Sigma (e_a - e_b) / (1 - h_v)

with :math:`\Sigma` the inverse information and :math:`h_v` the vote's leverage. Sums of influences are wrong where
votes mask one another, and a recursion is not ([HBS24]_): rankbench removes half of what seems needed, refits, and
goes on until the rival passes. It then puts back all that is not needed, one by one or, of more than 64 units, in
parts. A refit without the set that is left shows that the first place changes; a smaller set may exist. A unit without
which the two would stand on different scales stays in the log. Of win rates and Borda counts the influence is that of
sums.

References
----------
.. [BGM20] T. Broderick, R. Giordano and R. Meager. An automatic finite-sample robustness metric: when can dropping a
   little data make a big difference? arXiv:2011.14999, 2020.
.. [HBS24] J. Y. Huang, D. R. Burt, Y. Shen, T. D. Nguyen and T. Broderick. Approximations to worst-case data
   dropping: unmasking failure modes. arXiv:2408.09008, 2024.
.. [HSW25] J. Y. Huang, Y. Shen, D. Wei and T. Broderick. Dropping just a handful of preferences can change top large
   language model rankings. arXiv:2508.11847, 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.covariance import inverse_information
from rankbench.audits.fewest_bounds import harmless_votes
from rankbench.audits.fewest_exact import Fewest, sums_by_unit
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, scales_of
from rankbench.logs.votes import Votes
from rankbench.ranking.ranked_log import ridge_of

_ROUNDS, _RIVALS, _PREDICTED = 40, 3, 100
"""Refits until a rival passes; rivals that are tried, the nearest of so many by influence."""

_REFITS, _WORK, _READ = 2500, 1e9, 2e8
"""Refits that a proof of the bound may take; fewer where their sum of m^3, or of votes, is above these."""

_PARTS = 64
"""Parts of a set that are put back one by one; a set of at most so many votes is put back vote by vote."""

BY_NET_WINS = ("borda", "net-weights")
"""Methods whose order is that of wins less losses."""

BY_SHARES = (*BY_NET_WINS, "win-rate")
"""Methods whose scores are of sums."""


@dataclass(frozen=True, eq=False)
class Removal:
    """Units of a log of votes, and refits without some of them.

    Attributes
    ----------
    votes : Votes
    units : ndarray of int, shape (n,)
        Number of the unit of each row.
    method : CountAggregator
        Its scores are log-odds, or it is one of `BY_SHARES`.
    first : int
        Item in the first place.
    """

    votes: Votes
    units: NDArray[np.integer]
    method: CountAggregator
    first: int

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.units.max()) + 1

    def leads(self, removed: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the lead of the first item over each, shape (m,), nan on other scales, and the rows that are left."""
        rows = self.rows(removed)
        m = len(self.votes.items)
        try:
            counts = self.votes.counts(rows)
            scores, scales = call_aggregator(self.method, counts, m), scales_of(self.method, counts).scale_of
        except (ContenderDiverged, InputError):  # too little is left
            return np.full(m, np.nan), rows
        leads = np.where(scales == scales[self.first], scores[self.first] - scores, np.nan)
        # Equal scores differ by rounding.
        return np.where(np.abs(leads) < 1e-9, 0.0, leads), rows

    def rows(self, removed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows that are left."""
        gone = np.zeros(self.count, np.bool_)
        gone[removed] = True
        return np.flatnonzero(~gone[self.units])

    def together(self, removed: NDArray[np.int64], rival: int) -> bool:
        """Return whether the first item and a rival are on one scale without some units."""
        rows = self.rows(removed)
        if not len(rows):
            return False
        scales = scales_of(self.method, self.votes.counts(rows)).scale_of
        return bool(scales[self.first] == scales[rival])

    def changes(self, removed: NDArray[np.int64]) -> int | None:
        """Return the item that is first without some units; None: the first place does not change."""
        leads = np.nan_to_num(self.leads(removed)[0])
        return int(np.argmin(leads)) if leads.min() < 0 else None

    def influences(self, leads: NDArray[np.float64], rows: NDArray[np.int64]) -> Callable[[int], NDArray[np.float64]]:
        """Return a function of a rival: by how much the lead over it falls without each unit, shape (U,)."""
        votes = self.votes
        if self.method.name in BY_SHARES:
            return lambda rival: self._effects(leads, rows, rival)
        winners, losers, weights = votes.winners[rows], votes.losers[rows], votes.weights[rows]
        # Items on other scales have no influence.
        chance = 1 / (1 + np.exp(np.nan_to_num(leads[winners] - leads[losers])))
        bend = weights * chance * (1 - chance)
        inverse = inverse_information(votes.counts(rows), -np.nan_to_num(leads), ridge_of(self.method))
        leverage = bend * (inverse[winners, winners] + inverse[losers, losers] - 2 * inverse[winners, losers])
        surprise = weights * (votes.share_won(votes.winners)[rows] - chance) / np.maximum(1 - leverage, 0.1)

        def of_rival(rival: int) -> NDArray[np.float64]:
            pull = inverse[:, self.first] - inverse[:, rival]
            effect = surprise * (pull[winners] - pull[losers])
            return np.asarray(np.bincount(self.units[rows], effect, self.count), np.float64)

        return of_rival

    def _effects(self, leads: NDArray[np.float64], rows: NDArray[np.int64], rival: int) -> NDArray[np.float64]:
        """Return the fall of the lead over a rival without each unit, for scores of sums, shape (U,)."""
        gone = np.ones(self.count, np.bool_)
        gone[self.units[rows]] = False
        net = self.method.name in BY_NET_WINS
        parts = []
        for item in (self.first, rival):
            won, judged = sums_by_unit(self.votes, self.units, item, gone)
            parts.append(won - judged / 2 if net else (won - won.sum() / judged.sum() * judged) / judged.sum())
        found: NDArray[np.float64] = parts[0] - parts[1]
        # Net wins sum to the lead, in units of the method.
        return found * (leads[rival] / found.sum()) if net and found.sum() > 0 else found

    def passing(self, rival: int, kept: NDArray[np.bool_] | None = None) -> NDArray[np.int64] | None:
        """Return units without which a rival passes, the most influential first; None: none were found.

        Parameters
        ----------
        rival : int
        kept : ndarray of bool, shape (U,), optional
            Units that stay. Those without which the two would stand on different scales are added.
        """
        removed, kept = np.zeros(0, np.int64), np.zeros(self.count, np.bool_) if kept is None else kept
        for _ in range(_ROUNDS):
            leads, rows = self.leads(removed)
            if not np.isfinite(leads[rival]):
                return None
            if leads[rival] < 0:
                return removed
            effect = np.where(kept, 0.0, self.influences(leads, rows)(rival))
            order, needed = _needed(effect, float(leads[rival]))
            if not needed:
                return None
            removed = self._without(removed, order[: max(1, needed // 2)], rival, kept)
        return None

    def _without(
        self, removed: NDArray[np.int64], more: NDArray[np.int64], rival: int, kept: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return removed units with `more` of them, except units `kept`, which hold the two on one scale."""
        while len(more):
            if self.together(np.concatenate([removed, more]), rival):
                return np.concatenate([removed, more])
            safe, cut = 0, len(more)  # so many leave the two together; so many do not
            while cut - safe > 1:
                middle = (safe + cut) // 2
                joined = self.together(np.concatenate([removed, more[:middle]]), rival)
                safe, cut = (middle, cut) if joined else (safe, middle)
            kept[more[safe]] = True
            removed, more = np.concatenate([removed, more[:safe]]), more[cut:]
        return removed

    def best_for(self, rival: int) -> NDArray[np.int64] | None:
        """Return a small set of units without which a rival passes; None: none was found.

        A first item of few votes is soon cut off: then its own votes all stay in a second attempt.
        """
        kept = np.zeros(self.count, np.bool_)
        found = [self.passing(rival, kept)]
        if kept.any():
            own = (self.votes.winners == self.first) | (self.votes.losers == self.first)
            kept[:] = False
            kept[self.units[own]] = True
            found.append(self.passing(rival, kept))
        return min((self.shrunk(one, rival) for one in found if one is not None), key=len, default=None)

    def shrunk(self, removed: NDArray[np.int64], rival: int) -> NDArray[np.int64]:
        """Return units after putting back units that are not needed, the least influential first."""
        size = max(1, len(removed) // 2)
        while True:
            end = len(removed)
            while end > 0 and len(removed) > 1:
                fewer = np.delete(removed, np.s_[max(0, end - size) : end])
                lead = self.leads(fewer)[0][rival]
                removed = fewer if lead < 0 else removed
                end -= size
            if size <= max(1, len(removed) // _PARTS):
                return removed
            size //= 2


def fewest_by_influence(removal: Removal, rivals: NDArray[np.int64], least: int = 1) -> Fewest | None:
    """Return a small set of units without which the first place changes, with a proved lower bound.

    `harmless_votes` proves the bound where units are votes; refits without every set of one unit more, of two more,
    .. raise it, as long as they are at most 2,500. Votes that are alike are exchangeable: one set stands for all.

    Parameters
    ----------
    removal : Removal
    rivals : ndarray of int64
        Items of the first one's scale, by their places.
    least : int
        Lower bound that is proved already.

    Returns
    -------
    Fewest or None
        None: it is proved that no removal changes the first place.
    """
    leads, rows = removal.leads(np.zeros(0, np.int64))
    near = rivals[:_PREDICTED].tolist()
    influence = removal.influences(leads, rows)
    predicted = [_needed(influence(rival), float(leads[rival]))[1] for rival in near]
    best: tuple[int, NDArray[np.int64]] | None = None
    for tried, at in enumerate(sorted(range(len(near)), key=lambda at: predicted[at] or len(rows))):
        if tried >= _RIVALS and best is not None:
            break
        found = removal.best_for(near[at])
        if found is not None and (best is None or len(found) < len(best[1])):
            best = near[at], found
    kinds = _kinds(removal)
    units, most = sum(map(len, kinds)), min(_REFITS, _WORK / len(leads) ** 3, _READ / len(rows))
    size, end = least, units if best is None else len(best[1])
    if best is not None and units == len(removal.votes):
        size = max(size, 1 + harmless_votes(removal.votes, removal.method, leads, removal.first, end))
    while size < end:
        most -= _sets_of(kinds, size) if len(kinds) <= _REFITS else math.inf
        if most < 0:
            break
        for chosen in _sets(kinds, size):
            passed = removal.changes(chosen)
            if passed is not None:
                return Fewest(passed, chosen, size)
        size += 1
    if best is None:
        return None if size >= units else Fewest(-1, np.zeros(0, np.int64), size)
    return Fewest(*best, bound=min(size, end))


def _needed(effect: NDArray[np.float64], lead: float) -> tuple[NDArray[np.int64], int]:
    """Return units by falling effect, and how many of them make up for a lead; 0: all do not."""
    order = np.argsort(-effect, kind="stable")
    total = np.cumsum(np.maximum(effect[order], 0.0))
    passed = total > lead
    return order.astype(np.int64), int(np.argmax(passed)) + 1 if passed.any() else int((effect > 0).sum())


def _kinds(removal: Removal) -> list[NDArray[np.int64]]:
    """Return units by kind: equal votes, if a unit is a row; else every unit alone."""
    votes, known = removal.votes, np.unique(removal.units).astype(np.int64)
    if len(known) < len(votes):
        return np.split(known, len(known))
    ends = [votes.winners, votes.losers]
    ends = [np.where(votes.ties, kept(*ends), end) for kept, end in zip((np.minimum, np.maximum), ends, strict=True)]
    rows = np.column_stack([*ends, votes.ties, votes.weights])
    kind = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(kind, kind="stable")
    return np.split(removal.units[order].astype(np.int64), np.flatnonzero(np.diff(kind[order])) + 1)


def _sets_of(kinds: Sequence[NDArray[np.int64]], size: int) -> float:
    """Return the number of different sets of `size` units; units of one kind are exchangeable."""
    ways = np.eye(1, size + 1)[0]
    for kind in kinds:
        before = np.concatenate([np.zeros(len(kind) + 1), np.cumsum(ways)])
        ways = before[len(kind) + 1 :] - before[: size + 1]
    return float(ways[size])


def _sets(kinds: Sequence[NDArray[np.int64]], size: int, begin: int = 0) -> Iterator[NDArray[np.int64]]:
    """Yield these sets, of kinds from number `begin` on."""
    if not size:
        yield np.zeros(0, np.int64)
        return
    for k in range(begin, len(kinds)):
        for number in range(1, min(size, len(kinds[k])) + 1):
            for more in _sets(kinds, size - number, k + 1):
                yield np.concatenate([kinds[k][:number], more])
