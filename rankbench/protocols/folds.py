"""Folds of a log keep together what belongs together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import count_text
from rankbench.errors import SpecError
from rankbench.logs.votes import Votes
from rankbench.ranking.sampling_units import ENOUGH, effective

FOLDS = 5
"""Parts that a log is cut into."""

INNER = 3
"""Parts within the training part, on which parameters and links are chosen."""

Grouping: TypeAlias = Literal["judge", "query", "pair", "time"]
"""Groups of votes that a user may ask to hold out together."""

HeldOut: TypeAlias = Literal["judge", "query", "pair", "time", "vote"]
"""Groups that can be held out together; single votes, where nothing coarser divides into folds."""

_TOGETHER = {
    "judge": "All votes of a judge are held out together.",
    "query": "All votes of a query are held out together.",
    "pair": "Votes on one pair of items (and query) are held out together.",
}

_LARGEST = 0.2
"""Largest share of the votes that one judge may have: a fold's."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The parts of the votes that one repetition learns from, chooses by and tests on.

    Attributes
    ----------
    part : ndarray of int8, shape (G,)
        The inner part of the training part that each group is in, from 0; `tested`, where the group is
        held out; -1, where it is in neither.
    tested : int
        Number of inner parts.
    inner : tuple of (tuple of int, int)
        Inner parts to learn from, and the part to predict from them; both have votes.
    """

    part: NDArray[np.int8]
    tested: int
    inner: tuple[tuple[tuple[int, ...], int], ...]


def grouping_of(votes: Votes, grouping: HeldOut) -> NDArray[np.integer]:
    """Return the group of each vote, shape (n,): all votes of a group are in one fold.

    ``judge``: a judge's votes share that judge's taste. ``query``: votes of a query share its outputs, or are one
    ranking. ``pair``: votes on the same pair under the same query share its difficulty. ``time``: the order itself, in
    the stretches that no repetition cuts.

    Raises
    ------
    SpecError
        The log has no judges, or no times.
    """
    if grouping == "vote":
        return votes.numbers
    if grouping in ("query", "pair"):
        return votes.queries if grouping == "query" else votes.groups
    known = votes.judges if grouping == "judge" else votes.times
    if known is None:
        what = "who judged" if grouping == "judge" else "when"
        raise SpecError(f"the log does not say {what}: there are no folds by {grouping}")
    if known.max() == 0:
        raise SpecError(f"all votes are of one {grouping}: there are no folds by {grouping}")
    return known if grouping == "judge" else _stretches(np.bincount(known))[known]


def sizes_of(votes: Votes, grouping: HeldOut) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of votes of each group of a log, and of decisive ones, shapes (G,).

    Raises
    ------
    SpecError
        As `grouping_of`.
    """
    groups, decisive = grouping_of(votes, grouping), votes.decisive()
    if votes.rest is not None:
        groups, decisive = groups[~votes.rest], decisive[~votes.rest]
    total = np.bincount(groups)
    return total, np.bincount(groups[decisive], minlength=len(total))


def chosen_grouping(votes: Votes, wanted: Grouping) -> tuple[HeldOut, tuple[str, ...]]:
    """Return the unit that folds hold out together, and notes on why it differs from the wanted one.

    Folds by judge need ten judges (in effective number, see `rankbench.ranking.sampling_units.effective`),
    none with more than a fold's share of the votes: else folds are about single people,
    and as unequal as these. Then votes on one pair are held out together, and single votes
    where pairs are fewer than folds. Every fold must have a decisive vote.

    Returns
    -------
    grouping : HeldOut
    notes : tuple of str

    Raises
    ------
    SpecError
        The log does not know pairs or times apart, or has too few decisive votes for folds.
    """
    if wanted == "time":
        _check_times(*sizes_of(votes, "time"))
        return "time", ()
    decisive = int(votes.decisive().sum())
    if decisive < FOLDS:
        raise SpecError(
            f"the log has {count_text(decisive, 'decisive vote')}: {FOLDS} folds need {FOLDS} or more, one each"
        )
    notes = []
    if wanted == "judge":
        why = _few_judges(votes)
        if not why and _divides(votes, "judge"):
            return "judge", (_TOGETHER["judge"],)
        notes.append(f"{why or 'Few judges cast a decisive vote'}: folds are not by judge.")
    unit: Literal["query", "pair"] = "query" if wanted == "query" else "pair"
    if _divides(votes, unit):
        return unit, (*notes, _TOGETHER[unit])
    few = f"fewer than {FOLDS} {'queries' if unit == 'query' else 'pairs of items (and query)'} have a decisive vote"
    if wanted == unit:
        raise SpecError(f"{few}: there are no folds by {unit}")
    return "vote", (*notes, f"Single votes are held out, as {few}: the same judge is on both sides.")


