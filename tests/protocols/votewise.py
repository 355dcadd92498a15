"""Cross-validation and links vote by vote: the plain form that grouped counts are held against."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr

from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.protocols.folds import Cut
from rankbench.ranking.votes import Votes

FOLDS, INNER = 5, 3
LINKS = ("logistic", "probit")
SMALLEST = 1e-100
EQUAL = 1e-12


def groups_of(votes: Votes, grouping: str) -> NDArray[np.int64]:
    """Return the group of each vote."""
    by = {"judge": votes.judges, "time": votes.times, "pair": votes.groups, "vote": np.arange(len(votes))}[grouping]
    return by.astype(np.int64)


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
    votes: Votes, grouping: str, repetition: int, rng: np.random.Generator
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
    groups = groups_of(votes, grouping)
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
    votes: Votes, grouping: str, train: NDArray[np.int64], rng: np.random.Generator
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
    groups = groups_of(votes, grouping)[train]
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


BINS = 10
"""Classes of predicted chances for `calibration_error`."""

_PRIOR = 1.0
"""Pseudo-votes that keep b finite where scores separate all votes: one that the margin was wrong about."""


class Outcomes(NamedTuple):
    """Votes as the link sees them; arrays of shape (n,).

    Attributes
    ----------
    margins : ndarray of float64
        Score of the winner less that of the loser; for a tie, of the two in any order.
    weights : ndarray of float64
    ties : ndarray of bool
    """

    margins: NDArray[np.float64]
    weights: NDArray[np.float64]
    ties: NDArray[np.bool_]

    def decisive(self) -> Outcomes:
        """Return the votes that someone won."""
        chosen = ~self.ties
        return Outcomes(self.margins[chosen], self.weights[chosen], self.ties[chosen])


def _log_win(margins: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    chance: NDArray[np.float64] = -np.logaddexp(0, -margins) if link == "logistic" else log_ndtr(margins)
    return chance


def win_log_loss(votes: Outcomes, b: float, link: str) -> float:
    """Return the weighted mean of ``-log P(winner wins)`` over the decisive votes, in nats.

    nan if there are none.
    """
    decisive = votes.decisive()
    total = decisive.weights.sum()
    return float(-(decisive.weights @ _log_win(b * decisive.margins, link)) / total) if total > 0 else float("nan")


def fit_link(votes: Outcomes, link: str, pseudo: float = _PRIOR) -> float:
    """Return the b >= 0 of least log loss on the decisive votes.

    One pseudo-vote of the median margin for, and one against, keep b finite.
    """
    decisive = votes.decisive()
    sizes = np.abs(decisive.margins[decisive.margins != 0])
    if not len(sizes):
        return 0.0
    unit = float(np.median(sizes))
    margins = np.concatenate([decisive.margins / unit, [1.0, -1.0]])
    weights = np.concatenate([decisive.weights, [pseudo, pseudo]])

    def value(x: NDArray[np.float64]) -> float:
        return float(-(weights @ _log_win(np.exp(x[0]) * margins, link)) / weights.sum())

    found = minimize(value, np.zeros(1), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12})
    b = float(np.exp(found.x[0]))
    # A wrong sign on the whole: chances of one half are the best that b >= 0 can do.
    return b / unit if found.fun < np.log(2) - 1e-12 else 0.0


def fit_tie_link(votes: Outcomes, pseudo: float = _PRIOR) -> tuple[float, float]:
    r"""Return b >= 0 and nu >= 0 of Davidson's model of least three-outcome log loss.

    Chances are proportional to ``exp(d/2), exp(-d/2), nu`` for win, loss and tie, with
    ``d = b (s_i - s_j)``.
    """
    sizes = np.abs(votes.margins[votes.margins != 0])
    unit = float(np.median(sizes)) if len(sizes) else 1.0
    weights = np.concatenate([votes.weights, [pseudo] * 3])
    margins = np.concatenate([votes.margins / unit, [1.0, -1.0, 1.0]])
    ties = np.concatenate([votes.ties, [False, False, True]])
    padded = Outcomes(margins, weights, ties)

    def value(x: NDArray[np.float64]) -> float:
        return tie_log_loss(padded, float(np.exp(x[0])), float(np.exp(x[1])))

    found = minimize(value, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12})
    return float(np.exp(found.x[0])) / unit, float(np.exp(found.x[1]))


def tie_log_loss(votes: Outcomes, b: float, nu: float) -> float:
    """Return the weighted mean of ``-log P(outcome)`` over wins, losses and ties, in nats."""
    d = b * votes.margins
    # log of exp(d/2) + exp(-d/2) + nu, without overflow
    whole = np.logaddexp(np.logaddexp(d / 2, -d / 2), np.log(nu) if nu > 0 else -np.inf)
    said = np.where(votes.ties, np.log(nu) if nu > 0 else -np.inf, d / 2)
    return float(-(votes.weights @ (said - whole)) / votes.weights.sum())


def calibration_error(votes: Outcomes, b: float, link: str) -> float:
    """Return the expected calibration error on the decisive votes, in [0, 1]; nan if there are none.

    Chances are put into `BINS` classes of equal width; the mean of |share of wins - mean
    chance| over the classes, weighted by their votes. A vote counts as a win at p and as
    a loss at 1 - p, half each: which of the two items is named first means nothing.
    """
    decisive = votes.decisive()
    if not len(decisive.margins):
        return float("nan")
    p = np.clip(expit(b * decisive.margins) if link == "logistic" else ndtr(b * decisive.margins), 0, 1)
    chance = np.concatenate([p, 1 - p])
    won = np.concatenate([np.ones(len(p)), np.zeros(len(p))])
    weight = np.concatenate([decisive.weights, decisive.weights]) / 2
    bins = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, weight * (won - chance), BINS)
    return float(np.abs(gaps).sum() / weight.sum())


class _Chosen(NamedTuple):
    point: int
    link: Any
    b: float
    b_ties: float
    nu: float


def _judged(
    grid: Sequence[Aggregator],
    votes: Votes,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the metrics of one contender on the test votes, and what was chosen for it."""
    chosen = _choose(grid, votes, train, folds)
    held = _outcomes(scores_of(grid[chosen.point], votes, train), votes, test)
    decisive = held.decisive()
    wrong = (decisive.margins < 0) + 0.5 * (decisive.margins == 0)
    total = decisive.weights.sum()
    losses = {
        "disagreement": float(decisive.weights @ wrong / total) if total > 0 else math.nan,
        "log-loss": win_log_loss(held, chosen.b, chosen.link),
        "calibration": calibration_error(held, chosen.b, chosen.link),
        "three-outcome-loss": tie_log_loss(held, chosen.b_ties, chosen.nu),
    }
    info = {"point": float(chosen.point), "probit": float(chosen.link == "probit"), "scale": chosen.b, "nu": chosen.nu}
    return losses, info


