"""Folds of a log: what belongs together is tested together."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError
from rankbench.logs.votes import Votes

__all__ = ["FOLDS", "Grouping", "grouped_folds", "grouping_of", "split"]

FOLDS = 5
"""Parts that a log is cut into."""

Grouping: TypeAlias = Literal["judge", "pair", "time"]


def grouping_of(votes: Votes, grouping: Grouping) -> NDArray[np.int64]:
    """Return the group of each vote, shape (n,): all votes of a group are in one fold.

    ``judge``: a judge's votes share that judge's taste. ``pair``: votes on the same pair
    under the same query share its difficulty. ``time``: the order itself.

    Raises
    ------
    SpecError
        The log does not say who judged, or when.
    """
    if grouping == "pair":
        return votes.groups.astype(np.int64)
    known = votes.judges if grouping == "judge" else votes.times
    if known is None:
        what = "who judged" if grouping == "judge" else "when"
        raise SpecError(f"the log does not say {what}: there are no folds by {grouping}")
    groups: NDArray[np.int64] = known.astype(np.int64)
    if groups.max() == 0:
        raise SpecError(f"all votes are of one {grouping}: there are no folds by {grouping}")
    return groups


def grouped_folds(groups: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each vote, shape (n,): groups in random order, cut where votes divide.

    With fewer groups than folds some folds are empty.
    """
    sizes = np.bincount(groups)
    order = rng.permutation(len(sizes))
    before = np.concatenate([[0], np.cumsum(sizes[order])[:-1]])
    # A group goes where its middle vote falls.
    fold = np.minimum((before + sizes[order] / 2) * folds / max(len(groups), 1), folds - 1).astype(np.int64)
    of_group = np.empty(len(sizes), dtype=np.int64)
    of_group[order] = fold
    return of_group[groups]


def split(
    votes: Votes, grouping: Grouping, repetition: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and the rows to test on.

    ``judge`` and ``pair``: repetition r tests fold ``r mod FOLDS`` of a random partition, one
    for every `FOLDS` repetitions (`rng` must be the partition's). ``time``: it tests the
    sixth of the log that follows the first ``(r mod FOLDS) + 1`` sixths, on which it learns.

    Raises
    ------
    SpecError
        As `grouping_of`; or one of the two parts is empty.
    """
    groups = grouping_of(votes, grouping)
    part = repetition % FOLDS
    if grouping == "time":
        order = np.argsort(groups, kind="stable")
        places = np.empty(len(groups), dtype=np.int64)
        # Votes of one time stay together: all take the place of the first of them.
        first = np.concatenate([[0], np.flatnonzero(np.diff(groups[order])) + 1])
        lengths = np.diff(np.concatenate([first, [len(groups)]]))
        places[order] = np.repeat(first, lengths)
        sixth = places * (FOLDS + 1) // len(groups)
        train, test = np.flatnonzero(sixth <= part), np.flatnonzero(sixth == part + 1)
    else:
        fold = grouped_folds(groups, FOLDS, rng)
        train, test = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
    if not len(train) or not len(test):
        raise SpecError(f"too few {grouping}s to cut the log into {FOLDS} folds")
    return train, test
