"""Probes find the fewest votes, judges, prompts, tasks or runs whose removal changes the first place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.audits.fewest_by_influence import BY_NET_WINS, BY_SHARES, Removal, fewest_by_influence
from rankbench.audits.fewest_exact import (
    Fewest,
    fewest_for_borda,
    fewest_for_win_rate,
    fewest_of_sums,
    fewest_units_for_win_rate,
)
from rankbench.audits.probe import MOST_ITEMS, Probe, ScoreBoard, VoteBoard
from rankbench.core.text import count_text, percent_text
from rankbench.interfaces.aggregator import CountAggregator


def fewest_votes(board: VoteBoard) -> Probe:
    """Return the fewest votes whose removal changes the first place."""
    if unknown := _unknown(board):
        return _probe("vote", unknown)
    votes = board.votes
    found = _fewest(board, votes.numbers)
    rows = np.flatnonzero(np.isin(votes.numbers, [] if found is None else found.units))
    sides = {
        name: [votes.items[i] for i in of[rows]] for name, of in (("winner", votes.winners), ("loser", votes.losers))
    }
    table = pl.DataFrame(
        {**sides, "tie": votes.ties[rows]}, {"winner": pl.String, "loser": pl.String, "tie": pl.Boolean}
    )
    if votes.places is None:  # votes of one weight are exchangeable
        table = table.group_by(pl.all(), maintain_order=True).agg(pl.len().alias("removed"))
        table = table.sort("removed", descending=True)
    else:
        table = table.with_columns(weight=votes.weights[rows], row=votes.places[rows]).sort("row", maintain_order=True)
    return _answer("vote", votes.count, found, board.items, board.first, table)


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
    scores = board.method.checked_cells(board.whole.better).mean(axis=0)
    cells = scores if board.method.direction == "maximize" else -scores
    shown = board.whole.values.mean(axis=0) if board.method.name == "mean-score" else scores
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
    runs = board.whole.better.mean(axis=1)
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
    """Return the reason why no set can be found, or ``""``."""
    method = board.method
    if method.name in BY_SHARES:
        return ""
    if not isinstance(method, CountAggregator) or method.score_unit() != "log-odds":
        return f"unknown: of {method} rankbench knows neither a proof nor the influence of a vote"
    return "" if len(board.items) <= MOST_ITEMS else f"unknown: of more than {MOST_ITEMS:,} items it takes too long"


def _fewest(board: VoteBoard, units: NDArray[np.integer]) -> Fewest | None:
    """Return a small set after whose removal the first item and the one that passes it are still on one scale.

    None: proved not to exist. Without regard to scales, minima of win rates and Borda counts are known:
    they are lower bounds, and minima where they leave the two on one scale.
    """
    votes, rivals, method = board.votes, board.compared[1:], board.method
    if not isinstance(method, CountAggregator):  # `_unknown` said so
        raise TypeError(f"{method} has no counts")
    found: Fewest | None = Fewest(-1, np.zeros(0, np.int64), 1)
    if method.name in BY_NET_WINS:
        found = fewest_for_borda(votes, units, board.first, rivals)
    elif method.name == "win-rate":
        single = np.array_equal(units, np.arange(len(votes))) and np.ptp(votes.weights) == 0
        found = (
            fewest_for_win_rate(votes, board.first, rivals)
            if single
            else fewest_units_for_win_rate(votes, units, board.first, rivals)
        )
    if found is None:
        return None
    removal = Removal(votes, units, method, board.first)
    if len(found.units) and removal.changes(found.units) is not None:
        return found
    return fewest_by_influence(removal, rivals, found.bound)


def _probe(noun: str, answer: str, **more: Any) -> Probe:
    return Probe(f"fewest-{noun}s", f"How few {noun}s change the first place?", answer, **more)


def _answer(
    noun: str, total: int, found: Fewest | None, names: Sequence[str], first: int, table: pl.DataFrame
) -> Probe:
    if found is None:
        return _probe(noun, f"no removal of {noun}s changes the first place (proved)", facts={"of": total})
    count, bound = len(found.units), found.bound
    if not count:
        known = f"fewer than {bound} do not (proved)" if bound > 1 else "a set that was not tried may"
        answer = f"no removal of {noun}s that was tried changes the first place; {known}"
        return _probe(noun, answer, facts={"of": total, "proved_bound": bound})
    known = f"no smaller number does (proved); the minimum is {count}" if bound == count else "the minimum is unknown"
    known += f", but at least {bound} (proved)" if 1 < bound < count else ""
    answer = (
        f"the removal of {count_text(count, noun)} of {total:,} ({percent_text(count / total)}) puts "
        f"{names[found.rival]} above {names[first]}; {known}"
    )
    facts = {"removed": count, "of": total, "proved_bound": bound, "proved": bound == count}
    return _probe(noun, answer, facts={**facts, "rival": names[found.rival]}, table=table)
