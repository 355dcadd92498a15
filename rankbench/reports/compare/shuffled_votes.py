"""How scores of a log change if nothing moved: each pair's votes are dealt anew to the early and the late ones.

If an item is as strong later as before, the early votes on a pair are any of its votes, drawn without replacement. So
the early log is drawn again, pair by pair and of its own length, from the whole log, and ranked. What the scores then
differ from those of the whole log is what length alone does (a ridge shrinks a short log more) and chance: it spreads
also where the later votes at hand all say the same, of which a bootstrap shows nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, InputError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import PairCounts

__all__ = ["shuffled_scores"]


def shuffled_scores(
    base: PairCounts, head: PairCounts, aggregator: Aggregator, times: int, seed: int
) -> NDArray[np.float64] | None:
    """Return the scores of shuffled early logs, shape (times, m of base); a row of nan where there are none.

    Parameters
    ----------
    base, head : PairCounts
        Of the early log, and of the whole one.
    aggregator : Aggregator
        One that ranks counts.
    times, seed : int

    Returns
    -------
    ndarray or None
        None where votes are no units: they have weights, or some of the early ones are not in the whole log.
    """
    if base.weighted or head.weighted:
        return None
    votes = _votes_of(base, head)
    early = np.rint(base.forward + base.backward + base.ties).astype(np.int64)
    if votes is None or (early > votes.sum(axis=1)).any():
        return None
    forward, backward, ties = votes.T
    rng = np.random.default_rng(seed)
    found = np.full((times, base.m), np.nan)
    for row in found:
        won = rng.hypergeometric(forward, backward + ties, early)
        lost = rng.hypergeometric(backward, ties, early - won)
        forth, back, tied = (column.astype(np.float64) for column in (won, lost, early - won - lost))
        try:
            row[:] = aggregator.from_counts(replace(base, forward=forth, backward=back, ties=tied).observed())
        except (ContenderDiverged, InputError):
            continue
    return found


def _votes_of(base: PairCounts, head: PairCounts) -> NDArray[np.int64] | None:
    """Return the whole log's votes on the early log's pairs, shape (P, 3): `low` won, `high` won, ties."""
    number = {item: place for place, item in enumerate(head.items)}
    if any(item not in number for item in base.items):
        return None
    places = np.array([number[item] for item in base.items], dtype=np.int64)
    one, other = places[base.low], places[base.high]
    keys = np.minimum(one, other) * head.m + np.maximum(one, other)
    known = head.low.astype(np.int64) * head.m + head.high
    at = np.searchsorted(known, keys)
    if (at == len(known)).any() or (known[at] != keys).any():
        return None
    cells = np.column_stack([head.forward, head.backward, head.ties])[at]
    turned = one > other
    cells[turned] = cells[turned][:, [1, 0, 2]]
    return np.rint(cells).astype(np.int64)
