"""Folds of a log: what belongs together is tested together."""

from __future__ import annotations

import heapq
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.units import ENOUGH, effective
from rankbench.counts.votes import Votes
from rankbench.errors import SpecError

__all__ = [
    "FOLDS",
    "INNER",
    "Grouping",
    "Split",
    "chosen_grouping",
    "grouped_folds",
    "grouping_of",
    "inner_splits",
    "split",
]

FOLDS = 5
"""Parts that a log is cut into."""

INNER = 3
"""Parts within the training part, on which parameters and links are chosen."""

Grouping: TypeAlias = Literal["judge", "pair", "time"]
"""What a user may ask to be held out together."""

Split: TypeAlias = Literal["judge", "pair", "time", "vote"]
"""What can be: single votes, where nothing coarser divides into folds."""

_TOGETHER = {
    "judge": "All votes of a judge are held out together.",
    "pair": "Votes on one pair of items (and query) are held out together.",
}

_LARGEST = 0.2
"""Largest share of the votes that one judge may have: a fold's."""


def grouping_of(votes: Votes, grouping: Split) -> NDArray[np.int64]:
    """Return the group of each vote, shape (n,): all votes of a group are in one fold.

    ``judge``: a judge's votes share that judge's taste. ``pair``: votes on the same pair
    under the same query share its difficulty. ``time``: the order itself.

    Raises
    ------
    SpecError
        The log does not say who judged, or when.
    """
    if grouping == "vote":
        return np.arange(len(votes), dtype=np.int64)
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


def chosen_grouping(votes: Votes, wanted: Grouping) -> tuple[Split, tuple[str, ...]]:
    """Return what is held out together in every repetition, in words too, and why if it is not what was wanted.

    Folds by judge need ten judges (in effective number, see `rankbench.counts.units.effective`)
    of whom none has more than a fold's share of the votes: else folds are about single people,
    and as unequal as these. Then votes on one pair are held out together, and single votes
    where pairs are fewer than folds. Every fold must have a decisive vote.

    Returns
    -------
    grouping : Split
    notes : tuple of str

    Raises
    ------
    SpecError
        The log does not know pairs or times apart, or has too few decisive votes for folds.
    """
    decisive = votes.decisive()
    if wanted == "time":
        _check_times(votes, decisive)
        return "time", ()
    if decisive.sum() < FOLDS:
        raise SpecError(f"the log has {decisive.sum()} decisive votes: too few for {FOLDS} folds")
    notes = []
    if wanted == "judge":
        why = _few_judges(votes)
        if not why and _divides(votes, "judge"):
            return "judge", (_TOGETHER["judge"],)
        notes.append(f"{why or 'Few judges cast a decisive vote'}: folds are not by judge.")
    if _divides(votes, "pair"):
        return "pair", (*notes, _TOGETHER["pair"])
    few = f"fewer than {FOLDS} pairs of items (and query) have a decisive vote"
    if wanted == "pair":
        raise SpecError(f"{few}: there are no folds by pair")
    return "vote", (*notes, f"Single votes are held out, as {few}: the same judge is on both sides.")


def _check_times(votes: Votes, decisive: NDArray[np.bool_]) -> None:
    """Refuse a log that cannot be cut in the order of time, or whose first sixth cannot be cut again."""
    groups = grouping_of(votes, "time")
    for part in range(FOLDS):
        train, test = _before_and_after(groups, part, FOLDS)
        if not decisive[train].any() or not decisive[test].any():
            raise SpecError("a sixth of the log, in the order of time, has no decisive vote: there are no folds")
        inner = inner_splits(votes, "time", train, np.random.default_rng(0))
        if not any(decisive[train[later]].any() for _, later in inner):
            raise SpecError(
                f"the first {part + 1} sixths of the log, in the order of time, hold no decisive vote that was cast "
                "after others: parameters cannot be chosen on them, and there are no folds"
            )


def _few_judges(votes: Votes) -> str:
    """Return why folds by judge would be about single people; empty if they would not."""
    if votes.judges is None:
        return f"The log does not say who judged{' every vote' if votes.unsigned else ''}"
    if votes.judges.max() == 0:
        return "All votes are of one judge"
    sizes = np.bincount(votes.judges)
    count, share = effective(sizes), float(sizes.max() / sizes.sum())
    if count < ENOUGH:
        # Nine unequal judges may count like three.
        return f"{len(sizes)} judges, who by their shares of the votes count like {count:.1f}, are too few"
    if share > _LARGEST:
        return f"One judge cast {share:.0%} of the votes"
    return ""


