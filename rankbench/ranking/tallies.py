"""How often each item of a log was judged, and how often for the better."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.counts import PairCounts
from rankbench.kinds.queries import Orders, Selections

__all__ = ["ItemTallies", "tallies_of_counts", "tallies_of_orders", "tallies_of_selections"]

_ROUNDED = 1e-9


class ItemTallies(NamedTuple):
    """Sums over a log, by item.

    Attributes
    ----------
    judged : ndarray of float64, shape (m,)
        Weight of the votes that an item was in, of the ballots that name it, or how often it was shown.
    won : ndarray of float64, shape (m,)
        Weight of the votes that it won, a tie being half a win each; of the ballots that put it first, or how often it
        was clicked.
    judged_words, won_words : str
        What they are called: "votes" and "wins", "ballots" and "firsts", "shown" and "clicks".
    judgments : int
        Number of judgments of the log.
    """

    judged: NDArray[np.float64]
    won: NDArray[np.float64]
    judged_words: str
    won_words: str
    judgments: int


def _sums(items: NDArray[np.integer], weights: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return np.bincount(items, weights, m).astype(np.float64)


def tallies_of_counts(counts: PairCounts) -> ItemTallies:
    """Return the votes and wins of each item."""
    won, lost = counts.won_and_lost()
    judged, whole = won + lost, np.rint(won + lost)
    # Points of split votes sum to whole votes, but for rounding.
    judged = np.where(np.abs(judged - whole) < _ROUNDED, whole, judged)
    return ItemTallies(judged, won, "votes", "wins", counts.judgments)


def tallies_of_orders(orders: Orders, m: int) -> ItemTallies:
    """Return the ballots that name each item, and those that put nothing before it."""
    lengths = np.diff(orders.starts)
    weights = np.repeat(orders.weights, lengths)
    best = np.repeat(np.minimum.reduceat(orders.places, orders.starts[:-1]), lengths)
    first = np.where(orders.places == best, weights, 0.0)
    return ItemTallies(_sums(orders.items, weights, m), _sums(orders.items, first, m), "ballots", "firsts", len(orders))


def tallies_of_selections(selections: Selections, m: int) -> ItemTallies:
    """Return how often each item was shown, and clicked."""
    shown, clicked = np.ones(len(selections.items)), selections.clicked.astype(np.float64)
    return ItemTallies(
        _sums(selections.items, shown, m), _sums(selections.items, clicked, m), "shown", "clicks", len(selections)
    )
