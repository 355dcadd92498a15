"""The probe `fewest-votes` finds the fewest votes whose removal changes the first place."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankbench.audit.fewest_exact import Fewest, fewest_for_borda, fewest_for_win_rate
from rankbench.audit.probe import Probe, VoteBoard
from rankbench.core.text import count_text

_BY_NET_WINS = ("borda", "net-weights")
"""Methods whose order is that of wins less losses."""


def fewest_votes(board: VoteBoard) -> Probe:
    """Return the fewest votes whose removal changes the first place."""
    name, question = "fewest-votes", "How few votes change the first place?"
    votes, rivals = board.votes, board.compared[1:]
    if board.method.name in _BY_NET_WINS:
        found = fewest_for_borda(votes, votes.numbers, board.first, rivals)
    elif board.method.name == "win-rate" and votes.rest is None and np.ptp(votes.weights) == 0:
        found = fewest_for_win_rate(votes, board.first, rivals)
    else:
        return Probe(name, question, f"unknown for {board.method}")
    if found is None:
        return Probe(name, question, "no removal changes the first place")
    return _answer(name, question, board, found)


def _answer(name: str, question: str, board: VoteBoard, found: Fewest) -> Probe:
    count, total = len(found.units), board.votes.count
    rival, first = board.items[found.rival], board.items[board.first]
    answer = (
        f"the removal of {count_text(count, 'vote')} of {total:,} ({100 * count / total:.2g}%) puts {rival} above "
        f"{first}; a smaller number does not change the first place (proved)"
    )
    votes = board.votes
    rows = np.flatnonzero(np.isin(votes.numbers, found.units))
    table = (
        pl.DataFrame(
            {
                "winner": [votes.items[i] for i in votes.winners[rows]],
                "loser": [votes.items[i] for i in votes.losers[rows]],
                "tie": votes.ties[rows],
            }
        )
        .group_by("winner", "loser", "tie", maintain_order=True)
        .agg(pl.len().alias("removed"))
        .sort("removed", descending=True, maintain_order=True)
    )
    facts = {"removed": count, "of": total, "proved_bound": found.bound, "rival": rival}
    return Probe(name, question, answer, facts=facts, table=table)