def _divides(votes: Votes, grouping: Split) -> bool:
    """Return whether every fold gets a decisive vote."""
    return len(np.unique(grouping_of(votes, grouping)[votes.decisive()])) >= FOLDS


def grouped_folds(
    groups: NDArray[np.int64],
    folds: int,
    rng: np.random.Generator,
    decisive: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Return the fold of each vote, shape (n,): the largest group goes to the smallest fold, and so on.

    Equal groups, and equally small folds, are taken in random order. Groups with decisive votes
    come first and are balanced by these: no fold is empty, or without a decisive vote, if
    `folds` groups at least have one.

    Parameters
    ----------
    groups : ndarray of int64, shape (n,)
    folds : int
    rng : Generator
    decisive : ndarray of bool, shape (n,), optional
        All by default.
    """
    counted = np.ones(len(groups), np.bool_) if decisive is None else decisive
    total, main = np.bincount(groups), np.bincount(groups[counted], minlength=int(groups.max(initial=-1)) + 1)
    shuffled = rng.permutation(len(total))
    order = shuffled[np.lexsort((-total[shuffled], -main[shuffled]))]
    names = rng.permutation(folds)
    # A fold: its decisive votes, all of its votes, and its place in the random order.
    smallest = [(0, 0, place) for place in range(folds)]
    of_group = np.empty(len(total), dtype=np.int64)
    balanced = False
    for group in order.tolist():
        if not main[group] and not balanced:
            # What is left has ties alone: balance all votes.
            smallest = [(size, size, place) for _, size, place in smallest]
            heapq.heapify(smallest)
            balanced = True
        least, size, place = smallest[0]
        of_group[group] = names[place]
        grown = int(total[group])
        heapq.heapreplace(smallest, (least + (grown if balanced else int(main[group])), size + grown, place))
    return of_group[groups]


def split(
    votes: Votes, grouping: Split, repetition: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and the rows to test on.

    ``judge``, ``pair`` and ``vote``: repetition r tests fold ``r mod FOLDS`` of a random
    partition, one for every `FOLDS` repetitions (`rng` must be the partition's). ``time``: it
    tests the sixth of the log that follows the first ``r + 1`` sixths, on which it learns.

    Raises
    ------
    SpecError
        As `grouping_of`; one of the two parts is empty; a repetition by time beyond `FOLDS`,
        which would be one of the others again.
    """
    groups = grouping_of(votes, grouping)
    if grouping == "time":
        if repetition >= FOLDS:
            raise SpecError(f"there are {FOLDS} runs in the order of time, and more would repeat them")
        train, test = _before_and_after(groups, repetition, FOLDS)
    else:
        fold = grouped_folds(groups, FOLDS, rng, votes.decisive())
        part = repetition % FOLDS
        train, test = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
    if not len(train) or not len(test):
        raise SpecError(f"too few {grouping}s to cut the log into {FOLDS} folds")
    return train, test


def inner_splits(
    votes: Votes, grouping: Split, train: NDArray[np.int64], rng: np.random.Generator
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return how the training part is cut again, to choose parameters and links on it.

    ``judge``, ``pair`` and ``vote``: each of `INNER` parts of a random partition is predicted from the others.
    ``time``: nothing is learned from the future; the second quarter is predicted from the first, the
    third from the first two, the last from the first three.

    Parameters
    ----------
    votes : Votes
    grouping : Split
    train : ndarray of int64, shape (n,)
        Rows.
    rng : Generator
        Of the partition.

    Returns
    -------
    list of (ndarray of int64, ndarray of int64)
        Places in `train` to learn from, and to predict; neither is empty.
    """
    groups = grouping_of(votes, grouping)[train]
    if grouping == "time":
        cut = [_before_and_after(groups, part, INNER) for part in range(INNER)]
    else:
        fold = grouped_folds(groups, INNER, rng, votes.decisive()[train])
        cut = [(np.flatnonzero(fold != part), np.flatnonzero(fold == part)) for part in range(INNER)]
    return [(inside, outside) for inside, outside in cut if len(inside) and len(outside)]


def _before_and_after(groups: NDArray[np.int64], part: int, parts: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first ``part + 1`` of ``parts + 1`` equal parts of the rows in the order of time, and the next one."""
    order = np.argsort(groups, kind="stable")
    places = np.empty(len(groups), dtype=np.int64)
    # Votes of one time stay together: all take the place of the first of them.
    first = np.concatenate([[0], np.flatnonzero(np.diff(groups[order])) + 1])
    lengths = np.diff(np.concatenate([first, [len(groups)]]))
    places[order] = np.repeat(first, lengths)
    at = places * (parts + 1) // len(groups)
    return np.flatnonzero(at <= part), np.flatnonzero(at == part + 1)
