"""Probes of how data were recorded, against counts by hand and brute force."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from boards import PLANTED, both_orders, votes
from scipy.stats import binom
from scipy.stats import t as student
from test_rules import board_of

import rankbench
from rankbench.audits import recording
from rankbench.descriptions.describe import describe
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons


def judged(*rows: tuple[str, str, str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["left", "right", "winner", "judge", "query"], orient="row")


def test_flips_are_judgments_that_change_with_the_order() -> None:
    log = judged(
        ("a", "b", "left", "j", "q1"), ("b", "a", "left", "j", "q1"),  # both for the left
        ("a", "b", "left", "j", "q2"), ("b", "a", "right", "j", "q2"),  # for a
        ("a", "b", "tie", "k", "q1"), ("b", "a", "left", "k", "q1"),  # half for the left
        ("a", "b", "right", "k", "q2"), ("b", "a", "right", "k", "q2"),  # both for the right
        ("a", "c", "left", "k", "q2"), ("a", "c", "right", "k", "q2"),  # one order alone
        ("a", "c", "left", "k", "q1"), ("c", "a", "left", "j", "q1"),  # two judges
    )  # fmt: skip
    found = recording.flips(board_of(log))
    assert {name: found.facts[name] for name in ("judgments", "changed", "toward_left")} == {
        "judgments": 4, "changed": 3, "toward_left": 2,
    }  # fmt: skip
    assert found.p == 1
    assert 0 <= found.facts["lower"] < 0.75 < found.facts["upper"] <= 1


def test_p_of_flips_is_that_of_a_sign_test() -> None:
    found = recording.flips(board_of(PLANTED["flips"](2)))
    left, changed = found.facts["toward_left"], found.facts["changed"]
    assert found.p == pytest.approx(2 * binom.sf(left - 1, changed, 0.5))


@pytest.mark.full
def test_covariates_are_taken_out_of_the_scores() -> None:
    """The second item is first by its length alone: log-odds are .6, .3 and 0, and 1.5 for each of length."""
    rng = np.random.default_rng(5)
    left = rng.integers(0, 3, 900)
    right = (left + rng.integers(1, 3, 900)) % 3
    lengths = [np.array([0.0, 0.8, 0.0])[side] + rng.normal(0, 0.5, 900) for side in (left, right)]
    lead = np.array([0.6, 0.3, 0.0])[left] - np.array([0.6, 0.3, 0.0])[right] + 1.5 * (lengths[0] - lengths[1])
    won = np.where(rng.random(900) < 1 / (1 + np.exp(-lead)), "left", "right")
    names = np.array(["a", "b", "c"])
    log = pl.DataFrame({"left": names[left], "right": names[right], "winner": won})
    whole = log.with_columns(length_left=lengths[0], length_right=lengths[1])
    method = "bradley-terry:penalty=firth"
    won = pl.col("winner") == "left"
    sideless = whole.select(
        winner=pl.when(won).then("left").otherwise("right"), loser=pl.when(won).then("right").otherwise("left")
    )
    plain, board = (board_of(one, method, "ignore=length_*") for one in (sideless, whole))
    assert recording.controlled_ranking(plain.source, plain.method, 1) is None
    assert recording.covariates(plain).answer.startswith("not known")
    found = recording.controlled_ranking(board.source, board.method, 1)
    probe = recording.covariates(replace(board, controlled=found))
    assert "without these effects a is first in place of b" in probe.answer
    for name, true in (("length", 1.5), ("side", 0.0)):
        effect = probe.table.row(by_predicate=pl.col("covariate") == name, named=True)
        assert effect["lower"] < true * effect["unit"] < effect["upper"]
    assert probe.p == probe.table.row(by_predicate=pl.col("covariate") == "length", named=True)["p"]


def test_sides_name_a_judge_who_always_votes_left() -> None:
    log = both_orders(4)
    always = log.with_columns(winner=pl.when(pl.col("judge") == "j0").then(pl.lit("left")).otherwise("winner"))
    votes = (log["judge"] == "j0").sum()
    found = recording.sides(board_of(always)).answer
    assert found.endswith(f"position-biased judges: 1: 'j0' ({votes} left of {votes})")
    assert "biased" not in recording.sides(board_of(log)).answer


@pytest.mark.full
def test_p_of_sides_is_that_of_all_signs_of_judges() -> None:
    log = both_orders(4, lead=0.2).with_columns(pl.col("judge").replace({f"j{k}": "j0" for k in (7, 8, 9)}))
    found = recording.sides(board_of(log))
    leads = np.array([
        sum(1 if side == "left" else -1 for side in log.filter(pl.col("judge") == f"j{k}")["winner"]) for k in range(7)
    ])  # fmt: skip
    flipped = [abs(leads @ signs) for signs in itertools.product((-1, 1), repeat=7)]
    assert found.p == pytest.approx(np.mean(np.array(flipped) >= abs(leads.sum())), abs=0.02)
    left = (log["winner"] == "left").sum()
    assert found.facts["share"] == pytest.approx(left / 600)
    alone = recording.sides(board_of(log.drop("judge"))).p
    assert alone == pytest.approx(min(1, 2 * min(binom.sf(left - 1, 600, 0.5), binom.cdf(left, 600, 0.5))))
    assert recording.sides(board_of(log.with_columns(winner=pl.lit("tie")), columns="mirrored=keep")).p is None


def test_flips_need_sides_and_queries() -> None:
    log = both_orders(1)
    assert recording.flips(board_of(log.drop("query"))).p is None
    assert recording.flips(board_of(log.with_columns(query=pl.int_range(pl.len()).cast(pl.String)))).p is None
    assert recording.flips(board_of(log.drop("judge"))).facts["judgments"] == 300


@pytest.mark.parametrize("seed", range(10))
def test_bridges_are_pairs_without_which_more_groups_are_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 12, 13)
    second = (first + rng.integers(1, 12, 13)) % 12
    said = Comparisons(np.array([0, 13]), first.astype(np.int32), second.astype(np.int32), np.ones(13))
    counts = PairCounts.from_comparisons(said, 12)
    whole, every = len(counts.connected.sizes), np.arange(len(counts))
    expected = [e for e in every if len(counts.select(every != e).connected.sizes) > whole]
    assert recording.bridges(counts).tolist() == expected


def test_exposure_names_items_with_few_votes_and_pairs_that_alone_connect() -> None:
    pairs = [("a", "b")] * 8 + [("b", "c")] * 8 + [("c", "a")] * 8 + [("c", "d")] * 3
    found = recording.exposure(board_of(pl.DataFrame(pairs, ["winner", "loser"], orient="row")))
    assert found.facts == {"least": 3, "most": 19, "few": ["d"], "components": 1, "bridges": 1}
    assert found.table.rows()[0] == ("d", 3, 1)
    assert "one pair alone connects groups: c and d" in found.answer


def test_duplicates_and_names_are_those_of_describe() -> None:
    log = judged(
        ("GPT-4", "b", "left", "j", "q1"), ("GPT-4", "b", "right", "j", "q1"), ("gpt-4", "b", "left", "j", "q2")
    )
    found = board_of(log, columns="alike=keep")
    assert recording.duplicates(found).facts == {"cast_again": 1.0, "contradictions": 1.0, "mirrored": None}
    assert recording.names_alike(found).facts == {"alike": [["GPT-4", "gpt-4"]], "odd": []}


@pytest.mark.full
def test_aggregate_and_describe_count_votes_cast_again_as_the_audit_does() -> None:
    """A judge who is asked in both orders of sides votes twice, and not again."""
    rng = np.random.default_rng(5)
    pairs = [tuple(rng.permutation(["a", "b", "c", "d"])[:2]) for _ in range(120)]
    log = judged(*((*pair, str(rng.choice(["left", "right", "tie"])), f"j{rng.integers(3)}", "q") for pair in pairs))
    said = defaultdict(list)
    for row in log.iter_rows(named=True):
        won = {"left": row["left"], "right": row["right"]}.get(row["winner"])
        said[row["judge"], row["left"], row["right"]].append(won)
    again, otherwise = sum(len(one) - 1 for one in said.values()), sum(len({*one}) > 1 for one in said.values())
    facts = recording.duplicates(board_of(log)).facts
    assert (facts["cast_again"], facts["contradictions"]) == (again, otherwise)
    words = f"{again}, by the same judge on the same pair (the log names no queries); {otherwise} times"
    assert any(words in note for note in rankbench.aggregate(log).notes)
    assert dict(describe(board_of(log).source.frame).lines)["votes cast again"].startswith(words)


@pytest.mark.parametrize("seed", range(6))
def test_places_over_all_fillings_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (5, 4)).astype(float)  # tasks by systems; a task and a half stay whole
    holes = [(t, s) for t, s in itertools.product(range(2, 5), range(4)) if rng.random() < 0.4 and s != t - 2]
    shown = values.copy()
    shown[tuple(np.array(holes).T)] = np.nan
    table = pl.DataFrame({"system": list("abcd"), **{f"t{t}": shown[t] for t in range(5)}}).fill_nan(None)
    probe = next(
        one
        for one in rankbench.audit(table, columns="system=system,scores=*,keep=*").probes
        if one.name == "missing-tasks"
    )
    ranks = []
    for ends in itertools.product((np.nanmin, np.nanmax), repeat=len(holes)):
        filled = shown.copy()
        for (t, s), end in zip(holes, ends, strict=True):
            filled[t, s] = end(shown[t])
        means = filled.mean(axis=0).round(12)
        ranks.append(1 + (means[:, None] > means).sum(axis=0))
    rows = {row["system"]: (row["best_place"], row["worst_place"]) for row in probe.table.to_dicts()}
    low, high = np.min(ranks, axis=0), np.max(ranks, axis=0)
    assert rows == {name: (low[s], high[s]) for s, name in enumerate("abcd")}
    assert {*probe.facts["may_be_first"]} == {name for s, name in enumerate("abcd") if low[s] == 1}
    assert probe.facts["missing"] == len(holes)


@pytest.mark.full
def test_effects_are_tested_as_control_does() -> None:
    """With two columns p is twice the smaller one, which is beyond Student's quantile where its interval excludes 0."""
    log = votes(3, n=800, length=0.4).with_columns(
        left_bold=pl.Series(np.random.default_rng(1).integers(0, 9, 800)),
        right_bold=pl.Series(np.random.default_rng(2).integers(0, 9, 800)),
    )
    told = "ignore=*_length|*_bold"
    found = {probe.name: probe for probe in rankbench.audit(log, columns=told).probes}["covariates"]
    effects = rankbench.aggregate(log, control="side, length, bold", columns=told, intervals="sandwich").effects
    assert effects is not None
    for row in effects.iter_rows(named=True):
        assert (row["p"] < 0.05) == (row["lower"] > 0 or row["upper"] < 0)
    smallest = effects.filter(pl.col("covariate") != "side").sort("p").row(0, named=True)
    assert (found.facts["covariate"], found.p) == ("length", pytest.approx(2 * smallest["p"]))
    sizes = log.group_by("judge").len()["len"].to_numpy()
    freedom = sizes.sum() ** 2 / (sizes**2).sum() - 1
    error = (smallest["upper"] - smallest["effect"]) / student.ppf(0.975, freedom)
    assert smallest["p"] == pytest.approx(2 * student.sf(abs(smallest["effect"]) / error, freedom))
    assert found.fires


@pytest.mark.full
def test_sides_alone_are_tested_by_their_own_probe() -> None:
    found = {probe.name: probe for probe in rankbench.audit(PLANTED["sides"](1)).probes}
    assert found["covariates"].fires is None
    assert found["sides"].fires
