"""The probe `rules`: each rule's order is that of `aggregate`, cycles are shortest, and the test counts rules."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import polars as pl
import pytest
from boards import PLANTED, votes

import rankbench
from rankbench.audits import rules as module
from rankbench.audits.audit import vote_board
from rankbench.audits.probe import VoteBoard
from rankbench.interfaces.aggregator import Aggregator
from rankbench.plugin import manager
from rankbench.ranking.load import opened_log


def board_of(log: pl.DataFrame, method: str = "win-rate", columns: str = "") -> VoteBoard:
    source = opened_log(log, columns=columns, by=None, reader="").judged()
    return vote_board(source, manager.get(Aggregator, method), 1)[0]


def tau_b(one: np.ndarray, other: np.ndarray) -> float:
    pairs = [(np.sign(one[i] - one[j]), np.sign(other[i] - other[j])) for i, j in combinations(range(len(one)), 2)]
    level = [sum(pair[side] != 0 for pair in pairs) for side in (0, 1)]
    return sum(a * b for a, b in pairs) / np.sqrt(level[0] * level[1])


@pytest.mark.full
def test_each_rule_ranks_as_aggregate_does() -> None:
    log = votes(3, items=6, n=300, ties=0.5)
    board = board_of(log)
    found = module.rules(board)
    table = {row["rule"]: row for row in found.table.to_dicts()}
    assert {"copeland", "minimax", "ranked-pairs", "schulze", "maximal-lotteries", "kemeny", "borda"} <= {*table}
    assert "win-rate" not in table
    assert {"elo", "glicko-2"} <= {*found.facts["not_ranked_by"]}
    assert "not ranked by dynamic-bradley-terry, elo, glicko-2" in found.answer
    page = rankbench.aggregate(log, "win-rate").table.sort("item")["score"].to_numpy()
    for rule in table:
        scores = rankbench.aggregate(log, rule).table.sort("item")
        top = scores.filter(pl.col("score") >= pl.col("score").max() - 1e-9)["item"].to_list()
        assert table[rule]["first"].split(", ") == top
        assert table[rule]["same_first"] == (board.items[board.first] in top)
        assert table[rule]["tau"] == pytest.approx(tau_b(page, scores["score"].to_numpy()))
    assert (
        found.facts["differing"]
        == [row for row in table if not table[row]["same_first"]][: len(found.facts["differing"])]
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_cycle_is_the_shortest_one_through_its_first_item(seed: int) -> None:
    beats = np.triu(np.random.default_rng(seed).integers(-1, 2, (6, 6)), 1)
    beats = beats - beats.T > 0
    lengths = [
        size for size in range(3, 7) for path in permutations(range(1, 6), size - 1)
        if all(beats[i, j] for i, j in zip((0, *path), (*path, 0), strict=True))
    ]  # fmt: skip
    found = module._cycle(beats, 0)
    assert len(found) == min(lengths, default=0)
    assert all(beats[i, j] for i, j in zip(found, [*found[1:], *found[:1]], strict=True))


def test_many_items_are_ranked_by_rules_without_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DENSE_RANKED", 3)
    monkeypatch.setattr(module, "MOST_TESTED", 3)
    found = module.rules(board_of(votes(3, items=4, n=60)))
    assert {"schulze", "kemeny", "pagerank"} <= {*found.facts["not_ranked_by"]}
    assert "borda" in found.table["rule"]
    assert found.p is None


def test_a_condorcet_winner_or_a_cycle_is_named() -> None:
    cycle = [("a", "b")] * 3 + [("b", "c")] * 3 + [("c", "a")] * 2 + [("a", "d"), ("b", "d"), ("c", "d")]
    for log, winner, named in ((cycle, None, ["a", "b", "c"]), ([*cycle, *[("a", "c")] * 3], "a", None)):
        facts = module.rules(board_of(pl.DataFrame(log, ["winner", "loser"], orient="row"))).facts
        assert (facts["condorcet_winner"], facts["cycle"]) == (winner, named)


@pytest.mark.full
def test_opposed_rules_fire_and_rules_that_agree_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIMULATED", 99)
    fires = module.rules(board_of(PLANTED["rules"](1), "bradley-terry:penalty=firth"))
    assert fires.p == pytest.approx(1 / 100)
    clear = votes(1, items=4, skills=np.array([0.0, 1.0, 2.0, 4.0]))
    assert module.rules(board_of(clear)).p == 1
    assert module.rules(board_of(clear, "elo")).p is None


@pytest.mark.full
def test_simulated_boards_keep_votes_and_follow_the_model() -> None:
    counts, rng = module._compared(board_of(votes(2, items=4, n=400, ties=0.5))), np.random.default_rng(0)
    chances = module._model(counts)
    drawn = [module._drawn(counts, chances, 0.5, rng) for _ in range(3000)]
    decisive = counts.forward + counts.backward
    assert all(np.allclose(one.forward + one.backward, decisive) for one in drawn[:50])
    forward = np.array([one.forward for one in drawn])
    assert forward.mean(axis=0) == pytest.approx(decisive * chances, rel=0.02)
    # Half as many effective votes: twice the variance of the sum.
    assert forward.var(axis=0) == pytest.approx(2 * decisive * chances * (1 - chances), rel=0.15)
    scores = rankbench.aggregate(
        votes(2, items=4, n=400, ties=0.5).filter(pl.col("winner") != "tie"), module.MODEL
    ).table.sort("item")["score"].to_numpy()  # fmt: skip
    assert np.log(chances / (1 - chances)) == pytest.approx(scores[counts.low] - scores[counts.high], abs=1e-6)


@pytest.mark.full
def test_votes_of_judges_with_tastes_count_for_fewer() -> None:
    shares = []
    for taste in (0.0, 2.0):
        board = board_of(votes(5, taste=taste, judges=10))
        shares.append(module._effective_share(board, module._compared(board)))
    assert shares[1] < 0.5 < shares[0] <= 1


@pytest.mark.full
@pytest.mark.parametrize("judges", [0, 10])
def test_what_a_vote_tells_is_that_of_a_vote_whatever_its_rows(judges: int) -> None:
    """A weight makes a vote heavier, a count makes it several, and a vote whose points are split has two rows."""

    def share(log: pl.DataFrame) -> float:
        board = board_of(log)
        return module._effective_share(board, module._compared(board))

    named = ["left", "right", "winner", *["judge"] * bool(judges)]
    log = votes(5, judges=judges or 1).select(named)
    once = share(log)
    assert share(log.with_columns(weight=pl.lit(4.0))) == pytest.approx(once / 4, rel=1e-3)
    assert share(log.group_by(named).len("count")) == pytest.approx(once, rel=1e-9)
    split = log.select(*named[:2], *named[3:], points=pl.col("winner").replace_strict({"left": 0.8, "right": 0.3}))
    assert 0 < share(split) <= 1
    rng = np.random.default_rng(0)
    heavy = rng.exponential(size=len(log))
    assert share(log.with_columns(weight=pl.Series(heavy))) <= heavy.sum() / (heavy**2).sum() * (1 + 1e-9)
