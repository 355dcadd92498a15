r"""Probes tell how many more votes separate the first items, and on which pairs; how many more tasks, systems.

`rankbench.ranking.ranking_table.variances_and_goals` tells how many more votes as today separate a pair: distributed
as today, by proportionally more judges. The variances are as in ``aggregate --between`` and in rank ranges: where
judges are known they are moderated. The best pairs are found one after the other: one more vote on i and j lowers the
variance of the lead of a over b by about

.. math:: p_{ij} (1 - p_{ij}) ((e_i - e_j)^T \Sigma (e_a - e_b))^2

with :math:`\Sigma` the inverse information (c-optimal design, one step ahead), times the weight of a vote, which is
today's mean weight. The lead a over b is that of the pair that is farthest from its goal at this step. New votes vary
as much as today's: the larger variance, by judge or by vote, divided by the model's variance, for each lead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.covariance import information_of_one, inverse_information, lead_variances
from rankbench.audits.probe import MOST_ITEMS, Probe, ScoreBoard, VoteBoard
from rankbench.core.text import grouped_digits, significant
from rankbench.interfaces.aggregator import CountAggregator, WithCovariance
from rankbench.interfaces.aggregator_calls import covariance_of
from rankbench.ranking.ranked_log import ridge_of
from rankbench.ranking.ranking_table import LEVEL, POWER, variances_and_goals

_FIRST, _MANY = (1, 2, 3, 5, 10), 300
"""Numbers k of first items to separate from the rest; of more items than so many, 1 alone."""

_GROWTH, _STEPS = 0.05, 2000
"""A step of the design adds at most this share of the votes before it; steps until it gives up."""

_MOST = 1e4
"""Times today's votes from which on no number is shown."""

_SHOWN, _ROUNDED, _LEAST = 3, 1e-9, 1e-300


