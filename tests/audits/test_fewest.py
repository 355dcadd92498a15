"""Sets found by influence change the first place in a refit, and are minimal where a proof says so; score tables."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from hypothesis import given
from hypothesis import strategies as st
from test_fewest_exact import joined, small_logs

import rankbench
from rankbench.audits import fewest_by_influence as fewest_by_influence_module
from rankbench.audits.fewest_by_influence import Removal, fewest_by_influence
from rankbench.interfaces.aggregator import Aggregator
from rankbench.logs.open import open_log
from rankbench.logs.votes import Votes, load_votes
from rankbench.plugin import manager


def refitted(votes: Votes, kept: np.ndarray, ridge: float) -> np.ndarray:
    """Return Bradley-Terry scores with a ridge by plain gradient steps on single votes."""
    m, scores = len(votes.items), np.zeros(len(votes.items))
    won = np.zeros((m, m))
    for row in np.flatnonzero(kept):
        one, other, share = votes.winners[row], votes.losers[row], 0.5 if votes.ties[row] else 1.0
        won[one, other] += share
        won[other, one] += 1 - share
    judged = won + won.T
    for _ in range(400):
        chance = 1 / (1 + np.exp(scores[None, :] - scores[:, None]))
        bend = np.diag((judged * chance * (1 - chance)).sum(axis=1)) - judged * chance * (1 - chance)
        step = np.linalg.solve(bend + ridge * np.eye(m), (won - judged * chance).sum(axis=1) - ridge * scores)
        scores += step
        if np.abs(step).max() < 1e-12:
            break
    return scores


@examples(120)
@given(small_logs(most=8))
def test_small_logs_are_proved_and_equal_brute_force(votes: Votes) -> None:
    method, n = manager.get(Aggregator, "bradley-terry:ridge=0.5"), len(votes)
    whole = refitted(votes, np.ones(n, bool), 0.5)
    first = int(np.argmax(whole))
    used = np.unique(np.concatenate([votes.winners, votes.losers]))
    rivals = np.array([item for item in np.argsort(-whole) if item != first and item in used], np.int64)
    found = fewest_by_influence(Removal(votes, np.arange(n), method, first), rivals)
    if found is None or len(found.units) < 2:
        return
    # Scales tell apart what no vote connects any more, so brute force asks about the proved sizes alone.
    for size in range(1, found.bound):
        for removed in itertools.combinations(range(n), size):
            left = Removal(votes, np.arange(n), method, first).leads(np.array(removed))[0]
            assert not (left < -1e-6).any()
    left = refitted(votes, ~np.isin(np.arange(n), found.units), 0.5)
    assert left[found.rival] > left[first]


def few_votes_of_the_first() -> st.SearchStrategy[tuple[list[int], list[int]]]:
    """Return wins and losses of pairs (0, 1) and (0, 2): item 2 wins all of its few votes, and leads."""
    return st.tuples(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.tuples(st.integers(1, 3), st.just(0)))


@pytest.mark.full
@examples(60)
@given(few_votes_of_the_first())
def test_leaders_of_few_votes_equal_brute_force(said: tuple[tuple[int, int], tuple[int, int]]) -> None:
    (one, other), (best, _) = said
    rows = [("i0", "i1")] * one + [("i1", "i0")] * other + [("i2", "i0")] * best
    if not one + other:
        return
    audited = rankbench.audit(pl.DataFrame(rows, ["winner", "loser"], orient="row"), "bradley-terry:ridge=0.5")
    found = next(probe for probe in audited.probes if probe.name == "fewest-votes")
    votes = load_votes(open_log(pl.DataFrame(rows, ["winner", "loser"], orient="row")).judged().frame)
    first, n, expected = votes.items.index(audited.first), len(votes), None
    for size in range(1, n):
        for removed in itertools.combinations(range(n), size):
            kept = ~np.isin(np.arange(n), removed)
            left = refitted(votes, kept, 0.5)
            passing = [i for i in np.flatnonzero(left > left[first] + 1e-9) if joined(votes, kept, first, int(i))]
            if passing:
                expected = size
                break
        if expected:
            break
    assert found.facts.get("removed") == expected
    if expected is None:
        assert "(proved)" in found.answer


def test_a_leader_of_three_votes_is_passed() -> None:
    """Without five votes of i0 over i1, i1 has 6 wins of 6, and i2 3 of 3: Firth's scores are log 13 and log 7."""
    rows = [("i0", "i1")] * 5 + [("i1", "i0")] * 6 + [("i2", "i0")] * 3
    audited = rankbench.audit(pl.DataFrame(rows, ["winner", "loser"], orient="row"))
    found = next(probe for probe in audited.probes if probe.name == "fewest-votes")
    assert audited.first == "i2"
    assert found.facts == {"removed": 5, "of": 14, "proved_bound": 5, "proved": True, "rival": "i1"}
    assert found.table.rows() == [("i0", "i1", False, 5)]


def test_votes_that_are_not_tried_are_not_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fewest_by_influence_module, "_REFITS", 0)
    monkeypatch.setattr(Removal, "best_for", lambda *_: None)
    rows = [("a", "b")] * 6 + [("b", "a")] * 4
    found = next(
        probe
        for probe in rankbench.audit(pl.DataFrame(rows, ["winner", "loser"], orient="row")).probes
        if probe.name == "fewest-votes"
    )
    assert found.answer == "no removal of votes that was tried changes the first place; a set that was not tried may"