def _check_times(total: NDArray[np.int64], decisive: NDArray[np.int64]) -> None:
    """Raise for a log that cannot be cut in the order of time, or whose first sixth cannot be cut again."""
    by_part = np.bincount(_in_order(total, FOLDS), decisive, FOLDS + 1)
    if not by_part.all():
        raise SpecError("a sixth of the log, in the order of time, has no decisive vote: there are no folds")
    for repetition in range(FOLDS):
        cut = cut_groups("time", (total, decisive), 0, repetition)
        known = cut.part >= 0
        of_part = np.bincount(cut.part[known], decisive[known], cut.tested + 1)
        if not any(of_part[later] for _, later in cut.inner):
            raise SpecError(
                f"the first {repetition + 1} sixths of the log, by time, hold no decisive vote after others. No "
                "parameters can be chosen on them, and there are no folds"
            )


def _few_judges(votes: Votes) -> str:
    """Return the reason why judges are too few or too unequal for folds by judge, or ``""``."""
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


def _divides(votes: Votes, grouping: HeldOut) -> bool:
    """Return whether every fold gets a decisive vote."""
    return int(np.count_nonzero(sizes_of(votes, grouping)[1])) >= FOLDS


def assigned_folds(
    total: NDArray[np.int64], decisive: NDArray[np.int64], folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the fold of each group, shape (G,): the largest group goes to the smallest fold, and so on.

    Equal groups, and equally small folds, are taken in random order. Groups with decisive votes
    come first and are balanced by these: no fold is empty, or without a decisive vote, if
    `folds` groups at least have one.

    Parameters
    ----------
    total, decisive : ndarray of int64, shape (G,)
        Numbers of votes, and of decisive ones.
    folds : int
    rng : Generator
    """
    from rankbench.protocols.kernels import assign_folds

    shuffled = rng.permutation(len(total))
    order = shuffled[np.lexsort((-total[shuffled], -decisive[shuffled]))]
    names = rng.permutation(folds)
    place = np.empty(len(total), dtype=np.int64)
    assign_folds(order, total, decisive, folds, place)
    return names[place]


def cut_groups(kind: HeldOut, sizes: tuple[NDArray[np.int64], NDArray[np.int64]], seed: int, repetition: int) -> Cut:
    """Return the part of each group in a repetition: training, validation or test.

    By judge, pair and vote, repetition r tests fold ``r mod FOLDS`` of a random partition, one for every `FOLDS`
    repetitions; the others are cut into `INNER` parts at random, and each is predicted from the other ones. By
    time it tests the sixth of the log that follows the first ``r + 1`` sixths, on which it learns. Nothing is learned
    from the future there either: the second quarter is predicted from the first, the third from the first two, the
    last from the first three.

    Parameters
    ----------
    kind : HeldOut
        Kind of a group.
    sizes : (ndarray of int64, ndarray of int64)
        See `sizes_of`.
    seed, repetition : int
        Of the block. Repetitions with one partition have the same generator of it.

    Raises
    ------
    SpecError
        The part to learn from or to test on is empty; a repetition by time beyond `FOLDS`,
        which would be one of the others again.
    """
    (total, decisive), by_time = sizes, kind == "time"
    if by_time:
        if repetition >= FOLDS:
            raise SpecError(f"there are {FOLDS} runs in the order of time, and more would repeat them")
        at = _in_order(total, FOLDS)
        train, test = at <= repetition, at == repetition + 1
    else:
        fold = assigned_folds(total, decisive, FOLDS, np.random.default_rng([seed, 1, repetition // FOLDS]))
        train, test = fold != repetition % FOLDS, fold == repetition % FOLDS
    if not total[train].any() or not total[test].any():
        raise SpecError(f"too few {kind}s to cut the log into {FOLDS} folds")
    last = int(np.flatnonzero(train & (total > 0))[-1]) + 1
    known = train[:last]
    total, decisive = np.where(known, total[:last], 0), np.where(known, decisive[:last], 0)
    inner = np.random.default_rng([seed, 2, repetition])
    within = _in_order(total, INNER) if by_time else assigned_folds(total, decisive, INNER, inner)
    parts = INNER + 1 if by_time else INNER
    votes = np.bincount(within, total, parts)
    pairs = [
        (tuple(range(part)) if by_time else tuple(other for other in range(parts) if other != part), part)
        for part in range(1 if by_time else 0, parts)
    ]
    part = np.full(len(train), -1, np.int8)
    part[test] = parts
    part[:last][known] = within[known]
    return Cut(part, parts, tuple((inside, out) for inside, out in pairs if votes[list(inside)].any() and votes[out]))


def _stretches(total: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the stretch of each time, given its number of votes: times that are never separated have one number.

    There are at most `FOLDS` + 1 parts, and `INNER` cuts within the training part of each of `FOLDS` repetitions.
    """
    at = _in_order(total, FOLDS)
    changes = np.zeros(len(total), np.bool_)
    for cuts in (at, *(_in_order(np.where(at <= r, total, 0), INNER) for r in range(FOLDS))):
        changes[1:] |= np.diff(cuts) != 0
    return np.cumsum(changes).astype(np.int8)


def _in_order(total: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Return which of ``parts + 1`` equal parts of the votes, in the order of the groups, each group is in.

    Votes of one time stay together: all take the place of the first of them.
    """
    ends = np.cumsum(total)
    places: NDArray[np.int64] = (ends - total) * (parts + 1) // max(int(ends[-1]), 1)
    return np.minimum(places, parts)