@dataclass(frozen=True, eq=False)
class Design:
    """Goals for variances of leads, and the votes that reach them.

    Attributes
    ----------
    scores : ndarray of float64, shape (m,)
        Log-odds.
    inverse : ndarray of float64, shape (m, m)
        Inverse information of today's votes.
    better, worse : ndarray of int64, shape (G,)
        Items of the pairs that are to be separated.
    goals : ndarray of float64, shape (G,)
        Variance of the model that each lead may have.
    weight : float
        Of each new vote.
    """

    scores: NDArray[np.float64]
    inverse: NDArray[np.float64]
    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    goals: NDArray[np.float64]
    weight: float = 1.0

    def allocated(self, limit: float = math.inf, room: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the votes on each pair, shape (m, m), upper triangle, that reach all goals, or `limit` of them.

        Parameters
        ----------
        limit : float
        room : ndarray of float64, shape (m, m), optional
            Most votes that each pair can have, upper triangle; by default as many as it takes.
        """
        inverse, votes = self.inverse.copy(), np.zeros_like(self.inverse)
        room = np.triu(np.full_like(votes, math.inf), 1) if room is None else room
        one = self.weight * information_of_one(self.scores[:, None] - self.scores[None, :])
        for _ in range(_STEPS):
            own = np.diag(inverse)
            left = own[self.better] + own[self.worse] - 2 * inverse[self.better, self.worse]
            at, total = int(np.argmax(left / self.goals)), float(votes.sum())
            surplus = left[at] - self.goals[at]
            open_pairs = room > votes
            if surplus <= _ROUNDED * self.goals[at] or total >= limit or not open_pairs.any():
                return votes
            pull = inverse[:, self.better[at]] - inverse[:, self.worse[at]]
            drop = pull[:, None] - pull[None, :]
            i, j = divmod(int(np.argmax(np.where(open_pairs, one * drop**2, -1.0))), len(pull))
            along = inverse[:, i] - inverse[:, j]
            # So much information on the pair would reach the goal; where none would, it is without bound.
            gain = drop[i, j] ** 2 - surplus * (along[i] - along[j])
            amount = surplus / gain if gain > 0 else math.inf
            step = min(amount / one[i, j], max(1.0, _GROWTH * (total + 20)), limit - total, room[i, j] - votes[i, j])
            added = step * one[i, j]
            inverse -= added / (1 + added * (along[i] - along[j])) * np.outer(along, along)
            votes[i, j] += step
        return np.full_like(votes, math.inf)


def design_for(board: VoteBoard, k: int, only: int | None = None) -> tuple[Design, NDArray[np.float64]]:
    """Return the design that separates the first k items from the rest, and today's variances by their goals, (G,).

    Parameters
    ----------
    board : VoteBoard
        Its method's scores are log-odds, with a covariance.
    k : int
        From 1 to the number of items of the first one's scale, less 1.
    only : int, optional
        Place of the only item of the rest that counts.
    """
    scores, order = board.ranking.scores, board.compared
    rest = order[k:] if only is None else order[only - 1 : only]
    better, worse = (side.ravel() for side in np.meshgrid(order[:k], rest, indexing="ij"))
    inverse = inverse_information(board.counts, scores, ridge_of(board.method))
    known = board.ranking.errors
    if known is None:
        raise ValueError("the ranking has no intervals")
    variances, wanted = variances_and_goals(scores, known.covariance, better, worse)
    single = covariance_of(board.method, board.counts, scores, board.votes.single())
    spread = np.maximum(variances, lead_variances(single)[better, worse])
    goals = wanted * lead_variances(inverse)[better, worse] / np.maximum(spread, _LEAST)
    weight = float(board.votes.weights.mean())
    return Design(scores, inverse, better, worse, goals, weight), variances / wanted


def more_votes(board: VoteBoard) -> Probe:
    """Return the number of votes to add to separate the first items, and their pairs."""
    name, question = "more-votes", "How many more votes separate the first items?"
    method = board.method
    if not isinstance(method, WithCovariance) or not isinstance(method, CountAggregator):
        return Probe(name, question, f"unknown: {method} has no formula for the variance of scores")
    if method.score_unit() != "log-odds" or not 2 <= len(board.compared) <= MOST_ITEMS:
        return Probe(name, question, f"unknown: scores of {method} are no log-odds, or items are too few or too many")
    if board.ranking.errors is None:
        return Probe(name, question, "unknown: one vote, or one judge, shows no variance")
    asked = [("places 1 and 2", 1, 2)]
    several = _FIRST if len(board.compared) <= _MANY else _FIRST[:1]
    asked += [(_first_words(k), k, None) for k in several if k < len(board.compared)]
    rows = [_row(board, *one) for one in asked]
    first, second = (board.items[i] for i in board.compared[:2])
    goal = rows[0]
    if goal["more votes as today"] is None:
        said = f"the lead of {first} over {second} is too small for any number of votes to show"
    elif not goal["more votes as today"]:
        said = f"{first} and {second} are separated at 80% power already"
    else:
        today, best = (grouped_digits(goal[column]) for column in ("more votes as today", "on the best pairs"))
        said = (
            f"{today} more votes as today separate {first} and {second} at 80% power, given their lead of "
            f"{significant(goal['lead'])}; {best} do on the best pairs ({goal['compare next']})"
        )
    return Probe(name, question, said, facts={"power": POWER, "level_of_pair": LEVEL}, table=pl.DataFrame(rows))


def _first_words(k: int) -> str:
    return f"first {k} and the rest" if k > 1 else "place 1 and the rest"


def _row(board: VoteBoard, what: str, k: int, only: int | None) -> dict[str, object]:
    design, ratios = design_for(board, k, only)
    hardest = int(np.argmax(ratios))
    names = [board.items[side[hardest]] for side in (design.better, design.worse)]
    lead = design.scores[design.better[hardest]] - design.scores[design.worse[hardest]]
    row: dict[str, object] = {"separate": what, "hardest pair": " and ".join(names), "lead": float(lead)}
    votes = design.allocated() if ratios[hardest] <= _MOST else np.full((1, 1), math.inf)
    found = float(votes.sum())
    if not math.isfinite(found):
        return row | {"more votes as today": None, "on the best pairs": None, "compare next": "lead too small to show"}
    largest = [divmod(int(at), len(votes)) for at in np.argsort(-votes, axis=None, kind="stable")[:_SHOWN]]
    shown = [f"{board.items[i]} and {board.items[j]} {votes[i, j] / found:.0%}" for i, j in largest if votes[i, j] > 0]
    return row | {
        "more votes as today": math.ceil(max(0.0, ratios[hardest] - 1) * board.votes.count),
        "on the best pairs": math.ceil(found),
        "compare next": ", ".join(shown) or "—",
    }


def more_tasks(board: ScoreBoard) -> Probe:
    """Return the number of tasks to add to separate the first systems: variances fall as 1 / tasks."""
    name, question = "more-tasks", "How many more tasks separate the first systems?"
    if not board.method.has_cells():
        return Probe(name, question, f"unknown: scores of {board.method} are no means over tasks")
    cells, names = board.method.checked_cells(board.whole.better).mean(axis=0), board.whole.systems
    order, tasks = [names.index(system) for system in board.ranking.table["system"]], len(cells)
    mean, covariance = cells.mean(axis=0), np.cov(cells, rowvar=False) / tasks
    rows: list[dict[str, object]] = []
    for k, rest in [(1, order[1:2]), *((k, order[k:]) for k in _FIRST if k < len(order))]:
        pairs = np.array([(i, j) for i in order[:k] for j in rest])
        ratios = np.divide(*variances_and_goals(mean, covariance, pairs[:, 0], pairs[:, 1]))
        at = int(np.argmax(ratios))
        rows.append(
            {
                "separate": _first_words(k) if rows else "places 1 and 2",
                "hardest pair": " and ".join(names[i] for i in pairs[at]),
                "lead": float(abs(mean[pairs[at][0]] - mean[pairs[at][1]])),
                "more tasks": None if ratios[at] > _MOST else math.ceil(max(0.0, ratios[at] - 1) * tasks),
            }
        )
    needed, pair = rows[0]["more tasks"], rows[0]["hardest pair"]
    said = f"the lead between {pair} is too small for any number of tasks to show"
    if needed == 0:
        said = f"{pair} are separated at 80% power already"
    elif isinstance(needed, int):
        said = f"{needed:,} more tasks like these separate {pair} at 80% power, if their lead is the true one"
    if needed is not None:
        said += "; each pair is tested by itself, and ranks, which hold together, may overlap still"
    return Probe(name, question, said, facts={"power": POWER, "level_of_pair": LEVEL}, table=pl.DataFrame(rows))
