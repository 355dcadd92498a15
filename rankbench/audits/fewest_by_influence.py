r"""The fewest votes whose removal changes the first place of a model of log-odds: found by influence, then refitted.

No method finds the minimum for Bradley-Terry in reasonable time. The influence of a vote approximates the change of
the lead of one item over another without it ([BGM20]_; [HSW25]_ on arenas of language models):

.. math:: \psi_v = w_v (y_v - p_v) (e_i - e_j)^T \Sigma (e_a - e_b) / (1 - h_v)

with :math:`\Sigma` the inverse information and :math:`h_v` the vote's leverage. Sums of influences are wrong where
votes mask one another, and a recursion is not ([HBS24]_): rankbench removes half of what seems needed, refits, and
goes on until the rival passes. It then puts back whatever is not needed, one by one or, of more than 64 units, in
parts. A refit without the set that is left shows that the first place changes; a smaller set may exist.

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

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from rankbench.audits.fewest_bounds import harmless_votes
from rankbench.audits.fewest_exact import Fewest
from rankbench.audits.information import inverse_information
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, scales_of
from rankbench.ranking.ranked_log import ridge_of
from rankbench.ranking.votes import Votes

_ROUNDS, _RIVALS, _PREDICTED = 40, 3, 100
"""Refits until a rival passes; rivals that are tried, the nearest of so many by influence."""

_REFITS, _WORK = 2500, 1e9
"""Refits that a proof of the bound may take; fewer where their sum of m^3 is above this."""

_PARTS = 64
"""Parts of a set that are put back one by one; a set of at most so many votes is put back vote by vote."""


@dataclass(frozen=True, eq=False)
class Removal:
    """Units of a log of votes, and refits without some of them.

    Attributes
    ----------
    votes : Votes
    units : ndarray of int, shape (n,)
        Number of the unit of each row.
    method : CountAggregator
        Its scores are log-odds.
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
        gone = np.zeros(self.count, np.bool_)
        gone[removed] = True
        rows = np.flatnonzero(~gone[self.units])
        m = len(self.votes.items)
        try:
            counts = self.votes.counts(rows)
            scores, scales = call_aggregator(self.method, counts, m), scales_of(self.method, counts).scale_of
        except (ContenderDiverged, InputError):  # too little is left
            return np.full(m, np.nan), rows
        leads = np.where(scales == scales[self.first], scores[self.first] - scores, np.nan)
        # Equal scores differ by rounding.
        return np.where(np.abs(leads) < 1e-9, 0.0, leads), rows

    def changes(self, removed: NDArray[np.int64]) -> int | None:
        """Return the item that is first without some units; None: the first place does not change."""
        leads = np.nan_to_num(self.leads(removed)[0])
        return int(np.argmin(leads)) if leads.min() < 0 else None

    def influences(self, leads: NDArray[np.float64], rows: NDArray[np.int64]) -> Callable[[int], NDArray[np.float64]]:
        """Return a function of a rival: by how much the lead over it falls without each unit, shape (U,)."""
        votes = self.votes
        winners, losers, weights = votes.winners[rows], votes.losers[rows], votes.weights[rows]
        # Items on other scales have no influence.
        chance = 1 / (1 + np.exp(np.nan_to_num(leads[winners] - leads[losers])))
        bend = weights * chance * (1 - chance)
        inverse = inverse_information(votes.counts(rows), -np.nan_to_num(leads), ridge_of(self.method))
        leverage = bend * (inverse[winners, winners] + inverse[losers, losers] - 2 * inverse[winners, losers])
        surprise = weights * (np.where(votes.ties[rows], 0.5, 1.0) - chance) / np.maximum(1 - leverage, 0.1)

        def of_rival(rival: int) -> NDArray[np.float64]:
            pull = inverse[:, self.first] - inverse[:, rival]
            effect = surprise * (pull[winners] - pull[losers])
            return np.asarray(np.bincount(self.units[rows], effect, self.count), np.float64)

        return of_rival

    def passing(self, rival: int) -> NDArray[np.int64] | None:
        """Return units without which a rival passes, the most influential first; None: none were found."""
        removed = np.zeros(0, np.int64)
        for _ in range(_ROUNDS):
            leads, rows = self.leads(removed)
            if not np.isfinite(leads[rival]):
                return None
            if leads[rival] < 0:
                return removed
            effect = self.influences(leads, rows)(rival)
            order, needed = _needed(effect, float(leads[rival]))
            if not needed:
                return None
            removed = np.concatenate([removed, order[: max(1, needed // 2)]])
        return None

    def shrunk(self, removed: NDArray[np.int64], rival: int) -> NDArray[np.int64]:
        """Return units after those that are not needed were put back, the least influential first."""
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


def fewest_by_influence(removal: Removal, rivals: NDArray[np.int64]) -> Fewest | None:
    """Return a small set of units without which the first place changes, with a proved lower bound.

    `harmless_votes` proves the bound where units are votes; refits without every set of one unit more, of two more,
    .. raise it, as long as they are at most 2,500.

    Parameters
    ----------
    removal : Removal
    rivals : ndarray of int64
        Items of the first one's scale, by their places.

    Returns
    -------
    Fewest or None
        None: no set was found.
    """
    leads, rows = removal.leads(np.zeros(0, np.int64))
    near = rivals[:_PREDICTED].tolist()
    influence = removal.influences(leads, rows)
    predicted = [_needed(influence(rival), float(leads[rival]))[1] for rival in near]
    order = sorted(range(len(near)), key=lambda at: predicted[at] or len(rows))
    best: tuple[int, NDArray[np.int64]] | None = None
    for rival in (near[at] for at in order[:_RIVALS]):
        found = removal.passing(rival)
        found = None if found is None else removal.shrunk(found, rival)
        if found is not None and (best is None or len(found) < len(best[1])):
            best = rival, found
    known, most = np.unique(removal.units), min(_REFITS, _WORK / len(leads) ** 3)
    size, end = 1, len(known) if best is None else len(best[1])
    if best is not None and len(known) == len(removal.votes):
        size += harmless_votes(removal.votes, removal.method, leads, removal.first, end)
    while size < end:
        chosen_from = _different(removal) if size == 1 else known
        most -= comb(len(chosen_from), size)
        if most < 0:
            break
        for chosen in itertools.combinations(chosen_from.tolist(), size):
            passed = removal.changes(np.array(chosen))
            if passed is not None:
                return Fewest(passed, np.array(chosen), size)
        size += 1
    return None if best is None else Fewest(*best, bound=size)


def _needed(effect: NDArray[np.float64], lead: float) -> tuple[NDArray[np.int64], int]:
    """Return units by falling effect, and how many of them make up for a lead; 0: all do not."""
    order = np.argsort(-effect, kind="stable")
    total = np.cumsum(np.maximum(effect[order], 0.0))
    passed = total > lead
    return order.astype(np.int64), int(np.argmax(passed)) + 1 if passed.any() else int((effect > 0).sum())


def _different(removal: Removal) -> NDArray[np.int64]:
    """Return one unit for all that are equal, where a unit is a row."""
    votes = removal.votes
    if len(np.unique(removal.units)) < len(votes):
        return np.unique(removal.units).astype(np.int64)
    ends = [votes.winners, votes.losers]
    ends = [np.where(votes.ties, kept(*ends), end) for kept, end in zip((np.minimum, np.maximum), ends, strict=True)]
    rows = np.column_stack([*ends, votes.ties, votes.weights])
    return removal.units[np.unique(rows, axis=0, return_index=True)[1]].astype(np.int64)
