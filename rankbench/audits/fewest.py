"""Probes find the fewest votes, judges, prompts, tasks or runs whose removal changes the first place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.audits.fewest_by_influence import Removal, fewest_by_influence
from rankbench.audits.fewest_exact import (
    Fewest,
    fewest_for_borda,
    fewest_for_win_rate,
    fewest_of_sums,
    fewest_units_for_win_rate,
)
from rankbench.audits.information import MOST_ITEMS
from rankbench.audits.probe import Probe, ScoreBoard, VoteBoard
from rankbench.core.text import count_text
from rankbench.interfaces.aggregator import CountAggregator

_BY_NET_WINS = ("borda", "net-weights")
"""Methods whose order is that of wins less losses."""


def fewest_votes(board: VoteBoard) -> Probe:
    """Return the fewest votes whose removal changes the first place."""
    if unknown := _unknown(board):
        return _probe("vote", unknown)
    votes = board.votes
    found = _fewest(board, votes.numbers)
    rows = np.flatnonzero(np.isin(votes.numbers, [] if found is None else found.units))
    names = [[votes.items[i] for i in side[rows]] for side in (votes.winners, votes.losers)]
    frame = pl.DataFrame(
        [*names, votes.ties[rows]], schema={"winner": pl.String, "loser": pl.String, "tie": pl.Boolean}
    )
    table = frame.group_by(pl.all(), maintain_order=True).agg(pl.len().alias("removed"))
    return _answer("vote", votes.count, found, board.items, board.first, table.sort("removed", descending=True))


def fewest_judges(board: VoteBoard) -> Probe:
    """Return the fewest judges whose removal, with all their votes, changes the first place."""
    if board.votes.judges is None or board.votes.judge_count < 2:
        return _probe("judge", "the log does not name two judges, or not for every vote")
    return _of_units(board, "judge", board.votes.judges, board.votes.judge_names)


def fewest_prompts(board: VoteBoard) -> Probe:
    """Return the fewest queries whose removal, with all their votes, changes the first place."""
    if len(board.votes.query_names) < 2:
        return _probe("prompt", "the log does not name two prompts (queries)")
    return _of_units(board, "prompt", board.votes.queries, board.votes.query_names)


def fewest_tasks(board: ScoreBoard) -> Probe:
    """Return the fewest tasks whose removal changes the first place, for scores that are means over tasks."""
    if not board.method.has_cells():
        return _probe("task", f"unknown: scores of {board.method} are no means over tasks")
    shown = board.method.checked_cells(board.whole.values).mean(axis=0)
    cells = shown if board.method.direction == "maximize" else -shown
    systems, tasks = board.whole.systems, board.whole.tasks
    first = systems.index(board.first)
    found = fewest_of_sums((s, cells[:, first] - cells[:, s]) for s in range(len(systems)) if s != first)
    if found is None or len(found.units) == len(tasks):  # scores would be means of nothing
        return _answer("task", len(tasks), None, systems, first, pl.DataFrame())
    of_each = {systems[s]: shown[found.units, s] for s in (first, found.rival)}
    table = pl.DataFrame({"task removed": [tasks[i] for i in found.units], **of_each})
    return _answer("task", len(tasks), found, systems, first, table)


def fewest_runs(board: ScoreBoard) -> Probe:
    """Return the fewest runs (a system with a seed) whose removal changes the first place by mean scores."""
    runs = board.whole.values.mean(axis=1)
    if len(runs) < 2 or board.method.name != "mean-score":
        return _probe("run", "the table has one run of each system, or the method is not mean-score")
    systems, removed = board.whole.systems, np.arange(len(runs))
    first, best = systems.index(board.first), None
    left = len(runs) - removed
    # The best runs of the first, and the worst of a rival, are the cheapest.
    ours = (runs[:, first].sum() - np.concatenate([[0], np.cumsum(-np.sort(-runs[:, first]))[:-1]])) / left
    for rival in (s for s in range(len(systems)) if s != first):
        theirs = (runs[:, rival].sum() - np.concatenate([[0], np.cumsum(np.sort(runs[:, rival]))[:-1]])) / left
        passed = theirs[None, :] > ours[:, None]
        total = np.where(passed, removed[:, None] + removed[None, :], np.inf)
        if passed.any() and (best is None or total.min() < best.bound):
            best = Fewest(rival, np.argwhere(total == total.min())[0], int(total.min()))
    if best is None:
        return _answer("run", runs.size, None, systems, first, pl.DataFrame())
    table = pl.DataFrame({"system": [systems[s] for s in (first, best.rival)], "runs removed": best.units})
    return _answer("run", runs.size, best._replace(units=np.arange(best.bound)), systems, first, table)


def _of_units(board: VoteBoard, noun: str, units: NDArray[np.integer], names: Sequence[str]) -> Probe:
    if unknown := _unknown(board):
        return _probe(noun, unknown)
    found = _fewest(board, units)
    chosen = np.zeros(0, np.int64) if found is None else found.units
    votes = np.bincount(units, board.votes.weights, len(names))[chosen]
    table = pl.DataFrame({f"{noun} removed": [names[i] for i in chosen], "votes": votes})
    return _answer(noun, len(names), found, board.items, board.first, table)


def _unknown(board: VoteBoard) -> str:
    """Return why no set can be found; empty: one can."""
    method = board.method
    if method.name in (*_BY_NET_WINS, "win-rate"):
        return ""
    if not isinstance(method, CountAggregator) or method.score_unit() != "log-odds":
        return f"unknown: of {method} rankbench knows neither a proof nor the influence of a vote"
    return "" if len(board.items) <= MOST_ITEMS else f"unknown: of more than {MOST_ITEMS:,} items it takes too long"


def _fewest(board: VoteBoard, units: NDArray[np.integer]) -> Fewest | None:
    votes, rivals, method = board.votes, board.compared[1:], board.method
    if method.name in _BY_NET_WINS:
        return fewest_for_borda(votes, units, board.first, rivals)
    if isinstance(method, CountAggregator) and method.name != "win-rate":
        return fewest_by_influence(Removal(votes, units, method, board.first), rivals)
    if np.array_equal(units, np.arange(len(votes))) and np.ptp(votes.weights) == 0:
        return fewest_for_win_rate(votes, board.first, rivals)
    return fewest_units_for_win_rate(votes, units, board.first, rivals)


def _probe(noun: str, answer: str, **more: Any) -> Probe:
    return Probe(f"fewest-{noun}s", f"How few {noun}s change the first place?", answer, **more)


def _answer(
    noun: str, total: int, found: Fewest | None, names: Sequence[str], first: int, table: pl.DataFrame
) -> Probe:
    if found is None:
        return _probe(noun, f"no removal of {noun}s was found that changes the first place", facts={"of": total})
    count, bound = len(found.units), found.bound
    known = f"no smaller number does (proved); the minimum is {count}" if bound == count else "the minimum is unknown"
    known += f", but at least {bound} (proved)" if 1 < bound < count else ""
    share = 100 * count / total
    answer = (
        f"the removal of {count_text(count, noun)} of {total:,} ({share:.2g}%) puts {names[found.rival]} above "
        f"{names[first]}; {known}"
    )
    facts = {"removed": count, "of": total, "proved_bound": bound, "proved": bound == count}
    return _probe(noun, answer, facts={**facts, "rival": names[found.rival]}, table=table)