@pytest.mark.full
@pytest.mark.parametrize("method", ["", "bradley-terry:ridge=1"])
def test_the_removed_votes_change_the_first_place_of_a_new_ranking(method: str) -> None:
    rng = np.random.default_rng(3)
    n, m = 600, 6
    one = rng.integers(0, m, n)
    other = (one + rng.integers(1, m, n)) % m
    wins = rng.random(n) < 1 / (1 + np.exp((one - other) * 0.3))
    names = np.array([f"i{k}" for k in range(m)])
    log = pl.DataFrame({
        "winner": names[np.where(wins, one, other)], "loser": names[np.where(wins, other, one)],
        "tie": rng.random(n) < 0.2, "judge": [f"j{k}" for k in rng.integers(0, 30, n)],
        "query": [f"q{k % 12}" for k in range(n)],
    })  # fmt: skip
    found = {probe.name: probe for probe in rankbench.audit(log, method).probes}
    first = rankbench.audit(log, method).first
    votes, judges, prompts = (found[f"fewest-{noun}"] for noun in ("votes", "judges", "prompts"))
    assert votes.facts["removed"] > judges.facts["removed"] >= judges.facts["proved_bound"] >= 1
    numbered = log.with_columns(at=pl.int_range(pl.len()).over("winner", "loser", "tie"))
    rests = [
        log.filter(~pl.col("judge").is_in(judges.table["judge removed"].to_list())),
        log.filter(~pl.col("query").is_in(prompts.table["prompt removed"].to_list())),
        numbered.join(votes.table, on=["winner", "loser", "tie"], how="left")
        .filter(pl.col("removed").is_null() | (pl.col("at") >= pl.col("removed")))
        .select(log.columns),
    ]
    for probe, rest in zip((judges, prompts, votes), rests, strict=True):
        table = rankbench.aggregate(rest, method).table
        assert table["item"][0] == probe.facts["rival"] != first


@pytest.mark.full
def test_a_board_that_hangs_on_three_votes_says_so() -> None:
    rows = [("a", "c")] * 60 + [("b", "c")] * 60 + [("a", "b")] * 33 + [("b", "a")] * 30
    log = pl.DataFrame(rows, schema=["winner", "loser"], orient="row")
    for method, removed in (("", 4), ("win-rate", 4), ("borda", 4)):
        probe = next(probe for probe in rankbench.audit(log, method).probes if probe.name == "fewest-votes")
        assert probe.facts["removed"] <= removed
        assert "puts b above a" in probe.answer


def test_methods_without_a_proof_are_unknown() -> None:
    log = {"winner": ["a", "b", "a"], "loser": ["b", "c", "c"]}
    probes = {probe.name: probe.answer for probe in rankbench.audit(log, "budgeted").probes}
    assert probes["fewest-votes"].startswith("unknown: of budgeted")
    assert "two judges" in probes["fewest-judges"]


@pytest.mark.full
@pytest.mark.parametrize("method", part_of(["mean-score", "mean-rank", "borda-count"], 2))
def test_tasks_of_score_tables_equal_brute_force(method: str) -> None:
    rng, told = np.random.default_rng(11), "system=model,scores=t*"
    for _ in range(2):
        table = pl.DataFrame(
            {"model": ["a", "b", "c", "d"]} | {f"t{k}": rng.normal(0, 1, 4).round(2) for k in range(8)}
        )
        found = rankbench.audit(table, method, columns=told)
        probe = next(probe for probe in found.probes if probe.name == "fewest-tasks")
        tasks, fewest = table.columns[1:], None
        for size in range(1, 7):
            for removed in itertools.combinations(tasks, size):
                rest = rankbench.rank(table.drop(removed), [method], columns=told, replicates=2).table
                if rest["system"][0] != found.first and rest["score"][0] != rest["score"][1]:
                    fewest = size
                    break
            if fewest:
                break
        assert probe.facts.get("removed") == fewest
        if method == "mean-score" and fewest:
            of_first = dict(zip(tasks, table.row(by_predicate=pl.col("model") == found.first)[1:], strict=True))
            assert dict(probe.table.select("task removed", found.first).rows()).items() <= of_first.items()


def test_runs_of_score_tables_equal_brute_force() -> None:
    rng = np.random.default_rng(2)
    rows = [
        (system, task, f"s{run}", float(rng.normal(mean, 0.4)))
        for system, mean in (("a", 0.5), ("b", 0.3), ("c", 0.0))
        for run in range(4)
        for task in ("t", "u", "v")
    ]
    table = pl.DataFrame(rows, schema=["system", "task", "seed", "score"], orient="row")
    found = rankbench.audit(table)
    probe = next(probe for probe in found.probes if probe.name == "fewest-runs")
    means = table.group_by("system", "seed").agg(pl.col("score").mean())
    runs = {name[0]: part["score"].to_list() for name, part in means.group_by("system")}
    smallest = min(
        k + j
        for other in {*runs} - {found.first}
        for k, j in itertools.product(range(4), range(4))
        if np.mean(sorted(runs[found.first])[: 4 - k]) < np.mean(sorted(runs[other])[j:])
    )
    assert probe.facts["removed"] == smallest