def _choose(
    grid: Sequence[Aggregator],
    votes: Votes,
    train: NDArray[np.int64],
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> _Chosen:
    """Choose parameters and link by the log loss of margins that were predicted out of fold."""
    predicted = np.zeros(len(train), dtype=np.bool_)
    for _, outside in folds:
        predicted[outside] = True
    rows = train[predicted]
    best: tuple[float, int, Any, float, Outcomes] | None = None
    for number, point in enumerate(grid):
        margins = np.zeros(len(train))
        for inside, outside in folds:
            margins[outside] = _outcomes(scores_of(point, votes, train[inside]), votes, train[outside]).margins
        seen = Outcomes(margins[predicted], votes.weights[rows], votes.ties[rows])
        for link in LINKS:
            b = fit_link(seen, link, _usual_weight(seen.decisive()))
            loss = win_log_loss(seen, b, link)
            if best is None or loss < best[0] - 1e-12:
                best = (loss, number, link, b, seen)
    if best is None:
        raise SpecError("the grid has no point")
    _, number, link, b, seen = best
    return _Chosen(number, link, b, *fit_tie_link(seen, _usual_weight(seen)))


def _usual_weight(votes: Outcomes) -> float:
    """Return what a vote weighs on average, as pseudo-votes do."""
    return float(votes.weights.mean()) if len(votes.weights) else _PRIOR


def _outcomes(scores: NDArray[np.float64], votes: Votes, rows: NDArray[np.int64]) -> Any:
    margins = scores[votes.winners[rows]] - scores[votes.losers[rows]]
    margins[np.abs(margins) < max(SMALLEST, EQUAL * np.abs(scores).max())] = 0.0
    return Outcomes(margins, votes.weights[rows], votes.ties[rows])


def rows_of(cut: Cut, groups: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the votes that a cut of groups learns from, and those that it tests on."""
    part = cut.part[groups]
    return np.flatnonzero((part >= 0) & (part < cut.tested)), np.flatnonzero(part == cut.tested)


def scores_of(aggregator: Aggregator, votes: Votes, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores from votes one by one, where the class knows them; else from their sums."""
    if not isinstance(aggregator, CountAggregator):
        return aggregator.from_comparisons(votes.comparisons(rows), len(votes.items))
    return aggregator.from_counts(votes.counts(rows))
